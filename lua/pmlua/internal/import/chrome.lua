-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/chrome.lua - the JSON of Chrome's trace viewer, which many tools write.
--
-- Try:  pmlua import trace.json -o imported
--
-- Calls are B and E, or X with a duration; names of threads are M. Counters, instants, arrows and asynchronous events are left
-- out, and counted. Events are decoded one by one, so that a file which ends within an event gives all those before it.

local archives = require "pmlua.internal.import.archive"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local BYTES <const> = 1 << 30
local LATEST_US <const> = math.maxinteger // 1000 - 1

--- Whether a text begins like this format.
function M.is(head)
  return head:find "^%s*%[%s*[{%]]" ~= nil or head:find "^%s*%[%s*$" ~= nil or head:find '^%s*{%s*["}]' ~= nil
end

-- ---- JSON, event by event ----

--- The place behind a string whose first character is here; nil: the text ends within it.
local function behind_string(s, at)
  while true do
    at = s:find('["\\]', at)
    if not at then return nil end
    if s:byte(at) == 34 then return at + 1 end
    at = at + 2
  end
end

--- The place behind the bracket that closes @depth open ones and those from here on; nil: the text ends before.
local function behind_bracket(s, at, depth)
  repeat
    at = s:find('["{}%[%]]', at)
    local c = at and s:byte(at)
    if not c then return nil end
    if c == 34 then at = behind_string(s, at + 1)
    else
      depth = depth + ((c == 123 or c == 91) and 1 or -1) -- { and [
      at = at + 1
    end
  until not at or depth == 0
  return at
end

--- The place behind a value; nil: the text ends within it.
local function behind(s, at)
  if not s:find('^["{%[]', at) then return s:match("^[%w.+-]+()[%s,%]}]", at) end
  return behind_bracket(s, at, 0)
end

--- A note about text behind the JSON, such as a second trace. @at: behind the array of events.
local function leftover(s, at, is_array)
  if not is_array then at = behind_bracket(s, at, 1) end
  at = at and s:find("[^%s%z]", at)
  return at and ("%d bytes behind the end of the JSON are not imported; they may be another trace"):format(#s - at + 1) or nil
end

--- The position of the first event: in the array, or in the array of traceEvents.
local function events_at(s)
  local at = s:match "^%s*%[()"
  if at then return at end
  at = s:match "^%s*{()"
  while at do
    local key = s:match('^[%s,]*"()', at)
    local key_end = key and behind_string(s, key)
    local value = key_end and s:match("^%s*:%s*()", key_end)
    if not value then return nil end
    if s:sub(key, key_end - 2) == "traceEvents" then return s:match("^%[()", value) end
    at = behind(s, value)
  end
end

local ROUNDED_NS <const> = 2 -- each end is a sum of two rounded times
local EXACT <const> = { ts = true, dur = true, pid = true, tid = true }

-- Numbers that would lose digits become strings: a double has 53 bits, and times since 1970 in ns have more.
local function exact(key, value) return EXACT[key] and ('"%s":"%s"'):format(key, value) or nil end

local function decoded(text)
  local fine, e = pcall(require("cjson").decode, (text:gsub('"([tdp][siu][dr]?)"%s*:%s*(-?%d[%d.eE+-]*)', exact)))
  return fine and type(e) == "table" and e or nil
end

--- Every event goes to a function. An array need not be closed, as the format allows.
---@return true? done, string|pmlua.Failure|nil why with done: the missing end of the file
local function each_event(s, name, f)
  local at, n, is_array = events_at(s), 0, s:find "^%s*%[" ~= nil
  if not at then return refuse("EFORMAT", name .. ": not the JSON of a trace: it has no array traceEvents") end
  while true do
    at = s:match("^[%s,]*()", at)
    local c = s:sub(at, at)
    if c == "]" then return true, leftover(s, at + 1, is_array) end
    if c == "" and is_array then return true end
    local after = behind(s, at)
    if not after or c == "\0" then
      return true, ("the file is cut within or behind event %d; the events before it are imported"):format(n + 1)
    end
    n = n + 1
    local e = decoded(s:sub(at, after - 1))
    if not e then return refuse("EFORMAT", ("%s: event %d, at byte %d, is not a JSON object"):format(name, n, at)) end
    f(e)
    at = after
  end
end

-- ---- calls ----

local function text(v, otherwise)
  if type(v) == "string" then return v end
  return type(v) == "number" and ("%.17g"):format(v) or otherwise
end

--- Nanoseconds of microseconds; nil: no such number, or one out of range.
local function ns_of(v)
  if type(v) ~= "string" and type(v) ~= "number" then return nil end
  local sign, whole, rest = tostring(v):match "^(-?)(%d+)%.?(%d*)$"
  local us = math.tointeger(tonumber(whole))
  if not us then -- an exponent
    local us_float = tonumber(v)
    if not us_float or us_float ~= us_float or math.abs(us_float) >= LATEST_US then return nil end
    return math.floor(us_float * 1000 + 0.5)
  end
  if us > LATEST_US then return nil end
  local ns = us * 1000 + (tonumber((rest .. "0000"):sub(1, 4)) + 5) // 10
  return sign == "-" and -ns or ns
end

local Edges = {}
Edges.__index = Edges

function Edges:list_of(e)
  local pid = text(e.pid, "0")
  local key = ("%s/%s"):format(pid, text(e.tid, "0"))
  if not self.threads[key] then
    self.threads[key], self.of[key], self.order[#self.order + 1] = {}, pid, key
  end
  return self.threads[key]
end

--- An end of a call by thread: { ns, "enter" or "leave", name, order }.
function Edges:put_call(e)
  local ns = ns_of(e.ts)
  if not ns then
    self.untimed = self.untimed + 1
    return
  end
  local list, lasts = self:list_of(e), e.ph == "X" and (ns_of(e.dur) or -1) or nil
  if lasts and lasts < 0 then lasts, self.endless = 0, self.endless + 1 end
  list[#list + 1] = { ns, e.ph == "E" and "leave" or "enter", text(e.name, "?"), #list, lasts = lasts }
  self.first = math.min(self.first, ns)
end

function Edges:put(e)
  local names = e.ph == "M" and type(e.args) == "table"
  if names and e.name == "thread_name" then
    self.names[("%s/%s"):format(text(e.pid, "0"), text(e.tid, "0"))] = text(e.args.name)
  elseif names and e.name == "process_name" then
    self.processes[text(e.pid, "0")] = text(e.args.name)
  elseif e.ph == "B" or e.ph == "E" or e.ph == "X" then
    self:put_call(e)
  elseif e.ph ~= "M" then
    self.left_out = self.left_out + 1
  end
end

--- Whether there are several processes, or a process with a name.
function Edges:is_several()
  for _, pid in pairs(self.of) do
    if pid ~= self.of[self.order[1]] or self.processes[pid] then return true end
  end
  return false
end

--- Order events by time; of calls that begin together the longer one encloses the others.
local function before(a, b)
  if a[1] ~= b[1] then return a[1] < b[1] end
  if a.lasts and b.lasts and a.lasts ~= b.lasts then return a.lasts > b.lasts end
  return a[4] < b[4]
end

--- The calls of a thread in order: those with a duration end before what comes after them. Returns how many end later than the
--- call around them, by more than what rounding adds, and are shortened to its end.
local function play(archive, thread, list, first)
  local shortened = 0
  table.sort(list, before)
  local ends = {} -- ends of open calls with a duration; false: an E event ends the call
  local function finish(ns)
    while #ends > 0 and ends[#ends] and ends[#ends] <= ns do archive:leave(thread, table.remove(ends) - first) end
  end
  for _, e in ipairs(list) do
    finish(e[1])
    if e[2] == "enter" then
      archive:enter(thread, e[1] - first, { name = e[3] })
      local around = ends[#ends]
      local over = e.lasts and (e.lasts < math.maxinteger - math.max(0, e[1]) and e[1] + e.lasts or math.maxinteger)
      if over and around and over - around > ROUNDED_NS then shortened = shortened + 1 end
      ends[#ends + 1] = over and around and math.min(over, around) or over or false
    elseif ends[#ends] == false then
      table.remove(ends)
      archive:leave(thread, e[1] - first)
    else
      archive.odd = archive.odd + 1
    end
  end
  finish(math.maxinteger)
  return shortened
end

function Edges:fill(archive)
  local several, shortened = self:is_several(), 0
  for _, key in ipairs(self.order) do
    local pid = self.of[key]
    local process = several and ("%s (%s)"):format(self.processes[pid] or "process", pid)
    local thread = archive:thread(self.names[key] and ("%s %s"):format(self.names[key], key) or key, process or nil)
    shortened = shortened + play(archive, thread, self.threads[key], self.first)
  end
  archive:remark("%d events are no calls and are left out", self.left_out)
  archive:remark("%d ends of calls have no usable time (ts, in microseconds) and are left out", self.untimed)
  archive:remark("%d calls (X) have no usable duration (dur, in microseconds) and last 0 ns", self.endless)
  archive:remark("%d calls (X) end later than the call around them and are shortened to its end", shortened)
end

--- Read a file.
---@param file file*
---@return table? archive, pmlua.Failure? failure
function M.read(file, name, dir)
  local content = file:read(BYTES)
  if content and file:read(0) then return refuse("EFBIG", name .. ": larger than 1 GiB") end
  local edges = setmetatable({ threads = {}, names = {}, processes = {}, of = {}, order = {}, left_out = 0, untimed = 0,
    endless = 0, first = math.maxinteger }, Edges)
  local done, why = each_event(content or "", name, function(e) edges:put(e) end)
  if not done then return nil, why end
  if edges.untimed > 0 and #edges.order == 0 then
    return refuse("ENODATA", ("%s: no calls: %d have no usable time (ts, in microseconds)"):format(name, edges.untimed))
  end
  if #edges.order == 0 then
    return refuse("ENODATA", ("%s: no calls (B and E, or X)%s"):format(name, why and "; " .. why:match "^[^;]*" or ""))
  end
  return archives.fill(dir, name, {}, nil, function(archive)
    if why then archive:remark(why) end
    edges:fill(archive)
  end)
end

return M
