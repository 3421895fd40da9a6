-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_latency/knees.lua - where a curve of latencies leaves a plateau: the capacities of caches.
--
-- Try:  local knees = require "memory_latency.knees"
--       for _, k in ipairs(knees.find { { 1, 2 }, { 2, 2 }, { 4, 2 }, { 8, 9 }, { 16, 9 } }) do print(k.fits, k.exceeds) end

local median = require("pmlua.stats").median

local M = {}

local RISE = 1.25 -- above a plateau by this factor: the working set has left it
local FLAT = 1.10 -- from one size to the next by less: a plateau, if two sizes are

-- From point @i on, the first whose successor is as fast.
local function next_plateau(points, i)
  while i < #points and points[i + 1][2] > points[i][2] * FLAT do i = i + 1 end
  return i
end

-- A disturbance lengthens one size, a knee all that follow.
local function leaves(points, i, level)
  return points[i][2] > level * RISE and (points[i + 1] or points[i])[2] > level * RISE
end

--- The knees of a curve.
---@param points number[][] pairs of size and latency, in the order of sizes
---@return { fits: number, exceeds: number, before: number, after: number }[] knees sizes on both sides, and the latencies of
---the plateaus
function M.find(points)
  local out, i = {}, 1
  while i <= #points do
    local plateau, k = { points[i][2] }, i + 1
    while k <= #points and not leaves(points, k, median(plateau)) do
      plateau[#plateau + 1] = points[k][2]
      k = k + 1
    end
    if k > #points then break end
    local to = next_plateau(points, k)
    out[#out + 1] = { fits = points[k - 1][1], exceeds = points[k][1], before = median(plateau), after = points[to][2] }
    i = to
  end
  return out
end

--- Halve the distance between the sizes of a knee until they differ by less than a share; changes the knee.
---@param knee table of find
---@param measure fun(size: integer): number? latency
---@param share number such as 0.03
---@param grain integer sizes are multiples of it
---@return table knee
function M.refine(knee, measure, share, grain)
  while knee.exceeds - knee.fits > math.max(grain, knee.fits * share) do
    local size = math.floor(math.sqrt(knee.fits * knee.exceeds)) // grain * grain
    if size <= knee.fits then size = knee.fits + grain end
    if size >= knee.exceeds then break end
    local latency = measure(size)
    if not latency then break end
    if latency > knee.before * RISE then knee.exceeds = size else knee.fits = size end
  end
  return knee
end

return M
