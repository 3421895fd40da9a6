-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/plugin_overhead_spec.lua - the experiment, run for real by its command: every subject, its lines and costs.
--
-- Slow: the experiment runs a program hundreds of times.

local tables = require "spec.scripts.tables"

describe("scripts/plugin_overhead.lua --quick", function()
  local text, dir, rows, fits, by_name
  setup(function()
    text, dir, rows = tables.measure("plugin_overhead", "--rounds 5 --iterations 5 --scale 2")
    fits = tables.read(dir .. "/fits.dat")
    by_name = {}
    for _, f in ipairs(fits) do by_name[f.subject] = f end
  end)

  it("measures every subject at five sizes, and draws a picture", function()
    local subjects = require "plugin_overhead.subjects"
    assert.equal(5 * #subjects.all, #rows)
    for i, r in ipairs(rows) do
      local subject = subjects.all[(i + 4) // 5]
      assert.equal(subject.name, r.subject)
      assert.equal((i - 1) % 5 + 1, r.step)
      assert.equal("ok", r.status)
      assert.equal(r.step * subject.count * 2 // 100, r.count)
      assert.equal(5, r.samples)
      assert.is_true(r.min > 0 and r.hot <= r.max, r.subject)
    end
    assert.is_true(tables.drawn(dir), text)
  end)

  it("has a line for each, with an interval, through its points", function()
    assert.equal(#require("plugin_overhead.subjects").all, #fits)
    local last = {}
    for _, r in ipairs(rows) do last[r.subject] = r end
    for _, f in ipairs(fits) do
      assert.equal(last[f.subject].count, f.last)
      assert.is_true(f.each_low <= f.each_high, f.subject)
      assert.is_true(math.abs(f.at_zero + f.each * f.last / 1e6 - f.at_last) < 1e-6 * math.abs(f.at_last) + 1e-9, f.subject)
      if f.group ~= "values" then
        assert.is_true(math.abs(f.more - (f.each - by_name.none.each)) < 1e-6 * math.abs(f.each) + 1e-6, f.subject)
      end
    end
  end)

  it("gives the cost of n metrics, from the lines", function()
    local costs = tables.read(dir .. "/costs.dat")
    assert.equal(2, #costs)
    for _, c in ipairs(costs) do
      local prefix = c.group == "lua" and "lua_" or "metrics_"
      local sum, has_curve = 0, true
      for n = 1, 4 do
        sum = sum + by_name[prefix .. n].more
        has_curve = has_curve and by_name[prefix .. n].more > 0 -- a curve is fitted to logarithms
      end
      -- the line goes through the mean of its points, at 2.5 metrics
      assert.is_true(math.abs(sum / 4 - (c.alpha + 2.5 * c.beta)) < 1e-6 * math.abs(sum) + 1e-6, c.group)
      assert.is_true(c.alpha_low <= c.alpha_high and c.beta_low <= c.beta_high)
      assert.is_true(c.r2 <= 1)
      assert.equal(has_curve, c.factor ~= nil and c.factor > 0 and c.curve_r2 <= 1)
    end
    assert.truthy(text:find("n metrics add alpha + beta n", 1, true), text)
  end)

  it("drains Lua's batches outside of the measured time", function()
    assert.is_true(by_name.lua_batched.hot < by_name.lua_batched.each)
    assert.equal(0, by_name.to_trace.hot)
  end)
end)

describe("scripts/plugin_overhead.lua", function()
  it("measures some of them, and that without a plugin", function()
    local text, status, dir = tables.run("plugin_overhead", "--no-plot --scale 1 --subjects metrics_1")
    assert.equal(0, status, text)
    local seen = {}
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do seen[r.subject] = (seen[r.subject] or 0) + 1 end
    assert.same({ none = 5, metrics_1 = 5 }, seen)
  end)
end)

describe("the workload sections", function()
  local pml = require "pmlua"
  local workload = assert(pml.workload.load(pml.paths.workloads .. "/sections.so"))

  local function run(options)
    local result, err = workload:run { samples = {}, options = options }
    return result and result.results[1], err
  end

  local function row(label)
    for _, r in ipairs(pml.section.report()) do
      if r.label == label then return r end
    end
  end

  it("calls its function the given number of times, and prints the time", function()
    local time = assert(run { calls = 70000, section = "sections spec" })
    assert.equal("ns", time.unit)
    assert.is_true(time.value > 0)
    assert.equal(70000, row("sections spec").count)
  end)

  it("enters a section that was defined before, with its events", function()
    assert(pml.section.define { label = "counted sections spec", events = { "clock::ns" } })
    assert(run { calls = 10, section = "counted sections spec" })
    assert.equal(10, row("counted sections spec").count)
    assert.is_true(next(row("counted sections spec").events) ~= nil)
  end)

  it("has a consumer only while it runs", function()
    local before = #pml.substrate.list()
    assert(run { calls = 10, consumer = 1 })
    assert.equal(before, #pml.substrate.list())
  end)

  it("refuses invalid numbers", function()
    for options, says in pairs { [{ calls = 0 }] = "option calls is 0", [{ calls = 1.5 }] = "option calls is 1.5",
      [{ consumer = 2 }] = "option consumer is 2", [{ section = "" }] = "label" } do
      local result, err = run(options)
      assert.is_nil(result)
      assert.truthy(err:find(says, 1, true), err)
    end
  end)
end)
