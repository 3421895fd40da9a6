-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua events`: every event that can be named here, and why some cannot be counted.
--
--     pmlua events page-fault

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local own_plugins = require "pmlua.internal.own_plugins"
local complain = require "pmlua.internal.cli.complain" "events"
local lists = require "pmlua.internal.lists"
local printable = require "pmlua.internal.printable"
local tabulate = require "pmlua.tabulate"

local M = {
  summary = "list events, with what they count and why some are unavailable",
  arguments = { { name = "PATTERN", key = "pattern", kind = "event", optional = true, one = "pattern" } },
  about = "PATTERN is a glob ('*cache*miss*') or plain text that matches a name or description; case does not matter.",
  options = {
    { name = "available", help = "list only events that this machine can count" },
    { name = "all", help = "also list PMUs of other machines that libpfm4 supports (tens of thousands of events)" },
    { name = "sde", kind = "file", help = "list the software-defined events of the library in FILE: pmlua loads it and calls "
      .. "its papi_sde_hook_list_events(); no application runs" },
    common.with("json", { help = "print an array of {name, description, source, pmu, available, reason}" }),
    common.with("csv", { help = "print the same fields as CSV" }),
    common.with "out",
  },
  exclusive = { { "json", "csv" } },
  output = true,
  notes = [[
Names of events:

  clock::ticks  clock::ns              pmlua's own clock
  sim::Ir  sim::D1mr ...               counted by simulation: pmlua --sim SCRIPT, pmlua stat --sim
  sde:::LIB::EVENT                     software-defined: what a library publishes, or the compiler counts (sde:::BYFL::)
  cycles  task-clock ...               perf's generic names
  plugin::NAME::METRIC                 metric plugins, in C or Lua, once they are loaded: by pml.plugin.load or by
                                       SCOREP_METRIC_PLUGINS=NAME,... and SCOREP_METRIC_<NAME>=TOKEN,...
  PMU::EVENT:UMASK                     libpfm4's names
  pmu/event/  pmu/event=0x3c,umask=1/  PMUs of /sys/bus/event_source/devices
  rNNN                                 raw, hexadecimal, of the core PMU
  subsys:event                         tracepoint
  mem:ADDR|SYMBOL[+OFF][:rwx][:len]    breakpoint
  uprobe:PATH:SYMBOL|0xOFFSET[%return] user-space probe
  usdt:PATH:PROVIDER:NAME              probe in the source of a program (sys/sdt.h), at all its locations

All except clocks, simulations and plugins take modifiers: :u user, :k kernel, :h hypervisor, or several (:uk).
Events of the core PMU accept :p, :pp and :ppp, which request the precise location of an event (pmlua sample).
Where the kernel may not be counted (perf_event_paranoid 2, no privilege), an event without a modifier counts user space
only and is called EVENT:u; events that only happen in the kernel, such as context-switches, are refused.

A PMU of packages (uncore, energy; it has a cpumask) counts all processes on its package. Its event is the sum over the
host; with a place at the very end, it counts that place only, and has this name in sets, tables and traces:

  pmu/event/:package1  PMU::EVENT:UMASK:package0    by the numbers of /sys/devices/system/cpu/cpuN/topology
  pmu/event/:package1:die0                          if a package has several of the PMU
  pmu/event/:cpu8                                   if a die has several; the cpu is one of the cpumask
  pmu_*/event/  pmu_*/event/:package1               the sum over pmu_0, pmu_1, ...: uncore_imc_*/cas_count_read/

This needs kernel.perf_event_paranoid <= 0, or CAP_PERFMON. pml.plugin.load { name = "uncore", metrics = { EVENT, ... } }
makes time series of such events, one metric for each place: plugin::uncore::EVENT:package0. To see the names of another
machine, copy its /sys, call pml.event.set_sysfs(DIR) with the copy, then pml.event.parse.]],
  examples = { "pmlua events page-fault", "pmlua events --available --csv 'cache*'" },
}

local titles = {
  clock = "Clocks", generic = "Generic events of perf", libpfm4 = "Events of libpfm4",
  sysfs = "PMUs of the kernel (/sys/bus/event_source/devices)", tracepoint = "Tracepoints",
  breakpoint = "Breakpoints", sde = "Software-defined events", plugin = "Metrics of plugins", uprobe = "User-space probes",
  sim = "Events of simulation",
}

local function select(rows)
  return lists.filter(rows, function(row) return row.available end)
end

--- Rows by source, and within it by the reason why they are unavailable ("" first), each in the order of the list.
local function arrange(rows)
  local sources, bysource = {}, {}
  for _, row in ipairs(rows) do
    local source = bysource[row.source]
    if not source then
      source = { name = row.source, reasons = {}, byreason = {} }
      bysource[row.source], sources[#sources + 1] = source, source
    end
    local reason = row.available and "" or row.reason
    if not source.byreason[reason] then
      source.byreason[reason] = {}
      table.insert(source.reasons, reason == "" and 1 or #source.reasons + 1, reason)
    end
    table.insert(source.byreason[reason], row)
  end
  return sources
end

local NAME = 44 -- characters; a longer name gets a separate line, so that descriptions stay aligned

local function printrows(rows)
  local width, most = 0, tabulate.columns(1)
  local names_most = math.min(NAME, most // 2 - 1)
  for _, row in ipairs(rows) do width = math.max(width, math.min(#row.name, names_most)) end
  for _, row in ipairs(rows) do
    local name = tabulate.cut(printable(row.name), math.max(most - 2, 5))
    name = #name > width and name .. "\n  " .. (" "):rep(width) or name .. (" "):rep(width - #name)
    local line = "  " .. name .. "  " .. tabulate.wrap(printable(row.description), width + 4, 1)
    io.write((line:gsub("%s+$", "")), "\n")
  end
end

local function printtable(rows)
  for _, source in ipairs(arrange(rows)) do
    io.write(titles[source.name] or printable(source.name), "\n")
    for _, reason in ipairs(source.reasons) do
      if reason ~= "" then io.write("  -- unavailable: ", tabulate.wrap(printable(reason), 18, 1), "\n") end
      printrows(source.byreason[reason])
    end
    io.write("\n")
  end
end

local function summary(rows, all)
  local available = #select(rows)
  return ("%d event%s, %d available, %d unavailable%s\n"):format(#rows, #rows == 1 and "" or "s", available,
    #rows - available, all and "" or "; --all also lists PMUs of other machines")
end

--- Compiler-counted events are listed even if this process was not compiled to count.
local function is_elsewhere(row) return row.pmu == "BYFL" and not core.count.here() end

--- This process has no events that match: a pattern for all software-defined events means events of other processes.
local function all_elsewhere(options)
  return options.pattern and options.pattern:find "^sde:[:*]*$" and not options.sde and #core.sde.list() == 0
end

--- The events that a library lists, with or without values.
local function of_library(options)
  local done, err = core.sde.hook(options.sde)
  if not done then return nil, err end
  local rows, all = {}, core.event.list(options.pattern or "sde:::*")
  for _, row in ipairs(all or {}) do
    if row.source == "sde" and not is_elsewhere(row) then
      row.available, row.reason = true, nil
      rows[#rows + 1] = row
    end
  end
  return rows
end

--- Nothing matched: it may still be an event that lists cannot hold, such as mem:ADDR, or a misspelt one.
local function nothing(pattern)
  if pattern:find("^sde:") and #core.sde.list() == 0 then
    io.stderr:write("pmlua: no library of this process has registered software-defined events; ",
      "pmlua query lists the running applications that have, and reads theirs\n")
    return 1
  end
  local event, err = core.event.parse(pattern)
  if event then
    io.write(("no listed event matches '%s', but it is a valid event: pml.eventset { %q } counts it\n"):format(
      pattern, pattern))
    return 0
  end
  err = err:sentence()
  if err:find('no event "', 1, true) == 1 then -- a plain name; else the failure already explains the error
    err = ("no event matches '%s'%s"):format(pattern, err:match "; nearest: .*"
      or "; without a pattern, pmlua events lists all; patterns may have * and ?")
  end
  io.stderr:write("pmlua: ", printable(err), "\n")
  return 1
end

local fields = { "name", "description", "source", "pmu", "available", "reason" }

local function csv(rows)
  local cells = {}
  for i, row in ipairs(rows) do
    cells[i] = {}
    for k, field in ipairs(fields) do cells[i][k] = row[field] end
    cells[i][5] = row.available and "yes" or "no"
  end
  return require "pmlua.internal.cli.csv".table(fields, cells)
end

---@return integer status
function M.run(options)
  local rows, err
  if options.sde then rows, err = of_library(options)
  else
    own_plugins.environment()
    rows, err = core.event.list(options.pattern, options.all)
    local more = own_plugins.rows(options.pattern)
    rows = rows and table.move(more, 1, #more, #rows + 1, rows)
  end
  if not rows then return complain(err:sentence()) end
  if options.available then rows = select(rows) end
  if options.json then
    local json = require "pmlua.json"
    io.write(json.encode(json.array(rows)))
    return 0
  elseif options.csv then
    io.write(csv(rows))
    return 0
  end
  if options.pattern and (#rows == 0 or all_elsewhere(options)) then return nothing(options.pattern) end
  printtable(rows)
  io.write(options.sde and ("%d event%s\n"):format(#rows, #rows == 1 and "" or "s") or summary(rows, options.all))
  return 0
end

return M
