-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_latency/simulated.lua - under pmlua --sim: at which working set a load misses the caches of the model.
--
-- Try:  pmlua --sim scripts/memory_latency.lua --quick
--
-- Times of a simulation mean nothing, and its misses are exact. Two batches less one leave out what linking and walking the
-- slots takes beforehand. A batch is long, for what lies between batches pushes lines out.

local pml = require "pmlua"

local M = {}

local Simulated = {}
Simulated.__index = Simulated

local LEVELS = { { name = "D1", event = "sim::D1mr" }, { name = "LL", event = "sim::DLmr" } }
local LEAST_LOADS, MOST_LOADS = 1 << 15, 1 << 20 -- loads of a batch
local COST = 10 -- cost of a miss, relative to a hit: a knee is a rise by a quarter, one load in 40

--- The simulation that this process runs under; nil: none.
---@return table? simulated with `caches`, rows of caches.dat
function M.open()
  local model = os.getenv "PMLUA_SIM_CACHES"
  local set = os.getenv "PMLUA_SIM" and model and pml.eventset { LEVELS[1].event, LEVELS[2].event }
  if not set then return nil end
  local levels, caches = {}, {}
  for i, level in ipairs(LEVELS) do
    local bytes = math.tointeger(tonumber(model:match(level.name .. "=(%d+)")))
    levels[i] = { name = level.name, bytes = bytes or 0 }
    caches[i] = { level.name, bytes or 0, 1, "simulation" }
  end
  set:start()
  return setmetatable({ set = set, levels = levels, caches = caches }, Simulated)
end

-- The increase of each count by a number of batches.
function Simulated:added(lab, p, loads, batches)
  local walk = setmetatable({ loads = loads }, { __index = lab })
  local before = { self.set:read() }
  if not walk:measure(p, batches) then return nil end
  local after = { self.set:read() }
  for i, n in ipairs(before) do after[i] = after[i] - n end
  return after
end

--- Misses of a load at each level; as many loads as there are slots, so that a cycle is walked to its end.
---@return number[]? misses
function Simulated:misses(lab, p)
  local loads = math.max(LEAST_LOADS, math.min(MOST_LOADS, p.bytes // p.stride))
  collectgarbage "stop" -- it would be counted, in one of the two
  local once, twice = self:added(lab, p, loads, 1), self:added(lab, p, loads, 2)
  collectgarbage "restart"
  if not once or not twice then return nil end
  for i, n in ipairs(twice) do twice[i] = math.max(0, n - once[i]) / loads end
  return twice
end

--- The curve of each level and its knees.
---@param curve table with stride and points, whose sizes are taken
---@return { name: string, bytes: integer, points: number[][], knees: table[] }[]
function Simulated:curves(lab, curve, knees, share)
  local out = {}
  for i, level in ipairs(self.levels) do out[i] = { name = level.name, bytes = level.bytes, points = {}, knees = {} } end
  local function at(bytes) return self:misses(lab, { bytes = bytes, stride = curve.stride, pages = "small" }) end
  for _, p in ipairs(curve.points) do
    local misses = at(p[1])
    for i, level in ipairs(misses and out or {}) do level.points[#level.points + 1] = { p[1], misses[i] } end
  end
  for i, level in ipairs(out) do
    local costs = {}
    for k, p in ipairs(level.points) do costs[k] = { p[1], 1 + COST * p[2] } end
    for _, knee in ipairs(knees.find(costs)) do
      knees.refine(knee, function(bytes)
        local misses = at(bytes)
        return misses and 1 + COST * misses[i]
      end, share, math.max(64, curve.stride))
      knee.before, knee.after = (knee.before - 1) / COST, (knee.after - 1) / COST
      level.knees[#level.knees + 1] = knee
    end
  end
  return out
end

return M
