-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/rows.lua - rows of very many logs, which the core writes as text; here are the texts of a table
-- in each form.
--
-- Try:  pmlua report DIR --csv --threads | head

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local rows = require "pmlua.core".rows
local sections = require "pmlua.sections"

local M = {}

--- A value of SQL. Quotes in a text are doubled, and zero bytes, which would end the statement, left out.
function M.sql(v)
  if v == nil or v ~= v then return "NULL" end
  if v == true or v == false then return v and "1" or "0" end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if type(v) ~= "number" then return "'" .. v:gsub("%z", ""):gsub("'", "''") .. "'" end
  if v == math.huge or v == -math.huge then return v > 0 and "9e999" or "-9e999" end
  return (("%.17g"):format(v):gsub("[^%w+-]+", ".")) -- replaces the locale's decimal point
end

local writes = { csv = csv.cell, json = json.line, jsonl = json.line, sql = M.sql }

--- Convert values to a form's text; nil stays nil.
---@param form string csv, json, jsonl or sql
---@return table<integer, string>
function M.texts(form, values, n)
  local texts = {}
  for i = 1, n do texts[i] = values[i] ~= nil and writes[form](values[i]) or nil end
  return texts
end

--- The events of all sections as the members of an object, in its order.
local function events_of(list)
  local events, seen = {}, {}
  for _, section in ipairs(list) do
    for _, name in ipairs(section.events) do
      if not seen[name] then events[#events + 1], seen[name] = { name, sections.show(name) }, true end
    end
  end
  table.sort(events, function(a, b) return a[2] < b[2] end)
  for _, e in ipairs(events) do e[2] = json.line(e[2]) end
  return events
end

--- A table whose rows come from logs.
---@param form string csv, json, jsonl or sql
---@param columns { name: string, field: string, text: string?, which: integer?, divisor: number? }[]
---@param list { label: string, interface: string?, events: string[], values: any[]? }[] its sections, and texts of their rows
---@param indent string? of JSON
---@return userdata rows of core.rows
function M.open(form, columns, list, indent)
  local named, labelled = {}, {}
  for i, c in ipairs(columns) do
    named[i] = { field = c.field, name = json.line(c.name), text = c.text, which = c.which, divisor = c.divisor }
  end
  for i, section in ipairs(list) do
    local values = section.values or {}
    labelled[i] = { section.label, table.unpack(M.texts(form, values, #values)) }
    labelled[i].interface = section.interface
  end
  return rows.open { form = form, indent = indent, columns = named, sections = labelled, events = events_of(list) }
end

return M
