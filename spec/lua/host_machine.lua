-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/host_machine.lua - folders in place of /proc and /sys of a machine with two packages, in the kernel's formats.

local support = require "spec.core.support"
local lfs = require "lfs"

local M = {}

M.files = {
  ["proc/meminfo"] = "MemTotal:       65536000 kB\nMemFree:        10000000 kB\nMemAvailable:   40000000 kB\n"
    .. "Buffers:          200000 kB\nCached:         20000000 kB\nSwapCached:            0 kB\nActive(anon):     300000 kB\n"
    .. "Dirty:               120 kB\nSwapTotal:       8000000 kB\nSwapFree:        7000000 kB\nHugePages_Total:       0\n",
  ["proc/stat"] = "cpu  1000 10 500 80000 100 5 15 7 0 0\ncpu0 600 5 300 40000 50 5 10 4 0 0\ncpu1 400 5 200 40000 50 0 5 3 0 0\n"
    .. "intr 123456 0 9 0 0\nctxt 777777\nbtime 1700000000\nprocesses 4242\nprocs_running 3\nprocs_blocked 1\nsoftirq 99 1 2\n",
  ["proc/loadavg"] = "0.52 1.04 2.08 3/512 12345\n",
  ["proc/net/dev"] = "Inter-|   Receive                                                |  Transmit\n"
    .. " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    .. "compressed\n"
    .. "    lo: 5000      50    0    0    0     0          0         0     5000      50    0    0    0     0       0          0\n"
    .. "  eth0:1000000    900    0    0    0     0         0         0   200000     300    0    0    0     0       0          0\n"
    .. "eth0.100: 30000     40    0    0    0     0         0         0    4000     20    0    0    0     0       0          0\n",
  ["proc/diskstats"] = "   7       0 loop0 11 0 22 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    .. " 259       0 nvme0n1 1000 10 80000 500 2000 20 160000 900 0 1200 1400 0 0 0 0 5 6\n",
  ["proc/pressure/cpu"] = "some avg10=0.10 avg60=0.20 avg300=0.30 total=1500000\n"
    .. "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
  ["proc/pressure/memory"] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\n"
    .. "full avg10=0.00 avg60=0.00 avg300=0.00 total=40\n",
  ["proc/pressure/io"] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    .. "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
  ["proc/4711/status"] = "Name:\tsolver\nState:\tR (running)\n"
    .. "VmSize:\t  900000 kB\nVmRSS:\t  500000 kB\nVmSwap:\t       0 kB\nThreads:\t8\n",
  ["proc/4711/stat"] = "4711 (a) b (c)) R 1 4711 4711 0 -1 4194304 1234 0 56 0 700 300 0 0 20 0 8 0 100 921600000 125000\n",
  ["proc/4711/io"] = "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n",
  ["sys/class/hwmon/hwmon0/name"] = "coretemp\n",
  ["sys/class/hwmon/hwmon0/temp1_input"] = "45000\n",
  ["sys/class/hwmon/hwmon0/temp1_label"] = "Package id 0\n",
  ["sys/class/hwmon/hwmon1/name"] = "coretemp\n",
  ["sys/class/hwmon/hwmon1/temp1_input"] = "47500\n",
  ["sys/class/hwmon/hwmon1/temp1_label"] = "Package id 1\n",
  ["sys/class/hwmon/hwmon2/name"] = "acpi_power_meter\n",
  ["sys/class/hwmon/hwmon2/power1_average"] = "213000000\n",
  ["sys/class/thermal/thermal_zone0/type"] = "x86_pkg_temp\n",
  ["sys/class/thermal/thermal_zone0/temp"] = "-5000\n",
  ["sys/class/thermal/thermal_zone1/type"] = "x86_pkg_temp\n",
  ["sys/class/thermal/thermal_zone1/temp"] = "48000\n",
  ["sys/class/thermal/cooling_device0/type"] = "Processor\n",
  ["sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"] = "2400000\n",
  ["sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq"] = "3100000\n",
  ["sys/devices/system/cpu/cpufreq/boost"] = "1\n",
  ["sys/class/powercap/intel-rapl:0/name"] = "package-0\n",
  ["sys/class/powercap/intel-rapl:0/energy_uj"] = "262143000000\n",
  ["sys/class/powercap/intel-rapl:0/max_energy_range_uj"] = "262143328850\n",
  ["sys/class/powercap/intel-rapl:0/intel-rapl:0:0/name"] = "dram\n",
  ["sys/class/powercap/intel-rapl:0/intel-rapl:0:0/energy_uj"] = "1000\n",
  ["sys/class/powercap/intel-rapl:0/intel-rapl:0:0/max_energy_range_uj"] = "65712999613\n",
  ["sys/class/powercap/intel-rapl:1/name"] = "package-1\n",
  ["sys/class/powercap/intel-rapl:1/energy_uj"] = "5\n",
  ["sys/class/powercap/intel-rapl:1/max_energy_range_uj"] = "262143328850\n",
}

--- Write a file of the machine, or remove it.
function M.put(root, path, text)
  if not text then return os.remove(root .. "/" .. path) end
  for at in path:gmatch("()/") do lfs.mkdir(root .. "/" .. path:sub(1, at - 1)) end
  support.spit(root .. "/" .. path, text)
end

--- Make a machine with all files except those that are `false` in the table, and with the table's other files.
function M.new(changed)
  local root = support.folder()
  for path, text in pairs(M.files) do
    if not (changed and changed[path] == false) then M.put(root, path, text) end
  end
  for path, text in pairs(changed or {}) do
    if text then M.put(root, path, text) end
  end
  return root
end

--- The metrics of a plugin by their names, and a function that collects.
function M.open(plugin, options)
  local module = require("pmlua.plugins." .. plugin)
  local all, byname, there = module.metrics(options), {}, {}
  for _, m in ipairs(all) do
    byname[m.name] = m
    if not m.reason then there[#there + 1] = m end
  end
  return byname, module.collector(options, there), there
end

return M
