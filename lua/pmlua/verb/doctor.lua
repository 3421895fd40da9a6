-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua doctor`: which features work on this machine, and for the others the reason and the remedy.
--
--     pmlua doctor
--     pmlua doctor --verify
--     pmlua doctor ./solver

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local lists = require "pmlua.internal.lists"
local printable = require "pmlua.internal.printable"
local tabulate = require "pmlua.tabulate"

local M = {
  summary = "report which features work on this machine, why others do not, and what would help",
  about = [[
Each feature has one line with its status (ok, limited or missing) and the finding; the line below states what would help.
pmlua doctor changes nothing. Its exit status is 0, because a machine without a PMU is not an error.

With --verify, pmlua doctor counts loops whose instructions, branches, cycles, loads, misses and page faults are known, and
compares the counters with these numbers. It stores the result for this machine, so that pmlua stat and experiments warn about
wrong events, and its exit status is 1 if an event is wrong. It also prints the errata that the manufacturer published for the
processor's counters.

With PROGRAM, pmlua doctor reports what this program offers to pmlua record instead, and the command to use: libraries, functions
of its own, symbols, source lines, interpreters, and annotations. doctor reads the file and runs nothing.]],
  arguments = { { name = "PROGRAM", key = "program", kind = "file", optional = true } },
  options = {
    { name = "verify", help = "compare the counters with loops whose event counts are known" },
    common.with("json", { help = "print an array of {name, status, finding, remedy}; with --verify, of the events' rows" }),
    common.with("csv", { help = "print the same rows as CSV" }),
    common.with "out",
  },
  exclusive = { { "json", "csv" } },
  output = true,
  examples = { "pmlua doctor", "pmlua doctor python3", "pmlua doctor --json", "pmlua doctor --verify" },
}

local function slurp(path)
  local text = require "pmlua.internal.file".text(path)
  return text and (text:gsub("%s+$", ""))
end

local function exists(path) return core.sys.realpath(path) ~= nil end

local sentence = core.failure.sentence

--- Open and close; true, or false and the failure.
local function try(name, options)
  local counter, err = core.counter.open(name, options)
  if not counter then return false, err end
  counter:close()
  return true
end

--- The text and the remedy of a failure.
local function split(err)
  if err.text then return err.text, err.remedy end
  local finding, remedy = err:match("^(.-); (.*)$")
  return finding or err, remedy
end

local machine = core.sys.uname().machine
local checks = {}

local function check(name, f) checks[#checks + 1] = { name = name, run = f } end

check("clock", function()
  local info, err = core.clock.info()
  if not info then return "missing", sentence(err) end
  local finding = ("%s, %.6g MHz, resolution %.3g ns, cost %.3g ns; %s"):format(info.name,
    info.ticks_per_second / 1e6, info.resolution_ns, info.cost_ns, info.calibration)
  if info.name ~= "clock_gettime" then return "ok", finding end
  return "limited", finding, "a CPU counter the kernel trusts (clocksource tsc) makes a timestamp cheaper"
end)

check("hardware PMU", function()
  local has, why = core.event.has_pmu()
  if has then return "ok", "the core PMU counts" end
  local finding, remedy = split(why)
  return "missing", finding, remedy or "count by the compiler or by simulation (see below), or use a host that exposes its PMU"
end)

check("kind of PMU", function()
  local traits, err = core.event.pmu_traits()
  if not traits then return "missing", split(err) end
  local virtual = (slurp("/proc/cpuinfo") or ""):find("\nflags[^\n]* hypervisor[ \n]") or exists("/sys/hypervisor/type")
  local cores = traits.kinds > 1 and (", of %d kinds of core"):format(traits.kinds) or ""
  if virtual and not traits.precise then
    return "limited", "virtual" .. cores .. ", without precise events: the hypervisor mediates or emulates it",
      "pmlua doctor --verify tries whether it counts right, and how many counters it has"
  elseif virtual then
    return "ok", "virtual" .. cores .. ", with precise events", "pmlua doctor --verify tries whether it counts right"
  elseif not traits.counts_guests then
    return "ok", "the processor's" .. cores .. "; it is lent to guests (mediated), which are never counted"
  end
  return "ok", "the processor's" .. cores .. (traits.precise and ", with precise events" or ", without precise events")
end)

-- The kernel's setting for counter reads from user space; "" if the kernel has no such setting.
local function read_policy()
  if machine == "aarch64" then
    local value = (slurp("/proc/sys/kernel/perf_user_access") or ""):match("%d+")
    return value and (" (perf_user_access is %s: 0 forbidden, 1 if requested at open)"):format(value) or ""
  end
  local value
  for _, pmu in ipairs { "cpu", "cpu_core" } do
    value = value or (slurp("/sys/bus/event_source/devices/" .. pmu .. "/rdpmc") or ""):match("%d+")
  end
  return value and (" (rdpmc is %s: 0 forbidden, 1 with an event open, 2 always)"):format(value) or ""
end

check("user-space reads", function()
  if not core.event.has_pmu() then return "missing", "no core PMU to read", nil end
  local counter, err = core.counter.open("cycles:u")
  if not counter then counter, err = core.counter.open("instructions:u") end
  if not counter then return "missing", split(err) end
  local path, why = counter:path()
  counter:close()
  if path == "page" then return "ok", "counters are read without a system call" .. read_policy() end
  local arm = machine == "aarch64"
  return "limited", (why or "counters are read by read(2)") .. read_policy(), arm and "sysctl kernel.perf_user_access=1"
    or "write 1 to /sys/bus/event_source/devices/cpu/rdpmc"
end)

local function capability(bit)
  local mask = (slurp("/proc/self/status") or ""):match("CapEff:%s*(%x+)")
  return mask and (tonumber(mask, 16) >> bit) & 1 == 1
end
local CAP_SYS_ADMIN, CAP_PERFMON = 21, 38

check("perf_event_paranoid", function()
  local level = tonumber(slurp("/proc/sys/kernel/perf_event_paranoid") or "")
  if not level then return "missing", "this kernel has no perf events", "a kernel built with CONFIG_PERF_EVENTS" end
  local finding = ("level %d"):format(level)
  if capability(CAP_PERFMON) or capability(CAP_SYS_ADMIN) then
    return "ok", finding .. ", which does not bind this process"
  elseif level <= 1 then
    return "ok", finding .. ": own processes may be counted, kernel included"
  elseif try "dummy:u" then
    return "limited", finding .. ": own processes are counted in user space only (page-faults counts as page-faults:u)",
      "as root: sysctl kernel.perf_event_paranoid=1 adds the kernel; or run with CAP_PERFMON"
  elseif level > 2 then
    return "missing", finding .. ": nothing may be counted",
      "as root: sysctl kernel.perf_event_paranoid=2; or run with CAP_PERFMON"
  end
  return "missing", finding .. ", but a seccomp filter or a security module forbids perf_event_open", "allow it on the host"
end)

check("capabilities", function()
  if capability(CAP_SYS_ADMIN) then return "ok", "CAP_SYS_ADMIN: everything the kernel can count" end
  if capability(CAP_PERFMON) then return "ok", "CAP_PERFMON: everything the kernel can count" end
  return "limited", "neither CAP_PERFMON nor CAP_SYS_ADMIN: own processes only",
    "run as root, or setcap cap_perfmon+ep on the command, for system-wide and kernel events"
end)

check("NMI watchdog", function()
  local on = slurp("/proc/sys/kernel/nmi_watchdog")
  if on == "1" then
    return "limited", "it holds one hardware counter", "sysctl kernel.nmi_watchdog=0 while measuring"
  end
  return "ok", on == "0" and "off: no counter is held" or "this kernel has no NMI watchdog"
end)

check("tracepoints", function()
  for _, root in ipairs { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" } do
    if exists(root .. "/events/sched/sched_switch/id") and io.open(root .. "/events/sched/sched_switch/id") then
      local works, err = try("sched:sched_switch")
      if works then return "ok", "tracefs at " .. root end
      return "limited", split(err)
    end
  end
  if exists("/sys/kernel/tracing") then
    return "missing", "tracefs is not mounted, or not readable by you",
      "as root: mount -t tracefs nodev /sys/kernel/tracing; for users: mount -o remount,mode=755 /sys/kernel/tracing"
  end
  return "missing", "this kernel has no tracefs", "a kernel built with CONFIG_TRACING"
end)

check("breakpoints", function()
  local works, err = try("mem:0x1000:w")
  if works then return "ok", "accesses to an address can be counted (mem:SYMBOL:rw)" end
  return "missing", split(err)
end)

check("watchpoints", function()
  local possible, why = core.watchpoint.available()
  if not possible then return "missing", split(why) end
  local found, err, code = core.watchpoint.find("/proc/self/exe", "main")
  if found or code ~= "ENOTHERE" then return "ok", "accesses of a program's threads, and what they write (pmlua watchpoint)" end
  return "missing", err.text, "install libdw1 (Debian), and libdw-dev where pmlua is built"
end)

check("uprobes", function()
  if not exists("/sys/bus/event_source/devices/uprobe") then
    return "missing", "this kernel has no uprobe PMU", "a kernel built with CONFIG_UPROBE_EVENTS"
  end
  local library = (slurp("/proc/self/maps") or ""):match("%s(/[^\n]*/libpmlua%.so[^\n]*)")
  if not library then return "ok", "the uprobe PMU is there" end
  local works, err = try("uprobe:" .. library .. ":pml_clock_init")
  if works then return "ok", "calls of user-space functions can be counted (uprobe:PATH:SYMBOL)" end
  return "missing", split(err)
end)

check("msr PMU", function()
  if not exists("/sys/bus/event_source/devices/msr") then
    if machine ~= "x86_64" then return "missing", "x86 only" end
    return "missing", "this kernel has no msr PMU", "a kernel built with CONFIG_PERF_EVENTS_INTEL_UNCORE or the msr module"
  end
  local works, err = try("msr/tsc/")
  if works then return "ok", "msr/tsc/ and its like count" end
  return "missing", split(err)
end)

check("uncore PMUs", function()
  local names, reason, opens = {}, nil, false
  for _, row in ipairs(core.event.list("*/*/") or {}) do
    if row.source == "sysfs" and exists(("/sys/bus/event_source/devices/%s/cpumask"):format(row.pmu)) then
      if names[#names] ~= row.pmu then names[#names + 1] = row.pmu end
      if row.available then opens = true else reason = row.reason end
    end
  end
  if #names == 0 then return "missing", "no PMU counts packages (memory controllers, energy)" end
  if not opens then
    local forbidden = reason:find "^not permitted"
    return "missing", ("%s: %s"):format(names[1], forbidden and "not permitted" or reason),
      forbidden and "run with CAP_PERFMON, or as root: sysctl kernel.perf_event_paranoid=0" or nil
  end
  local more = #names > 3 and (" and %d more"):format(#names - 3) or ""
  return "ok", ("packages are counted by %s%s"):format(table.concat(names, ", ", 1, math.min(#names, 3)), more)
end)

check("sensors", function()
  local found, lacking = {}, {}
  for _, m in ipairs(require("pmlua.plugins.host").metrics {}) do
    local kind = m.name:match("^temperature") or m.name:match("^power") or m.name:match("^frequency")
    if kind and m.reason then lacking[#lacking + 1] = ("%s: %s"):format(kind, m.reason)
    elseif kind and found[#found] ~= kind then found[#found + 1] = kind end
  end
  if #found == 0 then return "missing", "the host reports neither temperatures nor power nor frequencies" end
  local have = "metrics of the host: " .. table.concat(found, ", ") .. " (pmlua events plugin::host)"
  if #lacking == 0 then return "ok", have end
  return "limited", have .. "; not " .. lacking[1]
end)

check("libpfm4", function()
  local rows, err = core.event.list("PERF_COUNT_HW_CPU_CYCLES", false)
  if not rows then return "missing", sentence(err) end
  local encoded, why = core.event.parse("perf::TASK-CLOCK")
  if encoded then return "ok", "resolves names of events, also of other machines' PMUs" end
  return "limited", split(why)
end)

check("OTF2", function()
  local _, err, code = core.trace.open("") -- it is loaded for the first trace
  local maps = slurp("/proc/self/maps") or ""
  local library = maps:match("%s(/[^\n]*libopen%-trace%-format2[^\n]*)") or maps:match("%s(/[^\n]*libotf2[^\n]*)")
  if library then return "ok", "traces are written by " .. library end
  if code == "ENOTHERE" then return "missing", sentence(err) end
  return "missing", "libotf2 is not loaded", "install libotf2-trace-dev and build again"
end)

local function command(name) return (require "pmlua.internal.preload".locate(name)) end

check("simulation", function()
  local path, version = require("pmlua.internal.simulation.run").available()
  if path then return "ok", ("pmlua stat --sim counts without a PMU, by valgrind %s"):format(version) end
  return "missing", "pmlua stat --sim, pmlua --sim and pmlua guard need valgrind", "install Debian's package valgrind"
end)

check("LuaSocket", function()
  if pcall(require, "socket") then return "ok", "pmlua serve can listen" end
  return "missing", "pmlua serve cannot listen", "install LuaSocket (Debian: lua-socket)"
end)

check("gnuplot", function()
  local path = command("gnuplot")
  if path then return "ok", path end
  return "missing", "experiments leave data, but no plots", "install gnuplot (Debian: gnuplot-nox)"
end)

check("Graphviz", function()
  local path = command("dot")
  if path then return "ok", path end
  return "missing", "event flow graphs are written, but not drawn", "install Graphviz (Debian: graphviz)"
end)

check("virtual machine", function()
  local cpuinfo = slurp("/proc/cpuinfo") or ""
  local vendor = slurp("/sys/class/dmi/id/sys_vendor")
  local virtual = cpuinfo:find("\nflags[^\n]* hypervisor[ \n]") or exists("/sys/hypervisor/type")
  if not virtual then return "ok", "no hypervisor found" end
  return "limited", "runs under a hypervisor" .. (vendor and vendor ~= "" and " (" .. vendor .. ")" or "")
    .. ": times include its own", "measure on the bare machine, or compare within one run"
end)

check("compiler counts", function()
  local llvm = require "pmlua.internal.cc.llvm"
  local module, why = llvm.instrumenter()
  if not module then return "missing", split(why) end
  local of, clang = command "clang" and llvm.of { "clang" }, nil
  if of and not llvm.lacking("clang", of) then clang = "clang" end
  for _, version in ipairs(llvm.built()) do
    if not clang and command("clang-" .. version) then clang = "clang-" .. version end
  end
  if not clang then return "missing", "clang is not installed", "install clang (Debian: clang-14)" end
  return "ok", ("programs that are compiled by pmlua cc --count -- %s count their own operations (built for LLVM %s)"):format(
    clang, table.concat(llvm.built(), ", "))
end)

check("tuning", function()
  local here, paths = {}, { ["frequencies"] = "cpufreq/scaling_max_freq", ["idle states"] = "cpuidle/state0/disable" }
  local writable = true
  for what, path in pairs(paths) do
    path = "/sys/devices/system/cpu/cpu0/" .. path
    if exists(path) then
      here[#here + 1] = what
      local f <close> = io.open(path, "r+") -- and nothing is written
      writable = writable and f ~= nil
    end
  end
  table.sort(here)
  local found = table.concat(here, " and ")
  if #here == 0 then return "missing", "this kernel offers neither frequencies nor idle states", "use a bare machine" end
  if not writable then
    return "limited", ("only root may set %s (pml.tune)"):format(found), "run pmlua --allow-tuning SCRIPT as root"
  end
  return #here == 2 and "ok" or "limited", found .. " can be set (pml.tune, pmlua --allow-tuning SCRIPT)",
    #here == 1 and "a bare machine also offers frequencies" or nil
end)

check("CPU governor", function()
  local governor = slurp("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
  if not governor then return "ok", "the kernel does not scale the frequency" end
  if governor == "performance" then return "ok", governor end
  return "limited", governor .. ": the frequency changes while measuring", "cpupower frequency-set -g performance"
end)

check("line editing", function()
  local can, remedy = require("pmlua.internal.prompt.repl").can_edit()
  if can then return "ok", "the prompts of pmlua -i and pmlua attach have editing, history and completion" end
  return "limited", "the prompts of pmlua -i and pmlua attach work, without editing, history and completion", remedy
end)

local function examine()
  local rows = {}
  for i, c in ipairs(checks) do
    -- A check that fails to run is itself a finding; the others still have something to say.
    local done, status, finding, remedy = pcall(c.run)
    if not done then status, finding = "missing", "the check failed: " .. tostring(status) end
    rows[i] = { name = c.name, status = status, finding = finding, remedy = remedy }
  end
  return rows
end

local function printrows(rows)
  local counts = { ok = 0, limited = 0, missing = 0 }
  for _, row in ipairs(rows) do
    counts[row.status] = counts[row.status] + 1
    io.write(("%-8s %-20s %s\n"):format(row.status, row.name, tabulate.wrap(printable(row.finding), 30, 1)))
    if row.remedy then io.write(("%-8s %-20s -> %s\n"):format("", "", tabulate.wrap(printable(row.remedy), 33, 1))) end
  end
  io.write(("\n%d ok, %d limited, %d missing\n"):format(counts.ok, counts.limited, counts.missing))
end

local function csv(rows)
  local cells = lists.map(rows, function(row) return { row.name, row.status, row.finding, row.remedy } end)
  return require "pmlua.internal.cli.csv".table({ "name", "status", "finding", "remedy" }, cells)
end

local function print_verified(rows, n, why)
  local lines, counts = {}, { right = 0, wrong = 0, ["not counted"] = 0 }
  for i, r in ipairs(rows) do
    counts[r.verdict] = counts[r.verdict] + 1
    lines[i] = { r.event, r.loop, r.expected, r.counted, r.ratio and ("%.1f %%"):format(100 * r.ratio), r.verdict,
      r.reason and printable(r.reason) }
  end
  io.write(tabulate({ "event", "loop", "expected", "counted", "ratio", "verdict", "" }, lines),
    ("\n%d right, %d wrong, %d not counted\n"):format(counts.right, counts.wrong, counts["not counted"]))
  if n then
    io.write(("%d counters of the processor count at the same time%s\n"):format(n, why and ": " .. printable(why) or ""))
  end
end

--- Print the errata that the processor's maker published on its counters.
local function print_errata()
  local errata = require "pmlua.internal.errata".here()
  if #errata == 0 then return end
  local lines = lists.map(errata, function(e) return { e.number ~= "" and e.number or "-", e.events, e.what } end)
  io.write("\nerrata of this processor, by its maker:\n", tabulate({ "number", "events", "what" }, lines), "\n")
end

local function verify_counters(o)
  local verify = require "pmlua.internal.verify"
  local rows, cells = verify.events(), {}
  local wrong, n, why = false, nil, nil
  local sound = verify.sound(rows)
  if sound then n, why = verify.together(sound) end
  for i, r in ipairs(rows) do
    wrong = wrong or r.verdict == "wrong"
    cells[i] = { r.event, r.loop, r.expected, r.counted, r.ratio, r.verdict, r.reason }
  end
  if o.json then io.write(require "pmlua.json".encode(rows))
  elseif o.csv then
    local head = { "event", "loop", "expected", "counted", "ratio", "verdict", "reason" }
    io.write(require "pmlua.internal.cli.csv".table(head, cells))
  else
    print_verified(rows, n, why)
    print_errata()
  end
  local path, err = verify.keep(rows, n)
  if not path then io.stderr:write("pmlua doctor: the result is not stored: ", printable(err), "\n") end
  return wrong and 1 or 0
end

---@return integer status
function M.run(o)
  if o.verify then return verify_counters(o) end
  local rows, err
  if o.program then rows, err = require "pmlua.internal.offers".of(o.program) else rows = examine() end
  if not rows then return require "pmlua.internal.cli.complain" "doctor"(sentence(err)) end
  repeat until not core.event.user_only() -- the rows of perf_event_paranoid and of the kind of PMU say it
  if o.json then io.write(require "pmlua.json".encode(rows))
  elseif o.csv then io.write(csv(rows))
  else printrows(rows) end
  return 0
end

return M
