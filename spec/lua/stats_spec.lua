-- SPDX-License-Identifier: BSD-3-Clause

local support = require "spec.core.support"
local stats = require "pmlua.stats"
local tally = require "pmlua.internal.tally"
local rng = require "pmlua.internal.rng"

local function near(expected, actual, error) assert.near(expected, actual, error or 1e-9) end

-- The textbook way, on a sorted copy.
local function slow_quantile(values, q)
  local s = table.move(values, 1, #values, 1, {})
  table.sort(s)
  local h = (#s - 1) * q + 1
  local k = math.floor(h)
  return s[k] + (h - k) * ((s[k + 1] or s[k]) - s[k])
end

describe("stats", function()
  it("agrees with sorting, on many random series with ties", function()
    local random = rng(7)
    for n = 1, 60 do
      local values = {}
      for i = 1, n do values[i] = random(12) end
      local t = tally.of(values)
      for q = 0, 1, 0.05 do near(slow_quantile(values, q), t:quantile(q)) end
      local sum = 0
      for _, v in ipairs(values) do sum = sum + v end
      near(sum / n, (t:moments()))
    end
  end)

  it("merges two tallies into the tally of both series", function()
    local a, b = { 5, 1, 5, 9 }, { 2, 5, 9, 11, 0 }
    local merged = tally.merge(tally.of(a), tally.of(b))
    local both = tally.of { 5, 1, 5, 9, 2, 5, 9, 11, 0 }
    local function list(packed) return table.move(packed, 1, #packed, 1, {}) end
    assert.same({ 0, 1, 2, 5, 9, 11 }, list(merged.value))
    assert.same({ 1, 2, 3, 6, 8, 9 }, list(merged.upto))
    assert.same({ list(both.value), list(both.upto), both.n }, { list(merged.value), list(merged.upto), merged.n })
    local whole = tally.merge(tally.of { math.mininteger, math.maxinteger, -1, 0 }, tally.of { math.maxinteger - 1 })
    assert.same({ math.mininteger, -1, 0, math.maxinteger - 1, math.maxinteger }, list(whole.value))
    assert.equal(2.0 ^ 63, tally.of({ 1.0, 2.0 ^ 63 }):quantile(1)) -- a difference of ticks
    assert.same({ -2.5, -0.5, 0.0, 3.0 }, list(tally.merge(tally.of { 3, -0.5, -0.0 }, tally.of { 0, -2.5 }).value))
  end)

  it("coarsens a tally of too many values: few values, near quantiles, the same extremes and number", function()
    local random, values = rng(4), {}
    for i = 1, 200000 do values[i] = random(1 << 40) / 7 - (i % 50 == 0 and 1 << 40 or 0) end
    local exact = tally.of(values)
    local coarse = tally.coarsen(exact)
    assert.is_true(#coarse.value < 100000 and #exact.value > 190000)
    for _, q in ipairs { 0.1, 0.25, 0.5, 0.9, 0.99 } do
      near(exact:quantile(q), coarse:quantile(q), math.abs(exact:quantile(q)) / 4096)
    end
    assert.equal(exact:quantile(0), coarse:quantile(0))
    assert.equal(exact:quantile(1), coarse:quantile(1))
    assert.equal(exact.n, coarse.n)
    for i = 2, #coarse.value do assert.is_true(coarse.value[i] > coarse.value[i - 1]) end
    assert.equal(coarse.n, coarse.upto[#coarse.upto])
  end)

  it("summarises: mean, deviation, fences and outliers", function()
    local s = assert(stats.summary { 2, 4, 4, 4, 5, 5, 7, 9, 100 })
    assert.equal(9, s.n)
    near(140 / 9, s.mean)
    near(31.72976, s.sd, 1e-5)
    near(4, s.q1)
    near(7, s.q3)
    assert.equal(1, s.outliers)
    assert.equal(9, s.whisker_hi)
    assert.equal(2, s.whisker_lo)
    assert.equal(100, s.max)
  end)

  it("names outliers with their position, largest first", function()
    local found = stats.outliers({ 5, 5, 50, 5, 500, 5, -40 }, 0, 10)
    assert.same({ { index = 5, value = 500 }, { index = 3, value = 50 }, { index = 7, value = -40 } }, found)
    assert.equal(1, #stats.outliers({ 5, 5, 50, 5, 500 }, 0, 10, 1))
  end)

  it("encloses the median by order statistics, like the binomial tables", function()
    -- D'Agostino; Hahn & Meeker: n = 10 gives ranks 2 and 9 at 95 %
    assert.same({ 2, 9 }, { stats.median_ranks(10) })
    assert.same({ 1, 6 }, { stats.median_ranks(6) })
    assert.same({ 6, 15 }, { stats.median_ranks(20) })
    -- scipy's binom: the largest of which at most 5, 2.5 and 0.5 % lie below
    for n, low in pairs { [7] = { 1, 1 }, [8] = { 2, 1, 1 }, [11] = { 3, 2, 1 }, [25] = { 8, 8, 6 }, [71] = { 29, 27, 25 },
      [100] = { 42, 40, 37 }, [999] = { 474, 469, 459 }, [1000] = { 474, 469, 459 } } do
      for i, level in ipairs { 0.9, 0.95, 0.99 } do
        assert.same(low[i] and { low[i], n + 1 - low[i] }, low[i] and { stats.median_ranks(n, level) })
      end
    end
    assert.same({ 956, 1046 }, { stats.median_ranks(2001) }) -- 1000.5 -+ 1.95996 sqrt(2001) / 2, outwards, and one more
    local none, why = stats.median_ranks(5)
    assert.is_nil(none)
    assert.matches("too few", why)
  end)

  it("answers empty, NaN and infinite series with a sentence", function()
    for series, what in pairs {
      [{}] = "no samples", [{ 1, 0 / 0 }] = "sample 2 is NaN", [{ math.huge, 1 }] = "sample 1 is inf",
      [{ 1, "x" }] = "sample 2 is a string",
    } do
      local s, err = stats.summary(series)
      assert.is_nil(s)
      assert.matches(what, err)
      assert.is_nil((stats.quantile(series, 0.5)))
    end
    assert.is_nil((stats.summary(nil)))
    for _, q in ipairs { 2, -0.5, 0 / 0, "x" } do
      local value, err = stats.quantile({ 1 }, q)
      assert.is_nil(value)
      assert.matches("a quantile must be from 0 to 1, not", err)
    end
  end)

  it("summarises one sample without inventing a deviation or an interval", function()
    local s = assert(stats.summary { 3 })
    assert.equal(3, s.median)
    assert.is_nil(s.sd)
    assert.is_nil(s.median_lo)
  end)

  it("interpolates between order statistics for the interval of rounds", function()
    -- for 10 values, the intervals without the outer 2 and 3 cover 97.85 and 89.06 %; calculated by hand: share 0.3244, part 8 *
    -- share / (2 + 6 * share)
    local low, high = stats.rounds_interval { 3, 8, 1, 6, 10, 2, 7, 4, 9, 5 }
    near(2.6577, low, 1e-3)
    near(8.3423, high, 1e-3)
    assert.same({ 1, 5 }, { stats.rounds_interval { 5, 1, 4, 2, 3 } }) -- 93.75 %; none leaves the values
    assert.is_nil((stats.rounds_interval { 1, 2, 3, 4 }))
    local random = require "pmlua.internal.rng" (3)
    for n = 5, 40 do
      local values = {}
      for i = 1, n do values[i] = random(1000) / 1000 end
      low, high = stats.rounds_interval(values)
      assert.is_true(low >= math.min(table.unpack(values)) and high <= math.max(table.unpack(values)) and low < high)
    end
    local many = {}
    for i = 1, 2001 do many[i] = i * 1000 % 2003 end -- a permutation without close neighbours
    low, high = stats.rounds_interval(many)
    assert.is_true(low > 940 and low < 980 and high > 1020 and high < 1060)
  end)

  it("widens the interval of rounds that resemble the previous ones, by their effective number", function()
    local dependence, slow, fast = require "pmlua.internal.dependence", {}, {}
    for i = 1, 200 do slow[i], fast[i] = math.sin(i / 10), math.sin(i * 1.9) end
    local low, high = stats.rounds_interval(slow)
    local low_fast, high_fast = stats.rounds_interval(fast)
    assert.is_true(high - low > 2 * (high_fast - low_fast))
    assert.is_true(dependence.of(slow).effective < 10 and dependence.of(slow).sure)
    assert.same({ widening = 1, effective = 200, df = 199, sure = false }, dependence.of(fast))
    assert.equal(1, dependence.of({ 7, 7, 7, 7, 7, 7, 7, 7, 7 }).widening) -- ties are no order
    assert.equal(1, dependence.of({ 0, 0, 0, 0, 1, 0, 0, 0, 0 }).widening)
    assert.matches("^autocorrelated: 200 rounds count as %d$",
      require "pmlua.internal.shape".of(slow, stats.tally(fast)):gsub(", two modes.*", ""))
  end)

  -- i * k mod m: values in no order, of which scipy 1.10.1 says what stands beside them
  local function scattered(n, k, m, move)
    local out = {}
    for i = 1, n do out[i] = i * k % m + (move or 0) end
    return out
  end

  it("has scipy's p values of rank sums (mannwhitneyu): exact ones up to 40 values, then with ties and continuity", function()
    for p, of in pairs {
      [0.003996003996003996] = { 5, 9, 3, 7, 101, 4.5 }, [0.05239952187284972] = { 20, 20, 37, 41, 211, 30.5 },
      [0.18187747032163087] = { 12, 28, 37, 41, 211, 25.5 }, [0.03141569518048483] = { 20, 21, 37, 41, 211, 40.5 },
      [0.018829592429035025] = { 30, 35, 37, 41, 211, 35.5 }, [0.06391543136711503] = { 30, 35, 37, 41, 7, 1 },
      [0.018642583215161598] = { 25, 60, 5, 8, 11, 2 }, [0.7510991263427128] = { 41, 2, 37, 41, 211, 55.5 },
    } do
      local a, b = scattered(of[1], of[3], of[5]), scattered(of[2], of[4], of[5], of[6])
      near(p, stats.rank_sum(a, b), 3e-7)
      near(p, stats.rank_sum(b, a), 3e-7)
    end
    near(1, (stats.rank_sum({ 4, 4, 4 }, { 4, 4, 4 })))
  end)

  it("has scipy's p values of signed ranks (wilcoxon): exact ones up to 30, then with ties and continuity", function()
    for p, of in pairs {
      [0.42578125] = { 9, 37, 101, 40.25 }, [0.08406547829508781] = { 30, 37, 211, 80.25 },
      [0.07944922353040383] = { 31, 37, 211, 80.25 }, [0.08697544330538617] = { 60, 37, 211, 90.25 },
      [0.042661459888553264] = { 50, 7, 13, 5 },
    } do
      local d = scattered(of[1], of[2], of[3], -of[4])
      near(p, stats.signed_rank(d), 3e-7)
      for i, v in ipairs(d) do d[i] = -v end
      near(p, stats.signed_rank(d), 3e-7)
    end
    near(1, stats.signed_rank { 0, 0 })
  end)

  it("has the share of all choices and of all signs for p with few values and ties", function()
    local random = rng(12)
    for _ = 1, 30 do
      local m, n, all = random(4) - 1, random(5) - 1, {}
      for i = 1, m + n + 2 do all[i] = random(6) - 3 end
      m = m + 1
      -- by the number of pairs in which the first is above, ties by half
      local function above(chosen)
        local twice = 0
        for i, x in ipairs(all) do
          for k, y in ipairs(all) do
            if chosen >> i & 1 == 1 and chosen >> k & 1 == 0 then twice = twice + (x > y and 2 or x == y and 1 or 0) end
          end
        end
        return math.abs(twice - m * (#all - m))
      end
      local first, as_far, ways = (1 << m) - 1 << 1, 0, 0
      for chosen = 0, (2 << #all) - 1, 2 do
        local bits = 0
        for i = 1, #all do bits = bits + (chosen >> i & 1) end
        if bits == m then ways, as_far = ways + 1, as_far + (above(chosen) >= above(first) and 1 or 0) end
      end
      near(as_far / ways, (stats.rank_sum({ table.unpack(all, 1, m) }, { table.unpack(all, m + 1) })))
      -- the number of positive pairwise means plus half the number of zero means, without zeros
      local d = {}
      for _, v in ipairs(all) do d[#d + 1] = v ~= 0 and v or nil end
      local function far(signs)
        local twice = 0
        for i = 1, #d do
          for k = i, #d do
            local sum = math.abs(d[i]) * (signs >> i & 1 == 1 and 1 or -1) + math.abs(d[k]) * (signs >> k & 1 == 1 and 1 or -1)
            twice = twice + (sum > 0 and 2 or sum == 0 and 1 or 0)
          end
        end
        return math.abs(twice - #d * (#d + 1) // 2)
      end
      local own = 0
      for i, v in ipairs(d) do own = own | (v > 0 and 1 or 0) << i end
      as_far = 0
      for signs = 0, (2 << #d) - 1, 2 do as_far = as_far + (far(signs) >= far(own) and 1 or 0) end
      near(as_far / 2 ^ #d, stats.signed_rank(d))
      d[#d + 1] = 0
      near(as_far / 2 ^ (#d - 1), stats.signed_rank(d))
    end
  end)

  it("has scipy's normal distribution and Student's, including their tails", function()
    for p, z in pairs { [1e-12] = -7.034483825301131, [0.001] = -3.090232306167813, [0.02424] = -1.9731366119445441,
      [0.02426] = -1.9727855514678603, [0.3] = -0.5244005127080409, [0.6] = 0.2533471031357997, [0.98] = 2.0537489106318225 } do
      near(z, stats.normal_quantile(p), 1.2e-9 * math.abs(z))
    end
    for z, p in pairs { [0.1] = 0.920344325445942, [0.7] = 0.48392730444614607, [1] = 0.31731050786291415,
      [-2.5] = 0.012419330651552265, [4] = 6.334248366623973e-05, [5] = 5.733031437583866e-07 } do
      near(p, stats.two_sided_normal(z), 1.5e-7)
    end
    -- degrees of freedom: p of t = 0.3, 1.1, 2.9; t of p = 0.3, 0.05, 0.001
    for df, of in pairs {
      [1] = { 0.8144528418, 0.4697076556, 0.2113956226, 1.962610506, 12.70620474, 636.6192494 },
      [1.7] = { 0.7968029184, 0.4027881544, 0.1217426786, 1.468103143, 5.118838989, 52.29470759 },
      [3] = { 0.783763292, 0.3516831949, 0.062502242, 1.249778104, 3.182446305, 12.92397864 },
      [7.3] = { 0.7725405362, 0.3062785251, 0.02195190642, 1.115516179, 2.345066736, 5.283211759 },
      [120] = { 0.7646962112, 0.2735339303, 0.004439300032, 1.04093157, 1.979930405, 3.373453765 },
      [500] = { 0.764301836, 0.2718614412, 0.00389585216, 1.037509393, 1.964719837, 3.310091152 },
    } do
      local error = df == 1.7 and 1e-3 or 5e-6 -- the integral's end is no polynomial there
      for i, t in ipairs { 0.3, 1.1, 2.9 } do near(of[i], stats.student(t, df), error) end
      for i, p in ipairs { 0.3, 0.05, 0.001 } do near(of[3 + i], stats.student_quantile(p, df), 10 * error * of[3 + i]) end
    end
    for _, of in ipairs {
      { { 1, 2, 3 }, { 4, 5, 7, 9 }, 0.95, 0.023794432775586984, 0.8912548839803569, 7.608745116019643 },
      { { 10, 12, 11, 13, 12.5 }, { 11, 30, 20 }, 0.9, 0.255585998336048, -7.2605926137963746, 24.527259280463042 },
      { { 100, 101, 102, 103 }, { 99, 99.5, 100.25 }, 0.99, 0.05394998528266586, -5.072923433300234, 1.239590099966891 },
    } do
      for i, v in ipairs { stats.welch(of[1], of[2], of[3]) } do near(of[3 + i], v, 1e-4 * math.abs(of[3 + i])) end
    end
    near(0.05, stats.student(-2.776, 4), 5e-5)
    near(0.05, stats.student(1.96, 100000), 5e-5)
    near(1.96, stats.student_quantile(0.05, 100000), 1e-4)
    near(1, (stats.welch({ 7, 7 }, { 7, 7 })))
    assert.same({ 0, 1, 1 }, { stats.welch({ 1, 1 }, { 2, 2 }) })
  end)

  it("corrects p values after Holm", function()
    local random = rng(6)
    for n = 1, 40 do -- the largest product of all that are as small or smaller
      local p = {}
      for i = 1, n do p[i] = random(20) / 100 end
      for i, v in ipairs(stats.holm(p)) do
        local most = 0
        for _, q in ipairs(p) do
          local others = 0 -- that are as large or larger
          for _, r in ipairs(p) do others = others + (r >= q and 1 or 0) end
          if q <= p[i] then most = math.max(most, math.min(1, q * others)) end
        end
        near(most, v)
      end
    end
  end)

  it("bins a quantised series without a comb", function()
    local values = {}
    for i = 1, 3000 do values[i] = 26 * (i % 40) end
    local bins, total = tally.of(values):histogram(100, 1), 0
    for _, b in ipairs(bins) do
      assert.is_true(b.count > 0)
      total = total + b.count
    end
    assert.equal(3000, total)
    assert.equal(1, #tally.of({ 7, 7, 7 }):histogram())
  end)

  it("gives the same results for a samples object as for an array, and does not change it", function()
    local random, values = rng(11), {}
    local samples <close> = support.core.samples.new(20000)
    for i = 1, 20000 do
      values[i] = random(50) * 26 + (i % 997 == 0 and 100000 + i or 0)
      samples:push(values[i])
    end
    local a, b = stats.summary(values), stats.summary(samples)
    for k, v in pairs(a) do near(v, b[k], 1e-6) end
    assert.equal(values[1], samples[1])
    assert.equal(values[20000], samples[20000])
    assert.same(stats.outliers(values, a.fence_lo, a.fence_hi, 10), stats.outliers(samples, a.fence_lo, a.fence_hi, 10))
    samples:clear()
    assert.equal("no samples", tostring(select(2, stats.summary(samples))))
  end)

  it("lays a line through points by least squares", function()
    local exact = stats.line({ 1, 2, 4 }, { 5, 7, 11 })
    near(2, exact.each)
    near(3, exact.at_zero)
    near(1, exact.r2)
    local y = { 1, 3, 2, 5 } -- by hand: slope 5.5 / 5, mean 2.5 at 2.75
    local fit = stats.line({ 1, 2, 3, 4 }, y)
    near(1.1, fit.each)
    near(0, fit.at_zero, 1e-12)
    near(5.5 ^ 2 / (5 * 8.75), fit.r2)
    assert.equal(4, fit.n)
    assert.is_nil(stats.line({ 1, 2 }, { 3, 3 }).r2) -- nothing to explain
    assert.is_nil(stats.line({ 1 }, { 1 }))
    assert.is_nil(stats.line({ 2, 2 }, { 1, 5 }))
  end)
end)
