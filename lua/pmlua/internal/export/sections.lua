-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/sections.lua - sections, processes and software-defined events as rows, log by log.
--
-- Try:  PMLUA_REPORT=out ./solver; pmlua export out --table sections

local rows_of = require "pmlua.internal.report.rows"
local sections = require "pmlua.sections"
local refuse = require "pmlua.core".failure.refuse

local M = {}

-- The core's names for the columns of sections: fields of the process, of the section, and of each thread.
local FIELDS <const> = { section = { field = "section", which = 1 }, type = { field = "section", which = 2 },
  exclusive = { field = "section", which = 3 }, rank = { field = "process", which = 1 }, host = { field = "process", which = 2 },
  pid = { field = "process", which = 3 }, calls = { field = "count" }, time_ns = { field = "total_ns" } }

--- The events that sections count, in the order of their first appearance.
---@return { name: string, type: string }[]
function M.events_of(source)
  local list, seen = {}, {}
  for _, row in ipairs(source.survey and source.survey.summary:sections() or {}) do
    for _, v in ipairs(row.values) do
      if v.name:sub(1, 1) ~= " " then
        if not seen[v.name] then
          seen[v.name] = { name = v.name, type = "integer" }
          list[#list + 1] = seen[v.name]
        end
        if math.type(v.sum) == "float" then seen[v.name].type = "real" end
      end
    end
  end
  return list
end

local function kind_of(communication) return communication and "communication" or "calculation" end

--- The writer of rows that the core takes from logs.
local function opened(survey, sink, columns, events)
  local of, list, names = {}, {}, {}
  for i, event in ipairs(events) do names[i] = event.name end
  for i, c in ipairs(columns) do
    local event = events[i - (#columns - #events)]
    local field = event and { field = "event", text = event.name } or FIELDS[c.name] or { field = c.name }
    of[i] = { name = c.name, field = field.field, which = field.which, text = field.text }
  end
  for i, row in ipairs(survey.summary:sections()) do
    list[i] = { label = row.label, events = names, values = { sections.show(row.label), kind_of(row.communication),
      not row.inclusive } }
  end
  return rows_of.open(sink.form, of, list)
end

--- A row for each rank, thread and section.
---@param columns pmlua.export.Column[]
function M.sections(source, sink, columns)
  local rows = opened(source.survey, sink, columns, M.events_of(source))
  for _, p in ipairs(source.survey.processes) do
    local texts = rows_of.texts(sink.form, { p.rank, sections.show(p.host), p.pid }, 3)
    local text, err = rows:log { path = p.log, text = texts, threads = true }
    if not text then return refuse(err) end
    sink.text(text)
  end
  return true
end

--- A row for each process.
function M.processes(source, sink)
  for _, p in ipairs(source.survey.processes) do
    sink.row { p.rank, sections.show(p.host), p.pid, p.size, sections.show(p.command), p.started_ns, p.written_ns, p.ended,
      p.totals.threads, p.missing or 0 }
  end
  return true
end

--- A row for each software-defined counter and recorder of each process.
function M.events(source, sink)
  for _, p in ipairs(source.survey.processes) do
    local host = sections.show(p.host)
    for _, c in ipairs(p.counters) do
      sink.row { p.rank, host, p.pid, sections.show(c.name), c.kind, c.value, c.as_of_ns }
    end
    for _, r in ipairs(p.recorders) do
      sink.row { p.rank, host, p.pid, sections.show(r.name), "recorder", r.count, nil, r.dropped,
        table.unpack(r.quantiles or {}, 1, 7) }
    end
  end
  return true
end

return M
