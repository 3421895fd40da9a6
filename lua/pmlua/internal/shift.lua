-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/shift.lua - how far some values lie above others: an estimate, its interval, and how likely equals are
-- to lie as far apart.
--
-- Try:  local s = require("pmlua.internal.shift").pairs { 0.1, 0.3, 0.2, 0.2, 0.1 };  print(s.estimate, s.low, s.high, s.p)
--
-- By ranks, so that nothing is assumed of the values' distribution but, of pairs, that their differences are symmetric:
-- J. L. Hodges & E. L. Lehmann, Estimates of location based on rank tests, Annals of Mathematical Statistics 34 (1963), and
-- the intervals of M. Hollander, D. A. Wolfe & E. Chicken, Nonparametric Statistical Methods (2014), sections 3.3 and 4.3,
-- between two of whose ends the interval lies on the line to the next.

local dependence = require "pmlua.internal.dependence"
local ranks = require "pmlua.internal.ranks"
local statistics = require("pmlua.core").statistics
local stats = require "pmlua.stats"

---@class pmlua.Shift
---@field estimate number
---@field low number 95 % interval
---@field high number
---@field p number two-sided
---@field p_independent number? the same for values that do not depend on the ones before
---@field effective number? how many independent values say as much, where they depend

--- fewest_ranked: pairs from which on ranks can decide at the level, with some to spare.
local M = { fewest_ranked = 8 }

local LEVEL = 0.95
local EXACT = 40     -- values up to which the ranks' distribution is counted out

local function sorted(values)
  local copy = table.move(values, 1, #values, 1, {})
  table.sort(copy)
  return copy
end

--- The k-th smallest of so many numbers that only count themselves: where as many are at most x. Bisects until no number
--- lies between.
local function select(k, at_most, low, high)
  if at_most(low) >= k then return low end
  while true do
    local middle = low + (high - low) / 2
    if middle <= low or middle >= high then return high end
    if at_most(middle) >= k then high = middle else low = middle end
  end
end

--- How many means of two of the ascending values, or of one, are at most x.
local function means_below(v)
  return function(x)
    local count, j = 0, #v
    for i = 1, #v do
      while j >= i and (v[i] + v[j]) / 2 > x do j = j - 1 end
      if j < i then break end
      count = count + j - i + 1
    end
    return count
  end
end

--- How many differences of one of b and one of a, both ascending, are at most x.
local function differences_below(a, b)
  return function(x)
    local count, j = 0, 0
    for i = 1, #a do
      while j < #b and b[j + 1] - a[i] <= x do j = j + 1 end
      count = count + j
    end
    return count
  end
end

--- The place of the interval's end among the ordered numbers, and how far it is to the next: k and part.
local function place(chance)
  local alpha, outside, k = 1 - LEVEL, 2 * chance[0], 1
  while true do
    local next_outside = outside + 2 * chance[k]
    if next_outside > alpha then return k, (alpha - outside) / (next_outside - outside) end
    outside, k = next_outside, k + 1
  end
end

local function normal_place(mean, variance)
  local at = math.max(1, mean + 0.5 + stats.normal_quantile((1 - LEVEL) / 2) * math.sqrt(variance))
  return math.floor(at), at - math.floor(at)
end

local function between(k, part, at_most, low, high)
  local here, beyond = select(k, at_most, low, high), select(k + 1, at_most, low, high)
  return here + part * (beyond - here)
end

--- Estimate and interval from the ordered numbers of which `all` there are, `widening` times as far from the middle.
local function of_ordered(all, k, part, widening, at_most, low, high)
  if widening > 1 then
    local at = math.max(1, (all + 1) / 2 - ((all + 1) / 2 - k - part) * widening)
    k, part = math.floor(at), at - math.floor(at)
  end
  local middle = (select((all + 1) // 2, at_most, low, high) + select(all // 2 + 1, at_most, low, high)) / 2
  return { estimate = middle, low = between(k, part, at_most, low, high),
    high = between(all - k, 1 - part, at_most, low, high) }
end

--- The p value for dependent values: by Student's t of the effective number of values, if it is larger than @p of the
-- ranks. Ranks alone cannot decide with so few: four values never give p below 0.125, however far apart the sides are.
local function depend(shift, p, variance, df, effective)
  local error = math.sqrt(variance)
  shift.p_independent, shift.effective = p, effective
  shift.p = math.max(p, error > 0 and stats.student(shift.estimate / error, df) or shift.estimate == 0 and 1 or 0)
  return shift
end

--- The variance of a mean of values that are worth so many independent ones.
local function variance_of(values, effective)
  local _, sd = statistics.moments(values)
  return sd ^ 2 / effective
end

local function by_student(values)
  local mean, sd = statistics.moments(values)
  if sd == 0 then return { estimate = mean, low = mean, high = mean, p = mean == 0 and 1 or 0 } end
  local error, df = sd / math.sqrt(#values), #values - 1
  local reach = stats.student_quantile(1 - LEVEL, df) * error
  return { estimate = mean, low = mean - reach, high = mean + reach, p = stats.student(mean / error, df) }
end

--- Differences of pairs in their order: signed ranks; of fewer than 8, by which no ranks decide,
-- Student's t, whose level symmetry keeps.
---@param differences number[] two or more
---@return pmlua.Shift
function M.pairs(differences)
  local n = #differences
  if n < M.fewest_ranked then return by_student(differences) end
  local v = sorted(differences)
  local k, part
  if n <= EXACT then
    k, part = place(ranks.signs(n))
  else
    k, part = normal_place(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24)
  end
  local d = dependence.of(differences)
  local shift = of_ordered(n * (n + 1) // 2, k, part, d.widening, means_below(v), v[1], v[n])
  shift.p = stats.signed_rank(differences)
  return d.widening > 1 and depend(shift, shift.p, variance_of(differences, d.effective), d.df, d.effective) or shift
end

--- Two sets of values, each in its order, that have nothing to do with each other: rank sums.
---@return pmlua.Shift of b from a
function M.sets(a, b)
  local m, n = #a, #b
  local u, v = sorted(a), sorted(b)
  local k, part
  if m + n <= EXACT then
    k, part = place(ranks.sums(m, n))
  else
    k, part = normal_place(m * n / 2, m * n * (m + n + 1) / 12)
  end
  local d, e = dependence.of(a), dependence.of(b)
  local widening = math.sqrt((d.widening ^ 2 + e.widening ^ 2) / 2)
  local shift = of_ordered(m * n, k, part, widening, differences_below(u, v), v[1] - u[m], v[n] - u[1])
  shift.p = stats.rank_sum(a, b)
  if widening <= 1 then return shift end
  local variance = variance_of(a, d.effective) + variance_of(b, e.effective)
  return depend(shift, shift.p, variance, math.min(d.df, e.df), math.min(d.effective, e.effective))
end

--- The same shift, where something that its values do not show may have moved them all: a normal variate of that deviation.
-- Both are put together as uncertainties of type A and B are: JCGM 100, Guide to the expression of uncertainty in measurement
-- (2008), 5.1.2; each end of the interval by its own distance.
---@return pmlua.Shift
function M.widened(shift, sd)
  local z = -stats.normal_quantile((1 - LEVEL) / 2)
  local function away(distance) return math.sqrt(distance ^ 2 + (z * sd) ^ 2) end
  local low, high = shift.estimate - away(shift.estimate - shift.low), shift.estimate + away(shift.high - shift.estimate)
  local near = shift.estimate > 0 and shift.estimate - low or high - shift.estimate
  local p = math.max(shift.p, stats.two_sided_normal(near > 0 and shift.estimate / near * z or 0))
  return { estimate = shift.estimate, low = low, high = high, p = p, p_independent = shift.p_independent,
    effective = shift.effective }
end

--- Means of two sets, whose values are few and normal: starts of a program.
---@param a number[] two or more
---@param b number[] two or more
---@return pmlua.Shift of b from a
function M.starts(a, b)
  local p, low, high = stats.welch(a, b, LEVEL)
  return { estimate = (low + high) / 2, low = low, high = high, p = p }
end

return M
