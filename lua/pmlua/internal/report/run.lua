-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/run.lua - the table of an experiment's folder, complete or not: as text, JSON or CSV.
--
-- Try:  pmlua report results/read_overhead/latest

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local results = require "pmlua.results"
local tabulate = require "pmlua.tabulate"

local M = {}

--- Is it the folder of a run?
function M.is_one(path) return require "lfs".attributes(path .. "/meta.json", "mode") == "file" end

local shown = { samples = true, min = true, q1 = true, median = true, q3 = true, p99 = true, max = true, status = true }

local function table_of(run)
  local factors, names, rows = {}, {}, {}
  for _, f in ipairs(run.meta.factors or {}) do factors[f.name] = true end
  local columns = {}
  for _, c in ipairs(run.data.columns) do
    if shown[c.name] or factors[c.name] then
      columns[#columns + 1] = c.name
      names[#names + 1] = c.unit ~= "" and c.unit ~= "text" and ("%s [%s]"):format(c.name, c.unit) or c.name
    end
  end
  for r, row in ipairs(run.data.rows) do
    rows[r] = {}
    for i, name in ipairs(columns) do rows[r][i] = row[name] end
  end
  return names, rows
end

local function csv_of(run)
  local names, rows = {}, {}
  for i, c in ipairs(run.data.columns) do names[i] = c.name end
  for r, row in ipairs(run.data.rows) do
    rows[r] = {}
    for i, name in ipairs(names) do rows[r][i] = row[name] end
  end
  return csv.table(names, rows)
end

--- Format the results of an experiment's run.
---@param o { json: boolean?, csv: boolean? }
---@return string? text, string? err
function M.format(path, o)
  local run, err = results.open(path)
  if not run then return nil, err end
  if o.json then
    return json.encode { name = run.meta.name, status = run.status, ending = run.ending, unit = run.meta.unit,
      cells = json.array(run.data.rows) }
  elseif o.csv then
    return csv_of(run)
  end
  local names, rows = table_of(run)
  return ("%s: %s\n\n%s\n"):format(run.meta.name, run.ending, tabulate(names, rows, 1))
end

return M
