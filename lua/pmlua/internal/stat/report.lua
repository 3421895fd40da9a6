-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/stat/report.lua - what pmlua stat prints: the counts of a run, of several, and of intervals.
--
-- Try:  pmlua stat -r 5 -- true; pmlua stat -I 100ms -- sleep 0.3

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local statistics = require("pmlua.core").statistics
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"
local verify = require "pmlua.internal.verify"

local M = {}

local function coverage(row)
  local said = {}
  local percent = row.running_ns and ("%.0f"):format(100 * row.running_ns / row.enabled_ns)
  if percent and row.running_ns < row.enabled_ns and percent ~= "100" then
    said[1] = ("scaled: counted %s %% of the time, %d raw"):format(percent, row.raw)
  end
  if row.source == "perf_event" then said[#said + 1] = verify.remark(row.event) end
  if row.idle then said[#said + 1] = ("0 on %s, which never counted"):format(table.concat(row.idle, ", ")) end
  return table.concat(said, "; ")
end

local function remark(r)
  if r.reason then return "not counted: " .. r.reason end
  return r.at_least and "at least" or coverage(r)
end

--- The event, with the cgroup that it was counted in.
local function name_of(r) return r.cgroup and ("%s in %s"):format(r.event, r.cgroup) or r.event end

-- ---- one run ----

local function rows_of(result)
  local rows = {}
  for i, r in ipairs(result.rows) do rows[i] = { name_of(r), r.value, r.unit, r.source, remark(r) } end
  return rows
end

-- ---- several runs ----

--- A row over runs. An event that was not counted in all of them has no value.
local function over(runs, i)
  local row, values = runs[#runs].rows[i], json.array()
  for k, run in ipairs(runs) do
    local r = run.rows[i]
    if not r or not r.value then return { event = row.event, unit = row.unit, source = row.source, remark = remark(r or row) } end
    values[k] = r.value
  end
  local mean, sd = statistics.moments(values)
  local reach = #values > 1 and stats.student_quantile(0.05, #values - 1) * sd / math.sqrt(#values) or nil
  return { event = row.event, unit = row.unit, source = row.source, remark = remark(row), values = values, mean = mean,
    half_interval = reach, least = math.min(table.unpack(values)), most = math.max(table.unpack(values)) }
end

local function rows_over(runs)
  local rows = {}
  for i in ipairs(runs[#runs].rows) do rows[i] = over(runs, i) end
  return rows
end

local function several(out, o, runs)
  local rows = rows_over(runs)
  if o.json then
    local ended = json.array()
    for i, run in ipairs(runs) do ended[i] = run.ended end
    return out:write(json.encode { command = json.array(o.command), runs = #runs, ended = ended, counts = json.array(rows) })
  end
  local lines = {}
  for i, r in ipairs(rows) do
    lines[i] = { r.event, r.mean, r.half_interval, r.least, r.most, r.unit, r.source, r.remark }
  end
  if o.csv then
    return out:write(csv.table({ "event", "mean", "half_interval_95", "least", "most", "unit", "counted_by", "remark" }, lines))
  end
  out:write("\n", tabulate({ "event", "mean", "+- (95 %)", "least", "most", "unit", "counted by", "" }, lines,
    out == io.stderr and 2 or nil), ("\n%d runs\n"):format(#runs))
end

--- The counts of a run, or of several.
---@param out file*
---@param o { json: boolean?, csv: boolean?, command: string[], ["repeat"]: integer? }
---@param runs table[] results of stat.run, one at least
function M.total(out, o, runs)
  local result = runs[1]
  if o.runs then return several(out, o, runs) end
  if o.json then
    out:write(json.encode { command = json.array(o.command), ended = result.ended, counts = json.array(result.rows),
      notes = json.array(result.notes) })
  elseif o.csv then
    out:write(csv.table({ "event", "count", "unit", "counted_by", "remark" }, rows_of(result)))
  else
    local fd = out == io.stderr and 2 or nil
    out:write("\n", tabulate({ "event", "count", "unit", "counted by", "" }, rows_of(result), fd), "\n")
  end
end

-- ---- intervals ----

local function line_of(o, time_s, r, count)
  if o.csv then return csv.line({ ("%.6f"):format(time_s), name_of(r), count, r.unit, r.source, remark(r) }, 6) end
  return ("%10.3f  %16s  %-6s %s\n"):format(time_s, count and tabulate.number(count) or "-", r.unit,
    name_of(r) .. (r.reason and "  not counted: " .. r.reason or ""))
end

--- Print the counts since the previous call, a line for each event; a scaled count must not decrease.
---@param out file*
---@param o { json: boolean?, csv: boolean? }
---@param time_s number since the start
---@param rows pmlua.CountRow[] counts since the start
---@param before table<string, number> counts of the previous call, replaced by the current ones
function M.interval(out, o, time_s, rows, before)
  local lines, list = {}, json.array()
  if before.began == nil and not o.json then
    lines[1] = o.csv and csv.line({ "time_s", "event", "count", "unit", "counted_by", "remark" }, 6)
      or ("%10s  %16s  %-6s %s\n"):format("time (s)", "count", "unit", "event")
  end
  before.began = true
  for _, r in ipairs(rows) do
    if r.source == "perf_event" then
      local name = name_of(r)
      local count = r.value and math.max(0, r.value - (before[name] or 0))
      before[name] = r.value or before[name]
      list[#list + 1] = { event = r.event, cgroup = r.cgroup, value = count, unit = r.unit, source = r.source, reason = r.reason }
      lines[#lines + 1] = line_of(o, time_s, r, count)
    end
  end
  out:write(o.json and json.line { time_s = time_s, counts = list } .. "\n" or table.concat(lines))
end

return M
