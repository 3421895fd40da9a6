-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua choose`: which events fit together, which do not and why, and the fewest runs that count them all.
--
--     pmlua choose --pmu skx FLOPS CACHE

local M = {
  summary = "say which events fit together and why not, plan the fewest runs, and make them",
  usage = "pmlua choose [OPTIONS] NAME... [--run -- COMMAND [ARGS]]",
  help = [[
NAME is a group (FLOPS, BANDWIDTH, VECTOR, CACHE, CYCLE, LOADSTORE, USER), one of its metrics (FLOPS/flop), a PAPI preset
(PAPI_TOT_CYC) or an event of the PMU. The events of a metric are counted in one run, or it is said why they cannot be.

  --pmu NAME         the PMU of another machine: skx, clx, icx, spr, amd64_fam17h_zen2 (or zen2), zen3, zen4, arm_n1, arm_v1,
                     arm_a64fx, or any core PMU that libpfm4 knows; generic: perf's own names. Default: this machine's
  --smt on|off       whether the core runs two threads; --watchdog on|off: whether the NMI watchdog holds a counter
  --groups FILE      groups from a file of your own instead of those that ship
  --more             also list which events still have room beside each run
  --list             list the groups and presets of the PMU with their metrics, and stop
  --run -- COMMAND   run COMMAND once for each run of the plan, count it and its children, and combine the runs. COMMAND may
                     be a Lua script or an experiment. Counted with each value: the share of the time that its events counted
                     What COMMAND counts itself, compiled by pmlua cc --count, is told beside that, with its source
  --sim              with --run: COMMAND is simulated under valgrind instead, without a PMU and slowly
  --work N           the workload counted in the source, in flop, that USER sets beside the hardware's
  --out FILE         write the report there, apart from what COMMAND prints
  --json             everything as an object

Exit status: 0 done; 1 nothing could be counted, an event never counted, or COMMAND failed; 2 misused.

    pmlua choose --pmu generic CYCLE --run -- sleep 0.1]],
}

local switches = { ["--json"] = "json", ["--more"] = "more", ["--list"] = "list", ["--run"] = "run", ["--sim"] = "sim" }
local with_value = { ["--pmu"] = "pmu", ["--smt"] = "smt", ["--watchdog"] = "watchdog", ["--groups"] = "groups",
  ["--work"] = "work", ["--out"] = "out" }

local function on_off(options, key)
  if options[key] == nil then return true end
  if options[key] ~= "on" and options[key] ~= "off" then return nil, ("--%s is on or off, not %s"):format(key, options[key]) end
  options[key] = options[key] == "on"
  return true
end

local function check(options)
  for _, key in ipairs { "smt", "watchdog" } do
    local ok, err = on_off(options, key)
    if not ok then return nil, err end
  end
  if options.work then
    local work = tonumber(options.work)
    if not work or not (work >= 0 and work < math.huge) then return nil, "--work needs a number from 0 on" end
    options.work = work
  end
  if options.sim and not options.run then return nil, "--sim only works with --run -- COMMAND" end
  if options.argv and not options.run then return nil, "a command needs --run before the --" end
  if options.run and #(options.argv or {}) == 0 then return nil, "--run needs a command after --" end
  if #options.names == 0 and not options.list then return nil, "name a group, a metric, a preset or an event" end
  return options
end

local function parse(args)
  local options, i = { names = {} }, 1
  while args[i] do
    local arg = args[i]
    if arg == "--" then
      options.argv = { table.unpack(args, i + 1) }
      break
    elseif switches[arg] then options[switches[arg]] = true
    elseif with_value[arg] then
      i = i + 1
      if not args[i] then return nil, arg .. " needs a value" end
      options[with_value[arg]] = args[i]
    elseif arg:find("^%-") then return nil, "no such option: " .. arg
    else options.names[#options.names + 1] = arg end
    i = i + 1
  end
  return check(options)
end

local function complain(what)
  io.stderr:write("pmlua choose: ", require "pmlua.printable"(what), "\n")
  return 1
end

--- A Lua script is run by pmlua itself.
local function command_of(argv)
  local core = require "pmlua.core"
  if not argv[1]:find("%.lua$") or not core.sys.realpath(argv[1]) then return argv end
  local own = core.origin:find("/pmlua$") and core.origin or "pmlua"
  return { own, table.unpack(argv) }
end

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

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
  return table.concat(lines, "\n") .. "\n"
end

--- Where the report goes; the file is opened before anything is run.
local function output(options)
  if not options.out then return io.stdout end
  return require("pmlua.file").output(options.out)
end

local function write(file, text)
  local ok, err = file:write(text)
  if ok and file ~= io.stdout then ok, err = file:close() end
  if not ok then return complain(("the report could not be written: %s"):format(err)) end
  return 0
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
  local report = require "pmlua.chooser.report"
  if options.json then return require "pmlua.json".encode(report.data(chooser, plan, options.more, outcome)) end
  local text = report.plan(chooser, plan, options.more)
  return require "pmlua.printable".lines(outcome and text .. "\n" .. report.outcome(plan, outcome, argv) or text)
end

local function choose(options, chooser, file)
  local plan, err = chooser:choose_verified(options.names)
  if not plan then return complain(err) end
  local outcome, why, argv
  if #plan.runs == 0 then why = "nothing of this can be counted on " .. chooser.pmu.name end
  if options.run and not why then
    io.stdout:flush()
    argv = command_of(options.argv)
    local run, inputs = require "pmlua.chooser.run", { work = options.work }
    if options.sim then outcome, why = run.simulation(plan, argv, inputs)
    else outcome, why = run.command(chooser, plan, argv, inputs) end
  end
  local status = write(file, report_of(options, chooser, plan, outcome, argv))
  if why then return complain(why) end
  return outcome and math.max(status, outcome_status(outcome)) or status
end

---@param args string[]
---@return integer status
function M.run(args)
  local options, misuse = parse(args)
  if not options then
    io.stderr:write("pmlua choose: ", misuse, "; usage: ", M.usage, "\n")
    return 2
  end
  local chooser, err = require "pmlua.chooser".open(options)
  if not chooser then return complain(err) end
  local file, why = output(options)
  if not file then return complain(why) end
  if options.list then return write(file, list_text(chooser)) end
  return choose(options, chooser, file)
end

return M
