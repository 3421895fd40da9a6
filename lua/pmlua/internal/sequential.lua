-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/sequential.lua - confidence sequences: 95 % intervals that hold at every look.
--
-- Try:  local s = require("pmlua.internal.sequential");  print(s.median { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9 })
--
-- An interval for a fixed number of values is wrong more often if one looks after each value and stops when the interval suits.
-- Here a capital is bet against a hypothesis, such that no strategy can expect a gain if the hypothesis is true. By Ville's
-- inequality it then ever reaches 20 times its start with a chance of 5 % at most, however often one looks: G. Shafer, Testing by
-- betting, Journal of the Royal Statistical Society A 184 (2021).
--
-- Autocorrelated values count as fewer (dependence.lua): the logarithm of the capital is divided by the square of the widening.

local dependence = require "pmlua.internal.dependence"
local stats = require "pmlua.stats"

local M = {}

local ENOUGH <const> = math.log(20)
local BETS <const> = { 0.25, 0.9 } -- shares of the capital, on either side; each starts with an equal part of it
local PRIOR <const> = 3              -- of the mixture over shares of values below the median: Beta(3, 3)

-- --- the median ---

local log_factorial = { [0] = 0.0 }

local function log_beta(a, b)
  for i = #log_factorial + 1, a + b do log_factorial[i] = log_factorial[i - 1] + math.log(i) end
  return log_factorial[a - 1] + log_factorial[b - 1] - log_factorial[a + b - 1]
end

--- The logarithm of the capital against a value that lies above k of n values.
local function log_capital(k, n) return n * math.log(2) + log_beta(PRIOR + k, PRIOR + n - k) - log_beta(PRIOR, PRIOR) end

--- Interval of the median of any distribution, because values lie below the median with a chance of one half. H. Robbins,
-- Statistical methods related to the law of the iterated logarithm, Annals of Mathematical Statistics 41 (1970).
---@param values number[] in the order in which they were measured
---@return number? low nil: too few values
---@return number? high
function M.median(values)
  local n, k = #values, 0
  local enough = ENOUGH * dependence.of(values).widening ^ 2
  while 2 * k < n and log_capital(k, n) >= enough do k = k + 1 end
  if k == 0 then return nil end
  local sorted = table.move(values, 1, n, 1, {})
  table.sort(sorted)
  return sorted[k], sorted[n + 1 - k]
end

-- --- the center of symmetric differences ---

local Test = {}
Test.__index = Test

--- Test whether differences are symmetric around a value: bet on the sign of each, in proportion to the rank of its distance
-- among the distances so far.
local function test(center)
  local self = setmetatable({ center = center, sorted = {}, log = {}, n = 0 }, Test)
  for k = 1, 2 * #BETS do self.log[k] = -math.log(2 * #BETS) end
  return self
end

M.test = test

--- The place of a number among ascending ones: how many are below it.
local function below(sorted, x)
  local low, high = 1, #sorted + 1
  while low < high do
    local middle = (low + high) // 2
    if sorted[middle] < x then low = middle + 1 else high = middle end
  end
  return low - 1
end

function Test:add(difference)
  local distance, sorted = math.abs(difference - self.center), self.sorted
  local at, equal = below(sorted, distance), 1
  while sorted[at + equal] == distance do equal = equal + 1 end
  table.insert(sorted, at + 1, distance)
  self.n = self.n + 1
  if distance == 0 then return end
  local rank = (at + (equal + 1) / 2) / self.n * (difference > self.center and 1 or -1)
  for k, bet in ipairs(BETS) do
    self.log[2 * k - 1] = self.log[2 * k - 1] + math.log(1 + bet * rank)
    self.log[2 * k] = self.log[2 * k] + math.log(1 - bet * rank)
  end
end

local function sum_of(log, first)
  local most, sum = -math.huge, 0
  for k = first, #log, 2 do most = math.max(most, log[k]) end
  if most == -math.huge then return most end
  for k = first, #log, 2 do sum = sum + math.exp(log[k] - most) end
  return most + math.log(sum)
end

--- The logarithm of the capital, and on which side of the center the differences lie.
---@return number log, integer side 1 or -1
function Test:result()
  local above, under = sum_of(self.log, 1), sum_of(self.log, 2)
  local most = math.max(above, under)
  return most + math.log(math.exp(above - most) + math.exp(under - most)), above >= under and 1 or -1
end

--- Whether the center is excluded; for which the capital is large enough for so many tests.
---@param widening number as of dependence.lua
---@param tests? integer
---@return integer side where the differences lie; 0: not excluded
function Test:excluded(widening, tests)
  local log, side = self:result()
  return log / widening ^ 2 >= ENOUGH + math.log(tests or 1) and side or 0
end

local function capital_at(center, differences)
  local t = test(center)
  for _, d in ipairs(differences) do t:add(d) end
  return (t:result())
end

--- The end of the interval between a value inside and one far outside; nil: it has none.
local function border(differences, enough, inside, outside)
  if capital_at(outside, differences) < enough then return nil end
  while true do
    local middle = inside + (outside - inside) / 2
    if middle == inside or middle == outside then return outside end
    if capital_at(middle, differences) < enough then inside = middle else outside = middle end
  end
end

--- Differences of pairs, as by shift.pairs(): estimate, interval, and the chance of such a capital at any time between equals.
---@param differences number[] two or more, in the order in which they were measured
---@return pmlua.Shift shift without low and high if no interval of finite length exists yet
function M.pairs(differences)
  local found = require "pmlua.internal.shift".pairs(differences)
  local d = dependence.of(differences)
  local low, high = math.huge, -math.huge
  for _, v in ipairs(differences) do low, high = math.min(low, v), math.max(high, v) end
  local far, enough = high - low + math.abs(low) + math.abs(high) + 1, ENOUGH * d.widening ^ 2
  local log = capital_at(0, differences)
  local shift = { estimate = found.estimate, p = math.min(1, math.exp(-log / d.widening ^ 2)),
    low = border(differences, enough, found.estimate, low - far), high = border(differences, enough, found.estimate, high + far) }
  if d.widening > 1 then shift.p_independent, shift.effective = math.min(1, math.exp(-log)), d.effective end
  if not (shift.low and shift.high) then shift.low, shift.high = nil, nil end
  return shift
end

-- --- warm-up ---

--- How many of the first values are warm-up: each lies beyond Tukey's fences of the values after them, on one side. Choose by
-- values that say nothing of differences between the sides, such as the sum of both: then their signs stay fair.
---@param levels number[] of the rounds
---@return integer
function M.warm_up(levels)
  local most = #levels // 4
  for n = most, 1, -1 do
    local s = stats.summary(table.move(levels, n + 1, #levels, 1, {}))
    local reach, above, under = 3 * (s.q3 - s.q1), 0, 0
    for i = 1, n do
      above = above + (levels[i] > s.q3 + reach and 1 or 0)
      under = under + (levels[i] < s.q1 - reach and 1 or 0)
    end
    if above == n or under == n then return n end
  end
  return 0
end

return M
