-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/userwork_spec.lua - the user workload, equations 1 to 6 of the PMlib paper, and the two perspectives.

require "spec.core.support"
local userwork = require "pmlua.userwork"

describe("The user workload", function()
  it("is the sum of operations of all types (equation 1)", function()
    local work = userwork.new { add = 1000, sub = 200, mult = 3000, div = 40, max = 5, min = 6, sqrt = 7 }
    assert.equal(4258, work:arithmetic())
    assert.equal(0, userwork.new({}):arithmetic())
  end)

  it("grows by the amounts that every pass of a section adds", function()
    local work = userwork.new { add = 10 }
    for _ = 1, 3 do work:add { add = 2, exp = 1 } end
    assert.same({ add = 16, exp = 3 }, work.counts)
    assert.equal(19, work:arithmetic())
  end)

  it("per second is the performance (equation 2)", function()
    assert.equal(2e9, userwork.performance(1e9, 0.5))
    local rate, why = userwork.performance(1, 0)
    assert.is_true(rate ~= rate)
    assert.equal("no time passed", why)
  end)

  it("of Linpack is additions and multiplications (equations 3 and 4), and gives its Gflops (equation 5)", function()
    local work = userwork.linpack(1000)
    assert.is_true(math.abs(work.counts.add - 334083333.333) < 0.001) -- 1000^3/3 + 3/4 1000^2
    assert.equal(work.counts.add, work.counts.mult)
    local gflops = 1000 ^ 2 * (2 / 3 * 1000 + 3 / 2) * 1e-9 / 0.25
    assert.is_true(math.abs(userwork.performance(work:arithmetic(), 0.25) * 1e-9 - gflops) < 1e-12)
    assert.is_true(math.abs(gflops - 2.672666667) < 1e-9)
  end)

  it("weighed by the cost of each type is the application workload (equation 6)", function()
    local work = userwork.new { add = 100, mult = 50, div = 10, sqrt = 2 }
    assert.equal(100 + 50 + 12 * 10 + 18 * 2, work:application { div = 12, sqrt = 18 })
    assert.equal(work:arithmetic(), work:application {})
  end)

  it("refuses invalid counts, and a weight for an event without count", function()
    assert.error_matches(function() userwork.new { add = -1 } end, "the count of add must be a number of at least 0, not %-1")
    assert.error_matches(function() userwork.new { add = 0 / 0 } end, "must be a number of at least 0")
    assert.error_matches(function() userwork.new { [1] = 2 } end, "the type of an operation must be a word, not 1")
    assert.error_matches(function() userwork.new { add = 1 }:application { div = 2 } end, "div has a weight, but no count")
    local work = userwork.new { add = 1 }
    assert.is_false(pcall(work.add, work, { add = 1, mult = "x" }))
    assert.same({ add = 1 }, work.counts) -- nothing is lost by an addition that is refused
  end)

  it("beside the system workload gives the ratio and the difference of figure 3 and table IV", function()
    -- Table III: divide executes 190 + 2 * 260 + 4 * 1.02e6 + 8 * 2.56e6 operations where add executes 190 + 2 * 260 + 4 * 5.12e5
    local user = 190 + 2 * 260 + 4 * 5.12e5
    local compared = userwork.compare(user, 190 + 2 * 260 + 4 * 1.02e6 + 8 * 2.56e6)
    assert.equal("12.0", ("%.1f"):format(compared.ratio)) -- table IV says 12.0 for div
    assert.equal(compared.system - compared.user, compared.difference)
    local none = userwork.compare(0, 5)
    assert.is_true(none.ratio ~= none.ratio)
    assert.equal("the user workload is 0", none.reason)
  end)
end)
