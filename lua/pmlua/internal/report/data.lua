-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/data.lua - a report for programs: JSON with all of it, CSV with one of its tables. Rows of
-- processes and threads are written while they are read.
--
-- Try:  pmlua report DIR --csv --threads
--
-- Times are in seconds, rates per second, shares from 0 to 1. Unknown values are null, or an empty field.

local countfile = require "pmlua.countfile"
local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local report = require "pmlua.report"
local rows_of = require "pmlua.internal.report.rows"
local sections = require "pmlua.sections"

local M = {}

local function s(ns) return ns and ns / 1e9 end

local function show_keys(values)
  local out = {}
  for name, v in pairs(values) do out[sections.show(name)] = v end
  return out
end

--- The fields of a row, in the order of CSV's columns.
local fields = {
  { name = "calls", field = "count" }, { name = "running", field = "running" },
  { name = "time_s", field = "total_ns", divisor = 1e9 }, { name = "share", field = "share" },
  { name = "self_s", field = "self_ns", divisor = 1e9 }, { name = "mean_s", field = "mean_ns", divisor = 1e9 },
  { name = "min_s", field = "min_ns", divisor = 1e9 }, { name = "max_s", field = "max_ns", divisor = 1e9 },
  { name = "stddev_s", field = "stddev_ns", divisor = 1e9 }, { name = "work", field = "work" },
  { name = "iterations", field = "iterations" }, { name = "rate", field = "rate" },
}

local function field_of(row, f)
  local v = row[f.field]
  return v and f.divisor and v / f.divisor or v
end

local function row_of(row)
  local out = {}
  for _, f in ipairs(fields) do out[f.name] = field_of(row, f) end
  if next(row.values) then out.events = show_keys(row.values) end
  if next(row.misuse) then out.misuse = row.misuse end
  return out
end

-- --- rows of processes and threads ---

--- An iterator over what the processes have of a section, as text, which the core writes. A log that cannot be read again
--- is the report's failure.
---@param rows userdata of core.rows
local function pieces(r, section, threads, rows, form)
  local i = 0
  return function()
    while i < #r.processes do
      i = i + 1
      local texts = rows_of.texts(form, { report.process_name(r, i), r.counted }, 2)
      local text, err = rows:log(report.question(r, section, i, threads, texts))
      if not text then r.failed = r.failed or err end
      if text and text ~= "" then return text end
    end
  end
end

local function json_columns(threads)
  local columns = { { name = "process", field = "process" }, { name = "events", field = "events" },
    { name = "misuse", field = "misuse" }, threads and { name = "thread", field = "thread" } or nil }
  table.move(fields, 1, #fields, #columns + 1, columns)
  table.sort(columns, function(a, b) return a.name < b.name end)
  return columns
end

--- A table of the rows of all sections, made when its indent is known.
local function json_table(r, threads)
  local rows
  return function(indent)
    rows = rows or rows_of.open("json", json_columns(threads), r.sections, indent)
    return rows
  end
end

--- An iterator over the rows of a section as items of an array; it gets their indent.
---@param table_of fun(indent: string): userdata
local function json_rows(r, section, threads, table_of)
  local each
  return function(indent)
    each = each or pieces(r, section, threads, table_of(indent), "json")
    local piece = each()
    return piece and json.written(piece)
  end
end

local function quantiles_of(r, of)
  local q = of.quantiles
  return { process = report.process_name(r, of.process), min_s = s(q[1]), q1_s = s(q[2]), median_s = s(q[3]),
    q3_s = s(q[4]), p95_s = s(q[5]), p99_s = s(q[6]), max_s = s(q[7]) }
end

--- The quantiles of each process; nil if none has any.
local function quantiles(r, section)
  if not report.has_quantiles(r) then return nil end
  local each = report.each(r, section)
  local function next_one()
    local of = each()
    while of and not of.quantiles do of = each() end
    return of
  end
  local first = next_one()
  return first and function()
    local of = first or next_one()
    first = nil
    return of and quantiles_of(r, of)
  end
end

local function section_of(r, section, processes, threads)
  local out = row_of(section.all)
  out.label, out.type, out.exclusive = sections.show(section.label), section.type, section.exclusive
  out.interface = section.interface
  out.unit = section.type == "communication" and "byte" or "operation"
  out.time_average_s, out.self_average_s = s(section.all.time_ns), s(section.all.own_ns)
  out.imbalance = section.all.imbalance
  out.work_source = section.all.work > 0 and (section.counted_work and "compiler" or "program") or nil
  if section.all.most then out.slowest = report.process_name(r, section.all.most) end
  out.processes, out.threads = json_rows(r, section, false, processes), json_rows(r, section, true, threads)
  out.quantiles = quantiles(r, section)
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
---@return boolean? ok, pmlua.Failure? failure a log could not be read again: its rows are missing
function M.json(r, write)
  local processes, threads = json_table(r, false), json_table(r, true)
  local out = { total_s = s(r.total_ns), total_of = r.total_of, pmu = r.pmu, counted = r.counted, notes = json.array(r.notes),
    processes = upto(#r.processes, function(i) return process_of(r, i) end),
    sections = upto(#r.sections, function(i) return section_of(r, r.sections[i], processes, threads) end),
    openmp = #r.openmp > 0 and json.array(r.openmp) or nil, events = json.array() }
  each_event(r, function(e) out.events[#out.events + 1] = e end)
  json.write(out, write)
  return not r.failed or nil, r.failed
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
local function work_source(r, section)
  return section.counted_work and countfile.label(r.counted) or "program"
end

--- Counters and recorders.
local function events_rows(r)
  local names, rows = { "event", "kind", "process", "value", "as_of_s", "dropped", table.unpack(quantile_names) }, {}
  each_event(r, function(e)
    local cells = { e.name }
    for i = 2, #names do cells[i] = e[names[i]] end
    rows[#rows + 1] = cells
  end)
  return names, rows
end

--- The columns of a table, in core.rows's form; a section's texts are 1 to 5, a process's texts 1 and 2.
local function csv_columns(r, level)
  local columns = { { name = "section", field = "section", which = 1 }, { name = "type", field = "section", which = 2 },
    { name = "exclusive", field = "section", which = 3 } }
  if report.has_interfaces(r) then table.insert(columns, 2, { name = "interface", field = "section", which = 5 }) end
  local function add(column) columns[#columns + 1] = column end
  if level ~= "basic" then add { name = "process", field = "process", which = 1 } end
  if level == "threads" then add { name = "thread", field = "thread" } end
  for _, f in ipairs(fields) do add(f) end
  add { name = "work_source", field = "worked", which = 4 }
  if r.counted then add { name = "counted", field = "process", which = 2 } end
  for _, name in ipairs(events_of(r)) do add { name = sections.show(name), field = "event", text = name } end
  return columns
end

--- The cells of a section's row.
local function cells_of(r, columns, values, row)
  local cells = {}
  for i, c in ipairs(columns) do
    if c.field == "section" then cells[i] = values[c.which]
    elseif c.field == "worked" then cells[i] = row.work > 0 and values[c.which] or nil
    elseif c.field == "process" then cells[i] = r.counted
    elseif c.field == "event" then cells[i] = row.values[c.text]
    else cells[i] = field_of(row, c) end
  end
  return cells
end

--- The texts that all rows of a section share.
local function section_values(r, section)
  return { sections.show(section.label), section.type, section.exclusive and "yes" or "no", work_source(r, section),
    section.interface }
end

local function names_of(columns)
  local names = {}
  for i, c in ipairs(columns) do names[i] = c.name end
  return names
end

--- A table of few rows: the sections, or the events.
---@param r pmlua.Report
---@param level "basic"|"events"
---@return string[] names, any[][] rows
function M.rows(r, level)
  if level == "events" then return events_rows(r) end
  local columns, rows = csv_columns(r, level), {}
  for i, section in ipairs(r.sections) do rows[i] = cells_of(r, columns, section_values(r, section), section.all) end
  return names_of(columns), rows
end

local function csv_section(r, section, level, rows, write)
  for piece in pieces(r, section, level == "threads", rows, "csv") do write(piece) end
end

local function csv_table(r, columns)
  local list = {}
  for i, of in ipairs(r.sections) do
    list[i] = { label = of.label, interface = of.interface, events = of.events, values = section_values(r, of) }
  end
  return rows_of.open("csv", columns, list)
end

--- One table of a report as CSV: a row per section, or per section and process, or also per thread. Events are columns;
--- for compiler-counted events a separate column contains the stage at which they were counted (source or final).
---@param r pmlua.Report
---@param level string basic, detail, threads or events
---@param write fun(...: string)
---@return boolean? ok, pmlua.Failure? failure a log could not be read again: its rows are missing
function M.csv(r, level, write)
  if level == "events" or level == "basic" then
    write(csv.table(M.rows(r, level)))
    return true
  end
  local columns = csv_columns(r, level)
  local names = names_of(columns)
  write(csv.line(names, #names))
  local rows = csv_table(r, columns)
  for _, section in ipairs(r.sections) do csv_section(r, section, level, rows, write) end
  return not r.failed or nil, r.failed
end

return M
