-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/clock_spec.lua - pml.clock from Lua.

local support = require "spec.core.support"
local it = support.it
local clock = support.core and support.core.clock

describe("The clock", function()
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

  it("has the time of day", function()
    assert.is_true(math.abs(clock.realtime_ns() / 1e9 - os.time()) < 5)
  end)

  it("names its kind: the counter, if the kernel runs on an invariant one", function()
    local info, cpuinfo = clock.info(), support.slurp "/proc/cpuinfo"
    local counter = ({ tsc = true, cntvct = true })[info.name]
    assert.is_true(counter or info.name == "clock_gettime" and info.calibration:find("no counter: ", 1, true) ~= nil)
    assert.is_true(#info.calibration > 0 and info.ticks_per_second > 0 and info.resolution_ns > 0 and info.cost_ns > 0)
    local source = io.open "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    local runs_on = source and source:read "l"
    if source then source:close() end
    local invariant = runs_on == "arch_sys_counter"
      or runs_on == "tsc" and cpuinfo:find " nonstop_tsc" and cpuinfo:find " constant_tsc"
    if not invariant then return pending "this machine's kernel does not run on an invariant counter" end
    assert.is_true(counter or info.calibration:find "CPUID" ~= nil, info.calibration) -- an emulator's CPUID is not the machine's
  end)

  it("refuses negative ticks", function()
    assert.error_matches(function() clock.to_ns(-1) end, "bad argument #1")
  end)

  it("is the clock that the environment selects, at its stated rate if that is correct", function()
    if clock.info().name == "clock_gettime" then return pending "this machine has no counter to choose" end
    local rate, ticks = clock.rate(), clock.ticks_ordered()
    local function moment(later) return ("%.17g@%d:%d"):format(rate, ticks + later, clock.at_ns(ticks)) end
    for i, case in ipairs {
      { "PMLUA_CLOCK=monotonic", "^clock_gettime", "PMLUA_CLOCK" }, { "PMLUA_CLOCK=counter", "^[tc]" },
      { ("PMLUA_CLOCK=counter PMLUA_CLOCK_RATE=%.17g"):format(rate), "PMLUA_CLOCK_RATE", "kernel's", "cntfrq",
        but = "disagrees" },
      { "PMLUA_CLOCK=counter PMLUA_CLOCK_RATE=" .. moment(0), "the parent process" },
      { "PMLUA_CLOCK=counter PMLUA_CLOCK_RATE=" .. moment(-1000000000), "^[tc]", but = "the parent process" },
      { "PMLUA_CLOCK=counter PMLUA_CLOCK_RATE=123456789", "^[tc]" },
      { "PMLUA_CLOCK=counter PMLUA_CLOCK_RATE=-nan", "^[tc]" },
    } do
      local status, out, err = support.shell(("%s %s/pmlua -e %s"):format(case[1], support.build, support.quote [[
        local i = pml.clock.info() print(i.name, i.calibration, i.ticks_per_second)]]))
      assert.same({ i, 0, "" }, { i, status, err })
      local found = false
      for k = 2, #case do found = found or out:find(case[k]) ~= nil end
      assert.is_true(found and not (case.but and out:find(case.but)), out)
      local its = tonumber(out:match "(%S+)\n$")
      assert.is_true(i == 1 and its == 1e9 or math.abs(its / rate - 1) < 0.01, out)
    end
    for _, wish in ipairs { "sundial", "" } do
      local status, _, err = support.shell(("PMLUA_CLOCK='%s' %s/pmlua -e 'pml.clock.ns()'"):format(wish, support.build))
      assert.equal(1, status)
      assert.matches("EINVAL: PMLUA_CLOCK must be counter or monotonic", err)
    end
  end)
end)
