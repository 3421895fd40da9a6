-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/reading.lua - the software-defined events of this process, read by glob, as JSON for clients.
--
-- Try:  print(require("pmlua.internal.live.reading").read("*"))
--
-- Runs inside the application, on the service's thread: needs no C module beside pmlua.core.

local core = require "pmlua.core"
local json = require "pmlua.json"

local M = {}

local CALLBACK_S = 1       -- that a callback of the application may take to give a value
local VALUES = 65536       -- of a recorder, in one answer
local NAME_BYTES = 400
local ROWS = 10000         -- in one answer

--- A glob (* and ?) as the pieces between its stars, each a pattern without repetition.
local function compile_glob(glob)
  local pieces = {}
  for piece in (glob .. "*"):gmatch("([^*]*)%*") do
    pieces[#pieces + 1] = piece:gsub("[^%w%s:_]", "%%%0"):gsub("%%%?", ".")
  end
  if #pieces == 1 then return { exact = "^" .. pieces[1] .. "$" } end
  local length = #glob:match("[^*]*$") -- of what must come last
  return { first = "^" .. pieces[1], middle = { table.unpack(pieces, 2, #pieces - 1) }, last = "^" .. pieces[#pieces] .. "$",
    length = length }
end

--- Whether a name fits: each piece is taken where it comes first, so that nothing is tried twice.
local function fits(name, glob)
  if glob.exact then return name:find(glob.exact) ~= nil end
  local _, at = name:find(glob.first)
  for _, piece in ipairs(glob.middle) do
    if not at then return false end
    _, at = name:find(piece, at + 1)
  end
  return at ~= nil and #name - at >= glob.length and name:find(glob.last, #name - glob.length + 1) ~= nil
end

--- A number as JSON can carry it: what a double cannot hold is text, what JSON has no word for is a reason.
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
  local v, err = event:read(CALLBACK_S)
  if not v then row.reason = sentence(err) else row.value, row.reason = portable(v) end
end

local function read_row(info)
  local row = { name = info.name, kind = info.kind, type = info.type, writable = info.writable }
  if info.description ~= "" then row.description = info.description end
  -- One event that cannot be read says so; the others are read all the same.
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

local function fits_any(name, globs)
  for _, glob in ipairs(globs) do
    if fits(name, glob) then return true end
  end
  return false
end

--- A recorder is shown with its quantiles; RECORDER:MED and its like only where the recorder itself was not asked for.
local function select_events(globs)
  local selected, recorders = {}, {}
  for _, info in ipairs(core.sde.list()) do
    if fits_any(info.name, globs) then
      selected[#selected + 1] = info
      recorders[info.name] = info.kind == "recorder" or nil
    end
  end
  local shown = {}
  for _, info in ipairs(selected) do
    local derived = info.kind == "quantile" or info.kind == "count"
    if not derived or not recorders[info.name:match("^(.*):%w+$")] then shown[#shown + 1] = info end
  end
  if #shown > ROWS then
    error(("%d events match; at most %d are read at once, so narrow the pattern"):format(#shown, ROWS), 0)
  end
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

--- Answer a question for events: each line a glob, or "+LIB::RECORDER FIRST" for the values of a recorder from a place on.
---@param payload string
---@return string json { time_s, rows }
function M.read(payload)
  local globs, rows = {}, json.array()
  for line in payload:gmatch("[^\n]+") do
    if #line > NAME_BYTES then error("too long for the name of an event", 0) end
    local name, first = line:match("^%+(.-)%s+(%d+)$")
    if not name then globs[#globs + 1] = compile_glob(full_name(line))
    else rows[#rows + 1] = series_row(full_name(name), math.max(1, math.tointeger(tonumber(first)) or 1)) end
  end
  local time = core.clock.realtime_ns() / 1e9
  if #globs > 0 then
    for _, info in ipairs(select_events(globs)) do rows[#rows + 1] = read_row(info) end
  end
  return json.line { time_s = time, rows = rows }
end

return M
