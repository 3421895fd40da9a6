-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/shape.lua - detect samples that are not steady: a drift, a step, or two modes.
--
-- Try:  print(require("pmlua.internal.shape").trend { 10, 10.1, 10.3, 10.2, 10.5, 10.6, 10.6, 10.8 }.text)
--
-- A median does not describe rounds that get slower and slower, or samples that are either fast or slow. Effects below
-- a hundredth of the median, or that may well be chance, are ignored.

local dependence = require "pmlua.internal.dependence"
local stats = require "pmlua.stats"

---@class pmlua.Trend
---@field p number chance of as much among rounds in any order
---@field extent number from the first round to the last, or of the step, as a share of the median
---@field step integer? first round behind the step; nil: a drift
---@field text string? what to call it, if it is worth a word

local M = {}

local SURE, WORTH = 0.01, 0.01
local FEWEST = 6            -- rounds; of fewer, any order may be chance
local MOST = 100            -- values in their order: of more, neighbours are put together
local POINTS = 512          -- of a distribution that a dip is looked for in
local LEAST_SHARE = 0.1     -- of all samples, in the smaller mode
local DIP = 0.02            -- of distributions with two modes that are worth a word

local function slice_median(values, first, last) return stats.median(table.move(values, first, last, 1, {})) end

local function sign(x) return x > 0 and 1 or x < 0 and -1 or 0 end

--- Slopes of all pairs, how many more rise than fall, and of those across the end of each value.
local function pairs_of(values)
  local n, slopes, s, across = #values, {}, 0, {}
  for i = 1, n do
    across[i] = across[i - 1] or 0
    for j = 1, n do
      local rise = sign(values[j] - values[i])
      across[i] = across[i] + rise
      if j > i then slopes[#slopes + 1], s = (values[j] - values[i]) / (j - i), s + rise end
    end
  end
  return slopes, s, across
end

--- At most this many values, each the median of neighbours; and the number of values in each.
local function thinned(values)
  local each, out = math.max(1, #values // MOST), {}
  if each == 1 then return values, 1 end
  for i = 1, #values // each do out[i] = slice_median(values, (i - 1) * each + 1, i * each) end
  return out, each
end

local function distance(values, model)
  local sum = 0
  for i, v in ipairs(values) do sum = sum + math.abs(v - model(i)) end
  return sum
end

--- Fit a line, M. G. Kendall, Rank correlation methods (1975) and P. K. Sen, Estimates of the regression coefficient based on
-- Kendall's tau, JASA 63 (1968), or two levels, A. N. Pettitt, A non-parametric approach to the change-point problem, Applied
-- Statistics 28 (1979); return the fit that is nearer to the values.
---@param values number[] of rounds in their order
---@return pmlua.Trend? trend nil: too few values
function M.trend(values)
  local each
  values, each = thinned(values)
  local n, middle = #values, #values > 0 and stats.median(values) or 0
  if n < FEWEST or middle == 0 then return nil end
  local slopes, s, across = pairs_of(values)
  local slope, at = stats.median(slopes), 1
  local line = { extent = slope * (n - 1) / math.abs(middle),
    p = stats.two_sided_normal(math.max(0, math.abs(s) - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)) }
  for t = 2, n - 1 do
    if math.abs(across[t]) > math.abs(across[at]) then at = t end
  end
  local low, high = slice_median(values, 1, at), slice_median(values, at + 1, n)
  local step = { extent = (high - low) / math.abs(middle), step = at * each + 1,
    p = math.min(1, 2 * math.exp(-6 * across[at] ^ 2 / (n ^ 3 + n ^ 2))) }
  local offset = {}
  for i, v in ipairs(values) do offset[i] = v - slope * i end
  local start = stats.median(offset)
  local of_line = distance(values, function(i) return start + slope * i end)
  local of_step = distance(values, function(i) return i <= at and low or high end)
  local trend, other = line, step
  if of_step < of_line then trend, other = step, line end
  if trend.p > SURE and other.p <= SURE then trend = other end
  if trend.p <= SURE and math.abs(trend.extent) >= WORTH then
    trend.text = trend.step and ("steps by %+.2g %% at round %d"):format(trend.extent * 100, trend.step)
      or ("drifts by %+.2g %%"):format(trend.extent * 100)
  end
  return trend
end

--- The distribution function at some points between values, so that a clock's quantum makes no steps.
local function points_of(t)
  local x, f, n = {}, {}, #t.value
  local every = math.max(1, n // POINTS)
  for i = 1, n - 1 do
    if i % every == 0 then x[#x + 1], f[#f + 1] = (t.value[i] + t.value[i + 1]) / 2, t.upto[i] / t.n end
  end
  return x, f
end

--- By how much the points from first to last, in that direction, lie above the greatest convex function below them.
local function above_convex(x, f, first, last)
  local step, hull, worst = first <= last and 1 or -1, {}, 0
  for i = first, last, step do
    while #hull > 1 do
      local a, b = hull[#hull - 1], hull[#hull]
      if (f[b] - f[a]) * (x[i] - x[a]) * step < (f[i] - f[a]) * (x[b] - x[a]) * step then break end
      hull[#hull] = nil
    end
    hull[#hull + 1] = i
  end
  for k = 2, #hull do
    local a, b = hull[k - 1], hull[k]
    for i = a, b, step do worst = math.max(worst, f[i] - f[a] - (f[b] - f[a]) * (x[i] - x[a]) / (x[b] - x[a])) end
  end
  return worst
end

--- How far a distribution is from all that have one mode: J. A. Hartigan & P. M. Hartigan, The dip test of unimodality,
-- Annals of Statistics 13 (1985). Convex up to the mode, concave behind it: the mode is where both miss by the same.
local function dip(x, f)
  local mirrored = {}
  for i = 1, #f do mirrored[i] = -f[i] end
  local low, high = 1, #x
  while high - low > 1 do
    local middle = (low + high) // 2
    if above_convex(x, f, 1, middle) > above_convex(x, mirrored, middle, #x) then high = middle else low = middle end
  end
  local function miss(mode) return math.max(above_convex(x, f, 1, mode), above_convex(x, mirrored, mode, #x)) end
  return math.min(miss(low), miss(high)) / 2
end

--- Where two groups are apart at most: N. Otsu, A threshold selection method from gray-level histograms, IEEE Transactions on
-- Systems, Man and Cybernetics 9 (1979).
local function split(t)
  local mean, best, at = t:moments(), 0, 1
  local sum, before = 0.0, 0
  for i = 1, #t.value - 1 do
    sum, before = sum + (t.value[i] - mean) * (t.upto[i] - before), t.upto[i]
    local apart = sum ^ 2 / (t.upto[i] * (t.n - t.upto[i]))
    if apart > best then best, at = apart, i end
  end
  return at
end

--- Medians and shares of two modes, if samples have them.
---@param t pmlua.Tally
---@param scale? number of the unit that is shown
---@param unit? string
---@return string? text
function M.modes(t, scale, unit)
  local x, f = points_of(t)
  -- 1 of 100 uniform distributions has a larger dip
  if #x < 8 or dip(x, f) < math.max(DIP, 0.68 / math.sqrt(t.n)) then return nil end
  local at = split(t)
  local share = t.upto[at] / t.n
  local low, high = t:quantile(share / 2), t:quantile((1 + share) / 2)
  if math.min(share, 1 - share) < LEAST_SHARE or high - low < WORTH * math.abs(t:quantile(0.5)) then return nil end
  local function value(v)
    return require "pmlua.tabulate".number(v * (scale or 1)) .. (unit and unit ~= "" and " " .. unit or "")
  end
  return ("two modes: %s (%.0f %%) and %s"):format(value(low), share * 100, value(high))
end

--- Describe a cell's rounds and samples.
---@param medians number[] of the rounds, in their order
---@param t pmlua.Tally of all samples
---@param scale? number
---@param unit? string that the scale leads to
---@return string text "steady", or what is not
function M.of(medians, t, scale, unit)
  local trend, said = M.trend(medians), {}
  said[1] = trend and trend.text
  local d = dependence.of(medians)
  if #said == 0 and d.sure then
    said[1] = ("autocorrelated: %d rounds count as %.0f"):format(#medians, math.max(1, d.effective))
  end
  said[#said + 1] = M.modes(t, scale, unit)
  return #said > 0 and table.concat(said, ", ") or "steady"
end

return M
