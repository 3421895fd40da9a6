-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua choose`: which events fit together, which do not and why, and the fewest runs that count them all.
--
--     pmlua choose --pmu skx FLOPS CACHE

local common = require "pmlua.internal.cli.common"
local try = require "pmlua.internal.try"

local M = {
  summary = "report which events fit together and why not, plan the fewest runs, and make them",
  arguments = { { name = "NAME", key = "names", many = true, kind = "event", when = function(o) return not o.list end,
    missing = "name a group, a metric, a preset or an event" } },
  usage = { "[OPTIONS] NAME... [--run -- CMD [ARGS]]", "[--pmu NAME] [--groups FILE] --list" },
  about = [[
NAME is a group (FLOPS, BANDWIDTH, VECTOR, CACHE, CYCLE, LOADSTORE, USER; most processors also have TOPDOWN and TOPDOWN2
and 3, BRANCH, TLB, L2, L3, STALLS, UOPS, DIVIDE, NUMA: see --list), one of its metrics (FLOPS/flop), a PAPI preset
(PAPI_TOT_CYC) or an event of the PMU. One run counts all events of a metric; if that is impossible, the report
gives the reason.]],
  options = {
    { name = "pmu", kind = "name", help = "the PMU of another machine: skx, clx, icx, icl, spr, amd64_fam17h_zen2 (or zen2), "
      .. "zen3, zen4, arm_n1, arm_v1, arm_a64fx, or any core PMU that libpfm4 supports; generic: perf's own names. Default: this "
      .. "machine's" },
    { name = "smt", kind = "choice", choices = { "on", "off" }, help = "whether the core runs two hardware threads" },
    { name = "watchdog", kind = "choice", choices = { "on", "off" }, help = "whether the NMI watchdog occupies a counter" },
    { name = "groups", kind = "file", help = "groups to use instead of those that ship: your own file; likwid "
      .. "(LIKWID's, where it is installed); perf (what perf list says here); or a file or folder of LIKWID's .txt, or "
      .. "of metrics and events as .json of perf, Intel's perfmon or Arm's telemetry. --list also lists the metrics that "
      .. "cannot be computed, and why" },
    { name = "more", help = "also list the events that still fit into each run" },
    { name = "list", help = "list the groups and presets of the PMU with their metrics, and stop" },
    { name = "run", help = "run CMD once for each run of the plan, count it and its children, and combine the runs. CMD may be "
      .. "a Lua script or an experiment. The report shows each value with the share of the time in which its events "
      .. "counted. It also shows the counts of a CMD that was compiled by pmlua cc --count" },
    { name = "sim", needs = "run", help = "simulate CMD under valgrind instead: slow, but needs no PMU" },
    { name = "work", kind = "number", min = 0,
      help = "work counted in the source, in flop, which the group USER compares with the hardware's counts" },
    common.with("out", { help = "write the report into FILE, apart from the output of CMD" }),
    common.with("json", { help = "print everything as a JSON object" }),
    common.with("csv", { help = "print the results of --run, or the events of each run, as CSV" }),
  },
  exclusive = { { "json", "csv" }, { "list", "json" }, { "list", "csv" } },
  command = { behind = true, optional = true },
  output = true,
  notes = "Exit status: 0 done; 1 nothing could be counted, an event never counted, or CMD failed; 2 misused.",
  examples = { { "pmlua choose --pmu generic CYCLE --run -- sleep 0.1", status = { 0, 1 } } },
}

function M.check(o)
  for _, key in ipairs { "smt", "watchdog" } do
    if o[key] then o[key] = o[key] == "on" end
  end
  if o.command and not o.run then return "a command needs --run before the --" end
  if o.run and #(o.command or {}) == 0 then return "--run needs a command after --" end
end

local complain = require "pmlua.internal.cli.complain" "choose"

--- A Lua script is run by pmlua itself.
local function command_of(argv)
  local core = require "pmlua.core"
  if not argv[1]:find("%.lua$") or not core.sys.realpath(argv[1]) then return argv end
  local own = core.origin:find("/pmlua$") and core.origin or "pmlua"
  return { own, table.unpack(argv) }
end

local sorted = require "pmlua.internal.keys"

local function metrics_text(group)
  local lines = {}
  for _, m in ipairs(group.metrics) do
    lines[#lines + 1] = ("  %s%s = %s%s"):format(m.name, m.unit ~= "" and " [" .. m.unit .. "]" or "", m.formula.text,
      m.about ~= "" and "  -- " .. m.about or "")
    for _, t in ipairs(m.thresholds) do lines[#lines + 1] = ("      %s: %s"):format(t[1], t[2]) end
  end
  return table.concat(lines, "\n")
end

local function list_text(chooser)
  local lines = { ("%s (%s)\nsource: %s\n"):format(chooser.pmu.name, chooser.pmu.title, chooser.pmu.source) }
  for _, name in ipairs(sorted(chooser.groups)) do
    local group = chooser.groups[name]
    lines[#lines + 1] = ("%s\n  %s"):format(name, group.prose)
    for _, key in ipairs(sorted(group.events)) do lines[#lines + 1] = ("  %s: %s"):format(key, group.events[key]) end
    for _, key in ipairs(sorted(group.inputs)) do lines[#lines + 1] = ("  %s: %s"):format(key, group.inputs[key]) end
    lines[#lines + 1] = metrics_text(group) .. "\n"
  end
  for _, name in ipairs(sorted(chooser.presets)) do
    local m = chooser.presets[name].metrics[1]
    local events = {}
    for _, key in ipairs(sorted(m.events)) do events[#events + 1] = ("%s: %s"):format(key, m.events[key]) end
    lines[#lines + 1] = ("%s  %s = %s  (%s)"):format(name, m.about, m.formula.text, table.concat(events, ", "))
  end
  local n = #chooser.refused
  if n > 0 then lines[#lines + 1] = ("not taken: %d metric%s"):format(n, n == 1 and "" or "s") end
  for _, r in ipairs(chooser.refused) do lines[#lines + 1] = ("  %s/%s: %s"):format(r.group, r.metric, r.why) end
  return require "pmlua.internal.printable".lines(table.concat(lines, "\n") .. "\n")
end

--- 1 if something went wrong that a report alone might hide.
local function outcome_status(outcome)
  if outcome.interrupted then return complain(("interrupted in run %d"):format(outcome.interrupted)) end
  local status = 0
  if outcome.never > 0 then
    status = complain(("%d event%s never counted (0 %%): see the report"):format(outcome.never, outcome.never == 1 and "" or "s"))
  end
  for r, result in pairs(outcome.results) do
    local ended = result.ended
    if ended and ended.status ~= 0 then
      status = complain(("run %d: the command ended with %s"):format(r, ended.signal and "signal " .. ended.signal
        or "status " .. ended.status))
    end
  end
  return status
end

local function report_of(options, chooser, plan, outcome, argv)
  local report = require "pmlua.internal.chooser.report"
  if options.json then return require "pmlua.json".encode(report.data(chooser, plan, options.more, outcome)) end
  if options.csv then return report.csv(plan, outcome) end
  local text = report.plan(chooser, plan, options.more)
  return require "pmlua.internal.printable".lines(outcome and text .. "\n" .. report.outcome(plan, outcome, argv) or text)
end

local function choose(options, chooser)
  local plan = try(chooser:choose_verified(options.names))
  local outcome, why, argv
  if #plan.runs == 0 then why = "none of these events can be counted on " .. chooser.pmu.name end
  if options.run and not why then
    io.stdout:flush()
    argv = command_of(options.command)
    local run, inputs = require "pmlua.internal.chooser.run", { work = options.work }
    if options.sim then outcome, why = run.simulation(plan, argv, inputs)
    else outcome, why = run.command(chooser, plan, argv, inputs) end
  end
  io.write(report_of(options, chooser, plan, outcome, argv))
  if why then return complain(why) end
  return outcome and outcome_status(outcome) or 0
end

---@return integer status
function M.run(options)
  local chooser = try(require "pmlua.chooser".open { pmu = options.pmu, smt = options.smt, watchdog = options.watchdog,
    groups = options.groups })
  if options.list then
    io.write(list_text(chooser))
    return 0
  end
  return choose(options, chooser)
end

return M
