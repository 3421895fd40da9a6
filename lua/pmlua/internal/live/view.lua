-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/view.lua - readings of a running application as tables and as JSON.
--
-- Try:  pmlua query SOLVER 'sde:::*'

local json = require "pmlua.json"
local tabulate = require "pmlua.tabulate"

local M = {}

local statistics = { { "min", ":MIN" }, { "q1", ":Q1" }, { "median", ":MED" }, { "q3", ":Q3" }, { "max", ":MAX" } }
--- A value as text: integers in full, others to six digits.
---@param v number?
---@return string
function M.number(v)
  if type(v) ~= "number" then return v == nil and "-" or tostring(v) end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if v == math.floor(v) and math.abs(v) < 1e15 then return ("%.0f"):format(v) end
  return ("%.6g"):format(v)
end

--- Rows of text, aligned; `right` tells which columns are numbers.
local function align(rows, right)
  return table.concat(tabulate.align(rows, right, 1), "\n") .. "\n"
end

local function remark(row)
  local parts = { row.description }
  if row.reason then parts[#parts + 1] = "(" .. row.reason .. ")" end
  local r = row.recorder
  if r and r.dropped > 0 then parts[#parts + 1] = ("(%d dropped)"):format(r.dropped) end
  if r and r.nans > 0 then parts[#parts + 1] = ("(%d not a number)"):format(r.nans) end
  if r and r.error and r.error > 0 then parts[#parts + 1] = ("(quantiles within %.2g %%)"):format(100 * r.error) end
  return table.concat(parts, " ")
end

local function change(now, before)
  if type(now) ~= "number" or type(before) ~= "number" then return "" end
  local d = now - before
  return (d > 0 and "+" or "") .. M.number(d)
end

--- An answer as a table; with the rows of the answer before it also what changed.
---@param answer table
---@param before table<string, table>? rows by name
---@param watching boolean? with a column for the change, empty at first
---@return string
function M.table(answer, before, watching)
  local function line(name, value, delta, kind, text)
    if watching then return { name, value, delta, kind, text } end
    return { name, value, kind, text }
  end
  local lines, old = { line("NAME", "VALUE", "CHANGE", "KIND", "DESCRIPTION") }, before or {}
  for _, row in ipairs(answer.rows) do
    local was = old[row.name] or {}
    local kind = row.kind .. (row.writable and row.kind ~= "placeholder" and " rw" or "")
    lines[#lines + 1] = line(row.name, M.number(row.value), change(row.value, was.value), kind, remark(row))
    for _, s in ipairs(row.recorder and statistics or {}) do
      local v = row.recorder[s[1]]
      if v then
        lines[#lines + 1] = line("  " .. s[2], M.number(v), change(v, was.recorder and was.recorder[s[1]]), "", "")
      end
    end
  end
  return align(lines, watching and { false, true, true } or { false, true })
end

--- Any rows of text under a heading.
function M.plain(rows, right)
  return align(rows, right or {})
end

local csv_names = { "time_s", "pid", "application", "name", "value", "kind", "count", "min", "q1", "median", "q3", "max" }

--- An answer as CSV, with a line of names before it if it is the first.
function M.csv(answer, app, first)
  local csv = require "pmlua.internal.cli.csv"
  local rows = {}
  for i, row in ipairs(answer.rows) do
    local r = row.recorder or {}
    rows[i] = { answer.time_s, app.pid, app.name, row.name, row.value, row.kind, r.count }
    for k, s in ipairs(statistics) do rows[i][7 + k] = r[s[1]] end
  end
  local text = csv.table(csv_names, rows)
  return first and text or text:match "\n(.*)$"
end

--- An answer as a line of JSON.
function M.json(answer, app)
  return json.line { name = app.name, pid = app.pid, rows = json.array(answer.rows), time_s = answer.time_s }
end

return M
