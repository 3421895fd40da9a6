-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/host_spec.lua - the plugins host and process, on this machine and on simulated /proc and /sys of others.

local support = require "spec.core.support"
local machine = require "spec.lua.host_machine"

describe("The host plugin on a described machine", function()
  it("has memory in bytes", function()
    local metrics, collect = machine.open("host", { root = machine.new() })
    local v = collect()
    assert.same({ 40000000 * 1024, 25536000 * 1024, 10000000 * 1024 }, { v.memory_available, v.memory_used, v.memory_free })
    assert.same({ 1000000 * 1024, 120 * 1024, 20000000 * 1024 }, { v.memory_swapped, v.memory_dirty, v.memory_cached })
    assert.same({ "B", "absolute_point", "integer" },
      { metrics.memory_used.unit, metrics.memory_used.mode, metrics.memory_used.type })
  end)

  it("has load and tasks, and counts from the beginning", function()
    local root = machine.new()
    local _, collect = machine.open("host", { root = root })
    local v = collect()
    assert.same({ 0.52, 1.04, 2.08, 3, 1 }, { v.load_1, v.load_5, v.load_15, v.tasks_running, v.tasks_blocked })
    assert.same({ 0, 0, 0 }, { v.context_switches, v.interrupts, v.forks })
    assert.is_nil(v.cpus_busy)
    machine.put(root, "proc/stat", (machine.files["proc/stat"]:gsub("ctxt 777777", "ctxt 777877"):gsub("processes 4242",
      "processes 4243")))
    v = collect()
    assert.same({ 100, 1 }, { v.context_switches, v.forks })
  end)

  it("has busy processors as a rate: of all states but idle, waiting and stolen", function()
    local measure, files = require "pmlua.internal.host.measure", require "pmlua.internal.host.files"
    local kernel = require "pmlua.internal.host.kernel"
    local root = machine.new()
    local metrics, from = {}, files.new(root)
    for _, m in ipairs(kernel.processors(from)) do
      m.how = "since" -- the same sums, but for the time between
      metrics[#metrics + 1] = m
    end
    local collect = measure.collector(from, metrics)
    collect()
    machine.put(root, "proc/stat", "cpu  1100 20 530 90000 170 6 16 17 0 0\ncpu0 700 15 330 45000 90 6 11 14 0 0\n")
    local v = collect()
    assert.near(1.42, v.cpus_busy, 1e-9) -- 100 + 10 + 30 + 1 + 1 ticks of 10 ms
    assert.near(1.0, v.cpus_user, 1e-9)
    assert.near(0.3, v.cpus_system, 1e-9)
    assert.near(0.1, v.cpus_stolen, 1e-9)
    assert.near(1.42, v.cpu0_busy, 1e-9)
    assert.is_nil(v.cpu1_busy) -- it went offline
    assert.is_nil(v.context_switches)
  end)

  it("never has more busy processors than there are, at any interval, and loses no tick", function()
    local measure, files = require "pmlua.internal.host.measure", require "pmlua.internal.host.files"
    local root, now_ns, ticks, sum, told, values = machine.new(), 0, 1000, 0.0, 0, 0
    local from = files.new(root)
    local collect = measure.collector(from, require("pmlua.internal.host.kernel").processors(from), function() return now_ns end)
    local function step(ms, more)
      now_ns, ticks = now_ns + ms * 1000000, ticks + more
      machine.put(root, "proc/stat", ("cpu  %d 10 500 80000 100 5 15 7 0 0\ncpu0 %d 5 300 40000 50 5 10 4 0 0\n"
        .. "cpu1 400 5 200 40000 50 0 5 3 0 0\n"):format(ticks, ticks))
      local v = collect()
      if not v.cpus_busy then return end
      assert.is_true(v.cpus_busy >= 0 and v.cpus_busy <= 2, tostring(v.cpus_busy))
      assert.is_true(v.cpu0_busy >= 0 and v.cpu0_busy <= 1, tostring(v.cpu0_busy))
      sum, told, values = sum + v.cpus_busy * (now_ns - told) * 1e-9, now_ns, values + 1
    end
    step(0, 0)
    for k = 1, 200 do step(k % 7 == 0 and 11 or 1, k % 10 == 0 and 9 or 0) end -- bursts: 1.8 s of them in 0.48 s
    for _ = 1, 50 do step(60, 0) end
    assert.near(1.8, sum, 1e-9)
    assert.is_true(values > 50 and values < 70) -- none after less than 50 ms
  end)

  it("has the network by interface, and over all but the loopback", function()
    local root = machine.new()
    local _, collect = machine.open("host", { root = root })
    collect()
    machine.put(root, "proc/net/dev", (machine.files["proc/net/dev"]:gsub("eth0:1000000", "eth0:1500000"):gsub(" 4000 ", " 4400 ")
      :gsub("lo: 5000 ", "lo: 9000 ")))
    local v = collect()
    assert.same({ 500000, 400, 4000, 0 },
      { v.network_received, v.network_sent, v.network_lo_received, v.network_lo_sent })
    assert.same({ 500000, 400 }, { v.network_eth0_received, v["network_eth0.100_sent"] })
    machine.put(root, "proc/net/dev", machine.files["proc/net/dev"]) -- the counters start again, as after a reboot
    assert.equal(500000, collect().network_eth0_received)
  end)

  it("has disks, but no loop devices, and waiting", function()
    local root = machine.new()
    local metrics, collect = machine.open("host", { root = root })
    collect()
    machine.put(root, "proc/diskstats", (machine.files["proc/diskstats"]:gsub("80000", "80010"):gsub("1200 1400", "1250 1400")))
    machine.put(root, "proc/pressure/cpu", (machine.files["proc/pressure/cpu"]:gsub("1500000", "1500250")))
    local v = collect()
    assert.same({ 5120, 0, 50, 250 }, { v.disk_nvme0n1_read, v.disk_nvme0n1_written, v.disk_nvme0n1_busy, v.pressure_cpu })
    assert.same({ -3, -6 }, { metrics.disk_nvme0n1_busy.exponent, metrics.pressure_cpu.exponent })
    assert.is_nil(metrics.disk_loop0_read)
  end)

  it("has temperatures, frequencies and power under the names of their sensors", function()
    local metrics, collect = machine.open("host", { root = machine.new() })
    local v = collect()
    assert.same({ 45000, 47500 }, { v.temperature_coretemp_Package_id_0, v.temperature_coretemp_Package_id_1 })
    assert.same({ -5000, 48000 }, { v.temperature_x86_pkg_temp, v.temperature_x86_pkg_temp_2 })
    assert.same({ 2400000, 3100000 }, { v.frequency_cpu0, v.frequency_cpu10 })
    assert.same({ 3, "Hz" }, { metrics.frequency_cpu0.exponent, metrics.frequency_cpu0.unit })
    assert.equal(213000000, v.power_acpi_power_meter_power1)
  end)

  it("counts energy over the end of the counter's range", function()
    local root = machine.new()
    local metrics, collect = machine.open("host", { root = root })
    local v = collect()
    assert.same({ 0, 0, 0 }, { v.energy_package_0, v.energy_package_0_dram, v.energy_package_1 })
    assert.is_nil(v.power_package_0)
    machine.put(root, "sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n")
    machine.put(root, "sys/class/powercap/intel-rapl:1/energy_uj", "2000005\n")
    v = collect()
    assert.same({ 1328850, 0, 2000000 }, { v.energy_package_0, v.energy_package_0_dram, v.energy_package_1 })
    assert.is_true(v.power_package_0 > 0 and v.power_package_1 > v.power_package_0)
    assert.same({ "J", -6, "W" },
      { metrics.energy_package_0.unit, metrics.energy_package_0.exponent, metrics.power_package_0.unit })
    machine.put(root, "sys/class/powercap/intel-rapl:0/energy_uj", "1000007\n")
    assert.equal(1328857, collect().energy_package_0)
  end)

  it("gives a reason for missing values, and survives their loss", function()
    local root = machine.new { ["proc/loadavg"] = false, ["proc/diskstats"] = false,
      ["proc/meminfo"] = "MemTotal:  1000 kB\nMemFree:  500 kB\n" }
    os.execute("rm -r " .. support.quote(root) .. "/sys/class")
    local metrics, collect = machine.open("host", { root = root })
    assert.matches("proc/loadavg: No such file", metrics["load_*"].reason)
    assert.matches("proc/diskstats: No such file", metrics["disk_*"].reason)
    assert.matches("does not have it", metrics.memory_available.reason)
    assert.matches("no sensor", metrics["temperature_*"].reason)
    assert.matches("no meter", metrics["power_*"].reason)
    assert.equal(500 * 1024, collect().memory_free)
    machine.put(root, "proc/meminfo", nil)
    assert.is_nil(collect().memory_free)
    machine.put(root, "proc/meminfo", "MemFree: nothing\n")
    assert.is_nil(collect().memory_free)
    machine.put(root, "proc/meminfo", "MemFree:  7 kB\n")
    assert.equal(7 * 1024, collect().memory_free)
  end)

  it("reports that energy is for root alone if it may not be read", function()
    local root = machine.new()
    local id = io.popen("id -u")
    local is_root = id:read("n") == 0
    id:close()
    local as = ""
    if is_root then
      if support.shell("command -v setpriv") ~= 0 then return pending("setpriv is not installed: root may read everything") end
      as = "setpriv --reuid 65534 --regid 65534 --clear-groups "
    end
    os.execute(("chmod -R a+rX %s; chmod 0400 %s/sys/class/powercap/*/energy_uj"):format(root, root))
    if not is_root then os.execute(("chmod 0 %s/sys/class/powercap/*/energy_uj"):format(root)) end
    local status, out, err = support.shell(([[%s%s/pmlua -e 'print(select(2, pml.plugin.load { name = "host", metrics = {
      "power_package_0" }, root = "%s" }))']]):format(as, support.build, root))
    if status ~= 0 and is_root then return pending("nobody may not run the command here: " .. err) end
    assert.equal(0, status, err)
    assert.matches("energy_uj: Permission denied; only root may read it since Linux 5.10.*power/energy%-pkg/.*ENOTHERE", out)
  end)
end)

describe("The process plugin on a described machine", function()
  it("has memory, threads, faults and disk traffic of a process by its number", function()
    local root = machine.new()
    local metrics, collect = machine.open("process", { root = root, pid = 4711 })
    local v = collect()
    assert.same({ 500000 * 1024, 900000 * 1024, 8 }, { v.resident, v.virtual, v.threads })
    machine.put(root, "proc/4711/stat", (machine.files["proc/4711/stat"]:gsub(" 1234 0 56 ", " 1334 0 57 ")))
    machine.put(root, "proc/4711/io", (machine.files["proc/4711/io"]:gsub("8192", "16384")))
    v = collect()
    assert.same({ 100, 1, 0, 8192 }, { v.faults, v.major_faults, v.read, v.written })
    assert.equal("process", require("pmlua.plugins.process").scope)
    assert.is_nil(metrics.resident.reason)
  end)

  it("has processors at work by the clock of a process, equal to getrusage after its end", function()
    local sys, child = require("pmlua.core").sys, require "pmlua.internal.child"
    local had_ns, at_ns
    local ended = assert(child.run({ "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done" }, function(pid)
      had_ns, at_ns = sys.cpu_time(pid) -- it waits to begin
      assert.is_true(had_ns >= 0 and at_ns > 0)
    end))
    local used_ns = ended.user_ns + ended.system_ns
    assert.is_true(had_ns < used_ns)
    local x, outer, from_ns, inner = 0, os.clock(), sys.cpu_time(), os.clock()
    while sys.cpu_time() - from_ns < 50000000 do x = x + 1 end
    local inner_s = os.clock() - inner
    local to_ns = sys.cpu_time()
    assert.is_true((to_ns - from_ns) * 1e-9 >= inner_s - 2e-6 and (to_ns - from_ns) * 1e-9 <= os.clock() - outer + 2e-6)
    local metrics, collect = machine.open("process", {})
    assert.is_nil(metrics.cpus.reason)
    collect()
    for k = 1, 200 do
      for _ = 1, k * 50 do x = x + 1 end
      local v = collect().cpus
      assert.is_true(v == nil or v >= 0 and v <= sys.nprocs(), tostring(v))
    end
    assert.is_nil((sys.cpu_time(1 << 30)))
  end)

  it("reports that the process does not exist", function()
    local metrics = machine.open("process", { root = machine.new(), pid = 12 })
    assert.matches("proc/12/status: No such file", metrics.resident.reason)
  end)
end)

describe("Files of /proc and /sys that are damaged", function()
  -- Change, cut off or repeat bytes of a file, the same ones in each run.
  local function damage(text, random)
    local kind, at = random(4), random(#text)
    if kind == 1 then return text:sub(1, at - 1) end
    if kind == 2 then return text:sub(1, at - 1) .. string.char(random(256) - 1) .. text:sub(at + 1) end
    if kind == 3 then return text:sub(1, at) .. ("9"):rep(random(40)) .. text:sub(at + 1) end
    return text:sub(at) .. text .. text:sub(1, at)
  end

  it("give numbers of the declared type, or no value, and never an error", function()
    local random = require "pmlua.internal.rng" (7)
    local paths = {}
    for path in pairs(machine.files) do paths[#paths + 1] = path end
    table.sort(paths)
    local values, root = 0, machine.new()
    for _ = 1, 200 do
      local changed = {}
      for _ = 1, 1 + random(6) do changed[#changed + 1] = paths[random(#paths)] end
      for plugin, options in pairs { host = { root = root }, process = { root = root, pid = 4711 } } do
        for _, path in ipairs(changed) do machine.put(root, path, damage(machine.files[path], random)) end
        local _, collect, there = machine.open(plugin, options)
        collect()
        for _, path in ipairs(changed) do machine.put(root, path, damage(machine.files[path], random)) end
        local got = collect()
        for _, m in ipairs(there) do
          local v = got[m.name]
          values = values + (v and 1 or 0)
          assert.is_true(v == nil or math.type(v) == m.type, m.name .. " is " .. tostring(v))
          assert.is_true(v == nil or v == v, m.name)
        end
      end
      for _, path in ipairs(changed) do machine.put(root, path, machine.files[path]) end
    end
    assert.is_true(values > 1000)
  end)
end)
