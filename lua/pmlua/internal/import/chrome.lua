-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/chrome.lua - the JSON of Chrome's trace viewer, which many tools write.
--
-- Try:  pmlua import trace.json -o imported
--
-- Calls are B and E, or X with a duration; names of threads are M. Counters, instants, arrows and asynchronous events are left
-- out, and counted.

local archives = require "pmlua.internal.import.archive"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local BYTES <const> = 1 << 30

--- Whether a text begins like this format.
---@param head string
---@return boolean
function M.is(head)
  return head:find "^%s*[%[{]" ~= nil and (head:find('"traceEvents"', 1, true) or head:find('"ph"', 1, true)) ~= nil
end

local function number(v) return type(v) == "number" and v == v and math.abs(v) < 1e15 and v or nil end

local function text(v, otherwise)
  if type(v) == "string" then return v end
  return type(v) == "number" and ("%.14g"):format(v) or otherwise
end

--- Ends of calls by thread: { ns, "enter" or "leave", name, order }.
local function edges_of(events, name)
  local threads, names, processes, of, order, left_out = {}, {}, {}, {}, {}, 0
  for i, e in ipairs(events) do
    if type(e) ~= "table" then return refuse("EFORMAT", ("%s: event %d is not an object"):format(name, i)) end
    local key, ts = ("%s/%s"):format(text(e.pid, "0"), text(e.tid, "0")), number(e.ts)
    if e.ph == "M" and e.name == "thread_name" and type(e.args) == "table" then
      names[key] = text(e.args.name)
    elseif e.ph == "M" and e.name == "process_name" and type(e.args) == "table" then
      processes[text(e.pid, "0")] = text(e.args.name)
    elseif (e.ph == "B" or e.ph == "E" or e.ph == "X") and ts then
      local list = threads[key]
      if not list then
        list = {}
        threads[key], of[key], order[#order + 1] = list, text(e.pid, "0"), key
      end
      local function put(us, kind) list[#list + 1] = { math.floor(us * 1000 + 0.5), kind, text(e.name, "?"), #list } end
      if e.ph ~= "E" then put(ts, "enter") end
      if e.ph == "E" then put(ts, "leave") end
      if e.ph == "X" then list[#list].lasts = math.max(0, math.floor((number(e.dur) or 0) * 1000 + 0.5)) end
    elseif e.ph ~= "M" then
      left_out = left_out + 1
    end
  end
  local first, several = of[order[1]], false
  for _, pid in pairs(of) do several = several or pid ~= first or processes[pid] ~= nil end
  return { several = several, threads = threads, names = names, processes = processes, of = of, order = order,
    left_out = left_out }
end

--- Of calls that begin together the longer one is around the others.
local function before(a, b)
  if a[1] ~= b[1] then return a[1] < b[1] end
  if a.lasts and b.lasts and a.lasts ~= b.lasts then return a.lasts > b.lasts end
  return a[4] < b[4]
end

--- The calls of a thread in order: those with a duration end before what comes after them.
local function play(archive, thread, list, first)
  table.sort(list, before)
  local ends = {} -- of the open calls with a duration; false: E ends it
  local function finish(ns)
    while #ends > 0 and ends[#ends] and ends[#ends] <= ns do archive:leave(thread, table.remove(ends) - first) end
  end
  for _, e in ipairs(list) do
    finish(e[1])
    if e[2] == "enter" then
      archive:enter(thread, e[1] - first, { name = e[3] })
      local around = ends[#ends]
      local over = e.lasts and e[1] + e.lasts
      ends[#ends + 1] = over and around and math.min(over, around) or over or false
    elseif ends[#ends] == false then
      table.remove(ends)
      archive:leave(thread, e[1] - first)
    else
      archive.odd = archive.odd + 1
    end
  end
  finish(math.maxinteger)
end

--- Read a file.
---@param file file*
---@param name string
---@param dir string
---@return table? archive
---@return pmlua.Failure? failure
function M.read(file, name, dir)
  local content = file:read(BYTES)
  if content and file:read(0) then return refuse("EFBIG", name .. ": larger than 1 GiB") end
  content = (content or ""):gsub("%s+$", "")
  if content:find "^%s*%[" and not content:find "%]$" then content = content:gsub(",$", "") .. "]" end -- as the format allows
  local fine, data = pcall(require("cjson").decode, content)
  local events = fine and type(data) == "table" and (data.traceEvents or data) or nil
  if type(events) ~= "table" then return refuse("EFORMAT", name .. ": not the JSON of a trace") end
  local edges, err = edges_of(events, name)
  if not edges then return nil, err end
  if #edges.order == 0 then return refuse("ENODATA", name .. ": no calls (B and E, or X)") end
  local first = math.huge
  for _, list in pairs(edges.threads) do
    for _, e in ipairs(list) do first = math.min(first, e[1]) end
  end
  return archives.fill(dir, name, {}, nil, function(archive)
    for _, key in ipairs(edges.order) do
      local pid = edges.of[key]
      local process = edges.several and ("%s (%s)"):format(edges.processes[pid] or "process", pid)
      local thread, full = archive:thread(edges.names[key] and ("%s %s"):format(edges.names[key], key) or key, process or nil)
      if not thread then return nil, full end
      play(archive, thread, edges.threads[key], first)
    end
    archive.left_out = edges.left_out
    return true
  end)
end

return M
