-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/host_metrics_spec.lua - the experiment, run for real by its command.


local tables = require "spec.scripts.tables"

describe("scripts/host_metrics.lua --quick", function()
  local text, dir, rows, means
  setup(function()
    text, dir, rows = tables.measure("host_metrics", "--metrics load_1")
    means = tables.read(dir .. "/means.dat")
  end)

  local function of(phase)
    for _, r in ipairs(rows) do
      if r.phase == phase then return r end
    end
  end

  local function mean(event, phase)
    for _, r in ipairs(means) do
      if r.event == event and r.phase == phase then return r end
    end
  end

  it("ends well, with a picture and a row for each phase", function()
    assert.equal(4, #rows)
    assert.is_true(tables.drawn(dir), text)
    for _, r in ipairs(rows) do assert.is_true(r.status == "ok" and r.min >= 0.2, r.phase) end
  end)

  it("sees traffic in the phase that sends", function()
    assert.is_true(of("send").loopback > 1)
    assert.is_true(of("send").loopback > 10 * of("allocate").loopback)
  end)

  it("sees new memory in the phase that allocates", function()
    local allocate, rest = mean("plugin::process::resident", "allocate"), mean("plugin::process::resident", "rest")
    assert.is_true(allocate.most > rest.mean + 5e6, ("%g, %g"):format(allocate.most, rest.mean))
    assert.is_true(allocate.most > allocate.least)
  end)

  it("sees new threads in the phase that computes, and takes the requested metrics", function()
    assert.is_true(mean("plugin::process::threads", "compute").most > mean("plugin::process::threads", "rest").mean)
    assert.is_true(mean("plugin::host::load_1", "rest").mean >= 0)
    assert.is_nil(mean("plugin::host::load_5", "rest"))
  end)

  it("has its regions in order, and the metrics within the run", function()
    local last, phases = 0, 0
    for _, r in ipairs(tables.read(dir .. "/regions.dat")) do
      assert.is_true(r.from >= last and r.to > r.from)
      last, phases = r.to, phases + 1
    end
    assert.equal(4, phases)
    local before = {}
    for _, r in ipairs(tables.read(dir .. "/metrics.dat")) do
      assert.is_true(r.time >= 0 and r.time >= (before[r.metric] or 0), r.metric)
      before[r.metric] = r.time
    end
    assert.is_number(before.cpus_busy)
  end)

  it("names the missing features of the machine, or has the metrics", function()
    local lacking = text:find "not on this machine: temperature_%*: no sensor"
    assert.is_true(lacking ~= nil or text:find "host::temperature_" ~= nil)
  end)

  it("leaves a trace with the phases and the metrics", function()
    local pipe = assert(io.popen(("/usr/bin/python3 spec/otf2_validate.py %s/traces.otf2 2>&1"):format(dir)))
    local said = pipe:read("a")
    assert.is_true((pipe:close()), said)
    pipe = assert(io.popen(("otf2-print -G %s/traces.otf2"):format(dir)))
    local definitions = pipe:read("a")
    pipe:close()
    assert.matches("plugin::host::memory_used", definitions)
    assert.matches("plugin::process::resident", definitions)
    assert.matches('REGION.-Name: "[^"]*allocate"', definitions)
  end)
end)
