-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/recent.lua - the values of all series during the last hour, in bounded memory.
--
-- Try:  local recent = require("pmlua.internal.serve.recent").new()
--       recent:add(1, { { key = "a", value = 2 } }); print(recent:history({ 1 }, 0)[1][2])
--
-- A reading is a row: its time and the value of each series, packed as doubles; 8 bytes a value. The last 600 readings are all
-- kept, and older ones of the last hour at most one per second.

local M = {}

local NEW <const>, OLD <const>, APART_S <const> = 600, 3600, 1
local MISSING <const> = 0 / 0

---@class pmlua.Recent
local Recent = {}
Recent.__index = Recent

function M.new()
  return setmetatable({ index = {}, series = {}, new = { n = 0 }, old = { n = 0 }, last = {}, sequence = 0 }, Recent)
end

local function store(ring, size, row)
  ring[ring.n % size + 1] = row
  ring.n = ring.n + 1
end

--- Add a reading.
---@param time_s number
---@param samples { key: string, value: number, [any]: any }[] a sample with a new key becomes a new series, described by it
function Recent:add(time_s, samples)
  local values = {}
  for _, s in ipairs(samples) do
    local i = self.index[s.key]
    if not i then
      i = #self.series + 1
      self.index[s.key], self.series[i] = i, s
    end
    values[i] = s.value
  end
  for i = 1, #self.series do values[i] = values[i] or MISSING end
  self.sequence, self.time_s, self.last = self.sequence + 1, time_s, values
  local packed = {}
  for from = 1, #values, 200 do
    local to = math.min(from + 199, #values)
    packed[#packed + 1] = string.pack(("d"):rep(to - from + 1), table.unpack(values, from, to))
  end
  local row = { time_s = time_s, bytes = table.concat(packed) }
  store(self.new, NEW, row)
  if not self.old.time_s or time_s - self.old.time_s >= APART_S then
    store(self.old, OLD, row)
    self.old.time_s = time_s
  end
end

--- Iterate over the rows of a ring, oldest first.
local function each(ring, size)
  local i = math.max(0, ring.n - size)
  return function()
    i = i + 1
    return i <= ring.n and ring[(i - 1) % size + 1] or nil
  end
end

--- The stored values of some series since a time.
---@param wanted integer[] numbers of series
---@param since_s number
---@return table columns the times, then the values of each series; NaN where there is no value
function Recent:history(wanted, since_s)
  local columns = { {} }
  for k = 1, #wanted do columns[k + 1] = {} end
  local function take(row)
    local n = #columns[1] + 1
    columns[1][n] = row.time_s
    for k, i in ipairs(wanted) do
      columns[k + 1][n] = #row.bytes >= 8 * i and i > 0 and string.unpack("d", row.bytes, 8 * i - 7) or MISSING
    end
  end
  local first_new = self.new.n > 0 and each(self.new, NEW)().time_s or math.huge
  for row in each(self.old, OLD) do
    if row.time_s >= since_s and row.time_s < first_new then take(row) end
  end
  for row in each(self.new, NEW) do
    if row.time_s >= since_s then take(row) end
  end
  return columns
end

return M
