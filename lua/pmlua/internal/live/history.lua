-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/history.lua - the series of an event's values that a watch rule gets beside the newest value.
--
-- Try:  pml.sde.watch("sde:::DEMO::steps", "1s", function(value, series) print(value, series:slope(10)) end)
--
-- For a counter the series contains the samples of the watch: series[1] to series[#series], oldest first, series.time[i] in
-- seconds of the monotonic clock; when it is full, the oldest is dropped. For a recorder it is the recorder's elements,
-- read in place, so that a long series costs no memory here; elements of several threads are in the order of threads.

local M = {}

local NEW = 65536
local SLOPE = 1000 -- default number of recorder elements, or samples, for a slope

--- Least squares; nil for fewer than two points or points at one place.
local function slope(x, y)
  local n, mx, my = #y, 0.0, 0.0
  for i = 1, n do mx, my = mx + x[i] / n, my + y[i] / n end
  local xx, xy = 0.0, 0.0
  for i = 1, n do
    local dx = x[i] - mx
    xx, xy = xx + dx * dx, xy + dx * (y[i] - my)
  end
  return n > 1 and xx > 0 and xy / xx or nil
end

-- --- counters ---

--- A watch rule's view of an event: the last values, oldest first; `series[i]`, `#series`, and `series.time[i]` in seconds.
---@class pmlua.WatchedSamples
local Samples = {}

local function place(self, i)
  local first = self.written - self.kept -- overwritten samples
  if math.type(i) ~= "integer" or i < 1 or i > self.kept then return nil end
  return (first + i - 1) % self.keep + 1
end

local samples_meta = {
  __len = function(self) return self.kept end,
  __index = function(self, key)
    local at = type(key) == "number" and place(self, math.tointeger(key))
    if at then return self.value[at] end
    return Samples[key]
  end,
}

---@param keep integer samples
function M.of_samples(keep)
  local self = { value = {}, at = {}, keep = keep, kept = 0, written = 0 }
  self.time = setmetatable({}, {
    __len = function() return self.kept end,
    __index = function(_, i)
      local at = type(i) == "number" and place(self, math.tointeger(i))
      return at and self.at[at] or nil
    end,
  })
  return setmetatable(self, samples_meta)
end

--- Read the event once more.
---@package
---@return number? value, string? err
function Samples:sample(event, now_s)
  local value, err = event:read()
  if not value then return nil, err end
  local at = self.written % self.keep + 1
  self.value[at], self.at[at] = value, now_s
  self.written, self.kept = self.written + 1, math.min(self.kept + 1, self.keep)
  return value
end

--- The last n samples, the oldest of them first.
---@param n integer
---@return number[] values, number[] times
function Samples:last(n)
  local values, times = {}, {}
  for i = math.max(1, self.kept - n + 1), self.kept do
    values[#values + 1], times[#times + 1] = self[i], self.time[i]
  end
  return values, times
end

--- How fast the value changes over the last n samples, per second.
---@param n? integer
---@return number?
function Samples:slope(n)
  local values, times = self:last(n or SLOPE)
  return slope(times, values)
end

-- --- recorders ---

--- A watch rule's view of a recorder: its elements; `series[i]`, `#series`, and the number of resets: `series.resets`.
---@class pmlua.WatchedElements
local Elements = {}

local elements_meta = {
  __len = function(self) return self.count end,
  __index = function(self, key)
    if type(key) ~= "number" then return Elements[key] end
    local i = math.tointeger(key)
    if not i or i < 1 or i > self.count then return nil end
    return self.recorder:values(i, 1)[1]
  end,
}

function M.of_recorder()
  return setmetatable({ count = 0, seen = 0, resets = 0 }, elements_meta)
end

--- Read the recorder's newest element; nil while it is empty. After a reset, or when it was unregistered and registered
--- again, the series starts again: series.resets counts this.
---@package
function Elements:sample(event)
  local recorder, err = event:open()
  if not recorder then return nil, err end
  local old = rawget(self, "recorder")
  if old then old:close() end
  self.recorder = recorder
  local epoch = recorder:epoch()
  self.seen = self.count
  if epoch ~= rawget(self, "epoch") then
    self.resets = rawget(self, "epoch") and self.resets + 1 or 0
    self.epoch, self.seen = epoch, 0
  end
  self.count = recorder:count()
  if self.count == 0 then return nil end
  local value = recorder:values(self.count, 1)[1]
  if value == nil and recorder:error() > 0 then return nil, "a sketch has no elements; watch its :MED or :CNT" end
  return value
end

--- The elements that came since the rule looked last; of more than 65,536 the newest.
---@return number[]
function Elements:new()
  local n = math.min(self.count - self.seen, NEW)
  return self.recorder:values(self.count - n + 1, n)
end

--- The last n elements, the oldest of them first.
---@param n integer
---@return number[]
function Elements:last(n)
  local first = math.max(1, self.count - n + 1)
  return self.recorder:values(first, self.count - first + 1)
end

--- How fast the value changes over the last n elements, per element: a recorder knows no times.
---@param n? integer
---@return number?
function Elements:slope(n)
  local values, places = self:last(n or SLOPE), {}
  for i = 1, #values do places[i] = i end
  return slope(places, values)
end

return M
