-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/residuals/predict.lua - when will a solver converge? A line through the logarithm of its residuals.
--
-- Try:  print(require("residuals.predict").fit({ 1, 0.1, 0.01, 0.001 }, 1, 1e-8).iteration)
--
-- Residuals go up and down (those of CGS by decades), and a solver converges the first time that one is small enough, so the
-- line is fitted to the smallest residual so far. A solver's first steps do not show its trend, so the fit uses only the
-- second half of the part it may see.

local stats = require "pmlua.stats"

local M = {}

local fewest = 4    -- points of a line worth drawing
local close = 0.25  -- a prediction within this share of what happened has come true
local flat = -1e-6  -- decades per iteration: nothing will come of it in a million iterations

---@class residuals.Fit
---@field seen integer iterations that the fit may look at
---@field slope number? decades per iteration
---@field r2 number?
---@field iteration integer? where the residual gets below the target; nil: never, at this slope
---@field first integer? first iteration of the line
---@field intercept number? log10 of the line at iteration 0

--- Fit the first part of a series.
---@param series number[] the residual of iteration 0, 1, ...
---@param part number share of it that is seen
---@param target number the residual to get to
---@return residuals.Fit? fit nil when the series is too short
function M.fit(series, part, target)
  local seen = math.floor((#series - 1) * part)
  local first = seen // 2
  local x, y, least = {}, {}, math.huge
  for k = 0, seen do
    least = math.min(least, series[k + 1])
    if k >= first and least > 0 then x[#x + 1], y[#y + 1] = k, math.log(least, 10) end
  end
  if #x < fewest or target <= 0 then return nil end
  local line = stats.line(x, y)
  local slope = line.each
  local fit = { seen = seen, slope = slope, r2 = line.r2 or 1, first = first, intercept = line.at_zero }
  if slope < flat then
    -- extrapolate from the last point of the series, not from the line
    local left = (math.log(target, 10) - y[#y]) / slope
    fit.iteration = math.max(seen, math.ceil(seen + left))
  end
  return fit
end

--- Judge a prediction by what happened.
---@param fit residuals.Fit?
---@param iterations integer what the solver took, or had when it ended
---@return string verdict, number? error (predicted - actual) / actual, where both are known
function M.judge(fit, converged, iterations)
  if not fit then return "too short" end
  if converged then
    if not fit.iteration then return "unforeseen" end
    local off = (fit.iteration - iterations) / iterations
    return math.abs(off) <= close and "as predicted" or off > 0 and "sooner" or "later", off
  end
  if not fit.iteration then return "as predicted: never" end
  if fit.iteration > iterations then return "as predicted: not yet" end
  return "later"
end

return M
