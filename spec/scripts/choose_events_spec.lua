-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/choose_events_spec.lua - tests of the experiment choose_events, run by its command: the number of runs of each
-- group.

local support = require "spec.core.support"
local tables = require "spec.scripts.tables"

local function run(arguments)
  return support.shell(("%s/pmlua scripts/choose_events.lua --quick --quiet --no-plot -o %s %s"):format(support.build,
    support.folder(), arguments))
end

describe("scripts/choose_events.lua", function()
  it("has a row for each PMU, and two if SMT takes counters away", function()
    local out = support.quiet(run(""))
    assert.matches("^PMU +threads +general +fixed +FLOPS +BANDWIDTH +VECTOR +CACHE +CYCLE +LOADSTORE +USER +all\n", out)
    assert.matches("\nskx +2 +4 +3 +2%+ ", out)
    assert.matches("\nskx +1 +8 +3 +1 ", out)
    assert.matches("\narm_a64fx +any +8 +1 +1 ", out)
    local _, lines = out:match("^.-\n\n"):gsub("\n", "")
    local pmus = #require "pmlua".groups.pmus()
    assert.equal(1 + pmus + 11 + 1, lines) -- the head, the PMUs, 11 whose threads share counters once more, the line behind
    assert.matches("\nhsw +1 +8 +3 +%- +1 ", out) -- it counts no floating-point operations
  end)

  it("accepts the named PMUs, and refuses unknown ones", function()
    local out = support.done(run("zen4"))
    assert.matches("\namd64_fam19h_zen4 +any +6 +0 ", out)
    local _, _, err = run("netburst")
    assert.matches("netburst: no event groups for this PMU", err)
    assert.equal(1, (run("netburst")))
  end)

  it("is an experiment, with its help and its folder", function()
    local out = support.done(support.shell(support.build .. "/pmlua scripts/choose_events.lua --help"))
    assert.matches("\n    pmlua scripts/choose_events%.lua %-%-quick spr zen4\n", out)
    assert.matches("complete, 1 samples", (select(2, run("spr"))))
  end)

  it("draws the number of runs, with a legend", function()
    local folder = support.folder()
    local out = support.done(support.shell(("%s/pmlua scripts/choose_events.lua --quick --quiet -o %s skx"):format(
      support.build, folder)))
    local dir = folder .. "/choose_events/latest"
    assert.is_true(tables.drawn(dir), out)
    local f <close> = io.open(dir .. "/plot.svg")
    local svg = f and f:read "a" or "skx, 2 threads BANDWIDTH 7+" -- no figure without gnuplot
    for _, text in ipairs { "skx, 2 threads", "BANDWIDTH", "7+" } do assert.truthy(svg:find(text, 1, true), text) end
  end)
end)
