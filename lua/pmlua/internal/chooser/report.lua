-- SPDX-License-Identifier: BSD-3-Clause
--- A choice and its outcome as text and as data.
--
--     pmlua choose --pmu arm_n1 CYCLE

local core = require "pmlua.core"
local plural = require "pmlua.internal.report.units".plural
local tabulate = require "pmlua.tabulate"

local M = {}

local function counters_text(chooser)
  local c = chooser.counters
  local text = plural(c.general, "general counter")
  if c.fixed > 0 then text = text .. (", %d fixed"):format(c.fixed) end
  return text
end

local function head(chooser, plan)
  local lines = { ("%s (%s): %s%s%s"):format(chooser.pmu.name, chooser.pmu.title, counters_text(chooser),
    chooser.pmu.general.smt ~= chooser.pmu.general.single and (chooser.smt and " with SMT" or " without SMT") or "",
    chooser.watchdog and ", one taken by the NMI watchdog" or "") }
  for _, note in ipairs(chooser.notes) do lines[#lines + 1] = "note: " .. note end
  if not chooser.pmu.known and chooser.pmu.name ~= "generic" then
    lines[#lines + 1] = "note: this libpfm4 has no tables for this PMU; pmlua uses its own event codes"
  end
  if plan.verified == true then
    lines[#lines + 1] = "every run was opened on this machine: it fits"
  elseif plan.verified == false then
    lines[#lines + 1] = "this machine refuses the plan: " .. plan.unverified
  else
    lines[#lines + 1] = "not verified by opening it: " .. plan.unverified
  end
  if not core.event.has_pmu() then
    lines[#lines + 1] = "note: without a PMU, --run reports what COMMAND counts itself (compiled by pmlua cc --count), " ..
      "and --sim what a simulation counts"
  end
  return lines
end

local function together_lines(plan)
  local lines = {}
  if #plan.events < 2 then return lines end
  if plan.together then
    lines[1] = ("all %s fit together"):format(plural(#plan.events, "event"))
  else
    lines[1] = ("%s do not fit together: %s"):format(plural(#plan.events, "event"), plan.why)
    for i, pair in ipairs(plan.rivals) do
      if i > 10 then
        lines[#lines + 1] = ("  and %d more pairs"):format(#plan.rivals - 10)
        break
      end
      lines[#lines + 1] = ("  never together: %s and %s: %s"):format(pair[1], pair[2], pair.why)
    end
  end
  return lines
end

--- The names that a run covers; a group's name if it covers all of the group.
local function answers(plan, r)
  local names = {}
  for _, item in ipairs(plan.items) do
    if item.run == r then names[#names + 1] = item.name end
  end
  return table.concat(names, ", ")
end

local function run_lines(plan, r)
  local run, rows = plan.runs[r], {}
  for i, e in ipairs(run.events) do rows[i] = { "  " .. (e.counter or "-"), e.event.short, e.event.why } end
  if run.reserved then rows[#rows + 1] = { "  " .. run.reserved.counter, run.reserved.event, "" } end
  local name = answers(plan, r)
  return ("run %d of %d%s\n%s"):format(r, #plan.runs, name ~= "" and ": " .. name or "",
    tabulate({ "  counter", "event", "" }, rows, 1))
end

local function verdict(plan)
  local n = #plan.runs
  if n == 0 then return "no run: none of the events can be counted" end
  if plan.exact then return ("%s; no plan has fewer"):format(plural(n, "run")) end
  return ("%s; none with fewer was found, none has fewer than %d"):format(plural(n, "run"), plan.bound)
end

local function siblings(plan)
  local names, list = {}, {}
  for _, e in ipairs(plan.events) do
    for _, reg in ipairs(e.registers) do
      if reg.siblings and not names[reg.name] then
        names[reg.name] = true
        list[#list + 1] = reg.name
      end
    end
  end
  return list
end

local function tail(chooser, plan)
  local lines = {}
  for _, item in ipairs(plan.items) do
    if item.dead then lines[#lines + 1] = ("left out: %s: %s"):format(item.name, item.dead) end
    if item.split then
      lines[#lines + 1] = ("from several runs: %s (runs %s): %s"):format(item.name, table.concat(item.runs, ", "), item.split)
    end
  end
  for _, name in ipairs(chooser.smt and siblings(plan) or {}) do
    lines[#lines + 1] = ("note: the other thread of the core shares %s"):format(name)
  end
  lines[#lines + 1] = verdict(plan)
  return lines
end

--- The events that still fit into each run.
local function more_lines(chooser, plan)
  local lines = {}
  for r, run in ipairs(plan.runs) do
    local fitting, others = chooser:more(run)
    lines[#lines + 1] = ("run %d has room for any of %s of %s (%d do not fit)%s"):format(r, plural(#fitting, "event"),
      chooser.pmu.name, others, #fitting > 0 and ":" or "")
    for _, name in ipairs(fitting) do lines[#lines + 1] = "  " .. name end
  end
  return lines
end

--- The plan as text.
---@param plan pmlua.Choice
---@param more boolean with what can still be added
function M.plan(chooser, plan, more)
  local lines = head(chooser, plan)
  for _, line in ipairs(together_lines(plan)) do lines[#lines + 1] = line end
  for r in ipairs(plan.runs) do lines[#lines + 1] = "\n" .. run_lines(plan, r) end
  lines[#lines + 1] = ""
  for _, line in ipairs(tail(chooser, plan)) do lines[#lines + 1] = line end
  for _, line in ipairs(more and more_lines(chooser, plan) or {}) do lines[#lines + 1] = line end
  return table.concat(lines, "\n") .. "\n"
end

-- --- the outcome ---

--- The remark beside a value. The reason of a missing value is a number, explained once below.
local function says(row, reasons)
  if row.negative then return "negative: the counts contradict each other" end
  if not row.problem then return row.says or "" end
  local what, why = row.problem:match("^(%S+): (.*)$")
  if not what then what, why = row.name, row.problem end
  if not reasons[why] then
    reasons[#reasons + 1] = why
    reasons[why] = #reasons
  end
  return ("%s: see [%d]"):format(what, reasons[why])
end

local function ended_text(ended)
  if not ended then return "not run: none of its events can be counted here" end
  return ("%s, %.6g s elapsed, %.6g s user, %.6g s system, %.0f MB at most"):format(
    ended.signal and "ended by signal " .. ended.signal or "exit status " .. ended.status, ended.real_ns * 1e-9,
    ended.user_ns * 1e-9, ended.system_ns * 1e-9, ended.maxrss_bytes / 1e6)
end

--- The results as text.
---@param plan pmlua.Choice
function M.outcome(plan, outcome, argv)
  local rows, reasons = {}, {}
  for i, row in ipairs(outcome.rows) do
    rows[i] = { row.name, row.value, row.unit, row.coverage and ("%.0f %%"):format(100 * row.coverage) or "-",
      row.runs and table.concat(row.runs, ",") or "-", row.source or "-", says(row, reasons) }
  end
  local lines = { table.concat(argv, " ") }
  for r in ipairs(plan.runs) do
    local result = outcome.results[r]
    if result then lines[#lines + 1] = ("run %d of %d: %s"):format(r, #plan.runs, ended_text(result.ended)) end
  end
  if outcome.interrupted then lines[#lines + 1] = ("interrupted in run %d"):format(outcome.interrupted) end
  lines[#lines + 1] = "\n" .. tabulate({ "", "value", "unit", "counted", "run", "counted by", "" }, rows, 1)
  for i, why in ipairs(reasons) do lines[#lines + 1] = ("[%d] %s"):format(i, why) end
  for _, note in ipairs(outcome.notes or {}) do lines[#lines + 1] = "note: " .. note end
  return table.concat(lines, "\n") .. "\n"
end

-- --- data ---

local outcome_heads = { "name", "value", "unit", "counted", "runs", "source", "problem" }
local plan_heads = { "run", "counter", "event", "why" }

--- The results or, before a run, the events that each run counts, as CSV.
---@param plan pmlua.Choice
---@param outcome? pmlua.Outcome
function M.csv(plan, outcome)
  local rows = {}
  for i, row in ipairs(outcome and outcome.rows or {}) do
    rows[i] = { row.name, row.value, row.unit, row.coverage, row.runs and table.concat(row.runs, " "), row.source,
      row.problem or row.says }
  end
  for r, run in ipairs(outcome and {} or plan.runs) do
    for _, e in ipairs(run.events) do rows[#rows + 1] = { r, e.counter, e.event.name, e.event.why } end
  end
  return require "pmlua.internal.cli.csv".table(outcome and outcome_heads or plan_heads, rows)
end

local function shorts(events)
  local json, list = require "pmlua.json", {}
  for i, e in ipairs(events) do list[i] = e.short end
  return json.array(list)
end

local function data_items(plan)
  local json, items = require "pmlua.json", {}
  for i, item in ipairs(plan.items) do
    items[i] = { name = item.name, unit = item.metric and item.metric.unit, formula = item.metric and item.metric.formula.text,
      events = shorts(item.events), run = item.run, runs = json.array { table.unpack(item.runs) }, split = item.split,
      dead = item.dead }
  end
  return json.array(items)
end

local function data_run(run)
  local json, events = require "pmlua.json", {}
  for i, e in ipairs(run.events) do
    events[i] = { event = e.event.name, counter = e.counter, why = e.event.why ~= "" and e.event.why or nil }
  end
  return { events = json.array(events), reserved = run.reserved }
end

--- All of it as a table for pmlua.json.
---@param plan pmlua.Choice
---@param outcome? pmlua.Outcome
function M.data(chooser, plan, more, outcome)
  local json = require "pmlua.json"
  local data = { pmu = chooser.pmu.name, title = chooser.pmu.title, source = chooser.pmu.source, here = chooser.here,
    general = chooser.counters.general, fixed = chooser.counters.fixed, smt = chooser.smt or false, watchdog = chooser.watchdog,
    notes = json.array { table.unpack(chooser.notes) }, verified = plan.verified, unverified = plan.unverified,
    together = plan.together, why = plan.why, exact = plan.exact, bound = plan.bound, items = data_items(plan),
    rivals = json.array(), runs = json.array() }
  for i, pair in ipairs(plan.rivals) do data.rivals[i] = { a = pair[1], b = pair[2], why = pair.why } end
  for r, run in ipairs(plan.runs) do
    data.runs[r] = data_run(run)
    if more then data.runs[r].more = json.array((chooser:more(run))) end
    if outcome and outcome.results[r] then data.runs[r].ended = outcome.results[r].ended end
  end
  if outcome then
    data.results, data.interrupted = json.array(outcome.rows), outcome.interrupted
    data.counting_notes = json.array(outcome.notes or {})
    for _, row in ipairs(outcome.rows) do row.runs = row.runs and json.array(row.runs) end
  end
  return data
end

return M
