-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/until_certain.lua - how many rounds pmlua bench --until-verdict takes, and how often it is wrong between equals.
--
-- Try:  pmlua scripts/until_certain.lua --quick
--
-- Draws pairs whose difference is known: logarithms of the ratio are normal around the effect. A sequence looks after each pair
-- and stops when equality is excluded. The fixed plan for comparison has the number of pairs that Wilcoxon's test needs to find
-- the effect with the power asked for (95 % level): (z + z')^2 sd^2 / effect^2 * pi / 3, because the test's efficiency for normal
-- differences is 3 / pi. E. L. Lehmann, Nonparametrics: statistical methods based on ranks (1975), section 4.2.

local pml = require "pmlua"
local sequential = require "pmlua.internal.sequential"
local stats = require "pmlua.stats"

local function normal(rng) return stats.normal_quantile(rng()) end

--- Numbers between 0 and 1, the same for the same seed: splitmix64, G. L. Steele and others, Fast splittable pseudorandom number
-- generators (2014).
local function uniform(seed)
  local state = seed
  return function()
    state = state + 0x9e3779b97f4a7c15
    local z = (state ~ (state >> 30)) * 0xbf58476d1ce4e5b9
    z = (z ~ (z >> 27)) * 0x94d049bb133111eb
    return (((z ~ (z >> 31)) >> 11) + 0.5) / 2.0 ^ 53
  end
end

--- Pairs until equality is excluded, at most `most`; and on which side the differences were found.
local function pairs_until(effect, spread, most, rng)
  local test = sequential.test(0)
  for n = 1, most do
    test:add(effect + spread * normal(rng))
    local side = test:excluded(1)
    if side ~= 0 then return n, side end
  end
  return most, 0
end

--- The same for a fixed number of pairs.
local function pairs_fixed(effect, spread, n, rng)
  local differences, sum = {}, 0
  for i = 1, n do
    differences[i] = effect + spread * normal(rng)
    sum = sum + differences[i]
  end
  return n, stats.signed_rank(differences) <= 0.05 and (sum > 0 and 1 or -1) or 0
end

local function fixed_number(effect, spread, power)
  local z = -stats.normal_quantile(0.025) + stats.normal_quantile(power)
  return math.max(6, math.ceil((z * spread / effect) ^ 2 * math.pi / 3)) -- six signs are the fewest that can decide
end

return pml.experiment {
  name = "until_certain",
  description = "rounds until a verdict, beside a fixed number of rounds",
  factors = { { "effect", { 0, 1, 2, 3, 5, 10 } }, { "plan", { "until a verdict", "fixed" } } },
  constraints = function(p) return p.plan ~= "fixed" or p.effect > 0 end,
  repeats = 2000, rounds = 10, warmup = 0,
  quick = { repeats = 500, rounds = 5 },
  unit = "rounds",
  units = { effect = "%" },
  help = { effect = "true difference of the pairs", plan = "when the run ends" },
  options = {
    { name = "spread", type = "number", default = 4, min = 0.1, max = 100, metavar = "PERCENT",
      help = "standard deviation of a pair's ratio" },
    { name = "most", type = "integer", default = 500, min = 20, max = 5000, metavar = "N", help = "give up after N rounds" },
    { name = "power", type = "number", default = 99.9, min = 50, max = 99.99, metavar = "PERCENT",
      help = "power of the fixed plan" },
  },
  cell_setup = function(p, o)
    local state = { rng = uniform(1 + p.effect), effect = math.log(1 + p.effect / 100), spread = o.spread / 100 }
    state.run, state.rounds = pairs_until, o.most
    if p.plan == "fixed" then
      state.run, state.rounds = pairs_fixed, fixed_number(state.effect, state.spread, o.power / 100)
    end
    return state
  end,
  measure = function(state, p, n)
    local rounds, found, wrong = {}, 0, 0
    for i = 1, n do
      local side
      rounds[i], side = state.run(state.effect, state.spread, state.rounds, state.rng)
      found = found + (side > 0 and 1 or 0)
      wrong = wrong + ((side < 0 or p.effect == 0 and side > 0) and 1 or 0)
    end
    return rounds, { found = p.effect > 0 and found / n or nil, wrong = wrong / n }
  end,
  metrics = {
    { name = "found", description = "share of runs that found the side of the effect" },
    { name = "wrong", description = "share of runs with a wrong verdict; at most 0.05" },
  },
  columns = {
    { name = "mean_rounds", unit = "rounds", description = "mean number of rounds",
      value = function(cell) return cell.summary.mean end },
  },
  plot = { x = "effect", y = "mean_rounds", lines = "plan", logy = true },
}
