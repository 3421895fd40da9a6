-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/ranks.lua - how the statistics of tests by ranks are distributed among equals, counted out.
--
-- Try:  print(require("pmlua.internal.ranks").signs(5)[0]) -- that five differences are all positive: 1/32

local M = {}

local known = {}

local function kept(key, make, ...)
  known[key] = known[key] or make(...)
  return known[key]
end

local function signs(n)
  local chance = { [0] = 1.0 }
  for rank = 1, n do
    for s = rank * (rank + 1) // 2, 0, -1 do
      chance[s] = ((chance[s] or 0) + (s >= rank and chance[s - rank] or 0)) / 2
    end
  end
  return chance
end

local function sums(m, n)
  local chance, all = {}, 0 -- chance[k][u]: choices of k of the first ranks, then chances
  for k = 0, m do chance[k] = { [0] = k == 0 and 1.0 or 0.0 } end
  for rank = 1, m + n do
    for k = math.min(rank, m), 1, -1 do
      local step = rank - k -- values of the other set that this one is above
      for u = step, m * n do
        local more = chance[k - 1][u - step]
        if more and more > 0 then chance[k][u] = (chance[k][u] or 0) + more end
      end
    end
  end
  for u = 0, m * n do all = all + chance[m][u] end
  for u = 0, m * n do chance[m][u] = chance[m][u] / all end
  return chance[m]
end

--- Doubled midranks of values, which are integers, and the sum of t^3 - t over ties of t values.
---@return integer[] ranks, number ties
function M.of(values)
  local order, ranks, ties, i = {}, {}, 0, 1
  for k = 1, #values do order[k] = k end
  table.sort(order, function(a, b) return values[a] < values[b] end)
  while i <= #order do
    local j = i
    while order[j + 1] and values[order[j + 1]] == values[order[i]] do j = j + 1 end
    for k = i, j do ranks[order[k]] = i + j end
    local t = j - i + 1
    ties, i = ties + t ^ 3 - t, j + 1
  end
  return ranks, ties
end

--- Chance of each sum, from 0 on, of the ranks of positive values among n.
---@return table<integer, number>
function M.signs(n) return kept(n, signs, n) end

--- Probability of each number, from 0 on, of pairs in which the first set's value exceeds the second's.
---@return table<integer, number>
function M.sums(m, n) return kept(m .. "," .. n, sums, m, n) end

--- Probability of being as far from the middle as `at`, on either side.
---@param chance table<integer, number> of 0 to `last`
function M.two_sided(chance, last, at)
  local sum = 0
  for i = 0, math.min(at, last - at) do sum = sum + chance[i] end
  return math.min(1, 2 * sum)
end

return M
