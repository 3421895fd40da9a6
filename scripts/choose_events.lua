-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/choose_events.lua - how many runs does it take to count everything? A table over PMUs and event groups.
--
--     pmlua scripts/choose_events.lua                 # every PMU that has event groups
--     pmlua scripts/choose_events.lua spr zen4        # only these
--
-- A row is a PMU with one or two threads on each core. A column is a group: the number of runs that count all its metrics,
-- each with all its events in one run; "+" marks a group with a metric that needs several, "-" a group that the PMU lacks. The
-- last column counts all groups together. "<=" marks a plan that is not proved to be the best. `pmlua choose --pmu PMU
-- GROUP...` shows any of these plans, and `pmlua choose GROUP... --run -- COMMAND` runs one. A sample is the time for
-- planning a row.

local lists = require "pmlua.internal.lists"
local pml = require "pmlua"

local function plan_of(chooser, names)
  local plan = assert(chooser:choose(names))
  local split = ""
  for _, item in ipairs(plan.items) do
    if item.split then split = "+" end
  end
  return ("%s%d%s"):format(plan.exact and "" or "<=", #plan.runs, split)
end

local function pmu_of(name)
  local pmu = assert(pml.pmus.get(name))
  if next(pml.groups.of(pmu.name)) == nil then error(pmu.name .. ": no event groups for this PMU", 0) end
  return pmu
end

local function factors(options)
  local names = #options.command > 0 and options.command or pml.groups.pmus()
  local levels = lists.map(names, function(name) return pmu_of(name) and name end)
  return { { "PMU", levels }, { "threads", { "any", "2", "1" } } }
end

-- A PMU has two rows if a second thread on the core takes counters away.
local function constraints(p)
  local general = pmu_of(p.PMU).general
  return (general.smt == general.single) == (p.threads == "any")
end

local function setup(p) return pml.chooser.open { pmu = p.PMU, smt = p.threads ~= "1", watchdog = false } end

local plans = {} -- by PMU and threads: the text of each column

local function measure(chooser, p)
  local cells, names, start = {}, {}, pml.clock.ns()
  for _, group in ipairs(pml.groups.NAMES) do
    if pml.groups.of(chooser.pmu.name)[group] then
      cells[group], names[#names + 1] = plan_of(chooser, { group }), group
    end
  end
  cells.all = plan_of(chooser, names)
  local seconds = (pml.clock.ns() - start) / 1e9
  cells.PMU, cells.general, cells.fixed = chooser.pmu.name, chooser.counters.general, chooser.counters.fixed
  plans[p.PMU .. p.threads] = cells
  return seconds
end

local function table_of(run)
  local columns = { "PMU", "threads", "general", "fixed", table.unpack(pml.groups.NAMES) }
  columns[#columns + 1] = "all"
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local made, row = plans[cell.p.PMU .. cell.p.threads], {}
    for i, name in ipairs(columns) do row[i] = name == "threads" and cell.p.threads or made and made[name] end
    if made then rows[#rows + 1] = row end
  end
  run:say(pml.tabulate(columns, rows, 1))
end

local function plan_column(name)
  return {
    name = name, unit = "text", description = "runs that count " .. (name == "all" and "every group" or "this group"),
    value = function(cell) return (plans[cell.p.PMU .. cell.p.threads] or {})[name] end,
  }
end

local columns = lists.map(pml.groups.NAMES, plan_column)
columns[#columns + 1] = plan_column "all"

return pml.experiment {
  name = "choose_events",
  description = [[
The number of runs that count each event group, and all groups together, on each PMU. Nothing is counted: any machine can
plan for any PMU. A sample is the time that planning a row takes.]],
  factors = factors,
  constraints = constraints,
  help = { PMU = "name, as in pmlua choose --pmu", threads = "threads per core that count; any: their number does not matter" },
  command = "[PMU...]",
  unit = "s",
  repeats = 3,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 1, rounds = 1 },
  examples = { "pmlua scripts/choose_events.lua", "pmlua scripts/choose_events.lua --quick spr zen4" },
  setup = setup,
  measure = measure,
  columns = columns,
  analyse = table_of,
  plot = "choose_events",
}
