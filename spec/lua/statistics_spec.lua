-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/statistics_spec.lua - one rule of quantiles, one histogram and one merge, for all users.

require "spec.core.support"
local core = require "pmlua.core"
local calls = require "pmlua.internal.record.functions"
local stats = require "pmlua.stats"
local tally = require "pmlua.internal.tally"

local statistics = core.statistics

local function near(expected, v) assert.is_true(math.abs(v - expected) <= 1e-9 * math.abs(expected), tostring(v)) end

-- R: quantile(c(10, 1, 3, 2, 4), q) and quantile(c(4, 1, 3, 2), q)
local known = {
  { { 10, 1, 3, 2, 4 }, { [0.0] = 1, [0.25] = 2, [0.5] = 3, [0.95] = 8.8, [1.0] = 10 } },
  { { 4, 1, 3, 2 }, { [0.0] = 1, [0.25] = 1.75, [0.5] = 2.5, [0.95] = 3.85, [1.0] = 4 } },
}

local function sorted(values)
  local copy = table.move(values, 1, #values, 1, {})
  table.sort(copy)
  return copy
end

local users = {
  ["the rule itself"] = function(values, q) return statistics.quantile(sorted(values), nil, q) end,
  ["an array"] = stats.quantile,
  ["a tally"] = function(values, q) return tally.of(values):quantile(q) end,
  ["a tally of two halves"] = function(values, q)
    local half = #values // 2
    return tally.merge(tally.of { table.unpack(values, 1, half) }, tally.of { table.unpack(values, half + 1) }):quantile(q)
  end,
  ["raw samples"] = function(values, q)
    local s <close> = core.samples.new(#values)
    for _, v in ipairs(values) do s:push(v) end
    return s:sort():quantile(q)
  end,
  ["a histogram"] = function(values, q)
    local count = {}
    for _, v in ipairs(values) do count[statistics.bucket(v)] = 1 end
    return statistics.histogram_quantile(count, q)
  end,
}

describe("the rule of quantiles", function()
  for name, quantile in pairs(users) do
    it("gives R's values for " .. name, function()
      for _, case in ipairs(known) do
        for q, expected in pairs(case[2]) do near(expected, quantile(case[1], q)) end
      end
    end)
  end

  it("holds for medians and summaries", function()
    for _, case in ipairs(known) do
      near(case[2][0.5], stats.median(case[1]))
      local s = stats.summary(case[1])
      for field, q in pairs { min = 0.0, q1 = 0.25, median = 0.5, p95 = 0.95, max = 1.0 } do near(case[2][q], s[field]) end
    end
  end)

  it("holds for recorded calls of several processes", function()
    local function process(bucket)
      local path = { depth = 0, calls = 2, unreturned = 0, threads = 1, inclusive_ns = 6, exclusive_ns = 6, min_ns = 1,
        max_ns = 4, library = "lib", name = "f" }
      return { process = { paths = { path }, durations = { { library = "lib", name = "f", bucket = bucket } }, sums = {},
        values = {}, events = {}, tick_ns = 1 } }
    end
    local all = calls.of { process { [1] = 1, [4] = 1 }, process { [2] = 1, [3] = 1 } }
    near(2.5, all.functions[1].median_ns)
  end)

  it("has one exception: the definition that PAPI's users expect of recorders", function()
    local library = assert(core.sde.library "RULE")
    local r = assert(library:recorder("FOUR", { type = "double" }))
    for _, v in ipairs { 4.0, 1.0, 3.0, 2.0 } do r:push(v) end
    assert.same({ 1.0, 2.0, 3.0, 4.0, 4.0 },
      { r:quantile(0), r:quantile(25), r:quantile(50), r:quantile(75), r:quantile(100) })
  end)

  it("gives nil for no values, or for an invalid share", function()
    assert.is_nil(statistics.quantile({}, nil, 0.5))
    assert.is_nil(statistics.quantile({ 1 }, nil, 1.5))
    assert.is_nil(statistics.quantile({ 1 }, nil, 0 / 0))
    assert.is_nil(statistics.histogram_quantile({}, 0.5))
  end)
end)

describe("the histogram", function()
  it("has every value in the bucket whose bounds are around it", function()
    for _, v in ipairs { 1, 15, 16, 17, 18, 1000, 1 << 40, math.maxinteger } do
      local i = statistics.bucket(v)
      assert.is_true(statistics.least(i) <= v and v < statistics.least(i + 1), tostring(v))
      assert.is_true(v < 16 or statistics.least(i + 1) <= statistics.least(i) * 1.125)
    end
    assert.same({ 0x1p64, 0 }, { statistics.least(496), statistics.bucket(-1) })
    for _, v in ipairs { -math.huge, 0 / 0, math.mininteger } do assert.equal(0, statistics.bucket(v)) end
    assert.equal(495, statistics.bucket(math.huge))
    assert.equal(statistics.least(100) * 2, calls.bucket_ns(100, 2))
  end)
end)

describe("the merge of sums", function()
  it("is the same for arrays and tallies, also for large values with a small spread", function()
    local values = { 2, 4, 4, 4, 5, 5, 7, 9 }
    for _, base in ipairs { 0, 2.0 ^ 50 } do
      for i, v in ipairs(values) do values[i] = v + base end
      for _, moments in ipairs { { statistics.moments(values) }, { tally.of(values):moments() } } do
        near(base + 5, moments[1])
        near((32 / 7) ^ 0.5, moments[2])
      end
    end
    assert.same({ 7.0 }, { statistics.moments { 7 } })
    assert.same({}, { statistics.moments {} })
  end)

  it("adds tables of numbers, with integers while possible", function()
    assert.same({ 4, 2.5, x = 7 }, statistics.add({ 1, 2 }, { 3, 0.5, x = 7 }))
    assert.equal("integer", math.type(statistics.plus(1, 2)))
    assert.equal(0x1p63, statistics.plus(math.maxinteger, 1))
    assert.has_error(function() statistics.add({}, { "many" }) end)
  end)
end)
