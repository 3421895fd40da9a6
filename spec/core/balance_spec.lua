-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/balance_spec.lua - tests of pml.balance: its decision alone, and threads of this process.

local support = require "spec.core.support"
local folder = require "spec.core.cpus_folder"
local it = support.it
local pml = require "pmlua"

local function wait_for(label, times)
  for _ = 1, times do
    pml.section.start(label)
    pml.section.stop(label)
  end
end

describe("pml.balance.controller", function()
  it("decides by the paper's rule", function()
    local c = pml.balance.controller { reference = 3e9, min = 1e9, delta = 0.3e9 }
    local function step(n, share, used)
      local hz
      for _ = 1, n do hz = c:step(share, 1, used) end
      return hz
    end
    assert.near(3e9, step(3, 0.5), 1)
    assert.near(1.8e9, step(1, 0.5), 1) -- half of the time at 3 GHz is 1.5, and delta
    assert.near(1.8e9, step(8, 0.9), 1)
    assert.near(3e9, step(1, 0.95), 1) -- at once
    assert.near(3e9, step(3, 0.85), 1)
    assert.near(3e9, step(1, 0.5), 1) -- until the highest of the last four is lower
    assert.near(1.8e9, step(3, 0.5), 1)
    assert.near(1e9, step(40, 0.01), 1)
    c = pml.balance.controller { reference = 3e9, min = 1e9, delta = 0.3e9 }
    assert.near(1.5e9, step(4, 0.6, 2e9), 1) -- the frequency in use counts, not the requested one
    local before = step(4, 0.5)
    for _, times in ipairs { { 2, 1 }, { 0, 0 }, { 0 / 0, 1 } } do assert.equal(before, c:step(times[1], times[2])) end
  end)

  it("reports errors in its rule", function()
    for text, rule in pairs {
      ["balance: balancing needs a reference frequency above 0 Hz"] = {},
      ["balance: the least frequency, 2 Hz, must be from 0 to the reference, 1 Hz"] = { reference = 1, min = 2 },
      ["delta must be a number"] = { reference = 1, delta = "10 %" },
      ["unknown option 'minimum'"] = { reference = 1, minimum = 1 },
      ["must be an integer from 0 to 16"] = { reference = 1, window = 17 },
      ["balance: balancing needs"] = { reference = 0 / 0 },
      ["-1"] = { reference = 1, delta = -1 },
      ["balance: delta, 2"] = { reference = 1, delta = 2 },
      ["balance: fits and last must"] = { reference = 1, last = 0.5, fits = 0.6 },
      ["they are 0.85 and 1.5"] = { reference = 1, last = 1.5 },
    } do
      local ok, err = pcall(pml.balance.controller, rule)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
    end
    local c = pml.balance.controller { reference = 1 }
    assert.has_error(function() c:step(1) end)
    c:close()
    assert.has_error(function() c:step(1, 1) end, "controller: the handle is closed")
  end)
end)

describe("A balancer", function()
  it("measures each repetition, and in a dry run writes nothing", function()
    local cpus = folder.new(2)
    local b <close> = assert(pml.balance { sync = { "lua barrier" }, root = cpus.root, dry_run = true, cpus = "current" })
    wait_for("lua barrier", 6)
    local list = b:take()
    assert.equal(5, #list)
    for _, r in ipairs(list) do
      assert.same({ 1, "lua barrier", 3.5e9 }, { r.region, r.sync, r.hz })
      assert.is_true(r.compute >= 0 and r.compute <= r.total and r.next >= 0.8e9 and r.next <= 3.5e9)
    end
    assert.same({}, b:take())
    local rule = b:rule()
    assert.same({ 3.5e9, 0.8e9, 0.35e9, 0.95, 0.85, 4 },
      { rule.reference, rule.min, rule.delta, rule.last, rule.fits, rule.window })
    assert.same({ 5, 0, 0 }, { b:stats().repetitions, b:stats().writes, b:stats().lost })
    assert.is_true(cpus:is_back(2))
    cpus:remove()
  end)

  it("counts intercepted calls as blocking, in an unmodified program", function()
    local cpus = folder.new(2)
    local calls, why = pml.intercept { lib = "libc*", sym = "pthread_barrier_wait" }
    if not calls then return pending(tostring(why)) end
    local b <close> = assert(pml.balance { sync = { "pthread_barrier_wait" }, root = cpus.root, cpus = "current",
      dry_run = true })
    local workload <close> = assert(pml.workload.load(support.build .. "/workloads/imbalance.so"))
    assert(workload:run { operation = "empty", samples = {}, options = { threads = 2, iterations = 50, turns = 100 } })
    assert.same({ 104, 2 }, { b:stats().repetitions, b:stats().threads }) -- 53 calls of each
    calls:close()
    cpus:remove()
  end)

  it("is refused without permission, or on a machine without frequencies", function()
    local cpus = folder.new(1)
    local b, err, code = pml.balance { sync = { "x" }, root = cpus.root }
    assert.is_nil(b)
    assert.same("EPERM", code)
    assert.matches("run pmlua --allow-tuning SCRIPT", err, 1, true)
    os.execute("rm -r " .. cpus.root .. "/cpu0/cpufreq")
    b, err, code = pml.balance { sync = { "x" }, root = cpus.root, dry_run = true }
    assert.is_nil(b)
    assert.same("ENOENT", code)
    assert.matches("no cpu has this file: the kernel does not set frequencies", err, 1, true)
    b = assert(pml.balance { sync = { "x" }, root = cpus.root, dry_run = true, reference = 3e9, min = 1e9 })
    b:stop()
    assert.matches("sync 'x': no such region was entered", b:lines()[1], 1, true)
    b.handle:close()
    b.handle = nil
    cpus:remove()
  end)

  it("reports errors in its options, at the script's line", function()
    for text, options in pairs {
      ["unknown option 'snyc'"] = { snyc = { "x" } },
      ["sync must be a list of names of regions"] = { sync = "x" },
      ["a list of 1 to 64 names is needed"] = { sync = {} },
      ["name 1 is a number, not a string"] = { sync = { 1 } },
      ["option 'cpus' cannot be 'all'; choose thread or current"] = { sync = { "x" }, cpus = "all" },
      ["reference must be a number"] = { sync = { "x" }, reference = "3 GHz" },
    } do
      local ok, err = pcall(function() local b = pml.balance(options) return b end)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
      assert.matches("balance_spec.lua:%d+: balance: ", err)
    end
  end)
end)
