-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/provenance.lua - what a number depends on: machine, kernel, settings, versions, script.
-- It only reads.
--
-- Try:  for _, w in ipairs(require("pmlua.internal.experiment.provenance").collect().warnings) do print(w) end
--
-- Nothing is ever changed: a governor or a watchdog that disturbs is a warning in the record and the user's decision.

local disk = require "pmlua.internal.file"
local json = require "pmlua.json"

local M = {}

local function first_line(path)
  local text = disk.text(path)
  local line = text and text:match("^[^\n]*")
  return line ~= "" and line or nil
end

local function field_of(text, key) return text and ("\n" .. text):match("\n" .. key .. "%s*:%s*([^\n]*)") end

-- arm64 has no "model name"; use its main id fields.
local function cpu_model(cpuinfo)
  local model = field_of(cpuinfo, "model name")
  if model then return model end
  local implementer, part = field_of(cpuinfo, "CPU implementer"), field_of(cpuinfo, "CPU part")
  return implementer and ("implementer %s part %s"):format(implementer, part or "?") or field_of(cpuinfo, "uarch")
end

-- The distinct values of a per-cpu file: "performance", or "performance, powersave" when some have one and some the other.
local function per_cpu(name)
  local seen, out = {}, {}
  for _, entry in ipairs(disk.names "/sys/devices/system/cpu") do
    local v = entry:match("^cpu%d+$") and first_line(("/sys/devices/system/cpu/%s/%s"):format(entry, name))
    if v and not seen[v] then
      seen[v] = true
      out[#out + 1] = v
    end
  end
  table.sort(out)
  return #out > 0 and table.concat(out, ", ") or nil
end

local function hypervisor(cpuinfo)
  local flags = field_of(cpuinfo, "flags") or ""
  if (" " .. flags .. " "):find(" hypervisor ", 1, true) then
    local product = first_line("/sys/class/dmi/id/product_name")
    return true, product
  end
  local vendor = first_line("/sys/hypervisor/type")
  return vendor ~= nil, vendor
end

local function integer_of(path) return math.tointeger(tonumber(first_line(path) or "")) end

local function cpu_facts(core, cpuinfo)
  local virtual, product = hypervisor(cpuinfo)
  return {
    cpu = cpu_model(cpuinfo), microcode = field_of(cpuinfo, "microcode"), cpus = core and core.sys.nprocs() or nil,
    cores_per_package = math.tointeger(tonumber(field_of(cpuinfo, "cpu cores") or "")),
    smt = first_line("/sys/devices/system/cpu/smt/active") == "1", governor = per_cpu("cpufreq/scaling_governor"),
    boost = first_line("/sys/devices/system/cpu/cpufreq/boost"),
    no_turbo = first_line("/sys/devices/system/cpu/intel_pstate/no_turbo"),
    virtual = virtual, virtual_product = product, isolated = first_line("/sys/devices/system/cpu/isolated"),
  }
end

local function kernel_facts(m)
  m.perf_event_paranoid = integer_of("/proc/sys/kernel/perf_event_paranoid")
  m.nmi_watchdog = integer_of("/proc/sys/kernel/nmi_watchdog")
  m.perf_user_access = integer_of("/proc/sys/kernel/perf_user_access")
  m.rdpmc = integer_of("/sys/bus/event_source/devices/cpu/rdpmc")
  m.clocksource = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
  m.randomize_va_space = integer_of("/proc/sys/kernel/randomize_va_space")
  m.transparent_hugepage = (disk.text("/sys/kernel/mm/transparent_hugepage/enabled") or ""):match("%[(.-)%]")
  m.load_average = tonumber((first_line("/proc/loadavg") or ""):match("^%S+"))
  m.memory_kib = math.tointeger(tonumber((disk.text("/proc/meminfo") or ""):match("MemTotal:%s*(%d+)")))
  m.system = (disk.text("/etc/os-release") or ""):match('PRETTY_NAME="([^"]*)"')
end

--- The current state of the machine.
---@param core? table pmlua.core; without it what only it can tell is left out
function M.machine(core)
  local m = cpu_facts(core, disk.text("/proc/cpuinfo") or "")
  kernel_facts(m)
  if core then
    local has, why = core.event.has_pmu()
    m.pmu, m.pmu_why = has and true or false, not has and why or nil
    m.clock = core.clock.info()
    m.affinity = json.array(core.sys.affinity())
    m.architecture = core.sys.uname().machine
    m.wrong_events = require("pmlua.internal.verify").names()
  end
  return m
end

-- Libraries as the process has them mapped: the file's name carries the version.
local function mapped_version(maps, library) return maps:match(library .. "%.so%.([%d.]+)") end

local function first_line_of(command)
  local pipe <close> = io.popen("{ " .. command .. "; } 2>/dev/null", "r")
  return pipe and pipe:read("l") or ""
end

local function gnuplot_version()
  return first_line_of("gnuplot --version"):match("^gnuplot (.*)$")
end

--- Hash the content through the shell's input, so the file's name does not matter.
---@return string?
function M.sha256(path)
  return first_line_of("sha256sum <" .. require("pmlua.internal.quote").shell(path)):match("^%x+")
end

function M.versions(core)
  local maps = disk.text("/proc/self/maps") or ""
  return {
    pmlua = core and core.version or nil, lua = _VERSION, kernel = first_line("/proc/sys/kernel/osrelease"),
    libpfm4 = mapped_version(maps, "libpfm"),
    libotf2_so = mapped_version(maps, "libotf2") or mapped_version(maps, "libopen%-trace%-format2"),
    gnuplot = gnuplot_version(),
  }
end

--- Conditions of this machine that make measurements less reliable.
---@param m table from machine()
function M.warnings(m)
  local out = {}
  local function warn(...) out[#out + 1] = string.format(...) end
  if m.virtual then
    warn("virtual machine%s: times include time that the host takes away",
      m.virtual_product and (" (%s)"):format(m.virtual_product) or "")
  end
  if m.pmu == false then
    warn("%s; the compiler (pmlua cc --count) and a simulation (--sim) count without one", m.pmu_why or
      "this machine has no hardware PMU")
  end
  if m.governor and m.governor ~= "performance" then
    warn("the cpufreq governor is %s: clock frequency follows the load (cpupower frequency-set -g performance)", m.governor)
  end
  if m.load_average and m.cpus and m.load_average > 0.5 * m.cpus then
    warn("load average %.2f on %d cpus: other programs disturb the measurement", m.load_average, m.cpus)
  end
  if m.clock and m.clock.name == "clock_gettime" then
    warn("the clock is clock_gettime, %.0f ns a read: %s", m.clock.cost_ns, m.clock.calibration)
  end
  for _, event in ipairs(m.wrong_events or {}) do warn("%s: %s", event, require("pmlua.internal.verify").remark(event)) end
  return out
end

--- Everything for meta.json.
---@param core? table
---@param script? string path of the script
---@return {machine: table, versions: table, warnings: string[], script: string?, script_sha256: string?}
function M.collect(core, script)
  local machine = M.machine(core)
  return {
    machine = machine, versions = M.versions(core), warnings = json.array(M.warnings(machine)), script = script,
    script_sha256 = script and M.sha256(script),
  }
end

return M
