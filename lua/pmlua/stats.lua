-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/stats.lua - statistics of a series: quantiles, intervals, outliers, and whether two series differ.
--
-- Try:  local s = require("pmlua.stats").summary{5, 1, 4, 2, 3, 9};  print(s.median, s.median_lo, s.median_hi)
--
-- Everything is distribution-free: run times are skewed, have several modes and a long tail, so that a mean with a
-- standard error says little about them. A series that is empty, or has a NaN or an infinity in it, is answered with
-- nil and a sentence, never with a NaN.

local distributions = require "pmlua.internal.ranks"
local rng = require "pmlua.internal.rng"
local statistics = require("pmlua.core").statistics
local tally = require "pmlua.internal.tally"
local refuse = require "pmlua.core".failure.refuse

---@class pml.stats
local M = {}

-- log C(n, k) by its product; n stays below 1000 here.
local function log_choose(n, k)
  local sum = 0.0
  for i = 1, k do sum = sum + math.log((n - k + i) / i) end
  return sum
end

--- Quantile of the normal distribution, |relative error| < 1.15e-9.
-- P. J. Acklam, An algorithm for computing the inverse normal cumulative distribution function (2003).
---@param p number 0 < p < 1
---@return number
function M.normal_quantile(p)
  if p > 0.5 then return -M.normal_quantile(1 - p) end
  if p < 0.02425 then
    local q = math.sqrt(-2 * math.log(p))
    return (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q - 2.549732539343734) * q
      + 4.374664141464968) * q + 2.938163982698783)
      / ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996) * q + 3.754408661907416) * q + 1)
  end
  local q = p - 0.5
  local r = q * q
  return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r
    + 1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239) * q
    / (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r
    + 6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1)
end

--- Ranks of the order statistics that enclose the median with at least the given confidence.
-- For any distribution, the number of samples below the median is binomial(n, 1/2): J.-Y. Le Boudec, Performance
-- Evaluation of Computer and Communication Systems (2010), theorem 2.1; normal approximation above 1000 samples, ibid.
---@param n integer
---@param level? number 0.95
---@return integer? low, integer|string high or why it cannot be given
function M.median_ranks(n, level)
  local half = (1 - (level or 0.95)) / 2
  if n > 1000 then
    local spread = -M.normal_quantile(half) * math.sqrt(n) / 2
    return math.floor(n / 2 - spread), math.ceil(n / 2 + spread) + 1
  end
  local below, low = 0.0, 0
  while low <= n // 2 do
    below = below + math.exp(log_choose(n, low) - n * math.log(2))
    if below > half then break end
    low = low + 1
  end
  if low == 0 then return refuse("ENODATA", ("%d samples are too few for a confidence interval of the median"):format(n)) end
  return low, n + 1 - low
end

--- Quantile of a series in any order, by the rule of core/record/quantile/pml_quantile.h.
---@param series userdata|number[]|pmlua.Tally
---@param q number 0..1
---@return number? value, pmlua.Failure? failure
function M.quantile(series, q)
  if type(q) ~= "number" or not (q >= 0 and q <= 1) then
    return refuse("EINVAL", ("a quantile must be from 0 to 1, not %s"):format(tostring(q)))
  end
  local t, err = M.tally(series)
  if not t then return nil, err end
  return t:quantile(q)
end

--- The tally of a series; a tally is its own.
---@param series userdata|number[]|pmlua.Tally
---@return pmlua.Tally?, pmlua.Failure? failure
function M.tally(series)
  if type(series) == "table" and series.upto then return series end
  return tally.of(series)
end

---@class pmlua.Summary
---@field n integer
---@field min number
---@field q1 number
---@field median number
---@field q3 number
---@field p95 number
---@field p99 number
---@field max number
---@field mean number
---@field sd number? sample standard deviation; nil for one sample
---@field median_lo number? order-statistic interval of the median, for independent samples; nil if too few
---@field median_hi number?
---@field fence_lo number Tukey's fences: 1.5 IQR below the lower and above the upper quartile
---@field fence_hi number
---@field whisker_lo number the outermost samples inside the fences
---@field whisker_hi number
---@field outliers integer number of samples outside the fences

--- Summarise a series.
---@param series userdata|number[]|pmlua.Tally
---@param level? number confidence of the median's interval, 0.95
---@return pmlua.Summary?, pmlua.Failure? failure
function M.summary(series, level)
  local t, err = M.tally(series)
  if not t then return nil, err end
  local s = {
    n = t.n, min = t.value[1], q1 = t:quantile(0.25), median = t:quantile(0.5), q3 = t:quantile(0.75),
    p95 = t:quantile(0.95), p99 = t:quantile(0.99), max = t.value[#t.value],
  }
  s.mean, s.sd = t:moments()
  local low, high = M.median_ranks(t.n, level)
  if low then s.median_lo, s.median_hi = t:rank(low), t:rank(high) end
  -- J. W. Tukey, Exploratory Data Analysis (1977)
  local reach = 1.5 * (s.q3 - s.q1)
  s.fence_lo, s.fence_hi = s.q1 - reach, s.q3 + reach
  local under, over = t:outside(s.fence_lo, s.fence_hi)
  s.outliers = under + over
  s.whisker_lo, s.whisker_hi = t:whiskers(s.fence_lo, s.fence_hi)
  return s
end

-- The `limit` largest values above `fence` of a pml.samples object; ties at the cut are left out.
local function high_of_samples(series, fence, limit)
  local threshold = math.max(math.floor(fence), 0)
  if #series > limit then
    local sorted <close> = series:copy():sort()
    threshold = math.max(threshold, sorted[#sorted - limit])
  end
  local index, value = series:above(threshold, limit)
  local out = {}
  for i = 1, #index do
    if value[i] > fence then out[#out + 1] = { index = index[i], value = value[i] } end
  end
  return out
end

--- Name the samples outside two fences, largest first; from a pml.samples object only those above the upper one, which
-- are what a machine's disturbances leave.
---@param series userdata|number[] in the order of measuring
---@param fence_lo number
---@param fence_hi number
---@param limit? integer at most that many, 100
---@return {index: integer, value: number}[]
function M.outliers(series, fence_lo, fence_hi, limit)
  limit = limit or 100
  local out
  if type(series) == "userdata" then
    out = high_of_samples(series, fence_hi, limit)
  else
    out = {}
    for i = 1, #series do
      if series[i] < fence_lo or series[i] > fence_hi then out[#out + 1] = { index = i, value = series[i] } end
    end
  end
  table.sort(out, require "pmlua.internal.order".by("-value", "index"))
  for i = #out, limit + 1, -1 do out[i] = nil end
  return out
end

--- Median of a small array.
---@param values number[] not empty
---@return number
function M.median(values)
  local copy = table.move(values, 1, #values, 1, {})
  table.sort(copy)
  return statistics.quantile(copy, nil, 0.5)
end

--- The straight line through points, by ordinary least squares.
---@param x number[]
---@param y number[]
---@return { at_zero: number, each: number, r2: number?, n: integer }? line nil for fewer than two points
function M.line(x, y)
  local n, sx, sy = #x, 0, 0
  if n < 2 then return nil end
  for i = 1, n do sx, sy = sx + x[i], sy + y[i] end
  local mx, my, sxx, sxy, syy = sx / n, sy / n, 0, 0, 0
  for i = 1, n do
    sxx, sxy, syy = sxx + (x[i] - mx) ^ 2, sxy + (x[i] - mx) * (y[i] - my), syy + (y[i] - my) ^ 2
  end
  if sxx == 0 then return nil end
  local each = sxy / sxx
  return { at_zero = my - each * mx, each = each, r2 = syy > 0 and sxy ^ 2 / (sxx * syy) or nil, n = n }
end

--- Percentile interval of a statistic, by resampling with replacement.
-- B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7 (1979). To be used on blocks
-- (rounds): samples inside one round follow each other in microseconds and are autocorrelated, whole rounds are not.
---@param draw fun(random: fun(n: integer): integer): number one value of the statistic on a resample
---@param seed integer
---@param level? number 0.95
---@param replicates? integer 1000
---@return number low, number high
function M.bootstrap(draw, seed, level, replicates)
  local random, values = rng(seed), {}
  for i = 1, replicates or 1000 do values[i] = draw(random) end
  local half = (1 - (level or 0.95)) / 2
  local t = assert(tally.of(values))
  return t:quantile(half), t:quantile(1 - half)
end

--- A resample of an array, with replacement.
---@param values any[]
---@param random fun(n: integer): integer 1 to n
---@return any[]
function M.resample(values, random)
  local out, n = {}, #values
  for i = 1, n do out[i] = values[random(n)] end
  return out
end

-- Between two of the ascending values.
local function at(sorted, position)
  local k = math.min(math.floor(position), #sorted - 1)
  return sorted[k] + (position - k) * (sorted[k + 1] - sorted[k])
end

--- Interval of the median over rounds, between order statistics, by core/record/pml_interval.h; wider if rounds resemble
-- their predecessors (internal/dependence.lua), but never beyond the outermost order statistics,
-- which for five rounds enclose the median in 93.75 % of all cases.
---@param medians number[] one per round, in their order
---@param level? number 0.95
---@return number? low, number|string high or why it cannot be given
function M.rounds_interval(medians, level)
  local n, places = #medians, {}
  for i = 1, n do places[i] = i end
  local place = statistics.median_interval(places, level or 0.95)
  if not place then
    return refuse("ENODATA", ("%d rounds are too few for an interval"):format(n), "measure at least 5")
  end
  local sorted = table.move(medians, 1, n, 1, {})
  table.sort(sorted)
  local distance = ((n + 1) / 2 - place) * require "pmlua.internal.dependence".of(medians).widening
  local low = math.max(1, (n + 1) / 2 - distance)
  return at(sorted, low), at(sorted, n + 1 - low)
end

-- Share of the choices of m out of all ranks whose sum is as far from its mean as the one seen: exact, ties included.
local function exact_p(ranks, m, seen, mean)
  local ways = {} -- ways[k][s]: choices of k ranks with sum s
  for k = 0, m do ways[k] = {} end
  ways[0][0] = 1
  for _, r in ipairs(ranks) do
    for k = m, 1, -1 do
      for s, count in pairs(ways[k - 1]) do ways[k][s + r] = (ways[k][s + r] or 0) + count end
    end
  end
  local all, far = 0.0, 0.0
  for s, count in pairs(ways[m]) do
    all = all + count
    if math.abs(s - mean) >= math.abs(seen - mean) then far = far + count end
  end
  return far / all
end

--- Two-sided p value of a standard normal variate.
-- Abramowitz & Stegun 7.1.26: erfc with an absolute error below 1.5e-7.
---@param z number
---@return number
function M.two_sided_normal(z)
  local x = math.abs(z) / math.sqrt(2)
  local t = 1 / (1 + 0.3275911 * x)
  local poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
  return math.min(1, poly * math.exp(-x * x))
end

--- Two-sided p value of the rank-sum test: do both arrays come from one distribution?
-- Mann & Whitney, Annals of Mathematical Statistics 18 (1947). Exact with midranks up to 40 values together, above that
-- the normal approximation with tie correction.
---@param a number[]
---@param b number[]
---@return number p, number effect how often a value of @a is larger, less how often it is smaller: -1 to 1 (N. Cliff,
--- Psychological Bulletin 114, 1993)
function M.rank_sum(a, b)
  local m, n = #a, #b
  local ranks, ties = distributions.of(table.move(b, 1, n, m + 1, table.move(a, 1, m, 1, {})))
  local seen, total = 0, m + n
  for i = 1, m do seen = seen + ranks[i] end
  local mean = m * (total + 1) -- mean of the sum of doubled ranks
  local effect = (seen - mean) / (m * n)
  if total <= 40 and ties == 0 then
    return distributions.two_sided(distributions.sums(m, n), m * n, seen // 2 - m * (m + 1) // 2), effect
  end
  if total <= 40 then return exact_p(ranks, m, seen, mean), effect end
  local variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
  if variance <= 0 then return 1, effect end
  return M.two_sided_normal(math.max(0, math.abs(seen - mean) / 2 - 0.5) / math.sqrt(variance)), effect
end

-- Share of all choices of signs whose sum of positive ranks is as far from its mean as the one seen: exact, ties included.
local function exact_signs(ranks, seen, mean)
  local ways = { [0] = 1.0 }
  for _, r in ipairs(ranks) do
    local more = {}
    for s, count in pairs(ways) do
      more[s] = (more[s] or 0) + count
      more[s + r] = (more[s + r] or 0) + count
    end
    ways = more
  end
  local far = 0.0
  for s, count in pairs(ways) do
    if math.abs(s - mean) >= math.abs(seen - mean) then far = far + count end
  end
  return far / 2.0 ^ #ranks
end

--- Two-sided p value of the signed-rank test: are the differences of pairs symmetric about zero?
-- F. Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1 (1945). Differences of zero are left out.
-- Exact up to 30 differences, above that the normal approximation with the ranks' own variance.
---@param differences number[]
---@return number p
function M.signed_rank(differences)
  local others, sizes = {}, {}
  for _, d in ipairs(differences) do
    if d ~= 0 then others[#others + 1], sizes[#sizes + 1] = d, math.abs(d) end
  end
  local ranks, seen, all, squares = (distributions.of(sizes)), 0, 0, 0
  for i, r in ipairs(ranks) do
    all, squares = all + r, squares + r * r
    if others[i] > 0 then seen = seen + r end
  end
  if #ranks == 0 then return 1 end
  if #ranks <= 30 and squares == 2 * #ranks * (#ranks + 1) * (2 * #ranks + 1) // 3 then -- no ties
    return distributions.two_sided(distributions.signs(#ranks), all // 2, seen // 2)
  end
  if #ranks <= 30 then return exact_signs(ranks, seen, all / 2) end
  return M.two_sided_normal(math.max(0, math.abs(seen - all / 2) - 1) / math.sqrt(squares / 4))
end

-- Simpson's rule for the integral of cos(x)^k from `from` to half a circle's quarter, pi/2.
local function cosine_tail(k, from)
  local n, sum = 200, 0
  local h = (math.pi / 2 - from) / n
  for i = 0, n do
    local weight = (i == 0 or i == n) and 1 or i % 2 == 1 and 4 or 2
    sum = sum + weight * math.max(math.cos(from + i * h), 0) ^ k
  end
  return sum * h / 3
end

--- Two-sided p value of Student's t, by the substitution t = sqrt(df) tan(x).
---@param t number
---@param df number degrees of freedom, at least 1
---@return number
function M.student(t, df)
  if df > 500 then return M.two_sided_normal(t) end -- too narrow a peak for the integral
  return cosine_tail(df - 1, math.atan(math.abs(t) / math.sqrt(df))) / cosine_tail(df - 1, 0)
end

--- The t that Student's exceeds on either side with a chance of p.
---@param p number
---@param df number degrees of freedom
---@return number
function M.student_quantile(p, df)
  if df > 500 then return -M.normal_quantile(p / 2) end
  local low, high, tail = 0, math.pi / 2, p * cosine_tail(df - 1, 0)
  for _ = 1, 40 do
    local middle = (low + high) / 2
    if cosine_tail(df - 1, middle) > tail then low = middle else high = middle end
  end
  return math.sqrt(df) * math.tan(low)
end

local function mean_and_error(values)
  local mean, sd = statistics.moments(values)
  return mean, sd ^ 2 / #values
end

--- The difference of two means, b - a, with its interval, where the variances may differ.
-- B. L. Welch, The generalization of 'Student's' problem when several different population variances are involved,
-- Biometrika 34 (1947). For a few values that are normal, more or less: with three a side no test of ranks can decide.
---@param a number[] two or more
---@param b number[] two or more
---@param level? number 0.95
---@return number p two-sided
---@return number low, number high
function M.welch(a, b, level)
  local mean_a, error_a = mean_and_error(a)
  local mean_b, error_b = mean_and_error(b)
  local difference, variance = mean_b - mean_a, error_a + error_b
  if variance == 0 then return difference == 0 and 1 or 0, difference, difference end
  local df = variance ^ 2 / (error_a ^ 2 / (#a - 1) + error_b ^ 2 / (#b - 1))
  local reach = M.student_quantile(1 - (level or 0.95), df) * math.sqrt(variance)
  return M.student(difference / math.sqrt(variance), df), difference - reach, difference + reach
end

--- p values corrected for their number, so that the chance of one false alarm among all stays at the level.
-- S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
---@param p number[]
---@return number[]
function M.holm(p)
  local order, out, worst = {}, {}, 0
  for i = 1, #p do order[i] = i end
  table.sort(order, function(a, b) return p[a] < p[b] or (p[a] == p[b] and a < b) end)
  for k, i in ipairs(order) do
    worst = math.max(worst, math.min(1, p[i] * (#p - k + 1)))
    out[i] = worst
  end
  return out
end

return M
