-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/dependence.lua - the effective number of values for a median, if consecutive values are correlated.
--
-- Try:  print(require("pmlua.internal.dependence").of { 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3 }.effective)
--
-- The correlation of each value's rank with its neighbour's, corrected for the bias of few values: M. G. Kendall, Note on
-- bias in the estimation of autocorrelation, Biometrika 41 (1954). If it is above one standard error (with few values: above
-- 0), the values are modelled as a first-order autoregression, whose n values have the variance of n (1 - r) / (1 + r)
-- independent ones: G. V. Bayley & J. M. Hammersley, The "effective" number of independent observations, JRSS Supplement 8
-- (1946). Intervals widen accordingly, and use Student's t for that number.

---@class pmlua.Dependence
---@field widening number 1: no dependence was seen
---@field effective number how many independent values say as much
---@field df number degrees of freedom of Student's t for these
---@field sure boolean chance alone gives as much in 1 of 100 cases

local M = {}

local FEWEST = 8  -- values for a meaningful correlation
local FEW = 20    -- values: with fewer, a correlation of 0.7 often does not exceed its standard error
local MOST = 0.95 -- largest correlation: beyond it, values carry almost no information
local LEAST_EFFECTIVE = 2.5
local NAMED = 2.33

--- Values in the order in which they were measured.
---@return pmlua.Dependence
function M.of(values)
  local n, product, square = #values, 0, 0
  local none = { widening = 1, effective = n, df = n - 1, sure = false }
  if n < FEWEST then return none end
  local ranks = (require "pmlua.internal.ranks".of(values))
  for i = 1, n do
    ranks[i] = (ranks[i] - n - 1) / 2 -- midranks less their mean
    square = square + ranks[i] ^ 2
    product = product + (ranks[i - 1] or 0) * ranks[i]
  end
  local errors = square > 0 and (product / square + 1 / n) * math.sqrt(n) or 0
  if errors <= (n < FEW and 0 or 1) then return none end
  local r = math.max(0, math.min(MOST, (n * product / square + 1) / (n - 4)))
  local effective = n * (1 - r) / (1 + r)
  local student = require "pmlua.stats".student_quantile
  local df = math.max(effective, LEAST_EFFECTIVE) - 1
  return { widening = math.sqrt(n / effective) * student(0.05, df) / student(0.05, n - 1), effective = effective,
    df = df, sure = errors > NAMED }
end

return M
