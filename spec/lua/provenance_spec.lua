-- SPDX-License-Identifier: BSD-3-Clause

local support = require "spec.core.support"
local provenance = require "pmlua.internal.experiment.provenance"

describe("provenance", function()
  it("warns of conditions that make numbers less certain, once each", function()
    local all = provenance.warnings {
      virtual = true, virtual_product = "KVM", pmu = false, pmu_why = "why not", governor = "powersave, performance",
      load_average = 3, cpus = 2, clock = { name = "clock_gettime", cost_ns = 25, calibration = "the TSC is not trusted" },
    }
    assert.equal(5, #all)
    assert.matches("virtual machine %(KVM%)", all[1])
    assert.equal("why not; the compiler (pmlua cc --count) and a simulation (--sim) count without one", all[2])
    assert.matches("governor is powersave, performance", all[3])
    assert.matches("load average 3.00 on 2 cpus", all[4])
    assert.matches("clock_gettime, 25 ns a read: the TSC is not trusted", all[5])
  end)

  it("has no warning for a quiet machine", function()
    assert.same({}, provenance.warnings { virtual = false, pmu = true, governor = "performance", load_average = 0.1, cpus = 4,
                                          clock = { name = "tsc" } })
  end)

  it("records the kernel's information, and the hash of the script", function()
    local script = support.root .. "/scripts/timers.lua"
    local record = provenance.collect(support.core, script)
    assert.equal(support.slurp("/proc/sys/kernel/osrelease"):match("%S+"), record.versions.kernel)
    assert.equal(tonumber((support.slurp("/proc/loadavg"):match("^%S+"))) ~= nil, record.machine.load_average ~= nil)
    assert.equal(tonumber((support.slurp("/proc/meminfo"):match("MemTotal:%s*(%d+)"))), record.machine.memory_kib)
    assert.equal(tonumber(support.slurp("/proc/sys/kernel/perf_event_paranoid")), record.machine.perf_event_paranoid)
    assert.matches("^%x+$", record.script_sha256)
    assert.is_nil(record.machine.hostname)
  end)

  it("takes facts from the core that only it has", function()
    local m = provenance.machine(support.core)
    assert.equal(support.core.event.has_pmu() and true or false, m.pmu)
    assert.is_true(m.pmu or type(m.pmu_why) == "string")
    assert.is_true(#m.affinity >= 1)
    assert.equal("string", type(m.clock.name))
    assert.equal(support.core.version, provenance.versions(support.core).pmlua)
  end)

  it("hashes a script with any name", function()
    local script = os.tmpname() .. " it's $(a) script.lua"
    local f <close> = assert(io.open(script, "w"))
    f:write("abc")
    f:close()
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      provenance.collect(nil, script).script_sha256)
    os.remove(script)
  end)

  it("leaves out facts that a machine without /sys does not have", function()
    local without = "unshare -rm sh -c 'mount -t tmpfs none /sys && exec %s/pmlua %s'"
    if support.shell(without:format(support.build, "--version")) ~= 0 then return pending "no namespace can be made here" end
    local bench = "bench --runs 2 -q --no-plot -o " .. support.folder() .. " true"
    local out = support.done(support.shell(without:format(support.build, bench)))
    assert.matches("complete, 2 rounds", out)
  end)

  it("survives a missing script", function()
    assert.is_nil(provenance.collect(nil, "/nonexistent.lua").script_sha256)
  end)
end)
