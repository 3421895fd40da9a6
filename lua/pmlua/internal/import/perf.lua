-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/perf.lua - what `perf script` prints of samples with call stacks.
--
-- Try:  perf record -g ./solver; perf script >perf.txt; pmlua import perf.txt -o imported
--
-- A sample is a line "COMMAND PID/TID [CPU] MISC SECONDS: PERIOD EVENT:", one line "ADDRESS SYMBOL+OFFSET (OBJECT)" for each
-- frame from the innermost on, and an empty line; without call stacks the frame follows EVENT. Fields that perf -F leaves out
-- may be missing, except SECONDS. Lines of other records of perf, of source lines and instructions are passed over.

local archives = require "pmlua.internal.import.archive"
local input = require "pmlua.internal.import.input"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local LONGEST <const> = 1000000000 -- ns until a later sample, of events whose periods are no times

--- Command, process and thread of what stands before the time: "COMMAND PID/TID [CPU] MISC DATE".
local function thread_of(text)
  text = text:gsub("%s+%d+%-%d+%-%d+ [%d:.]+$", ""):gsub("%s+$", "")
  text = text:gsub("([%d%]])%s+[KUHGgESp]+$", "%1"):gsub("%s*%[%-?%d+%]$", "")
  local command, tid = text:match "^(.-)%s*%f[%S](%-?[%d/-]*%d)$"
  if not command then return text ~= "" and text or "all" end
  return command, tid:match "^(%-?%d+)/", tid
end

--- Event, period and, without call stacks, the frame, of what stands behind the time: "PERIOD EVENT: ADDRESS SYMBOL (OBJECT)".
local function event_of(text)
  local period, rest = text:match "^%s*(%d+)%s+(.*)$"
  if not period then period, rest = text:match "^%s*(%d+)$", text end
  local name, flat = rest:match "^%s*(%S+):%s+(%x+%s.*)$"
  if not name and rest:find "^%s*%x%x%x%x%x%x%x*%s+%S" then name, flat = "samples", rest end
  if not name then name = rest:match "^%s*(%S+):%f[%s%z]" end
  if flat and not flat:find "^%x%x%x%x%x%x" and not flat:find "%)%s*$" then flat = nil end -- text of a tracepoint
  return name or "samples", math.tointeger(tonumber(period)) or 1, flat
end

-- Where the time is: the first number with a fraction that a colon follows.
local TIME <const> = "%f[%S](%d+)%.(%d+):%f[%s%z]()"

--- The head of a sample; nil: another line. "": a record of perf that is no sample, and what it is.
local function head_of(line)
  local at, _, seconds, fraction, after = line:find(TIME)
  if not at then return nil end
  local record = line:match("^%s*(PERF_RECORD_.*)$", after)
  if record then return "", record end
  local ns = math.tointeger(tonumber(seconds .. (fraction .. "000000000"):sub(1, 9)))
  local command, pid, tid = thread_of(line:sub(1, at - 1):gsub("^%s+", ""))
  local event, period, flat = event_of(line:sub(after))
  return ns and { thread = tid and command .. " " .. tid or command, pid = pid, command = command, ns = ns, event = event,
    period = period, flat = flat, stack = {} }
end

--- The object of a frame; nil: not known, or not an object.
local function object_of(text)
  if not text or text == "[unknown]" or text == "inlined" then return nil end
  return text:gsub(" %(deleted%)$", ""):gsub("%+0x%x+$", ""):match "([^/]+)$"
end

--- A frame "ADDRESS SYMBOL+OFFSET (OBJECT)"; symbols and objects may have parentheses and spaces.
local function frame_of(line)
  local text = line:match "^%s*%x+%s+(%S.-)%s*$"
  if not text then return nil end
  local name, object = text:match "^(.-)%+0x%x+%s+%((.*)%)$"
  if not name then name, object = text:match "^(.-)%s+(%b())$" end
  if not name then name, object = text:match "^(.-)%s+%((.*)%)$" end
  if object then object = object:match "^%((.*)%)$" or object end
  return { name = ((name or text):gsub("%+0x%x+$", "")), file = object_of(object) }
end

--- Whether a text begins like this format.
function M.is(head) return head_of(input.first_line(head)) ~= nil end

-- Outermost first, the order in which they are entered.
local function reversed(list)
  local out = {}
  for i = #list, 1, -1 do out[#out + 1] = list[i] end
  return out
end

-- The time that a sample of a clock represents: its period is in ns.
local function clock_period(sample) return sample.event:find "^%l+%-clock" and sample.period or nil end

local Reader = {}
Reader.__index = Reader

--- Write a sample. It lasts until the thread's next one, at most its clock period or LONGEST; the last one as its predecessor.
function Reader:put(sample, to_ns)
  local values = {}
  for i, m in ipairs(self.metrics) do values[i] = m.name == sample.event and sample.period or 0 end
  local pid = sample.pid
  if pid and not self.processes[pid] then self.processes[pid] = ("%s (%s)"):format(sample.command, pid) end
  local thread = self.archive:thread(sample.thread, pid and self.processes[pid])
  local longest = clock_period(sample) or LONGEST
  local last = math.min(to_ns, sample.ns + longest)
  self.archive:sample(thread, sample.ns - self.first, last - self.first, reversed(sample.stack), values)
  sample.lasted = last - sample.ns
end

function Reader:take(sample)
  local before = self.pending[sample.thread]
  self.pending[sample.thread] = sample
  if not before then return end
  self:put(before, math.max(sample.ns, before.ns))
  sample.lasted_before = before.lasted
end

-- Whether a line describes the frame above it: its source line, code, or instructions.
local function is_detail(line) return line:find "^  %S" or line:find "^%s*|%d" or line:find "^%s*i%l+: " end

--- Every sample of a text goes to a function; other lines are counted.
local function each_sample(file, f)
  local sample, n, other = nil, 0, { n = 0, lost = 0 }
  local function finish()
    if not sample then return end
    sample.stack[1] = sample.stack[1] or { name = "[unknown]" }
    f(sample)
    sample = nil
  end
  for line in file:lines() do
    n = n + 1
    line = line:gsub("\r$", "")
    local head, record = nil, nil
    if not line:find "^\t" and not line:find "^%s*|%d" then head, record = head_of(line) end
    local frame = sample and not head and not is_detail(line) and frame_of(line)
    if head or not line:find "%S" then finish() end
    if type(head) == "table" then
      sample = head
      sample.stack[1] = head.flat and frame_of(head.flat)
    elseif record then
      other.lost = other.lost + (math.tointeger(tonumber(record:match "^PERF_RECORD_LOST.* lost (%d+)")) or 0)
    elseif frame then
      sample.stack[#sample.stack + 1] = frame
    elseif line:find "%S" and not line:find "^#" and not (sample and is_detail(line)) then
      other.n, other.first = other.n + 1, other.first or n
    end
  end
  finish()
  return other
end

function Reader:fill(file)
  file:seek "set"
  each_sample(file, function(s) self:take(s) end)
  local last = {}
  for _, s in pairs(self.pending) do last[#last + 1] = s end
  table.sort(last, function(a, b) return a.thread < b.thread end)
  for _, s in ipairs(last) do self:put(s, s.ns + (s.lasted_before or clock_period(s) or 0)) end
end

--- Read all samples twice: for the events and the first time, then for the calls.
---@param file file*
---@return table? archive, pmlua.Failure? failure
function M.read(file, name, dir)
  local self = setmetatable({ metrics = {}, pending = {}, processes = {}, first = math.maxinteger }, Reader)
  local seen = {}
  local other = each_sample(file, function(s)
    if not seen[s.event] then seen[s.event], self.metrics[#self.metrics + 1] = true, { name = s.event, unit = "#" } end
    self.first = math.min(self.first, s.ns)
  end)
  if #self.metrics == 0 then
    return refuse("ENODATA", name .. ": no samples 'COMMAND TID SECONDS: EVENT:'", "run perf script with the field time")
  end
  if #self.metrics > 128 then return refuse("E2BIG", name .. ": more than 128 events") end
  return archives.fill(dir, name, self.metrics, nil, function(archive)
    self.archive = archive
    archive:remark(("%%d lines are neither samples nor frames and are left out, the first is line %d"):format(other.first or 0),
      other.n)
    archive:remark("perf lost %d events; they are not in the file", other.lost)
    self:fill(file)
  end)
end

return M
