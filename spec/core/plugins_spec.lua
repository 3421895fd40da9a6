-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/plugins_spec.lua - tests of the plugins that come with pmlua, in event sets, series, traces and experiments.

local support = require "spec.core.support"
local it = support.it
local core = support.core
local pml = core and require "pmlua"

local MIB = 1 << 20

local started = {}

--- A plugin that measures each 10 ms, the events of it, and a function that waits for values newer than now.
local function start(name, options)
  options.name, options.every = name, "10ms"
  local p = assert(pml.plugin.load(options))
  started[#started + 1] = p
  local events = {}
  for i, m in ipairs(p:info().metrics) do events[i] = m.event end
  return p, events
end

--- The last value of each series after a reading that began after the call; waits for at most a minute. A value has the time at
--- which its reading ended, so the first value with a later time may come from a reading that began before the call.
local function fresh(p)
  local now = core.clock.ns()
  for _ = 1, 6000 do
    core.sys.sleep(0.01)
    assert(p:collect())
    local last, young = {}, true
    for _, s in ipairs(p:series()) do
      last[s.name] = s.value[#s.value]
      young = young and #s.ns > 1 and s.ns[#s.ns - 1] > now
    end
    if young then return last end
  end
  error "the plugin gives no values"
end

describe("A plugin that comes with pmlua", function()
  after_each(function()
    for _, p in ipairs(started) do p:stop() end -- after a failed test
    started = {}
    if core then core.event.set_sysfs() end
    support.cleanup()
  end)

  it("sees memory that this process allocates", function()
    local p = start("process", { metrics = { "resident", "threads" } })
    local seen = false
    for _ = 1, 8 do
      collectgarbage()
      collectgarbage "stop" -- keep older garbage until the measurement is over
      p:start()
      local before = fresh(p)
      local text = ("x"):rep(200 * MIB)
      local after = fresh(p)
      collectgarbage "restart"
      -- an allocator may keep freed memory, and return it at any time
      seen = seen or after.resident - before.resident >= 150 * MIB
      assert.equal(200 * MIB, #text)
      text = nil -- luacheck: ignore 311
      collectgarbage()
      if seen then break end
    end
    p:stop()
    assert.is_true(seen)
  end)

  -- How much of what a process allocates the host has less is up to the kernel: cpus keep lists of free pages, which since
  -- Linux 6.7 may have hundreds of MiB and are not in MemFree.
  it("reports the host's memory like the kernel", function()
    local function of_kernel()
      local text = support.slurp "/proc/meminfo"
      local function bytes(name) return 1024 * tonumber(text:match(name .. ":%s*(%d+) kB")) end
      return { memory_used = bytes "MemTotal" - bytes "MemAvailable", memory_free = bytes "MemFree" }
    end
    local h = start("host", { metrics = { "memory_used", "memory_free" } })
    local fine = false
    h:start()
    for _ = 1, 20 do -- others allocate and free at the same time
      local before, told, after = of_kernel(), fresh(h), of_kernel()
      fine = true
      for name, value in pairs(told) do
        local least, most = math.min(before[name], after[name]), math.max(before[name], after[name])
        fine = fine and value >= least - 8 * MIB and value <= most + 8 * MIB
      end
      if fine then break end
    end
    h:stop()
    assert.is_true(fine)
  end)

  it("counts bytes sent over the loopback, in event sets as well", function()
    if support.shell("command -v python3") ~= 0 then
      return pending "python3, the sender, is not installed" -- luacheck: ignore 113
    end
    local p, events = start("host", { metrics = { "network_lo_sent", "network_lo_received" } })
    local set <close> = assert(pml.eventset(events))
    fresh(p)
    set:start()
    local status, _, err = support.shell([[python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0))
for i in range(500): s.sendto(b"x" * 10000, s.getsockname())']])
    assert.equal(0, status, err)
    fresh(p)
    local sent, received = set:read()
    assert.is_true(sent >= 5000000 and received >= 5000000, ("%d sent, %d received"):format(sent, received))
    local e = set:event(1)
    assert.same({ "B", "accumulated_start", "integer" }, { e.unit, e.mode, e.type })
    p:stop()
  end)


  it("is listed with its metrics, and with the missing features of this machine", function()
    local out = support.done(support.shell(support.build .. "/pmlua events plugin::host::"))
    assert.matches("pml%.plugin%.load { name = \"host\" }.*plugin::host::memory_available +memory available", out)
  end)

  it("refuses unknown metrics, with the nearest name or the reason", function()
    local function refused(t, code, says)
      local p, err, got = pml.plugin.load(t)
      assert.same({ nil, code }, { p, got })
      assert.matches(says, err)
    end
    refused({ name = "host", metrics = { "memry_free" } }, "ENOEVENT", "did you mean 'memory_free'")
    refused({ name = "host", metrics = { "load_1" }, root = "/nosuch" }, "ENOTHERE", "/nosuch/proc/loadavg: No such file")
    refused({ name = "host", metrics = {} }, "ENOTHERE", "no metric is requested")
    refused({ name = "process", pid = 4194305 }, "ENOTHERE", "No such file")
    refused({ name = "uncore", metrics = { "task-clock" } }, "ENOTHERE", "counts threads, not packages")
    refused({ name = "uncore", metrics = { "nosuch/x/" } }, "ENOTHERE", "no PMU \"nosuch\"")
    for _, t in ipairs { { name = "host", every = "soon" }, { name = "host", metrics = "load_1" }, { name = "host", pit = 1 },
      { name = "host", metrics = { 1 } }, { name = "process", pid = -1 }, { name = "host", root = 1 } } do
      local good, err = pcall(function() pml.plugin.load(t) end)
      assert.is_false(good)
      assert.matches("plugins_spec%.lua:%d+: .*%a", err)
    end
  end)
end)

describe("An event of packages", function()
  after_each(support.cleanup)

  it("is in the trace of an experiment under its full name, in the kernel's unit", function()
    if core.sys.nprocs() < 2 then return pending "a machine with two cpus is needed" end -- luacheck: ignore 113
    local dir = support.folder()
    local script = support.spit(dir .. "/places.lua", [[
      local pml = require "pmlua"
      assert(pml.event.set_sysfs "spec/data/sysfs/twin")
      return pml.experiment { name = "places", factors = { n = { 1 } }, repeats = 2, unit = "#",
        trace_events = { "node/energy/:package1", "node/odd/" }, measure = function(_, p) return p.n end }]])
    local status, out, err = support.shell(("%s/pmlua %s --no-plot -o %s"):format(support.build, script, dir))
    assert.equal(0, status, out .. err)
    if err:find "paranoid" then return pending(tostring(err)) end -- luacheck: ignore 113
    local _, definitions = support.shell(("otf2-print -G %s/places/latest/traces.otf2"):format(dir))
    assert.matches('"node/energy/:package1".-Base: BINARY, Exponent: %-32, Unit: "Joules"', definitions)
    assert.matches('"node/odd/".-Exponent: 0, Unit: "0.75 MiB"', definitions)
  end)
end)

describe("The uncore plugin", function()
  after_each(function() if core then core.event.set_sysfs() end end)

  it("has a metric for each package, which grows with the package's counts", function()
    if core.sys.nprocs() < 2 then return pending "a machine with two cpus is needed" end -- luacheck: ignore 113
    assert(pml.event.set_sysfs "spec/data/sysfs/twin")
    local p, err, code = pml.plugin.load { name = "uncore", metrics = { "node/cpu-clock/" }, every = "10ms" }
    if not p and err:find "paranoid" then return pending(tostring(err)) end -- luacheck: ignore 113
    assert(p, tostring(code) .. tostring(err))
    p:start()
    fresh(p)
    fresh(p)
    p:stop()
    local series = p:series()
    assert.same({ "node/cpu-clock/:package0", "node/cpu-clock/:package1" }, { series[1].name, series[2].name })
    for _, s in ipairs(series) do
      assert.same({ "ns", "accumulated_start", 0 }, { s.unit, s.mode, s.backwards })
      assert.is_true(s.value[#s.value] > s.value[1])
    end
    assert.equal("plugin::uncore::node/cpu-clock/:package1", series[2].event)
  end)

  it("covers the places of a described machine, if they open", function()
    assert(pml.event.set_sysfs "spec/data/sysfs/server")
    local events = { "power/energy-pkg/", "uncore_imc_0/cas_count_read/:package1" }
    local metrics = require("pmlua.plugins.uncore").metrics { metrics = events }
    local names = {}
    for i, m in ipairs(metrics) do names[i] = m.name end
    assert.same({ "power/energy-pkg/:package0", "power/energy-pkg/:package1", "uncore_imc_0/cas_count_read/:package1:die0",
      "uncore_imc_0/cas_count_read/:package1:die1" }, names)
    assert.same({ "Joules", 2.0 ^ -32 }, { metrics[1].unit, metrics[1].scale })
  end)
end)
