-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/shift_spec.lua - tests of the shift between two sets of values, and of the shape of a cell's rounds and samples.

local support = require "spec.core.support"
local ranks = require "pmlua.internal.ranks"
local rng = require "pmlua.internal.rng"
local shape = require "pmlua.internal.shape"
local shift = require "pmlua.internal.shift"
local stats = require "pmlua.stats"
local tally = require "pmlua.internal.tally"

local function near(expected, v, error) assert.near(expected, v, error or 1e-9) end

local function normal(random) return stats.normal_quantile((random(1 << 30) - 0.5) / (1 << 30)) end

describe("shift", function()
  it("has the exact distribution of ranks between equal sides", function()
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

  it("estimates by the median of all differences of two sets, for any sizes and ties", function()
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

  it("has the interval of that exact distribution, and above 40 values the quantiles of the normal distribution", function()
    local z = 1.959963984540054
    local function scattered(n, k, move) -- in no order, so that nothing widens the interval
      local out = {}
      for i = 1, n do out[i] = (i * k % 211) ^ 1.5 + move end
      return out
    end
    local function check(s, all, at)
      table.sort(all)
      local k = math.floor(at)
      local function between(i, j) return all[i] + (at - k) * (all[j] - all[i]) end
      near(stats.median(all), s.estimate)
      near(between(k, k + 1), s.low, 1e-5)
      near(between(#all + 1 - k, #all - k), s.high, 1e-5)
    end
    --- So many of `ways` chances lie at 0, at 1, and so on: where 2.5 % are below.
    local function place(chances, ways)
      local below, k = 0, 0
      while (below + (chances[k] or 0)) / ways <= 0.025 do below, k = below + (chances[k] or 0), k + 1 end
      return k + (0.025 * ways - below) / chances[k]
    end
    for _, n in ipairs { 9, 40, 41, 60 } do
      local d, means, chances = scattered(n, 89, -900), {}, { [0] = 1 }
      for i = 1, n do
        for j = i, n do means[#means + 1] = (d[i] + d[j]) / 2 end
        local more = {}
        for sum, ways in pairs(chances) do
          more[sum], more[sum + i] = (more[sum] or 0) + ways, (more[sum + i] or 0) + ways
        end
        chances = more
      end
      local mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
      check(shift.pairs(d), means, n <= 40 and place(chances, 2.0 ^ n) or mean + 0.5 - z * math.sqrt(variance))
    end
    for _, sizes in ipairs { { 5, 6 }, { 8, 5 }, { 20, 21 }, { 9, 40 } } do
      local m, n = sizes[1], sizes[2]
      local a, b, all, chances, ways = scattered(m, 89, 0), scattered(n, 97, 300), {}, {}, 0
      for i = 1, m do
        for j = 1, n do all[#all + 1] = b[j] - a[i] end
      end
      if m + n > 40 then
        check(shift.sets(a, b), all, m * n / 2 + 0.5 - z * math.sqrt(m * n * (m + n + 1) / 12))
        goto continue
      end
      for chosen = 0, (1 << m + n) - 1 do
        local u, seen = 0, 0 -- values of the other set below each chosen one
        for i = 0, m + n - 1 do
          if chosen >> i & 1 == 1 then u, seen = u + i - seen, seen + 1 end
        end
        if seen == m then chances[u], ways = (chances[u] or 0) + 1, ways + 1 end
      end
      check(shift.sets(a, b), all, place(chances, ways))
      ::continue::
    end
  end)

  it("has an interval that excludes zero exactly if p is below its level", function()
    local random = rng(9)
    for _ = 1, 200 do
      local d = {}
      for i = 1, 12 do d[i] = normal(random) + 0.6 end
      local s = shift.pairs(d)
      if s.effective then assert.is_true(s.p >= s.p_independent and s.effective < 12) goto continue end
      if s.p < 0.045 then assert.is_true(s.low > 0 or s.high < 0) end
      if s.p > 0.06 then assert.is_true(s.low <= 0 and s.high >= 0) end
      ::continue::
    end
  end)

  it("takes Student's t of fewer than 8 pairs", function()
    local s = shift.pairs { 1, 2, 3, 4, 5 } -- t = 3 / sqrt(2.5 / 5), 4 degrees of freedom
    near(3, s.estimate)
    near(3 - 2.7764 * math.sqrt(0.5), s.low, 1e-3)
    near(3 + 2.7764 * math.sqrt(0.5), s.high, 1e-3)
    near(0.01324, s.p, 1e-4)
    assert.same({ estimate = 2.0, low = 2.0, high = 2.0, p = 0 }, shift.pairs { 2, 2, 2, 2, 2 })
  end)

  it("keeps p tiny for an extreme trend, even if few values count as independent", function()
    local ramp = {}
    for i = 1, 2100 do ramp[i] = 1000 + i end -- 39.7 standard deviations of the ranks' sum; their exponential is 0
    local s = shift.pairs(ramp)
    assert.is_true(s.p < 1e-9 and s.p_independent == 0 and s.effective < 100)
  end)

  it("distinguishes sides that are far apart, although each value resembles the previous one", function()
    local random, decided, dependent = rng(11), 0, 0
    for _ = 1, 100 do
      local d, a, b, x = {}, {}, {}, 0
      for i = 1, 8 do
        x = 0.7 * x + normal(random)
        d[i], a[i], b[i] = 50 + x, x, 60 + x + normal(random)
      end
      for _, s in ipairs { shift.pairs(d), shift.sets(a, b) } do
        dependent = dependent + (s.effective and 1 or 0)
        decided = decided + (s.p < 0.05 and s.low > 0 and 1 or 0)
      end
    end
    assert.is_true(dependent > 60 and decided > 190, dependent .. " " .. decided)
  end)

  it("is wider by anything that may have moved all values, end by end", function()
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

  it("names a drift and a step, with the size", function()
    assert.matches("^drifts by %+9", shape.trend(rounds(20, function(i) return 1000 + 5 * i end)).text)
    assert.matches("^steps by %-1%d %% at round 13$", shape.trend(rounds(20, function(i) return i < 13 and 1000 or 900 end)).text)
    assert.matches("^drifts by %-", shape.trend(rounds(500, function(i) return 1000 - i / 4 end)).text)
    assert.matches("at round 2[45]%d$", shape.trend(rounds(500, function(i) return i < 251 and 1000 or 1100 end)).text)
  end)

  it("has the drift's p of Kendall and slope of Theil, the step's of Pettitt, like scipy and the formulas", function()
    local function zigzag(n, each, step)
      local out = {}
      for i = 1, n do out[i] = 100 + each * i + i * 7 % 5 + (i >= 8 and step or 0) end
      return out
    end
    local drift = shape.trend(zigzag(12, 2, 0))
    near(9.281898133684614e-05, drift.p, 3e-7)
    near(0.19047619047619047, drift.extent)
    assert.is_nil(drift.step)
    local short = shape.trend(zigzag(14, 0, 20)) -- a step is nearer, but may be chance: 1.5 %
    near(0.003114307531555083, short.p, 3e-7)
    near(0.23214285714285715, short.extent)
    local step = shape.trend(zigzag(20, 0, 20))
    near(0.005397319597704937, step.p, 1e-12)
    near(0.16597510373443983, step.extent)
    assert.equal(8, step.step)
    near(1, shape.trend(zigzag(9, 0, 0)).p, 1e-8)
    near(0.03877750439230662, shape.trend({ 5, 5, 6, 6, 7, 7 }).p, 3e-7)
  end)

  it("counts rounds that resemble each other by the correlation of their ranks", function()
    for _, of in ipairs { -- widening and effective number by numpy, with scipy's t
      { { 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3 }, 17.245193600334296, 1 / 3, true },
      { { 1, 2, 3, 4, 6, 5, 7, 8 }, 15.890071773722228, 0.20512820512820532, false },
      { { 3, 4, 1, 2, 6, 5, 8, 7, 9, 10 }, 16.609831396908966, 0.25641025641025667, false },
      { { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4,
        0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4 }, 14.265601546459875, 1.7391304347826095, true },
    } do
      local d = require "pmlua.internal.dependence".of(of[1])
      near(of[2], d.widening, 2e-3 * of[2])
      near(of[3], d.effective)
      assert.equal(of[4], d.sure)
    end
    assert.equal(1, require "pmlua.internal.dependence".of({ 1, 2, 3, 4, 5, 6, 7 }).widening) -- too few
  end)

  it("is steady if the order has no pattern, if little changes, and for few rounds", function()
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
    assert.is_truthy(modes(1000, function(random) return 26 * ((random(10) <= 6 and 40 or 60) + random(6)) end)) -- a coarse clock
  end)

  it("is below a run's table, in data.dat, in JSON, and beside a verdict", function()
    local round, dir = 0, support.folder()
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
    local _, out = support.pmlua("compare --by how " .. run.dir)
    assert.matches("\nrising: drifts by %+1%d %%\n", out)
  end)

  it("finds one mode, also skewed, even, with long tails, and of a coarse clock", function()
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
