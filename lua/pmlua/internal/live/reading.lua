-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/reading.lua - the values of a running program's events, as rows by name.
--
-- Try:  pmlua query SOLVER 'sde:::*residual*'
--
-- Values come in the order of the events' names, which a program sends once, and again after they changed
-- (core/source/sde/pml_sde_values.h). No Lua runs in the program for it.

local core = require "pmlua.core"
local directory = require "pmlua.internal.live.directory"
local sentence = core.failure.sentence

local M = {}

---@class pmlua.Reading the events of some patterns in one program, read again and again through one link
local Reading = {}
Reading.__index = Reading

---@param patterns? string[] globs of events; nil: all
function M.new(patterns)
  return setmetatable({ patterns = patterns and "\n" .. table.concat(patterns, "\n") or "", known = 0 }, Reading)
end

--- The question for the values.
function Reading:question() return ("%d"):format(self.known) .. self.patterns end

--- Take the answer.
---@param bytes string
---@return table? answer, pmlua.Failure? failure
function Reading:take(bytes)
  local answer, why = core.metrics.answer(bytes)
  if not answer then return nil, why end
  if answer.events then self.events, self.known = answer.events, answer.generation end
  self.bytes, self.missing = bytes, answer.missing
  return answer
end

--- A number that can be shown and written as JSON, or nil and the reason.
local function finite(v)
  if v ~= v then return nil, "the value is not a number" end
  if v == math.huge or v == -math.huge then return nil, "the value is infinite" end
  return v
end

local statistics = { "dropped", "nans", "min", "q1", "median", "q3", "max", "error" } -- words of a recorder after its count

local function row_of(event, bytes)
  local row = { name = "sde:::" .. event.name, kind = event.kind, type = event.type, writable = event.writable,
    instant = event.instant, description = event.description }
  local value = core.metrics.value(bytes, event.word)
  if value then row.value, row.reason = finite(value)
  elseif event.kind == "placeholder" then row.reason = "no library has registered this event (yet)"
  else row.reason = "it has no value" end
  if event.kind ~= "recorder" then return row end
  row.recorder = { count = value }
  for i, name in ipairs(statistics) do
    local v = core.metrics.value(bytes, event.word + i)
    row.recorder[name] = v and finite(v)
  end
  return row
end

--- The events and their values as of the last answer.
---@return { name: string, kind: string, type: string, value: number?, reason: string?, recorder: table? }[]
function Reading:rows()
  local rows = {}
  for i, event in ipairs(self.events) do rows[i] = row_of(event, self.bytes) end
  return rows
end

--- Ask one program for its events.
---@param app pmlua.Application
---@param link pmlua.Link
---@param patience number seconds
---@return { time_s: number, rows: table[] }? answer, pmlua.Failure? failure, string? code
function Reading:ask(app, link, patience)
  local bytes, err, code = directory.ask(app, link, "values", self:question(), patience)
  if not bytes then return nil, err, code end
  local time_s, answer, why = core.clock.realtime_ns() / 1e9, self:take(bytes)
  if answer then return { time_s = time_s, rows = self:rows() } end
  return core.failure.refuse("EFORMAT", ("%s (%d): cannot read the answer: %s"):format(app.name, app.pid, sentence(why)))
end

local formats = { int64 = "i8", int32 = "i4", double = "d", float = "f" }

--- Ask for the values of a recorder from a place on.
---@param row table of the recorder
---@param first integer
---@return number[]? values, pmlua.Failure? failure, string? code
function M.series(app, link, row, first, patience)
  local bytes, err, code = directory.ask(app, link, "series", ("%d %s"):format(first, row.name), patience)
  if not bytes then return nil, err, code end
  local values, format, at = {}, formats[row.type], 1
  local size = format and format:packsize() or math.huge
  while at + size <= #bytes + 1 do values[#values + 1], at = format:unpack(bytes, at) end
  return values
end

return M
