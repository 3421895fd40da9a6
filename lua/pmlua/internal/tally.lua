-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/tally.lua - frequency table: sorted distinct values with their counts, so every quantile is exact,
-- in little memory.
--
-- Try:  local t = require("pmlua.internal.tally").of{3, 1, 3};  print(t.n, t:quantile(0.5))
--
-- Clock ticks are quantised: a million samples of one operation have some hundred distinct values. A frequency table costs
-- 16 bytes per distinct value (never more than 16 bytes per sample), so a whole experiment stays in memory while the
-- samples themselves go to the disk. The runner coarsens larger tables and reports this.

local statistics = require("pmlua.core").statistics
local refuse = require "pmlua.core".failure.refuse

local M = {}

---@class pmlua.Tally
---@field n integer number of samples
---@field value userdata distinct values, ascending, read like an array
---@field upto userdata upto[i] samples are <= value[i]
local Tally = {}
Tally.__index = Tally

--- Tally a series.
---@param series userdata|number[] a pml.samples object (not changed) or an array
---@return pmlua.Tally? tally, pmlua.Failure? failure empty series, or the first value that is not a finite number
function M.of(series)
  if type(series) ~= "userdata" and type(series) ~= "table" then
    return refuse("EINVAL", "samples expected, got a " .. type(series))
  end
  if #series == 0 then return refuse("ENODATA", "no samples") end
  local value, upto = statistics.tally(series)
  if not value then
    local v = series[upto]
    local what = type(v) ~= "number" and "a " .. type(v) or v ~= v and "NaN" or tostring(v)
    return refuse("EINVAL", ("sample %d is %s, not a finite number"):format(upto, what))
  end
  return setmetatable({ n = upto[#upto], value = value, upto = upto }, Tally)
end

--- The tally of both series together.
---@param a pmlua.Tally?
---@param b pmlua.Tally
---@return pmlua.Tally
function M.merge(a, b)
  if not a then return b end
  local value, upto = statistics.merge_tallies(a.value, a.upto, b.value, b.upto)
  return setmetatable({ n = a.n + b.n, value = value, upto = upto }, Tally)
end

-- Index of the first distinct value with upto >= k.
local function find_rank(t, k)
  local low, high = 1, #t.upto
  while low < high do
    local middle = (low + high) // 2
    if t.upto[middle] >= k then high = middle else low = middle + 1 end
  end
  return low
end

--- A tally of at most some 4096 values per octave: inner values rounded to 1/8192 of themselves, the extremes kept.
-- For series that are nearly all distinct values, so that memory stays bounded.
---@param t pmlua.Tally
---@return pmlua.Tally
function M.coarsen(t)
  local values, counts, last = {}, {}, #t.value
  for i, v in ipairs(t.value) do
    if i > 1 and i < last and v ~= 0 then
      local step = 2.0 ^ (math.floor(math.log(math.abs(v), 2)) - 12)
      v = math.max(t.value[1], math.min(math.floor(v / step + 0.5) * step, t.value[last]))
    end
    if v ~= values[#values] then values[#values + 1] = v end
    counts[#values] = t.upto[i]
  end
  return setmetatable({ n = t.n, value = (statistics.tally(values)), upto = (statistics.tally(counts)) }, Tally)
end

--- The k-th smallest sample.
---@param k integer 1..n
---@return number
function Tally:rank(k) return self.value[find_rank(self, k)] end

--- Quantile, by the rule of core/record/quantile/pml_quantile.h.
---@param q number 0..1
---@return number
function Tally:quantile(q) return statistics.quantile(self.value, self.upto, q) end

--- Mean and sample standard deviation (n - 1), by the sums of core/record/pml_sums.h; no sd for one sample.
---@return number mean, number? sd
function Tally:moments() return statistics.moments(self.value, self.upto) end

-- How many samples are below v, or, if `inclusive`, at most v.
local function below(t, v, inclusive)
  local low, high = 0, #t.value
  while low < high do
    local middle = (low + high + 1) // 2
    if t.value[middle] < v or inclusive and t.value[middle] == v then low = middle else high = middle - 1 end
  end
  return low == 0 and 0 or t.upto[low]
end

--- How many samples are at most v.
---@param v number
---@return integer
function Tally:at_most(v) return below(self, v, true) end

--- Samples outside [low, high].
---@param low number
---@param high number
---@return integer under, integer over
function Tally:outside(low, high) return below(self, low), self.n - self:at_most(high) end

--- The samples nearest to the fences that are still inside them: where a box plot's whiskers end.
---@param low number the fences
---@param high number
---@return number low, number high
function Tally:whiskers(low, high)
  local under, over = self:outside(low, high)
  return self:rank(under + 1), self:rank(self.n - over)
end

-- Bin width after Freedman and Diaconis (1981), 2 IQR n^(-1/3), as a multiple of the smallest step between values: a
-- width of zero makes a comb out of a quantised clock.
local function bin_width(t, low, high, bins)
  local step = math.huge
  for i = 2, #t.value do
    if t.value[i] > high then break end
    step = math.min(step, t.value[i] - t.value[i - 1])
  end
  local iqr = t:quantile(0.75) - t:quantile(0.25)
  local width = math.max(2 * iqr * t.n ^ (-1 / 3), (high - low) / bins, step)
  return math.ceil(width / step) * step
end

--- Histogram from the minimum up to the quantile `upper`; larger values are left out, a share that the caller chooses.
---@param bins? integer at most that many bins (100)
---@param upper? number quantile where it ends (0.99)
---@return {low: number, high: number, count: integer}[]
function Tally:histogram(bins, upper)
  bins = bins or 100
  local low, high = self.value[1], self:quantile(upper or 0.99)
  if high == low then return { { low = low, high = low, count = self:at_most(low) } } end
  local width, out, before = bin_width(self, low, high, bins), {}, 0
  local edge = low
  while edge <= high do
    local upto = below(self, edge + width)
    out[#out + 1] = { low = edge, high = edge + width, count = upto - before }
    before, edge = upto, edge + width
  end
  return out
end

return M
