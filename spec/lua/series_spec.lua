-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/series_spec.lua - the plots of pmlua query --plot: series of different units and kinds.

require "spec.core.support"
local series = require "pmlua.internal.live.series"

--- Three readings of the rows that f(i) returns; recorders have these values.
local function watched(f, values)
  local set = series.new()
  for i = 1, 3 do
    assert(series.add(set, { time_s = 100 + i, rows = f(i) }, function(_, first) return { table.unpack(values, first) } end))
  end
  return set
end

local function counter(name, value, description)
  return { name = "sde:::S::" .. name, kind = "created", value = value, description = description }
end

describe("Series of a running application", function()
  if not os.execute "gnuplot --version >/dev/null 2>&1" then return pending "gnuplot is not installed" end

  --- The labels of the axes in a plot of characters, from the top, each once.
  local function labels(set)
    local text, list = assert(series.text(set, "S (1)", 80, 24)), {}
    for label in text:gmatch "number of the value" do list[#list + 1] = label end
    for label in text:gmatch "time %[s%]" do list[#list + 1] = label end
    return list, text
  end

  it("share an axis with series of the same unit only", function()
    local set = watched(function(i)
      return { { name = "sde:::S::residual", kind = "recorder" }, counter("steps", i), counter("used", i * 1e6, "in use [kB]"),
        counter("most", i * 2e6, "at most [kB]") }
    end, { 100, 1, 0.01 })
    local list, text = labels(set)
    assert.same({ "number of the value", "time [s]", "time [s]" }, list)
    assert.matches("number of the value.*S::residual %*.*S::steps %*.*%[kB%].*S::used %*+ *S::most #", text)
  end)

  it("of one meaning share an axis if they have no unit", function()
    local set = watched(function(i) return { counter("a::flops", i), counter("b::flops", i * 2), counter("b::flops:MED", i) } end)
    assert.same({ "time [s]" }, (labels(set)))
  end)

  it("without a unit share an axis if they are too many", function()
    local set = watched(function(i)
      local rows = { counter("used", i * 1e6, "in use [kB]") }
      for n = 1, 20 do rows[n + 1] = counter("event" .. n, i) end
      return rows
    end)
    assert.same({ "time [s]", "time [s]" }, (labels(set)))
  end)

  it("that are never negative, or constant, or not finite, have an axis with a separate range", function()
    local _, text = labels(watched(function(i) return { counter("steps", (i - 1) * 40) } end))
    assert.falsy(text:find("-20", 1, true), text)
    for _, value in ipairs { 5, 0, -3, math.huge } do
      assert.same({ "time [s]" }, (labels(watched(function() return { counter("same", value) } end))))
    end
  end)
end)
