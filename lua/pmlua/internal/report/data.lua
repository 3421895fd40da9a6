-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/data.lua - a report for programs: JSON with all of it, CSV with one of its tables. Rows of
-- processes and threads are written while they are read.
--
-- Try:  pmlua report DIR --csv --threads
--
-- Times are in seconds, rates per second, shares in 1. What is not known is null, or an empty field.

local countfile = require "pmlua.countfile"
local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local report = require "pmlua.report"
local sections = require "pmlua.sections"

local M = {}

local function s(ns) return ns and ns / 1e9 end

local function show_keys(values)
  local out = {}
  for name, v in pairs(values) do out[sections.show(name)] = v end
  return out
end

--- What a row says, in the order of CSV's columns.
local fields = {
  { "calls", function(row) return row.count end }, { "running", function(row) return row.running end },
  { "time_s", function(row) return s(row.total_ns) end }, { "share", function(row) return row.share end },
  { "self_s", function(row) return s(row.self_ns) end }, { "mean_s", function(row) return s(row.mean_ns) end },
  { "min_s", function(row) return s(row.min_ns) end }, { "max_s", function(row) return s(row.max_ns) end },
  { "stddev_s", function(row) return s(row.stddev_ns) end }, { "work", function(row) return row.work end },
  { "iterations", function(row) return row.iterations end }, { "rate", function(row) return row.rate end },
}

local function row_of(row)
  local out = {}
  for _, f in ipairs(fields) do out[f[1]] = f[2](row) end
  if next(row.values) then out.events = show_keys(row.values) end
  if next(row.misuse) then out.misuse = row.misuse end
  return out
end

--- Of each process what `items` gives of it, as an iterator over all.
local function items_of(r, section, items, threads)
  local each, list, n = report.each(r, section, threads), {}, 0
  return function()
    while n == #list do
      local of = each()
      if not of then return nil end
      list, n = items(of), 0
    end
    n = n + 1
    return list[n]
  end
end

local function process_row(r, of)
  local out = row_of(of.all)
  out.process = report.process_name(r, of.process)
  return { out }
end

local function thread_rows(r, of)
  local list = {}
  for i, row in ipairs(of.threads) do
    list[i] = row_of(row)
    list[i].process, list[i].thread = report.process_name(r, of.process), row.thread
  end
  return list
end

local function quantiles_of(r, of)
  local q = of.quantiles
  return { q and { process = report.process_name(r, of.process), min_s = s(q[1]), q1_s = s(q[2]), median_s = s(q[3]),
    q3_s = s(q[4]), p95_s = s(q[5]), p99_s = s(q[6]), max_s = s(q[7]) } }
end

--- Sections without durations have no quantiles.
local function any_quantiles(r, section)
  if not report.has_quantiles(r) then return false end
  for of in report.each(r, section) do
    if of.quantiles then return true end
  end
  return false
end

local function section_of(r, section)
  local out = row_of(section.all)
  out.label, out.type, out.exclusive = sections.show(section.label), section.type, section.exclusive
  out.unit = section.type == "communication" and "byte" or "operation"
  out.time_average_s, out.self_average_s = s(section.all.time_ns), s(section.all.own_ns)
  out.imbalance = section.all.imbalance
  out.work_source = section.all.work > 0 and (section.counted_work and "compiler" or "program") or nil
  if section.all.most then out.slowest = report.process_name(r, section.all.most) end
  out.processes = items_of(r, section, function(of) return process_row(r, of) end)
  out.threads = items_of(r, section, function(of) return thread_rows(r, of) end, true)
  if any_quantiles(r, section) then out.quantiles = items_of(r, section, function(of) return quantiles_of(r, of) end) end
  if section.metrics and #section.metrics > 0 then
    out.metrics = json.array()
    for i, m in ipairs(section.metrics) do
      out.metrics[i] = { group = m.group, name = m.name, unit = m.unit, source = m.source, reason = m.reason, says = m.says,
        value = not m.reason and m.value or nil }
    end
  end
  return out
end

local quantile_names = { "min", "q1", "median", "q3", "p95", "p99", "max" }

--- A counter or recorder: of a recorder the value is the number of its elements.
local function event_of(r, e)
  local out = { name = sections.show(e.name), kind = e.kind or "recorder", process = report.process_name(r, e.process),
    value = e.value or e.count, as_of_s = s(e.as_of_ns), dropped = e.dropped, cut = e.cut or nil }
  for i, name in ipairs(e.quantiles and quantile_names or {}) do out[name] = e.quantiles[i] end
  return out
end

local function each_event(r, f)
  for _, list in ipairs { r.counters, r.recorders } do
    for _, e in ipairs(list) do f(event_of(r, e)) end
  end
end

local function process_of(r, i)
  local p = r.processes[i]
  return { name = report.process_name(r, i), source = p.name, pid = p.pid, rank = p.rank, size = p.size,
    host = sections.show(p.host), command = sections.show(p.command), started_ns = p.started_ns, written_ns = p.written_ns,
    ended = p.ended }
end

--- An iterator over f(1) to f(n).
local function upto(n, f)
  local i = 0
  return function()
    i = i + 1
    return i <= n and f(i) or nil
  end
end

--- All of a report as JSON.
---@param r pmlua.Report
---@param write fun(...: string)
function M.json(r, write)
  local out = { total_s = s(r.total_ns), total_of = r.total_of, pmu = r.pmu, counted = r.counted, notes = json.array(r.notes),
    processes = upto(#r.processes, function(i) return process_of(r, i) end),
    sections = upto(#r.sections, function(i) return section_of(r, r.sections[i]) end),
    openmp = #r.openmp > 0 and json.array(r.openmp) or nil, events = json.array() }
  each_event(r, function(e) out.events[#out.events + 1] = e end)
  json.write(out, write)
end

-- --- CSV ---

local function events_of(r)
  local names, seen = {}, {}
  for _, section in ipairs(r.sections) do
    for _, name in ipairs(section.events) do
      if not seen[name] then names[#names + 1], seen[name] = name, true end
    end
  end
  return names
end

--- The source of the work of a row: the program by its stops, or the compiler, with where.
local function work_source(r, section, row)
  if row.work <= 0 then return nil end
  return section.counted_work and countfile.label(r.counted) or "program"
end

--- Counters and recorders as CSV.
---@param r pmlua.Report
---@param write fun(...: string)
function M.events_csv(r, write)
  local names = { "event", "kind", "process", "value", "as_of_s", "dropped", table.unpack(quantile_names) }
  write(csv.line(names, #names))
  each_event(r, function(e)
    local cells = { e.name }
    for i = 2, #names do cells[i] = e[names[i]] end
    write(csv.line(cells, #names))
  end)
end

--- An iterator over the rows of a table.
local function rows_of(r, section, level)
  if level == "basic" then return upto(1, function() return section.all end) end
  if level == "detail" then return items_of(r, section, function(of) return { of.all } end) end
  return items_of(r, section, function(of) return of.threads end, true)
end

--- One table of a report as CSV: a row per section, or per section and process, or also per thread. Events are columns;
--- those that the compiler counted have where in a column of their own.
---@param r pmlua.Report
---@param level string basic, detail, threads or events
---@param write fun(...: string)
function M.csv(r, level, write)
  if level == "events" then return M.events_csv(r, write) end
  local names, events = { "section", "type", "exclusive" }, events_of(r)
  if level ~= "basic" then names[#names + 1] = "process" end
  if level == "threads" then names[#names + 1] = "thread" end
  for _, f in ipairs(fields) do names[#names + 1] = f[1] end
  names[#names + 1] = "work_source"
  if r.counted then names[#names + 1] = "counted" end
  for _, name in ipairs(events) do names[#names + 1] = sections.show(name) end
  write(csv.line(names, #names))
  for _, section in ipairs(r.sections) do
    for row in rows_of(r, section, level) do
      local cells, n = { sections.show(section.label), section.type, section.exclusive and "yes" or "no" }, 3
      local function add(v) n = n + 1; cells[n] = v end
      if level ~= "basic" then add(report.process_name(r, row.process)) end
      if level == "threads" then add(row.thread) end
      for _, f in ipairs(fields) do add(f[2](row)) end
      add(work_source(r, section, row))
      if r.counted then add(r.counted) end
      for _, name in ipairs(events) do add(row.values[name]) end
      write(csv.line(cells, #names))
    end
  end
end

return M
