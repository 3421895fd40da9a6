-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/shift_spec.lua - the shift between two sets of values, and the shape of a cell's rounds and samples.

local helper = require "spec.lua.helper"
if not helper.has_core then
  describe("shift", function() pending(helper.no_core) end)
  return
end

local ranks = require "pmlua.internal.ranks"
local rng = require "pmlua.internal.rng"
local shape = require "pmlua.internal.shape"
local shift = require "pmlua.internal.shift"
local stats = require "pmlua.stats"
local tally = require "pmlua.internal.tally"

local function near(expected, v, error)
  assert.is_true(math.abs(v - expected) <= (error or 1e-9), ("%s, not %s"):format(v, expected))
end

local function normal(random) return stats.normal_quantile((random(1 << 30) - 0.5) / (1 << 30)) end

describe("shift", function()
  it("counts out how the ranks of equals fall", function()
    near(1 / 32, ranks.signs(5)[0])
    near(3 / 32, ranks.signs(5)[5]) -- 5, 4 + 1, 3 + 2
    near(2 / 20, ranks.sums(3, 3)[2]) -- of 20 choices of three of six
    near(0.2, ranks.two_sided(ranks.sums(3, 3), 9, 8))
  end)

  it("estimates by the median of means of pairs, between means of pairs", function()
    local d = { 8, 2, 64, 1, 16, 4, 128, 32 } -- in no order: neighbours that resemble each other would widen the interval
    local means = {}
    for i = 1, 8 do
      for j = i, 8 do means[#means + 1] = (d[i] + d[j]) / 2 end
    end
    table.sort(means)
    local s = shift.pairs(d)
    near((means[18] + means[19]) / 2, s.estimate)
    -- outside the outer 4 is 2 (1 + 1 + 1 + 2) / 256, of the outer 5 4 more of 256: 0.05 is 0.7 of the way
    near(means[4] + 0.7 * (means[5] - means[4]), s.low)
    near(means[33] - 0.7 * (means[33] - means[32]), s.high)
    near(2 / 256, s.p)
  end)

  it("estimates by the median of all differences of two sets, whatever their sizes and ties", function()
    local random = rng(4)
    for _, sizes in ipairs { { 5, 5 }, { 5, 9 }, { 20, 20 }, { 30, 25 } } do
      local a, b, all = {}, {}, {}
      for i = 1, sizes[1] do a[i] = random(50) end
      for i = 1, sizes[2] do b[i] = random(50) + 7 end
      for _, x in ipairs(a) do
        for _, y in ipairs(b) do all[#all + 1] = y - x end
      end
      local s, back = shift.sets(a, b), shift.sets(b, a)
      near(stats.median(all), s.estimate)
      near(-s.low, back.high)
      near(-s.high, back.low)
      assert.is_true(s.low <= s.estimate and s.estimate <= s.high)
    end
  end)

  it("has an interval that leaves zero out just where p is below its level", function()
    local random = rng(9)
    for _ = 1, 200 do
      local d = {}
      for i = 1, 12 do d[i] = normal(random) + 0.6 end
      local s = shift.pairs(d)
      if s.effective then assert.is_true(s.p > s.p_independent and s.effective < 12) goto continue end
      if s.p < 0.045 then assert.is_true(s.low > 0 or s.high < 0) end
      if s.p > 0.06 then assert.is_true(s.low <= 0 and s.high >= 0) end
      ::continue::
    end
  end)

  it("takes Student's t of fewer than 8 pairs", function()
    local s = shift.pairs { 1, 2, 3, 4, 5 } -- t = 3 / sqrt(2.5 / 5), 4 degrees of freedom
    near(3, s.estimate)
    near(3 - 2.7764 * math.sqrt(0.5), s.low, 1e-3)
    near(0.01324, s.p, 1e-4)
    assert.same({ estimate = 2.0, low = 2.0, high = 2.0, p = 0 }, shift.pairs { 2, 2, 2, 2, 2 })
  end)

  it("is wider by what may have moved all values, end by end", function()
    local s = shift.widened({ estimate = 4, low = 1, high = 8, p = 0.01 }, 4 / stats.normal_quantile(0.975))
    near(4 - 5, s.low)
    near(4 + math.sqrt(32), s.high)
    near(stats.two_sided_normal(4 / 5 * stats.normal_quantile(0.975)), s.p)
    near(0.01, shift.widened({ estimate = 9, low = 8.9, high = 9.1, p = 0.01 }, 0.001).p)
  end)
end)

describe("the shape of a cell", function()
  local function rounds(n, f)
    local random, out = rng(n), {}
    for i = 1, n do out[i] = f(i) * (1 + 0.002 * normal(random)) end
    return out
  end

  it("names a drift and a step, and by how much", function()
    assert.matches("^drifts by %+9", shape.trend(rounds(20, function(i) return 1000 + 5 * i end)).text)
    assert.matches("^steps by %-1%d %% at round 13$", shape.trend(rounds(20, function(i) return i < 13 and 1000 or 900 end)).text)
    assert.matches("^drifts by %-", shape.trend(rounds(500, function(i) return 1000 - i / 4 end)).text)
    assert.matches("at round 2[45]%d$", shape.trend(rounds(500, function(i) return i < 251 and 1000 or 1100 end)).text)
  end)

  it("is steady where the order says nothing, where little changes, and of few rounds", function()
    local named = 0
    for seed = 1, 200 do
      local random, values = rng(seed), {}
      for i = 1, 20 do values[i] = 100 + 5 * normal(random) end
      if shape.trend(values).text then named = named + 1 end
    end
    assert.is_true(named <= 8, named .. " of 200 without a trend")
    assert.is_nil(shape.trend(rounds(20, function(i) return 1000 + 0.1 * i end)).text)
    assert.is_nil(shape.trend { 1, 2, 3, 4, 5 })
    assert.is_nil(shape.trend { 0, 0, 0, 0, 0, 0, 0 })
  end)

  local function modes(n, f)
    local random, values = rng(n), {}
    for i = 1, n do values[i] = f(random) end
    return shape.modes(tally.of(values), 1e-3, "us")
  end

  it("names two modes with their share", function()
    local text = modes(1000, function(random) return (random(10) <= 7 and 100 or 130) + normal(random) end)
    assert.matches("^two modes: 0%.%d+ us %([67]%d %%%) and 0%.1[23]%d* us$", text)
    assert.is_truthy(modes(1000, function(random) return 26 * ((random(10) <= 6 and 40 or 60) + random(6)) end)) -- of a clock
  end)

  it("is below a run's table, in data.dat, in JSON, and beside a verdict", function()
    local round, dir = 0, helper.folder()
    local exp = require "pmlua.experiment" {
      name = "demo", unit = "ns", repeats = 20, rounds = 20, warmup = 0, factors = { { "how", { "calm", "rising" } } },
      measure = function(_, p)
        round = round + 1
        return p.how == "calm" and 1000 + round % 3 or 1000 + 5 * round
      end,
    }
    local run = assert(exp:run { out = dir, no_plot = true, quiet = true })
    local output = require "pmlua.internal.experiment.output"
    assert.matches("\nhow=rising: drifts by %+1%d %%$", output.text(run))
    assert.equal("steady", output.object(run).cells[1].shape)
    assert.matches("^drifts by", require "pmlua.results".open(run.dir).data.rows[2].shape)
    local _, out = helper.pmlua("compare --by how " .. run.dir)
    assert.matches("\nrising: drifts by %+1%d %%\n", out)
    helper.clean()
  end)

  it("knows one mode, also skewed, even, with long tails, and of a coarse clock", function()
    for name, f in pairs {
      normal = function(random) return 100 + normal(random) end,
      even = function(random) return 100 + random(1000) / 100 end,
      skewed = function(random) return 100 + math.exp(normal(random)) end,
      outliers = function(random) return random(50) == 1 and 100 + random(1000) or 100 + normal(random) end,
      clock = function(random) return 26 * math.floor(40 + 1.5 * normal(random)) end,
      constant = function() return 7 end,
    } do
      for _, n in ipairs { 20, 200, 5000 } do assert.is_nil(modes(n, f), name) end
    end
  end)
end)
