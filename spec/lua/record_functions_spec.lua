-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_functions_spec.lua - the logs of recorded processes are added up by function.

require "spec.core.support"
local calls = require "pmlua.internal.record.functions"

local function path(depth, name, figures)
  return { depth = depth, library = "liba.so", name = name, calls = figures[1], unreturned = figures[2], threads = 1,
    inclusive_ns = figures[3], exclusive_ns = figures[4], min_ns = figures[5], max_ns = figures[6] }
end

local function value(name, count, sum, min, max)
  return { library = "liba.so", name = "inner", value = name, count = count, sum = sum, min = min, max = max }
end

local function process(values)
  return { process = { events = {}, sums = {}, values = values, tick_ns = 0.5, durations = {},
    paths = { path(0, "outer", { 3, 1, 100, 60, 40, 60 }), path(1, "inner", { 2, 0, 40, 40, 10, 30 }),
      path(2, "outer", { 1, 0, 10, 10, 10, 10 }) } } }
end

describe("results of recorded processes", function()
  it("are added up by function, and calls inside the same function are no time more", function()
    local all = calls.of { process {}, process {}, { err = "a log that could not be read" } }
    assert.equal(2, #all.processes)
    local outer = all.functions[1]
    assert.same({ "outer", 8, 2 }, { outer.name, outer.calls, outer.unreturned })
    assert.same({ 200, 140, 10, 60 }, { outer.inclusive_ns, outer.exclusive_ns, outer.min_ns, outer.max_ns })
  end)

  it("have values: sums are floats where no integer holds them, and a NaN is no extreme", function()
    local most, nan = math.maxinteger, 0 / 0
    local all = calls.of {
      process { value("n", 2, 6, 1, 5), value("x", 1, nan, nan, nan) },
      process { value("n", 1, most, most, most), value("x", 1, -math.huge, -math.huge, 1.5) },
    }
    local values = all.functions[2].values
    assert.same({ count = 3, sum = 2.0 ^ 63 + 5, mean = (2.0 ^ 63 + 5) / 3, min = 1, max = most }, values.n)
    assert.same({ 2, -math.huge, 1.5, true }, { values.x.count, values.x.min, values.x.max, values.x.sum ~= values.x.sum })
  end)
end)
