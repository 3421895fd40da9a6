-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/tables.lua - what logs have as tables of typed columns, and their rows, read log by log.
--
-- Try:  pmlua export DIR --columns

local sections = require "pmlua.sections"
local surveys = require "pmlua.internal.report.survey"

local M = {}

---@class pmlua.export.Column
---@field name string with its unit where it has one
---@field type string integer, real, text or boolean
---@field unit string "" for what is counted and for names
---@field about string

local function columns(text)
  local list = {}
  for name, kind, unit, about in text:gmatch "(%S+) +(%S+) +(%S+) +([^\n]+)" do
    list[#list + 1] = { name = name, type = kind, unit = unit ~= "-" and unit or "", about = about }
  end
  return list
end

local process = [[
rank         integer -    of MPI; null without MPI
host         text    -    where the process ran
pid          integer -    process
]]

local of_sections = process .. [[
thread       integer -    number of the thread in its process; 0: several that ended long ago
section      text    -    label of the section
type         text    -    calculation or communication
exclusive    boolean -    the section contains no other
calls        integer -    that ended
running      integer -    that had not ended
time_ns      real    ns   in the section
self_ns      real    ns   in the section and in none that was started inside it
min_ns       real    ns   shortest call
max_ns       real    ns   longest call
mean_ns      real    ns   mean of all calls
stddev_ns    real    ns   standard deviation of the calls (n - 1)
work         real    -    operations, of a communication bytes
iterations   integer -    as the program stated
torn         boolean -    the last call may be missing: its stop was in progress
]]

local of_processes = process .. [[
size         integer -    number of ranks
command      text    -    the program and its arguments
started_ns   integer ns   CLOCK_REALTIME when pmlua was first used
written_ns   integer ns   CLOCK_REALTIME of the end, or of the last that was written
ended        text    -    exit, or unknown: killed, crashed or still running
threads      integer -    that were in a section
missing      integer -    parts that a log which was cut short lacks
]]

local of_events = process .. [[
event        text    -    software-defined event, LIBRARY::EVENT
kind         text    -    kind of the counter, or recorder
value        real    -    value of a counter; number of a recorder's elements
as_of_ns     integer ns   after the start, when the value was read; null: it is exact
dropped      integer -    elements that found no room
min          real    -    of the elements, as are the quantiles
q1           real    -    25 %
median       real    -    50 %
q3           real    -    75 %
p95          real    -    95 %
p99          real    -    99 %
max          real    -    largest
]]

M.NAMES = { "sections", "processes", "events" }

-- --- rows ---

local function section_cells(p, s, row, events)
  local cells = { p.rank, sections.show(p.host), p.pid, row.thread, sections.show(s.label),
    s.communication and "communication" or "calculation", not s.inclusive, row.count, row.running, row.total_ns, row.self_ns,
    row.min_ns, row.max_ns, row.mean_ns, row.stddev_ns, row.work + 0.0, row.iterations, row.torn or false }
  for i, name in ipairs(events) do cells[18 + i] = row.values[name] end
  return cells
end

--- Each row of sections goes to `write`; false and why where a log went.
local function section_rows(survey, events, write)
  for _, p in ipairs(survey.processes) do
    local list, err = surveys.rows(p)
    if not list then return nil, err end
    for _, s in ipairs(list) do
      for _, row in ipairs(s.threads) do write(section_cells(p, s, row, events)) end
    end
  end
  return true
end

local function process_rows(survey, _, write)
  for _, p in ipairs(survey.processes) do
    write { p.rank, sections.show(p.host), p.pid, p.size, sections.show(p.command), p.started_ns, p.written_ns, p.ended,
      p.brief.threads, p.missing or 0 }
  end
  return true
end

local function event_rows(survey, _, write)
  for _, p in ipairs(survey.processes) do
    local host = sections.show(p.host)
    for _, c in ipairs(p.counters) do
      write { p.rank, host, p.pid, sections.show(c.name), c.kind, c.value, c.as_of_ns }
    end
    for _, r in ipairs(p.recorders) do
      write { p.rank, host, p.pid, sections.show(r.name), "recorder", r.count, nil, r.dropped,
        table.unpack(r.quantiles or {}, 1, 7) }
    end
  end
  return true
end

--- The events that sections count, in the order of their first appearance.
local function events_of(survey)
  local names, types, seen = {}, {}, {}
  for _, row in ipairs(survey.summary:sections()) do
    for _, v in ipairs(row.values) do
      if v.name:sub(1, 1) ~= " " then
        if not seen[v.name] then names[#names + 1], seen[v.name] = v.name, true end
        types[v.name] = math.type(v.sum) == "float" and "real" or types[v.name] or "integer"
      end
    end
  end
  return names, types
end

--- A table: its columns, and each(write), which gives its rows as arrays of cells, one by one.
---@param survey pmlua.SectionSurvey
---@param name string of M.NAMES
---@return { name: string, columns: pmlua.export.Column[], each: fun(write: fun(cells: any[])): boolean?, pmlua.Failure? }
function M.of(survey, name)
  local made = { sections = { of_sections, section_rows }, processes = { of_processes, process_rows },
    events = { of_events, event_rows } }
  local t = { name = name, columns = columns(made[name][1]) }
  local events, types = {}, {}
  if name == "sections" then events, types = events_of(survey) end
  for _, event in ipairs(events) do
    t.columns[#t.columns + 1] = { name = sections.show(event), type = types[event], unit = "", about = "sum of the event" }
  end
  function t.each(write) return made[name][2](survey, events, write) end
  return t
end

return M
