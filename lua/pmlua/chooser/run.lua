-- SPDX-License-Identifier: BSD-3-Clause
--- Carry a plan out: run a command once for each run of the plan, count it and its children, and combine the runs.
--
-- The command waits until the counters are on it. Every count comes with the time it was enabled and the time it counted;
-- an event that never counted is an error, not a zero. What this machine refuses is told with its reason, and the rest is
-- counted.
--
--     pmlua choose --pmu generic CYCLE --run -- sleep 0.1

local core = require "pmlua.core"
local groups = require "pmlua.groups"

local M = {}

--- The sentence of a refusal, without the code before it and the event's name, which stands beside it.
local function sentence(err, name)
  local text = tostring(err):gsub("^[%w_.]+: E%w+: ", "")
  if name and text:sub(1, #name + 2) == name .. ": " then return (text:sub(#name + 3)) end
  return text
end

--- Events that can be put on the child one by one, and the others with their reasons. Software events among them say
--- nothing of whether the others fit: that is what the open of the whole set is for.
local function openable(run, pid)
  local names, events, refused = {}, {}, {}
  for _, e in ipairs(run.events) do
    local set, err = core.eventset.open({ e.event.name }, { pid = pid, inherit = true })
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
  if not readings then return nil, sentence(err) end
  for i, r in ipairs(readings) do
    counts[events[i]] = { raw = r.raw, value = r.enabled_ns == r.running_ns and r.raw or r.scaled,
      enabled_ns = r.enabled_ns, running_ns = r.running_ns,
      coverage = r.enabled_ns > 0 and r.running_ns / r.enabled_ns or 0 }
  end
  return true
end

--- The counters of a run, waiting on the child; what is refused goes to @refused.
local function attach(run, pid)
  local names, events, refused = openable(run, pid)
  if #names == 0 then return nil, events, refused end
  local set, err = core.eventset.open(names, { pid = pid, inherit = true })
  for _, e in ipairs(set and {} or events) do refused[e] = sentence(err) end
  return set, events, refused
end

--- One run: { counts = by event, refused = by event, ended = how the command ended }.
local function once(run, argv)
  local command <close>, err = core.command.spawn(argv)
  if not command then return nil, sentence(err) end
  local opened, events, refused = attach(run, command:pid())
  local set <close> = opened
  local started, refusal = command:start()
  if not started then return nil, ("%s: %s"):format(argv[1], sentence(refusal)) end
  local ended, lost = command:wait()
  if not ended then return nil, sentence(lost) end
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
  for key, name in pairs(item.metric.events) do
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

local function metric_row(chooser, results, item, inputs)
  local row = { name = item.name, unit = item.metric.unit, about = item.metric.about }
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
  local row = { name = item.name, unit = "", runs = { r } }
  if not c then
    row.problem = problem_of(results, item, event)
  elseif c.coverage == 0 then
    row.problem = "it never counted: 0 % of the time it was enabled"
  else
    row.value, row.coverage = c.value, c.coverage
  end
  return row
end

--- What was asked for, from the counts of all runs.
---@param chooser pmlua.Chooser
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
---@field rows table[] as M.combine gives them
---@field interrupted? integer the run that an interrupt ended
---@field never integer events that never counted

--- Run the command for every run of the plan.
---@param chooser pmlua.Chooser
---@param plan pmlua.Choice
---@param argv string[]
---@param inputs? table<string, number> such as work
---@return pmlua.Outcome? outcome
---@return string? err nothing could be counted, or the command could not be run
function M.command(chooser, plan, argv, inputs)
  local outcome, counted, why = { results = {}, never = 0 }, false, nil
  core.sys.on_interrupt(true)
  for r, run in ipairs(plan.runs) do
    local reason = hopeless(run)
    local result, err
    if reason then result, why = skip(run, reason), reason else result, err = once(run, argv) end
    if not result then
      core.sys.on_interrupt(false)
      return nil, err
    end
    outcome.results[r] = result
    for _, c in pairs(result.counts) do
      counted = true
      if c.coverage == 0 then outcome.never = outcome.never + 1 end
    end
    if core.sys.interrupted() then
      outcome.interrupted = r
      break
    end
  end
  core.sys.on_interrupt(false)
  if not counted and not outcome.interrupted then
    return nil, "nothing of this can be counted here: " .. (why or "no run was planned")
  end
  outcome.rows = M.combine(chooser, plan, outcome.results, inputs or {})
  return outcome
end

return M
