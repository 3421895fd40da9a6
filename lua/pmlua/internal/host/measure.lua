-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/host/measure.lua - functions that collect the values of host metrics, made from their descriptions.
--
-- A metric of a source (memory, network ...) is an event as for pml.plugin.define, with these additional fields:
--
--   path, parse   the file below the root, and a function that converts its text to a table of numbers
--   read          instead of these: a function that returns the table
--   key           the metric's number: its key in the table, or a function of the table
--   how           "level": the number itself; "since": its growth since the start; "rate": its growth per second
--   wrap          for growing numbers: the value at which it wraps to 0
--   least_s       for a rate: the shortest interval; there is no value before it has passed
--   most          for a rate: its maximum, a number or a key of the table; an excess, caused by late counting, goes into the
--                 next value, so that no count is lost
--   factor        the number is multiplied by this
--   reason        why this machine lacks the metric, which then has a name and no other field
--
-- A file is read once for all its metrics; its numbers may carry their time in `ns`. If a file cannot be read or parsed at
-- some time, its metrics have no value at that time.

local clock = require "pmlua.core".clock

local M = {}

--- The growth of a counter since its last reading. A counter that decreased has wrapped, or was reset.
local function growth(now, before, wrap)
  local step = now - before
  if step >= 0 then return step end
  if wrap and before <= wrap then return step + wrap end
  return nil
end
M.growth = growth

local how = {}

function how.level(_, v) return v end

function how.since(state, v, _, metric)
  if state.last then state.sum = state.sum + (growth(v, state.last, metric.wrap) or 0)
  else state.sum = 0 end
  state.last = v
  return state.sum
end

function how.rate(state, v, ns, metric, numbers)
  local before, before_ns = state.last, state.ns
  if before and (ns <= before_ns or ns - before_ns < (metric.least_s or 0) * 1e9) then return nil end
  local step = before and growth(v, before, metric.wrap)
  state.last, state.ns = v, ns
  if not step then return nil end
  local most, seconds = metric.most, (ns - before_ns) * 1e-9
  if type(most) == "string" then most = numbers[most] end
  local counted = most and math.min(step, most * seconds / (metric.factor or 1)) or step
  state.last = v - (step - counted)
  return counted / seconds
end

local function value_of(metric, numbers, state, ns)
  local v
  if type(metric.key) == "function" then v = metric.key(numbers)
  else v = numbers[metric.key or "value"] end
  if not v then return nil end
  v = how[metric.how or "level"](state, v, ns, metric, numbers)
  if not v then return nil end
  local factor = metric.factor or 1
  if metric.type == "float" then return v * factor + 0.0 end
  if math.abs(v) > math.maxinteger // factor then return nil end -- no machine has that much of anything
  return math.tointeger(v * factor)
end

--- A function that gives the values of these metrics by their names.
---@param now? fun(): integer the clock, in ns
---@return fun(): table<string, number>
function M.collector(files, metrics, now)
  now = now or clock.ns
  local order, byfile = {}, {}
  for _, metric in ipairs(metrics) do
    local source = metric.read or metric.path
    local file = source and byfile[source]
    if source and not file then
      file = { path = metric.path, parse = metric.parse, read = metric.read, metrics = {} }
      byfile[source], order[#order + 1] = file, file
    end
    if file then file.metrics[#file.metrics + 1] = { metric = metric, state = {} } end
  end
  return function()
    local values = {}
    for _, file in ipairs(order) do
      local text = not file.read and files:read(file.path)
      local ns = now()
      local numbers = file.read and file.read() or text and file.parse(text) or {}
      ns = numbers.ns or ns
      for _, m in ipairs(file.metrics) do values[m.metric.name] = value_of(m.metric, numbers, m.state, ns) end
    end
    return values
  end
end

return M
