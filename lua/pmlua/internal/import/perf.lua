-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/perf.lua - what `perf script` prints of samples with call stacks.
--
-- Try:  perf record -g ./solver; perf script >perf.txt; pmlua import perf.txt -o imported
--
-- A sample is a line "COMMAND TID [CPU] SECONDS: PERIOD EVENT:", one line "ADDRESS SYMBOL+OFFSET (OBJECT)" for each frame
-- from the innermost on, and an empty line. Fields that perf leaves out may be missing: CPU, PERIOD, a process before TID.

local archives = require "pmlua.internal.import.archive"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local LONGEST <const> = 1000000000 -- ns until a later sample, of events whose periods are no times

--- The head of a sample: thread, time in ns, event, period; nil: another line.
local function head_of(line)
  local command, tid, rest = line:match "^%s*(%S.-)%s+([%d/]+)%s+(.*)$"
  while command and not rest:find "^%[?%d*%]?%s*[%d.]+:" do -- a command may have numbers in its name
    local more, later, after = rest:match "^(%S*)%s*([%d/]+)%s+(.*)$"
    if not more then return nil end
    command, tid, rest = ("%s %s %s"):format(command, tid, more), later, after
  end
  if not command then return nil end
  local seconds, fraction, event = rest:match "^%[?%d*%]?%s*(%d+)%.(%d+):%s*(.*)$"
  if not seconds then return nil end
  local ns = math.tointeger(tonumber(seconds .. (fraction .. "000000000"):sub(1, 9)))
  local period, name = event:match "^(%d+)%s+(%S+)"
  if not name then name = event:match "^(%S+)" end
  local pid = tid:match "^(%d+)/"
  return ns and { thread = command .. " " .. tid, pid = pid, command = command, ns = ns,
    event = (name or "samples"):gsub(":$", ""),
    period = math.tointeger(tonumber(period)) or 1, stack = {} }
end

local function frame_of(line)
  local name, object = line:match "^%s*%x+%s+(.+)%s+%((.-)%)%s*$"
  if not name then return nil end
  return { name = (name:gsub("%+0x%x+$", "")), file = object ~= "[unknown]" and object:match "([^/]+)$" or nil }
end

--- Whether a text begins like this format.
---@param head string
---@return boolean
function M.is(head)
  for line in head:gmatch "[^\n]+" do
    if not line:find "^#" then return head_of(line) ~= nil end
  end
  return false
end

-- Outermost first, as they are entered.
local function reversed(list)
  local out = {}
  for i = #list, 1, -1 do out[#out + 1] = list[i] end
  return out
end

local Reader = {}
Reader.__index = Reader

--- The thread's sample before lasts until this one, but not longer than it stands for; the last one as the one before it.
function Reader:put(sample, to_ns)
  local values = {}
  for i, m in ipairs(self.metrics) do values[i] = m.name == sample.event and sample.period or 0 end
  local pid = sample.pid
  if pid and not self.processes[pid] then self.processes[pid] = ("%s (%s)"):format(sample.command, pid) end
  local thread, err = self.archive:thread(sample.thread, pid and self.processes[pid])
  if not thread then return nil, err end
  local longest = sample.event:find "^%l+%-clock" and sample.period or LONGEST -- a clock's period is in ns
  local last = math.min(to_ns, sample.ns + longest)
  self.archive:sample(thread, sample.ns - self.first, last - self.first, reversed(sample.stack), values)
  sample.lasted = last - sample.ns
  return true
end

function Reader:take(sample)
  local before = self.pending[sample.thread]
  self.pending[sample.thread] = sample
  if not before then return true end
  local done, err = self:put(before, math.max(sample.ns, before.ns))
  sample.lasted_before = before.lasted
  return done, err
end

--- Every sample of a text goes to a function; nil and why.
local function each_sample(file, name, f)
  local sample, n = nil, 0
  for line in file:lines() do
    n = n + 1
    line = line:gsub("\r$", "")
    if line == "" or line:find "^%s*$" then
      if sample then
        local done, err = f(sample)
        if not done then return nil, err end
      end
      sample = nil
    elseif sample then
      local frame = frame_of(line)
      if not frame then return refuse("EFORMAT", ("%s:%d: not a frame 'ADDRESS SYMBOL (OBJECT)'"):format(name, n)) end
      sample.stack[#sample.stack + 1] = frame
    elseif not line:find "^#" then
      sample = head_of(line)
      if not sample then
        return refuse("EFORMAT", ("%s:%d: not a sample 'COMMAND TID SECONDS: EVENT:'"):format(name, n))
      end
      local flat = line:match ":%s+%x+ (.+%s+%(.-%))%s*$" -- perf script without -g: the frame is on the same line
      if flat then sample.stack[1] = frame_of("0 " .. flat) end
    end
  end
  if sample then return f(sample) end
  return true
end

function Reader:fill(file, name)
  file:seek "set"
  local done, err = each_sample(file, name, function(s) return self:take(s) end)
  if not done then return nil, err end
  local last = {}
  for _, s in pairs(self.pending) do last[#last + 1] = s end
  table.sort(last, function(a, b) return a.thread < b.thread end)
  for _, s in ipairs(last) do
    done, err = self:put(s, s.ns + (s.lasted_before or 0))
    if not done then return nil, err end
  end
  return true
end

--- Read all samples twice: for the events and the first time, then for the calls.
---@param file file*
---@param name string
---@param dir string
---@return table? archive
---@return pmlua.Failure? failure
function M.read(file, name, dir)
  local self = setmetatable({ metrics = {}, pending = {}, processes = {}, first = math.maxinteger }, Reader)
  local seen = {}
  local done, err = each_sample(file, name, function(s)
    if not seen[s.event] then seen[s.event], self.metrics[#self.metrics + 1] = true, { name = s.event, unit = "#" } end
    self.first = math.min(self.first, s.ns)
    return true
  end)
  if not done then return nil, err end
  if #self.metrics == 0 then return refuse("ENODATA", name .. ": no samples") end
  if #self.metrics > 128 then return refuse("E2BIG", name .. ": more than 128 events") end
  return archives.fill(dir, name, self.metrics, nil, function(archive)
    self.archive = archive
    return self:fill(file, name)
  end)
end

return M
