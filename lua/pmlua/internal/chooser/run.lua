-- SPDX-License-Identifier: BSD-3-Clause
--- Carry a plan out: run a command once for each run of the plan, count it and its children, and combine the runs.
--
-- The command starts after its counters are attached. Every count comes with the times that it was enabled and running;
-- an event that never counted is an error, not a zero. Events that this machine refuses are reported with the reason, and the
-- others are counted.
--
--     pmlua choose --pmu generic CYCLE --run -- sleep 0.1

local core = require "pmlua.core"
local counted = require "pmlua.internal.chooser.counted"
local groups = require "pmlua.groups"
local sorted = require "pmlua.internal.sorted"
local verify = require "pmlua.internal.verify"
local refuse = core.failure.refuse

local M = {}

--- The sentence of a refusal, without the code before it and the event's name, which stands beside it.
local function sentence(err, name)
  local text = core.failure.sentence(err)
  if name and text:sub(1, #name + 2) == name .. ": " then return (text:sub(#name + 3)) end
  return text
end

--- Events that can be put on the child one by one, and the others with their reasons. Software events among them say
--- nothing of whether the others fit: that is what the open of the whole set is for.
local function openable(run, pid)
  local names, events, refused = {}, {}, {}
  for _, e in ipairs(run.events) do
    local set, err = core.eventset.open({ e.event.name }, { pid = pid, inherit = true, on_exec = true })
    if set then
      set:close()
      names[#names + 1], events[#events + 1] = e.event.name, e.event
    else
      refused[e.event] = sentence(err, e.event.name)
    end
  end
  return names, events, refused
end

local function read(set, events, counts)
  local readings, err = set:readings()
  if not readings then return refuse(err) end
  for i, r in ipairs(readings) do
    counts[events[i]] = { raw = r.raw, value = r.enabled_ns == r.running_ns and r.raw or r.scaled,
      user_only = r.name == events[i].name .. ":u", enabled_ns = r.enabled_ns, running_ns = r.running_ns,
      coverage = r.enabled_ns > 0 and r.running_ns / r.enabled_ns or 0 }
  end
  return true
end

--- Attach the counters of a run to the waiting child; refused events go to @refused.
local function attach(run, pid)
  local names, events, refused = openable(run, pid)
  if #names == 0 then return nil, events, refused end
  local set, err = core.eventset.open(names, { pid = pid, inherit = true, on_exec = true })
  for _, e in ipairs(set and {} or events) do refused[e] = sentence(err) end
  return set, events, refused
end

--- One run: { counts = by event, refused = by event, ended = how the command ended }.
local function once(run, argv)
  local command <close>, err = core.command.spawn(argv)
  if not command then return refuse(err) end
  local opened, events, refused = attach(run, command:pid())
  local set <close> = opened
  local started, refusal = command:start()
  if not started then return refuse(refusal, argv[1]) end
  local ended, lost = command:wait()
  if not ended then return refuse(lost) end
  local result = { counts = {}, refused = refused, ended = ended }
  if set then
    local ok, failure = read(set, events, result.counts)
    if not ok then return nil, failure end
  end
  return result
end

--- Why nothing of a run can be counted, if that is so: then the command need not be run for it.
local function hopeless(run)
  local why
  for _, e in ipairs(run.events) do
    local set, err = core.eventset.open({ e.event.name }, {})
    if set then
      set:close()
      return nil
    end
    why = sentence(err, e.event.name)
  end
  return why
end

local function skip(run, why)
  local refused = {}
  for _, e in ipairs(run.events) do refused[e.event] = why end
  return { counts = {}, refused = refused }
end

-- --- metrics over runs ---

local function problem_of(results, item, event)
  for _, r in ipairs(item.runs) do
    local result = results[r]
    if result and result.refused[event] then return result.refused[event] end
  end
  return "it was not counted"
end

--- The count of an event for a metric: from the metric's own run, else from the first that has it.
local function count_of(results, item, event)
  for _, r in ipairs(item.run and { item.run } or item.runs) do
    local c = results[r] and results[r].counts[event]
    if c then return c, r end
  end
end

local function gather(chooser, results, item, inputs)
  local counts, from, coverage, problem = setmetatable({}, { __index = inputs }), {}, 1, nil
  for key, name in sorted(item.metric.events) do
    local event = assert(chooser:event(name))
    local c, r = count_of(results, item, event)
    if not c then
      problem = ("%s: %s"):format(event.short, problem_of(results, item, event))
    elseif c.coverage == 0 then
      problem = ("%s never counted: 0 %% of the time it was enabled"):format(event.short)
    else
      counts[key], from[r] = c.value, true
      coverage = math.min(coverage, c.coverage)
    end
  end
  return counts, from, coverage, problem
end

local function seconds_of(results, from)
  local sum, n = 0, 0
  for r in pairs(from) do sum, n = sum + results[r].ended.real_ns * 1e-9, n + 1 end
  if n > 0 then return sum / n end
  for _, result in pairs(results) do
    if result.ended then return result.ended.real_ns * 1e-9 end
  end
end

--- The counter of these events: the PMU, if it counts any of them.
local function source_of(events)
  for _, e in ipairs(events) do
    if #e.placements > 0 then return "hardware" end
  end
  return "kernel"
end

local function metric_row(chooser, results, item, inputs)
  local row = { name = item.name, unit = item.metric.unit, about = item.metric.about, source = source_of(item.events) }
  local counts, from, coverage, problem = gather(chooser, results, item, inputs)
  row.problem = problem
  if problem then return row end
  counts.time = seconds_of(results, from)
  local value, why = groups.value(item.group, item.metric, counts)
  if why then
    row.problem = why
    return row
  end
  row.value, row.coverage, row.runs = value, coverage, {}
  for r in pairs(from) do row.runs[#row.runs + 1] = r end
  table.sort(row.runs)
  row.negative = value < 0 and item.metric.name ~= "difference" or nil
  row.says = not row.negative and groups.judge(item.metric, value) or nil
  return row
end

local function event_row(results, item)
  local event = item.events[1]
  local c, r = count_of(results, item, event)
  local row = { name = item.name, unit = "", runs = { r }, source = source_of(item.events) }
  if not c then
    row.problem = problem_of(results, item, event)
  elseif c.coverage == 0 then
    row.problem = "it never counted: 0 % of the time it was enabled"
  else
    row.value, row.coverage = c.value, c.coverage
    if c.user_only then row.name = row.name .. ":u" end
  end
  return row
end

--- Compute the requested events and metrics from the counts of all runs.
---@param plan pmlua.Choice
---@param results table[] one per run of the plan; nil for one that was not made
---@param inputs table<string, number>
---@return table[] rows { name, value?, unit, coverage?, runs?, problem?, negative?, says? }
function M.combine(chooser, plan, results, inputs)
  local rows = {}
  for _, item in ipairs(plan.items) do
    if item.dead then
      rows[#rows + 1] = { name = item.name, unit = item.metric and item.metric.unit or "", problem = item.dead }
    elseif item.metric then
      rows[#rows + 1] = metric_row(chooser, results, item, inputs)
    else
      rows[#rows + 1] = event_row(results, item)
    end
  end
  return rows
end

---@class pmlua.Outcome
---@field results table[] of each run: { counts, refused, ended? }
---@field rows table[] as M.combine gives them, then what was counted without a PMU
---@field interrupted? integer the run that an interrupt ended
---@field never integer events that never counted
---@field notes string[] what counts without a PMU leave out

--- The runs of a plan, the first that is made with @handle's command: it leaves what it counts itself.
local function make_runs(outcome, plan, argv, handle)
  local counted_any, why = false, nil
  for r, run in ipairs(plan.runs) do
    local reason = hopeless(run)
    local result, err
    if reason and outcome.own == nil and counted.is_counting(argv) then
      result, err = once({ events = {} }, handle.argv)
      if result then result.refused = skip(run, reason).refused end
    elseif reason then
      result, why = skip(run, reason), reason
    else
      result, err = once(run, outcome.own == nil and handle.argv or argv)
    end
    if not result then return nil, err end
    if result.ended and outcome.own == nil then outcome.own = r end
    outcome.results[r] = result
    for _, c in pairs(result.counts) do
      counted_any = true
      if c.coverage == 0 then outcome.never = outcome.never + 1 end
    end
    if core.sys.interrupted() then
      outcome.interrupted = r
      break
    end
  end
  return counted_any, why
end

--- Events that the machine counts wrong.
local function add_remarks(outcome)
  local names = {}
  for _, result in ipairs(outcome.results) do
    for event in pairs(result.counts) do names[#names + 1] = event.name end
  end
  table.sort(names)
  for _, text in ipairs(verify.remarks(names)) do outcome.notes[#outcome.notes + 1] = text end
end

local function compiled_rows(outcome, plan, handle, inputs)
  local own = outcome.results[outcome.own or 0]
  if not own then return {} end
  local rows
  rows, outcome.notes = counted.compiled(handle, plan, inputs, own.ended.real_ns * 1e-9)
  for _, row in ipairs(rows) do row.runs = { outcome.own } end
  return rows
end

--- Run the command for every run of the plan.
---@param plan pmlua.Choice
---@param inputs? table<string, number> such as work
---@return pmlua.Outcome? outcome, pmlua.Failure? failure nothing could be counted, or the command could not be run
function M.command(chooser, plan, argv, inputs)
  local outcome = { results = {}, never = 0, notes = {} }
  local handle, refused = counted.prepare(argv)
  if not handle then return nil, refused end
  core.sys.on_interrupt(true)
  local any, why = make_runs(outcome, plan, argv, handle)
  core.sys.on_interrupt(false)
  local own = any ~= nil and compiled_rows(outcome, plan, handle, inputs or {}) or {}
  handle.release()
  if any == nil then return nil, why end
  if not any and #own == 0 and not outcome.interrupted then
    return refuse("ENODATA", "none of these events is available on this machine: " .. (why or "no run was planned"))
  end
  outcome.rows = M.combine(chooser, plan, outcome.results, inputs or {})
  table.move(own, 1, #own, #outcome.rows + 1, outcome.rows)
  add_remarks(outcome)
  return outcome
end

--- The same by simulation: the command is run once, and no PMU is asked.
---@param plan pmlua.Choice
---@param inputs? table<string, number>
---@return pmlua.Outcome? outcome, pmlua.Failure? failure
function M.simulation(plan, argv, inputs)
  local rows, ended = counted.simulated(plan, argv, inputs or {})
  if not rows then return nil, ended end
  if #rows == 0 then
    return refuse("ENOTSUP", "a simulation counts none of these groups", "choose CYCLE, CACHE, BANDWIDTH or LOADSTORE")
  end
  for _, row in ipairs(rows) do row.runs = { 1 } end
  return { results = { { counts = {}, refused = {}, ended = ended } }, rows = rows, never = 0,
    notes = { "times are those of the simulation" } }
end

return M
