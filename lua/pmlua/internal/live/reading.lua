-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/reading.lua - the software-defined events of this process, read by glob, as JSON for clients.
--
-- Try:  print(require("pmlua.internal.live.reading").read("*"))
--
-- Runs inside the application, on the service's thread: needs no C module beside pmlua.core.

local core = require "pmlua.core"
local json = require "pmlua.json"

local M = {}

local VALUES = 65536       -- most values of a recorder in one answer
local NAME_BYTES = 400
local ROWS = 10000         -- most rows in an answer to a client that does not request pages
local PAGE = 2000          -- rows of a page

--- Convert a number for JSON: integers that a double cannot represent become text; NaN and infinities become nil and a reason.
local function portable(v)
  if math.type(v) == "integer" then
    if v > -(1 << 53) and v < 1 << 53 then return v end
    return ("%d"):format(v)
  end
  if v ~= v then return nil, "the value is not a number" end
  if v == math.huge or v == -math.huge then return nil, "the value is infinite" end
  return v
end

local sentence = core.failure.sentence

local quantiles = { min = 0, q1 = 25, median = 50, q3 = 75, max = 100 }

local function recorder_row(row, recorder)
  local r = { count = recorder:count(), dropped = recorder:dropped(), nans = recorder:nans() }
  r.error = recorder:error()
  for name, percent in pairs(quantiles) do
    local v = recorder:quantile(percent)
    if v then r[name] = portable(v) end
  end
  row.value, row.recorder = portable(r.count), r
end

--- Fill in the value, or the reason why it is missing.
local function read_event(row, event)
  if row.kind == "placeholder" then
    row.reason = "no library has registered this event (yet)"
    return
  end
  if row.kind == "recorder" then
    local recorder <close>, why = event:open()
    if not recorder then row.reason = sentence(why) else recorder_row(row, recorder) end
    return
  end
  local v, err = event:read()
  if not v then row.reason = sentence(err) else row.value, row.reason = portable(v) end
end

local function read_row(info)
  local row = { name = info.name, kind = info.kind, type = info.type, writable = info.writable, instant = info.instant }
  if info.description ~= "" then row.description = info.description end
  -- An event that cannot be read gets the reason; the other events are still read.
  local event <close>, err = core.sde.find(info.name)
  if not event then
    row.reason = sentence(err)
    return row
  end
  local done, why = pcall(read_event, row, event)
  if not done then row.value, row.reason = nil, sentence(why) end
  return row
end

local function full_name(name)
  return name:find("^sde:::") and name or "sde:::" .. name
end

--- The events of patterns: a page of them from a place on, or, without a place, all that one answer has room for.
---@param patterns string[]
---@param from integer?
---@return pmlua.SdeInfo[] events, integer? next where the next page begins
local function select_events(patterns, from)
  if from then
    local events, next_from = assert(core.sde.select(patterns, PAGE, from))
    return events, next_from
  end
  local shown, at = {}, 0
  repeat
    local events, next_from = assert(core.sde.select(patterns, ROWS, at))
    table.move(events, 1, #events, #shown + 1, shown)
    if #shown > ROWS or #shown == ROWS and next_from then
      error(("more than %d events match; narrow the pattern"):format(ROWS), 0)
    end
    at = next_from
  until not at
  return shown
end

--- Values of a recorder from its place `first` on.
local function series_row(name, first)
  local event <close>, err = core.sde.find(name)
  if not event then return { name = name, reason = sentence(err) } end
  local info = event:info()
  local recorder <close>, why = event:open()
  if not recorder or info.kind ~= "recorder" then
    return { name = name, kind = info.kind, reason = why and sentence(why) or name .. " is not a recorder" }
  end
  local values = json.array(recorder:values(first, VALUES))
  local reason
  if #values == 0 and recorder:count() >= first then reason = "this recorder keeps a sketch, not its values" end
  for i, v in ipairs(values) do values[i] = type(v) == "number" and portable(v) or 0 / 0 end
  return { name = name, kind = info.kind, type = info.type, values = values, next = first + #values, reason = reason }
end

--- Answer a question for events: each line a pattern, or "+LIB::RECORDER FIRST" for the values of a recorder from a place
--- on, or "<PLACE" for one page of the events from this place on, 0 at first.
---@param payload string
---@return string json { time_s, rows, next }; next is the place of the next page
function M.read(payload)
  local patterns, rows, from, next_from = {}, json.array(), nil, nil
  for line in payload:gmatch("[^\n]+") do
    if #line > NAME_BYTES then error("too long for the name of an event", 0) end
    local name, first = line:match("^%+(.-)%s+(%d+)$")
    local place = line:match("^<(%d%d?%d?%d?%d?%d?%d?%d?%d?%d?)$")
    if place then from = math.tointeger(tonumber(place))
    elseif not name then patterns[#patterns + 1] = (line:gsub("^sde:::", ""))
    else rows[#rows + 1] = series_row(full_name(name), math.max(1, math.tointeger(tonumber(first)) or 1)) end
  end
  local time = core.clock.realtime_ns() / 1e9
  if #patterns > 0 then
    local events
    events, next_from = select_events(patterns, from)
    for _, info in ipairs(events) do rows[#rows + 1] = read_row(info) end
  end
  return json.line { time_s = time, rows = rows, next = next_from }
end

return M
