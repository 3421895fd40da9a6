-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/tables.lua - the exported tables: their columns, and the iterators of their rows.
--
-- Try:  pmlua export DIR --columns

local calls = require "pmlua.internal.export.calls"
local columns = require "pmlua.internal.export.columns"
local job = require "pmlua.internal.export.job"
local of_logs = require "pmlua.internal.export.sections"
local sections = require "pmlua.sections"

local M = {}

local of_survey = { sections = of_logs.sections, processes = of_logs.processes, events = of_logs.events, calls = calls.calls,
  functions = calls.functions, values = calls.values, openmp = calls.openmp }

---@class pmlua.export.Table
---@field name string
---@field of_logs boolean its rows are from logs, not from the summary of a job
---@field columns pmlua.export.Column[]
---@field each fun(sink: pmlua.export.Sink): boolean?, pmlua.Failure? writes its rows, log by log; nil and why where a log went

--- A table of a source. It has no rows if the source has no such data.
---@param name string of columns.NAMES
---@return pmlua.export.Table
function M.of(source, name)
  local t = { name = name, columns = columns.of(name), of_logs = of_survey[name] ~= nil }
  for _, event in ipairs(name == "sections" and of_logs.events_of(source) or {}) do
    table.insert(t.columns, { name = sections.show(event.name), type = event.type, unit = "", about = "sum of the event" })
  end
  local rows = of_survey[name] or job[name]
  function t.each(sink)
    local is_there = t.of_logs and source.survey or not t.of_logs and source.job
    return not is_there or rows(source, sink, t.columns)
  end
  return t
end

return M
