-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/choose_events.lua - how many runs does it take to count everything? A table over PMUs and event groups.
--
--     pmlua scripts/choose_events.lua                 # the PMUs that there are groups for, every group
--     pmlua scripts/choose_events.lua spr zen4        # these
--
-- A row is a PMU with one or two threads on its core. A column is a group: how many runs count all its metrics, each with
-- its events in one run; "+" where a metric needs several. The last column counts all groups together. "<=" is a plan for
-- which it is not proved that no better one exists. `pmlua choose --pmu PMU GROUP...` shows any of these plans, and
-- `pmlua choose GROUP... --run -- COMMAND` carries one out.

local pml = require "pmlua"

local function cell(chooser, names)
  local plan = assert(chooser:choose(names))
  local split = ""
  for _, item in ipairs(plan.items) do
    if item.split then split = "+" end
  end
  return ("%s%d%s"):format(plan.exact and "" or "<=", #plan.runs, split)
end

local function row(name, smt, label)
  local chooser, err = pml.chooser.open { pmu = name, smt = smt, watchdog = false }
  if not chooser then error(err, 0) end
  local cells = { chooser.pmu.name, label, chooser.counters.general, chooser.counters.fixed }
  for _, group in ipairs(pml.groups.NAMES) do cells[#cells + 1] = cell(chooser, { group }) end
  cells[#cells + 1] = cell(chooser, pml.groups.NAMES)
  return cells
end

local function rows_of(name)
  local pmu, err = pml.pmus.get(name)
  if not pmu then error(err, 0) end
  if next(pml.groups.of(pmu.name)) == nil then error(pmu.name .. ": there are no groups for this PMU", 0) end
  if pmu.general.smt == pmu.general.single then return { row(name, true, "any") } end
  return { row(name, true, "2"), row(name, false, "1") }
end

local names = #arg > 0 and arg or pml.groups.pmus()
local rows = {}
for _, name in ipairs(names) do
  for _, r in ipairs(rows_of(name)) do rows[#rows + 1] = r end
end
local columns = { "PMU", "threads", "general", "fixed", table.unpack(pml.groups.NAMES) }
columns[#columns + 1] = "all"
print(pml.tabulate(columns, rows))
