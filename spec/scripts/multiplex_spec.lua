-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/multiplex_spec.lua - tests of the experiment multiplex, run for real by its command, and of its model against
-- counts made by hand.

local tables = require "spec.scripts.tables"
local model = require "multiplex.model"
local pml = require "pmlua"

describe("The model of multiplexing", function()
  -- turns of 10 us, 200 us: much in [0, 20), little in [20, 40), ...
  local function error_of(change)
    local m = { events = 2, counters = 1, turn = 10, phase = 20, time = 200, begin = 0, first = 0 }
    for k, v in pairs(change) do m[k] = v end
    return model.error(m)
  end

  it("has no error while there are counters for all", function()
    for _, phase in ipairs { 3, 20, 500 } do
      local percent, running = error_of { counters = 2, phase = phase }
      assert.near(0, percent, 1e-9)
      assert.near(100, running, 1e-9)
    end
  end)

  it("equals the result by hand", function()
    -- turns at [0, 10), [20, 30), ...: half of the time of much, half of the time of little
    local percent, running = error_of {}
    assert.near(0, percent, 1e-9)
    assert.near(50, running, 1e-9)
    -- phases as long as the turns: an event is counted in all of much, or in none of it
    assert.near(100, (error_of { phase = 10 }), 1e-9)
    assert.near(-100, (error_of { phase = 10, first = 1 }), 1e-9)
    -- three events, 30 us: one turn of three, in much
    assert.near(50, (error_of { events = 3, time = 30 }), 1e-9)
  end)
end)

describe("scripts/multiplex.lua --quick", function()
  it("says that --model is a simulation, and draws it", function()
    local text, status, dir = tables.run("multiplex", "--model 4")
    assert.equal(0, status, text)
    assert.matches("this is a simulation of 4 counters", text)
    assert.is_true(tables.drawn(dir), text)
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      assert.near(100 * math.min(1, 4 / r.events), r.running, r.events <= 4 and 1e-6 or 40)
      assert.is_true(r.events > 4 or math.abs(r.median) < 1e-6)
    end
  end)

  it("measures with a PMU, and reports without one that nothing is multiplexed", function()
    if not pml.event.has_pmu() then
      return tables.refuses("multiplex", { [""] = "nothing is multiplexed here" })
    end
    local text, status, dir = tables.run("multiplex", "--milliseconds 20")
    assert.equal(0, status, text)
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      if r.events == 1 and r.status == "ok" then assert.near(0, r.median, 5) end
    end
  end)
end)
