-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/plugin_overhead/fits.lua - a line through the runs of each subject, and what metrics add to its slope.
--
-- Try:  pmlua scripts/plugin_overhead.lua --quick --no-plot && cat results/plugin_overhead/latest/fits.dat
--
-- Intervals are percentiles of a bootstrap that draws whole rounds of each cell with replacement.

local stats = require "pmlua.stats"
local subjects = require "plugin_overhead.subjects"

local M = {}

--- The time of a run before draining and collecting: median of the rounds.
function M.hot(cell)
  local of = {}
  for i, r in ipairs(cell.rounds) do of[i] = r.extra.hot end
  return #of > 0 and stats.median(of) or nil
end

-- The measured cells of each subject: their counts, and the values of each round in ns.
local function series_of(run, count_of, value)
  local out = {}
  for _, cell in ipairs(run.cells) do
    if cell.summary then
      local s = out[cell.p.subject] or { count = {}, rounds = {} }
      out[cell.p.subject] = s
      local rounds = {}
      for i, r in ipairs(cell.rounds) do rounds[i] = 1e6 * value(r) end
      s.count[#s.count + 1], s.rounds[#s.rounds + 1] = count_of(cell.p), rounds
    end
  end
  return out
end

-- Fit a x^b to points that bend, by a line through the logarithms; how much it explains.
local function power(x, y)
  local log_x, log_y, mean = {}, {}, 0
  for i in ipairs(x) do
    if x[i] <= 0 or y[i] <= 0 then return nil end
    log_x[i], log_y[i], mean = math.log(x[i]), math.log(y[i]), mean + y[i] / #y
  end
  local line = stats.line(log_x, log_y)
  if not line then return nil end
  local fit, left, all = { factor = math.exp(line.at_zero), exponent = line.each }, 0, 0
  for i in ipairs(x) do left, all = left + (y[i] - fit.factor * x[i] ^ fit.exponent) ^ 2, all + (y[i] - mean) ^ 2 end
  fit.r2 = all > 0 and 1 - left / all or nil
  return fit
end

local function medians_of(series, random)
  local medians = {}
  for i, rounds in ipairs(series.rounds) do
    medians[i] = stats.median(random and stats.resample(rounds, random) or rounds)
  end
  return medians
end

-- The line through the medians; with `random`, through the medians of a resample.
local function line(series, random) return stats.line(series.count, medians_of(series, random)) end

-- A statistic of series, and its interval if there are enough rounds.
local function estimate(run, statistic)
  local value = statistic()
  if not value then return nil end
  local low, high
  if run.rounds >= 5 then low, high = stats.bootstrap(statistic, run.seed) end
  return { value = value, low = low, high = high }
end

--- The cost that n >= 1 metrics add to a call: alpha + beta n.
local function metrics_cost(run, series, prefix)
  local function fit(random)
    local base = series.none and line(series.none, random)
    local n, more = {}, {}
    for _, subject in ipairs(subjects.all) do
      local own = subject.name:find("^" .. prefix) and subject.metrics >= 1 and series[subject.name]
      local l = own and line(own, random)
      if l and base then n[#n + 1], more[#more + 1] = subject.metrics, l.each - base.each end
    end
    return #n >= 2 and stats.line(n, more) or nil, power(n, more)
  end
  local straight, bent = fit()
  if not straight then return nil end
  return { r2 = straight.r2, power = bent or {}, alpha = estimate(run, function(random) return fit(random).at_zero end),
    beta = estimate(run, function(random) return fit(random).each end) }
end

--- All fits of a run.
---@param count_of fun(p: table): integer
---@return { lines: table[], metrics: table?, lua: table? }
function M.all(run, count_of)
  local series = series_of(run, count_of, function(r) return r.median end)
  local hot = series_of(run, count_of, function(r) return r.extra.hot end)
  local lines, none = {}, series.none
  for _, subject in ipairs(subjects.all) do
    local own = series[subject.name]
    local l = own and line(own)
    if l then
      local calls = subject.group ~= "values"
      lines[#lines + 1] = {
        subject = subject, line = l, power = power(own.count, medians_of(own)) or {}, last = own.count[#own.count],
        each = estimate(run, function(random) return line(own, random).each end),
        hot = calls and line(hot[subject.name]).each or 0,
        more = calls and none and estimate(run, function(random) return line(own, random).each - line(none, random).each end),
      }
    end
  end
  return { lines = lines, metrics = metrics_cost(run, series, "metrics_"), lua = metrics_cost(run, series, "lua_%d") }
end

return M
