-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua stat -- CMD`: counts of a whole command, by the kernel or by simulation.
--
--     pmlua stat -- sort /etc/services
--     pmlua stat --sim -- ./program

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local counts = require "pmlua.internal.stat.report"
local try = require "pmlua.internal.try"

local NAME = 48 -- bytes of a function's or section's

local function cache(level, help)
  return { name = level, kind = "text", value = "BYTES,WAYS,LINE", needs = "sim", help = help, read = function(text)
    local fine, err = require("pmlua.internal.simulation.run").check_cache(level, text)
    return fine and text, not fine and err:gsub("^%-%-%w+:? ", "") or nil
  end }
end

local M = {
  summary = "run a program and report its cost: counted by the kernel, or by simulation",
  about = [[
Runs CMD unchanged and counts it with all its children. The table goes to standard error, even if CMD is interrupted or
killed; the exit status is CMD's. With --pid, --cgroup or --all, pmlua counts other processes while CMD runs; without CMD, until
Ctrl-C.]],
  options = {
    common.with("event", { value = "EVENTS", key = "lists",
      help = "count only these events, separated by commas (pmlua events lists them; with --sim: Ir, Dr and so on)" }),
    common.with("json", { help = "print the counts as JSON on standard output" }),
    common.with("csv", { help = "print the counts as CSV on standard output" }),
    common.with("out", { help = "write the table, JSON or CSV into FILE instead" }),
    common.with("quiet", { help = "print no notes and no warnings" }),
    { name = "runs", was = "repeat", short = "r", kind = "integer", min = 2, help = "run CMD N times; print means with "
      .. "95 % intervals, minimum and maximum" },
    { name = "every", was = "interval", short = "I", kind = "duration", unit = "ms", min = 0.001, value = "TIME",
      such = "100ms or 1s", help = "print the counts of each TIME while CMD runs, such as 1s; 100 means 100 ms" },
    { name = "pid", short = "p", kind = "integer", min = 1, value = "PID", help = "count this process with its threads and "
      .. "the children that it starts meanwhile" },
    { name = "all", short = "a", help = "count all processes on all cpus; needs root, CAP_PERFMON or "
      .. "kernel.perf_event_paranoid 0" },
    { name = "cgroup", short = "G", kind = "text", value = "CGROUP", many = true, help = "count the processes of this "
      .. "cgroup, a folder below /sys/fs/cgroup; several have a column each; needs the same rights as --all" },
    { name = "sim", help = "run CMD under valgrind's callgrind, 100 to 200 times slower, without a PMU. It counts instructions "
      .. "(Ir), data reads and writes (Dr, Dw) and branches (Bc conditional, Bi indirect); a model predicts misses of "
      .. "the first and the last cache level (I1mr, D1mr, D1mw, ILmr, DLmr, DLmw) and mispredicted branches (Bcm, Bim). "
      .. "The report has totals and counts by thread, section and function" },
    { name = "section", kind = "name", needs = "sim",
      help = "count only inside this section, and list only the functions that it calls" },
    cache("I1", "first-level instruction cache of the model (32768,8,64 on every machine)"),
    cache("D1", "first-level data cache of the model (32768,8,64)"),
    cache("LL", "last-level cache of the model (8388608,16,64)"),
    { name = "top", kind = "integer", min = 0, needs = "sim", shown = "20", help = "number of functions to list" },
  },
  exclusive = { { "json", "csv" }, { "pid", "all", "cgroup", "sim", "runs" }, { "every", "sim", "runs" } },
  usage = { "[OPTIONS] [--] CMD [ARGS]", "[OPTIONS] --pid PID | --cgroup CGROUP | --all [[--] CMD [ARGS]]" },
  command = { optional = true },
  notes = [[
A simulation counts user space only. If a process executes another program, it counts the last one. Counts repeat exactly if
the program depends neither on time, nor on the order of its threads, nor on its environment. Counts of sections and functions are
exact; totals include the loader's work for a library of pmlua: some 15,000 instructions in each program, and 50 for each symbol
that the loader looks up.]],
  examples = {
    "pmlua stat -- sort /etc/services",
    "pmlua stat -r 5 -e task-clock,page-faults -- sort /etc/services",
    "pmlua stat -I 100ms -e task-clock -- sleep 0.3",
    "pmlua stat -p $$ -- sleep 0.1",
    { "pmlua stat --sim -e Ir,D1mr,D1mw -- ./program input", needs = { "valgrind" } },
  },
}

local complain = require "pmlua.internal.cli.complain" "stat"

-- --- the command line ---

function M.check(o)
  o.command = o.command or {}
  if #o.command == 0 and not o.pid and not o.all and not o.cgroup then return "no command given" end
  if (o.command[1] or ""):find("=", 1, true) then return "a command with '=' in its name cannot be counted" end
  if o.lists then
    local err
    o.events, err = common.event_names(o.lists)
    if err then return err end
  end
  if o.sim and o.events then
    local err
    o.places, err = common.simulated_places(o.events)
    return err
  end
  for _, name in ipairs(o.events or {}) do
    if name:find("^sim::") then return name .. " is counted by simulation; add --sim" end
  end
end

-- --- the report ---

--- Open the output file before the command runs; nil and the reason.
local function output(o)
  if not o.out then return (o.json or o.csv) and io.stdout or io.stderr end
  return require("pmlua.internal.file").output(o.out)
end

local function ending(ended)
  if ended.signal then return ("ended by signal %d"):format(ended.signal) end
  return ended.status ~= 0 and ("exit status %d"):format(ended.status) or nil
end

--- Without a PMU, suggest the alternatives.
local function tell_no_pmu()
  if core.event.has_pmu() then return end
  complain("no PMU, hence no hardware counts; --sim counts instructions, reads, writes and branches by simulation, "
    .. "and a program built with pmlua cc --count counts its own operations")
end

--- Print the counts since the previous interval; times are relative to the start of counting.
local function intervals(o, out)
  local began, before = core.clock.ns(), {}
  local function call(rows, since_ns)
    counts.interval(out, o, (since_ns or core.clock.ns() - began) / 1e9, rows, before)
    out:flush()
  end
  return { seconds = o.every, call = call, begin = function() began = core.clock.ns() end }
end

local function stat(o, out)
  local every = o.every and intervals(o, out)
  local runs, failed, last, first_failed = {}, 0
  repeat
    local result = try(require("pmlua.internal.stat.run").run(o.command, { events = o.events, pid = o.pid, all = o.all,
      cgroups = o.cgroup, every = every }))
    runs[#runs + 1], last = result, result
    if ending(result.ended) then failed, first_failed = failed + 1, first_failed or result.ended end
  until #runs >= (o.runs or 1) or result.ended.signal
  if every then every.call(last.rows, last.ended.real_ns) end
  if not every or not (o.json or o.csv) then counts.total(out, o, runs) end
  for _, note in ipairs(not (o.json or o.csv or o.quiet) and last.notes or {}) do out:write(note, "\n") end
  if not (o.events or o.quiet or o.json or o.csv) then tell_no_pmu() end
  if failed > 0 and #runs > 1 then complain(("%d of %d runs failed and are in the numbers"):format(failed, #runs)) end
  return first_failed or last.ended
end

local function simulate(o, out)
  local simulation = require "pmlua.internal.simulation.run"
  local all = try(simulation.count(o.command, { caches = { I1 = o.I1, D1 = o.D1, LL = o.LL }, section = o.section }))
  local report = require "pmlua.internal.simulation.report"
  if o.json then out:write(report.json(all, o.command))
  elseif o.csv then out:write(report.csv(all, o.places))
  else out:write(report.text(all, { places = o.places, top = o.top, name = NAME, fd = out == io.stderr and 2 or nil })) end
  for _, warning in ipairs(o.quiet and {} or report.warnings(all)) do complain(warning) end
  return all.ended
end

---@return integer status
function M.run(o)
  local out = try(output(o))
  local ended = (o.sim and simulate or stat)(o, out)
  local how = ending(ended)
  if how and not o.json and not o.csv then complain(("%s: %s"):format(o.command[1], how)) end
  try(not o.out or out:close(), o.out and o.out .. ": could not be written completely; is the disk full?")
  return require("pmlua.internal.child").status(ended)
end

return M
