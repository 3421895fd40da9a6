-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/clock_spec.lua - pml.clock from Lua.

local support = require "spec.core.support"
local it = support.it
local clock = support.core and support.core.clock

describe("The clock", function()
  it("does not go back", function()
    local last, last_ns = clock.ticks(), clock.ns()
    for _ = 1, 1000 do
      local now, ns = clock.ticks_ordered(), clock.ns()
      assert.is_true(now >= last and ns >= last_ns)
      last, last_ns = now, ns
    end
  end)

  it("turns tick differences into ns at its own rate", function()
    local rate = clock.info().ticks_per_second
    local ns = clock.to_ns(math.floor(rate))
    assert.is_true(math.abs(ns - 1e9) < 10)
    assert.equal(0, clock.to_ns(0))
    assert.is_true(clock.to_ns(math.maxinteger) > 0)
  end)

  it("places a moment on the axis of ns()", function()
    local before, ticks, after = clock.ns(), clock.ticks_ordered(), clock.ns()
    local at = clock.at_ns(ticks)
    assert.is_true(before - 1000 <= at and at <= after + 1000)
  end)

  it("knows the time of the day", function()
    assert.is_true(math.abs(clock.realtime_ns() / 1e9 - os.time()) < 5)
  end)

  it("says what it is", function()
    local info = clock.info()
    assert.is_truthy(({ tsc = 1, cntvct = 1, clock_gettime = 1 })[info.name])
    assert.is_true(#info.calibration > 0 and info.ticks_per_second > 0 and info.resolution_ns > 0 and info.cost_ns > 0)
  end)

  it("refuses negative ticks", function()
    assert.error_matches(function() clock.to_ns(-1) end, "bad argument #1")
  end)
end)
