-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/metrics.lua - metrics of sections: the formulas of event groups, applied to the counted events.
--
-- Try:  pmlua report DIR --pmu skx
--
-- A section has a metric if all its events were counted, by a PMU, by the compiler or in a simulation, which the metric's
-- source names. `time` is the section's time and `work` the work reported at its stops, so that USER's ratio compares the counted
-- operations of the source code with the operations that the hardware executed.

local countfile = require "pmlua.countfile"
local groups = require "pmlua.groups"
local lists = require "pmlua.internal.lists"
local refuse = require "pmlua.core".failure.refuse

local M = {}

--- The count of a group's event in a section. Where the kernel was not counted it is called NAME:u.
local function count_of(row, event) return row.values[event] or row.values[event .. ":u"] end

--- The counts of a group's events in a section, by the group's names for them.
local function counts_of(group, row, no_work)
  local counts = { time = row.total_ns / 1e9, work = not no_work and row.work or nil }
  for key, event in pairs(group.events) do counts[key] = count_of(row, event) end
  return counts
end

local function uses_work(metric) return lists.any(metric.formula.names, function(name) return name == "work" end) end

local function complete(metric, row, no_work)
  if no_work and uses_work(metric) then return false end
  if next(metric.events) == nil then return false end -- the table has time and work alone already
  for _, event in pairs(metric.events) do
    if count_of(row, event) == nil then return false end
  end
  return true
end

local function judged(group, metric, row, no_work)
  local v, why = groups.value(group, metric, counts_of(group, row, no_work))
  return { group = group.name, name = metric.name, unit = metric.unit, value = v, reason = why, about = metric.about,
    says = not why and groups.judge(metric, v) or nil }
end

--- @no_work: the section's is no work by hand: it is the compiler's count itself, or bytes. What two groups have is there once.
local function metrics_of(of, row, no_work)
  local list, seen = {}, {}
  for _, name in ipairs(groups.order(of)) do
    for _, metric in ipairs(of[name].metrics) do
      if complete(metric, row, no_work) then
        local m = judged(of[name], metric, row, no_work)
        local same = ("%s %s %s"):format(m.name, m.unit, m.value)
        if not seen[same] then list[#list + 1] = m end
        seen[same] = true
      end
    end
  end
  return list
end

--- The PMUs with a metric for these events, but for "generic".
local function candidates(report)
  local list = {}
  for _, pmu in ipairs(groups.pmus()) do
    local fits = false
    for _, s in ipairs(pmu ~= "generic" and report.sections or {}) do fits = fits or #metrics_of(groups.of(pmu), s.all) > 0 end
    if fits then list[#list + 1] = pmu end
  end
  return list
end

--- The PMU whose formulas apply: the requested one, this machine's, or the only one whose events fit.
local function choose(report, wish)
  local fitting = candidates(report)
  local here = require "pmlua.pmus".here()
  for _, pmu in ipairs(fitting) do
    if pmu == (wish or here) then return pmu end
  end
  if wish or #fitting == 0 then return nil end
  if #fitting == 1 then return fitting[1] end
  return refuse("EINVAL", "the events fit the groups of " .. table.concat(fitting, ", "), "choose one with --pmu NAME")
end

local function is_simulated(report)
  for _, s in ipairs(report.sections) do
    for _, name in ipairs(s.events) do
      if name:find "^sim::" then return true end
    end
  end
  return false
end

--- Events that this machine counts wrong, where the processes ran on it.
local function add_remarks(report)
  local here, names = require "pmlua.core".sys.uname().nodename, {}
  for _, p in ipairs(report.processes) do
    if p.host ~= here then return end
  end
  for _, s in ipairs(report.sections) do table.move(s.events, 1, #s.events, #names + 1, names) end
  local remarks = require "pmlua.internal.verify".remarks(names)
  table.move(remarks, 1, #remarks, #report.notes + 1, report.notes)
end

--- Add its metrics to each section, and the wrong events to the notes. If several PMUs fit, a note reports this.
---@param wish string? a PMU
---@return boolean? ok, pmlua.Failure? failure
function M.add(report, wish)
  if wish and next(groups.of(wish)) == nil then
    return refuse("ENOENT", ("no event groups for a PMU called %s"):format(wish),
      "choose one of " .. table.concat(groups.pmus(), ", "))
  end
  local any = false
  for _, s in ipairs(report.sections) do any = any or #s.events > 0 end
  if not any then return true end
  add_remarks(report)
  local pmu, note = choose(report, wish)
  report.pmu = pmu or wish
  report.notes[#report.notes + 1] = note
  if is_simulated(report) then
    report.notes[#report.notes + 1] = "times and rates are those of the simulation"
  end
  local from = {}
  for _, name in ipairs { pmu or "generic", pmu and pmu ~= "generic" and "generic" or nil } do
    from[#from + 1] = { groups = groups.of(name), source = name == "generic" and "perf" or name }
  end
  from[#from + 1] = { groups = groups.counted "compiler", source = countfile.label(report.counted) }
  from[#from + 1] = { groups = groups.counted "simulation", source = "simulation" }
  for _, s in ipairs(report.sections) do
    s.metrics = {}
    for _, of in ipairs(from) do
      for _, m in ipairs(metrics_of(of.groups, s.all, s.counted_work or s.type ~= "calculation")) do
        m.source = of.source
        s.metrics[#s.metrics + 1] = m
      end
    end
  end
  return true
end

return M
