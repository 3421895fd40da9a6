-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/sequential_spec.lua - intervals that hold at every look, and runs that end when they are narrow enough.

local support = require "spec.core.support"

local compare = require "pmlua.compare"
local demo = require "spec.lua.demo"
local json = require "pmlua.json"
local sequential = require "pmlua.internal.sequential"

-- Normal numbers of a seed, by the polar method.
local function normals(seed)
  local state = seed
  local function uniform()
    state = (state * 6364136223846793005 + 1442695040888963407)
    return ((state >> 11) + 0.5) / 2.0 ^ 53
  end
  return function() return math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform()) end
end

local function drawn(n, f)
  local out = {}
  for i = 1, n do out[i] = f(i) end
  return out
end

describe("a bet on signs", function()
  it("is fair: over all signs of any distances, the mean of the capital is what it was", function()
    local distances, sum = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 0, 7 }, 0.0
    for signs = 0, 2 ^ #distances - 1 do
      local t = sequential.test(0)
      for i, d in ipairs(distances) do t:add(signs >> (i - 1) & 1 == 1 and d or -d) end
      sum = sum + math.exp((t:result()))
    end
    assert.is_true(math.abs(sum / 2 ^ #distances - 1) < 1e-9, sum)
  end)

  it("is wrong between equals in at most 5 % of the runs with a look after each value", function()
    local wrong, number = 0, normals(4)
    for _ = 1, 1000 do
      local t, excluded = sequential.test(0), false
      for _ = 1, 100 do
        t:add(number())
        excluded = excluded or t:excluded(1) ~= 0
      end
      wrong = wrong + (excluded and 1 or 0)
    end
    assert.is_true(wrong <= 50, wrong)
    assert.is_true(wrong >= 5, wrong) -- it bets at all
  end)

  it("finds the side, and needs more for more tests", function()
    local t, u, n = sequential.test(1), sequential.test(1), 0
    repeat
      n = n + 1
      t:add(3 + n % 2)
      u:add(-3 - n % 2)
    until t:excluded(1) ~= 0
    assert.equal(1, t:excluded(1))
    assert.equal(-1, u:excluded(1))
    assert.equal(0, t:excluded(1, 1000))
    assert.equal(0, t:excluded(2))
    assert.is_true(n < 15, n)
  end)

  it("has an interval that moves and stretches with the values, and a p value that agrees with it", function()
    local number = normals(9)
    for _, shift in ipairs { 0, 0.5, 2 } do
      local values = drawn(40, function() return shift + number() end)
      local found = sequential.pairs(values)
      local moved = sequential.pairs(drawn(40, function(i) return 10 - 2 * values[i] end))
      assert.is_true(found.low < found.estimate and found.estimate < found.high)
      assert.is_true(math.abs(moved.low - (10 - 2 * found.high)) < 1e-9 and math.abs(moved.high - (10 - 2 * found.low)) < 1e-9)
      assert.equal(found.p <= 0.05, found.low > 0 or found.high < 0)
    end
    assert.is_nil(sequential.pairs(drawn(6, number)).low)
  end)
end)

describe("a sequence of intervals of the median", function()
  -- The capital by Simpson's rule: the mean over shares p with the density 30 p^2 (1 - p)^2 of the gain p^k (1 - p)^(n - k) 2^n.
  local function capital(k, n)
    local sum, steps = 0.0, 2000
    for i = 0, steps do
      local p = i / steps
      sum = sum + (i % steps == 0 and 1 or 2 + 2 * (i % 2)) * 30 * p ^ (2 + k) * (1 - p) ^ (2 + n - k) * 2.0 ^ n
    end
    return sum / (3 * steps)
  end

  it("ends at the values that a bet on the share of smaller ones excludes", function()
    for _, n in ipairs { 9, 12, 30, 101 } do
      local values, k = {}, 0
      for i = 1, n do values[i] = (i * 47) % 103 end
      while capital(k, n) >= 20 do k = k + 1 end
      local low, high = sequential.median(values)
      table.sort(values)
      assert.equal(values[k], low)
      assert.equal(k > 0 and values[n + 1 - k] or nil, high)
    end
  end)

  it("is wider for values that depend on the ones before", function()
    local number, last = normals(3), 0
    local values = drawn(200, function()
      last = 0.8 * last + number()
      return last
    end)
    local low, high = sequential.median(values)
    table.sort(values, function(a, b) return a * 7919 % 1 < b * 7919 % 1 end) -- in another order
    local low_mixed, high_mixed = sequential.median(values)
    assert.is_true(high - low > 1.5 * (high_mixed - low_mixed))
  end)
end)

describe("warm-up", function()
  it("is the rounds at the beginning that lie apart from all others, on one side", function()
    local number = normals(5)
    for warm = 0, 4 do
      for _, jump in ipairs { 30, -30 } do
        assert.equal(warm, sequential.warm_up(drawn(40, function(i) return 100 + number() + (i <= warm and jump or 0) end)))
      end
    end
    assert.equal(0, sequential.warm_up(drawn(40, function(i) return i == 20 and 150 or 100 + number() end)))
  end)
end)

describe("a run until its results are certain", function()
  -- Cells with a median of 100 (1 + effect) and a spread, the first rounds slower by a half.
  local function run(changes, cells, warm)
    local number = normals(1)
    local all = {
      factors = { side = { "a", "b", "c" } }, repeats = 400, rounds = 400, unit = "ns", budget = { seconds = 600, rounds = 5 },
      measure = function(state)
        state.n = state.n + 1
        local cell = cells[state.side]
        return 100 * (1 + cell[1]) * (1 + cell[2] * number()) * (state.n <= (warm or 0) and 1.5 or 1)
      end,
      cell_setup = function(p) return { n = 0, side = p.side } end,
    }
    for k, v in pairs(changes) do all[k] = v end
    local r = demo.run(all)
    return r, json.decode(support.slurp(r.dir .. "/meta.json"))
  end
  local planted = { a = { 0, 0.02 }, b = { 0.2, 0.02 }, c = { 0.03, 0.02 } }

  it("gives the rounds to the cells that need them, and all verdicts are right", function()
    local r = run({ certain = { verdict = "side" } }, planted)
    local n = {}
    for i, cell in ipairs(r.cells) do n[i] = #cell.rounds end
    assert.is_true(n[2] < n[3] and n[3] == n[1] and n[1] < 400, table.concat(n, " "))
    local result = assert(compare.by(r.dir, "side"))
    for i, effect in ipairs { 0.2, 0.03 } do
      local c = result.cells[i]
      assert.matches("^slower", c.verdict)
      assert.is_true(c.low > 1.01 and c.low <= 1 + effect and c.high >= 1 + effect, c.low .. " " .. c.high)
      assert.matches("^verdict after %d+ rounds$", r.cells[i + 1].certain)
    end
  end)

  it("calls equals the same", function()
    local r = run({ certain = { verdict = "side", threshold = 0.02 } }, { a = { 0, 0.01 }, b = { 0, 0.01 }, c = { 0.001, 0.01 } })
    for _, c in ipairs(assert(compare.by(r.dir, "side", { threshold = 0.02 })).cells) do assert.equal("same", c.verdict) end
    assert.is_true(#r.cells[1].rounds < 400)
  end)

  it("measures until the interval of the median is narrow enough, and says how narrow", function()
    local r = run({ certain = { interval = 0.01 } }, { a = { 0, 0.005 }, b = { 0, 0.03 }, c = { 0, 0.3 } })
    for i, cell in ipairs(r.cells) do
      local s = cell.summary
      assert.equal(i < 3, (s.median_hi - s.median_lo) / 2 <= 0.01 * s.median)
      assert.equal(i < 3, cell.certain ~= nil)
    end
    assert.is_true(#r.cells[1].rounds < #r.cells[2].rounds and #r.cells[2].rounds < 400)
    assert.matches("^400 rounds were the most, not certain; %+%-%d", r.cells[3].uncertain)
  end)

  it("leaves warm-up rounds out, and says so", function()
    local r, meta = run({ certain = { verdict = "side", interval = 0.01 } }, planted, 3)
    assert.equal(3, meta.warm_up)
    assert.matches("the first 3 rounds were warm%-up", table.concat(meta.warnings, "\n"))
    assert.is_true(math.abs(r.cells[1].summary.median - 100) < 1)
    assert.is_true(r.cells[1].summary.max > 140) -- samples are kept
  end)

  it("refuses what it cannot reach", function()
    for text, certain in pairs {
      ["interval or verdict is missing"] = {}, ["with several levels, not 'k2'"] = { verdict = "k2" },
      ["interval must be a number between 0 and 1"] = { interval = 1 }, ["unknown field width"] = { width = 0.01 },
    } do
      local ok, err = pcall(demo.define, { certain = certain })
      assert.is_false(ok)
      assert.matches(text, tostring(err))
    end
  end)
end)

describe("pmlua bench --until", function()
  local function bench(arguments)
    return support.shell(("cd %s && %s/pmlua bench --no-plot -q %s"):format(support.folder(), support.build, arguments))
  end
  it("says why it stopped", function()
    local status, out, err = bench "--until 99% --json true"
    assert.equal(0, status, err)
    assert.matches("^%+%-%d.* after %d+ rounds$", json.decode(out).cells[1].stopped)
    status, out = bench "--until 0.001% --max-runs 9 true"
    assert.equal(0, status)
    assert.matches("9 rounds were the most, not certain", out)
  end)
  it("needs an interval that can be reached, and something to compare for a verdict", function()
    assert.matches("%-%-until needs a percentage above 0", (select(3, bench "--until 0 true")))
    local status, _, err = bench "--until-verdict true"
    assert.equal(2, status)
    assert.matches("there is nothing to compare; name a second command or a %-%-parameter", err)
  end)
end)
