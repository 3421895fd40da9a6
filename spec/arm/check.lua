-- SPDX-License-Identifier: BSD-3-Clause
-- spec/arm/check.lua - boot the emulated machines and count the checks of their programs. Try: make check-arm
--
-- Every machine is a boot of qemu with its own kind of PMU. All run at once, each with a time limit, and print their
-- progress. The guest's lines decide between pass and fail, never qemu's exit status; a machine that does not finish has
-- failed. All output goes to build/arm/log.

package.path = "spec/?.lua;" .. package.path
local tally = require "tally"

local dir = "build/arm"
local boot_seconds = 1080 -- a limit for machines that hang: the slowest takes about 200 s on an idle host
local look_seconds = 5

-- Counts are exact if the emulator derives its clock from the instructions it executes (-icount) on one cpu.
local machines = {
  { name = "64-bit counters", cpu = "max,pauth=off", cpus = 1, icount = "shift=0",
    guest = "all,PMU_EXACT=1,PMU_CYCLES_PER_INSTRUCTION=1,PMU_QUICK=1" },
  { name = "4 cycles each", cpu = "max,pauth=off", cpus = 1, icount = "shift=2,sleep=off",
    guest = "pmu,PMU_EXACT=1,PMU_CYCLES_PER_INSTRUCTION=4" },
  { name = "32-bit counters", cpu = "cortex-a57", cpus = 1, icount = "shift=2,sleep=off",
    guest = "pmu,PMU_EXACT=1,PMU_CYCLES_PER_INSTRUCTION=4" },
  { name = "two cpus", cpu = "max,pauth=off", cpus = 2, icount = "shift=0,sleep=off", guest = "threads" },
}

-- Patterns that must occur in the output of a program that does not count its own checks, and their meaning.
local claims = {
  doctor = {
    { "\nok +hardware PMU ", "there is a PMU" },
    { "\nok +user%-space reads ", "counters are read in user space" },
    { "\nok +clock +cntvct", "the clock is the CPU's counter" },
    { "\nok +libpfm4 ", "libpfm4 encodes names" },
    { "\nmissing +gnuplot ", "what the machine lacks is said" },
  },
  ["events cycles"] = { { "\n +cycles +", "perf's names" }, { "armv8_pmuv3/cpu_cycles/", "the PMU's own" } },
  ["events armv8_pmuv3"] = { { "armv8_pmuv3/inst_retired/", "instructions" }, { " 0 unavailable", "all can be counted" } },
  ["events nosuchevent"] = { status = 1, { "no event matches 'nosuchevent'", "an event that does not exist is said not to" } },
  encode = { { "\n%d+ passed, 0 failed, ", "every event of the groups for Arm PMUs is encoded" },
             { "\narm_a64fx\t", "those of A64FX" }, { "\narm_n1\t", "of Neoverse N1" }, { "\narm_v1\t", "and V1" } },
  choose = {
    { "\nevery run was opened on this machine: it fits\n", "a plan is verified by opening it" },
    { "\nFLOPS/ipc +1%.000 +instruction/cycle +100 %% +1 +hardware\n", "a metric is right, where a cycle is an instruction" },
    { "\ninstructions:u +%d%d%d%d+ +100 %% +1 +hardware\n", "all the time it ran" },
    { "\ntask%-clock +%d+ +100 %% +1 +kernel\n", "with software events beside it" },
    { "\n1 run; no plan has fewer\n", "in one run" },
  },
  read_overhead = {
    { "Table 1%.", "the costs are tabulated" },
    { "\nread +page +%d", "with reads by page" },
    { "\nread +group +%d", "and by group read(2)" },
    { "gnuplot is not installed", "why there is no plot is said" },
    { ": complete, %d+ samples", "the run is complete" },
    { "instructions:u, cycles:u", "on the events asked for" },
  },
  ["data.dat"] = {
    { "\n%d+ loop read page 1 ok 200 .- page 0\n", "reads of 1 event, really by page" },
    { "\n%d+ loop read page 4 ok 200 .- page 0\n", "reads of 4 events, really by page" },
    { "\n%d+ stream/triad read page 2 ok 6 .- page 0\n", "reads within STREAM, really by page" },
    { "\n%d+ loop read group 4 ok 200 .- group 0\n", "and by group read(2)" },
  },
}

local function claimed(name, out, code, seconds)
  local passed, failed = 0, 0
  for _, claim in ipairs(claims[name]) do
    if ("\n" .. out):find(claim[1]) then
      passed = passed + 1
    else
      failed = failed + 1
      print(("not ok - %s: %s"):format(name, claim[2]))
    end
  end
  if code ~= (claims[name].status or 0) then failed = failed + 1 end
  if failed > 0 then
    out = ("%s%s ended with status %d\n"):format(out, name, code)
    io.write(out)
    tally.fail(name, out)
  end
  tally.say(name, passed, failed, 0, seconds)
end

--- Every program the guest ran, from its lines.
local function programs(out)
  local t = 0
  for name, said, code, at in out:gmatch("BEGIN ([^\n]+)\n(.-)END %1 status (%d+) at ([%d.]+)\n") do
    local seconds = tonumber(at) - t
    t = tonumber(at)
    if claims[name] then
      claimed(name, said, tonumber(code), seconds)
    else
      tally.count(name, said, tonumber(code), seconds)
    end
  end
end

--- Start a machine in the background: its output goes to a file, then its status to another.
local function boot(m, number)
  m.out = ("%s/machine%d"):format(dir, number)
  os.remove(m.out .. ".status")
  m.command = ("qemu-system-aarch64 -M virt -cpu %s -smp %d -icount %s -m 2048 -nographic -no-reboot -nic none "
    .. "-kernel %s/sys/boot/vmlinuz-* -initrd %s/initrd.gz -append 'console=ttyAMA0 quiet panic=-1 pmlua=%s'"):format(
    m.cpu, m.cpus, m.icount, dir, dir, m.guest)
  m.began = tally.now()
  os.execute(("{ timeout -k 5 %d %s </dev/null >%s 2>&1; echo $? >%s.status; } & echo $! >%s.pid"):format(boot_seconds, m.command,
    m.out, m.out, m.out))
end

local function read(path)
  local f <close> = io.open(path, "rb")
  return f and f:read("a") or ""
end

--- Print the machine's progress, if there is any. Returns whether it has ended.
local function look(m)
  local ended, at = read(m.out .. ".status") ~= "", nil
  for name in read(m.out):gmatch("BEGIN ([^\r\n]+)") do at = name end
  at = ended and "ended" or at or "booting"
  if at ~= m.at then
    print(("%4.0f s  %s: %s"):format(tally.now() - m.began, m.name, at))
    if at ~= "ended" then m.last = at end
    m.at = at
  end
  return ended
end

local function judge(m, log)
  local out = read(m.out):gsub("\r", "")
  log:write("==== ", m.name, ": ", m.command, "\n", out, "\n")
  print(("-- %s: -cpu %s -smp %d -icount %s; seconds are the machine's own"):format(m.name, m.cpu, m.cpus, m.icount))
  programs(out)
  local ended = out:find("EXIT rc=0", 1, true) ~= nil
  if not ended then
    io.write(out:sub(-2000), "\n")
    tally.fail(m.name, ("it did not end within %d s, and was at: %s"):format(boot_seconds, m.last))
  end
  tally.say("came to its end", ended and 1 or 0, ended and 0 or 1, 0, m.seconds)
end

if arg[1] == "--skip" then
  tally.skip("emulated machines", arg[2])
  tally.say("emulated machines", 0, 0, 1, 0)
  tally.finish(true)
end
io.stdout:setvbuf "line"
for i, m in ipairs(machines) do boot(m, i) end
local running = #machines
while running > 0 do
  local slept = os.execute("sleep " .. look_seconds)
  if not slept then -- interrupted
    for _, m in ipairs(machines) do os.execute("kill $(cat " .. m.out .. ".pid) $(pgrep -P $(cat " .. m.out .. ".pid))") end
    os.exit(130)
  end
  running = 0
  for _, m in ipairs(machines) do
    if look(m) then m.seconds = m.seconds or tally.now() - m.began else running = running + 1 end
  end
end
local log <close> = assert(io.open(dir .. "/log", "w"))
for _, m in ipairs(machines) do judge(m, log) end
tally.finish()
