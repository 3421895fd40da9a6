-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/noise/kernel.lua - what the kernel counts of a thread and of a cpu: run queue, switches, steal time, interrupts.
--
-- Try:  local k = require "noise.kernel"; local a = k.read(0); print(k.since(a, k.read(0)).waited)

local disk = require "pmlua.internal.file"

local M = {}

local STEAL = 8 -- the column of /proc/stat, proc(5)
local HZ = 100 -- USER_HZ, in which /proc/stat counts, on every architecture that Linux has today

local function text_of(path) return disk.text(path) or "" end

--- Counts of each line of /proc/interrupts or /proc/softirqs on a cpu, by "NAME description".
---@return table<string, integer>
function M.interrupts(text, cpu)
  local header, body = text:match "^([^\n]*)\n(.*)$"
  local out, column, columns = {}, nil, 0
  for name in (header or ""):gmatch "CPU(%d+)" do
    columns = columns + 1
    if tonumber(name) == cpu then column = columns end
  end
  if not column then return out end
  for label, rest in body:gmatch "%s*([^%s:]+):([^\n]*)" do
    local values, last = {}, 1
    for v, at in rest:gmatch "%f[^%s](%d+)()%f[%s\0]" do
      if #values == columns then break end
      values[#values + 1], last = tonumber(v), at
    end
    local about = rest:sub(last):match "^%s*(.-)%s*$"
    -- a line of one number is of no cpu: ERR, MIS
    if #values == columns and (columns > 1 or about ~= "") then
      out[about ~= "" and label .. " " .. about:gsub("%s+", " ") or label] = values[column]
    end
  end
  return out
end

--- Ticks of USER_HZ that the host took from a cpu.
---@param text string of /proc/stat
---@return integer?
function M.steal(text, cpu)
  local line, n = text:match(("\ncpu%d ([^\n]*)"):format(cpu)), 0
  for v in (line or ""):gmatch "%d+" do
    n = n + 1
    if n == STEAL then return tonumber(v) end
  end
end

---@class noise.Reading
---@field waited_ns integer? in the run queue
---@field voluntary integer?
---@field involuntary integer?
---@field steal integer? ticks
---@field interrupts table<string, integer>

--- Read the counts of the calling thread and of a cpu.
---@return noise.Reading
function M.read(cpu)
  local status = text_of "/proc/thread-self/status"
  return {
    waited_ns = tonumber(text_of("/proc/thread-self/schedstat"):match "^%d+ (%d+)"),
    voluntary = tonumber(status:match "\nvoluntary_ctxt_switches:%s*(%d+)"),
    involuntary = tonumber(status:match "\nnonvoluntary_ctxt_switches:%s*(%d+)"),
    steal = M.steal(text_of "/proc/stat", cpu), interrupts = M.interrupts(text_of "/proc/interrupts", cpu),
  }
end

--- The difference of two readings; counts that the kernel does not provide are nil.
---@param a noise.Reading
---@param b noise.Reading
---@return { waited_ns: integer?, voluntary: integer?, involuntary: integer?, steal_ns: integer?, interrupts: table,
---all: integer? }
function M.since(a, b)
  local function less(name) return a[name] and b[name] and b[name] - a[name] end
  local interrupts, all = {}, nil
  for name, count in pairs(b.interrupts) do
    local n = count - (a.interrupts[name] or 0)
    if n > 0 then interrupts[name] = n end
    all = (all or 0) + math.max(0, n)
  end
  local steal = less "steal"
  return {
    waited_ns = less "waited_ns", voluntary = less "voluntary", involuntary = less "involuntary",
    steal_ns = steal and steal * (1000000000 // HZ), interrupts = interrupts, all = all,
  }
end

return M
