-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/killed.lua - recover the tables of a killed run from its samples.
--
-- Try:  pmlua SCRIPT & sleep 2; kill -KILL $!; pmlua plot results/NAME/latest
--
-- samples.csv.gz has the samples of whole visits; samples.pmlog has the samples of the visit in which the run was killed.
-- Tables are written every few seconds only, so the rows of cells that have more samples are recomputed. Columns
-- that only the script can compute have the last values in the run's log, which may be a few visits old.

local add = require("pmlua.internal.experiment.cell").add
local archive = require "pmlua.internal.experiment.archive"
local dat = require "pmlua.internal.dat"
local datasets = require "pmlua.internal.experiment.datasets"
local json = require "pmlua.json"
local runlog = require "pmlua.internal.experiment.runlog"
local try = require "pmlua.internal.try"

local M = {}

local NAME = "killed.json" -- says that the tables are of all samples

--- The visits of a run, with that in which it was killed.
local function visits_of(path, left)
  local visits = archive.visits(path .. "/samples.csv.gz")
  local last = visits[#visits]
  if #left.values == 0 then return visits end
  if last and last.cell == left.cell and last.round == left.round then visits[#visits] = nil end
  visits[#visits + 1] = left
  return visits
end

--- Cells with what summaries are made of.
local function cells_of(visits, metrics)
  local cells, list = {}, {}
  for position, v in ipairs(visits) do
    local cell = cells[v.cell]
    if not cell then
      cell = { index = v.cell, rounds = {}, outliers = {}, parts = {} }
      cells[v.cell], list[#list + 1] = cell, cell
    end
    local extra = metrics[v.cell] and metrics[v.cell][v.round]
    local n, err = add(cell, v.values, { round = v.round, position = position, extra = extra })
    if not n then return nil, err end
  end
  return list
end

local function array_of(t, row)
  local out = {}
  for i, c in ipairs(t.columns) do out[i] = row[c.name] end
  return out
end

--- Columns of the script's own, if they are of more samples than the row.
local function update_columns(data, row, logged)
  if not logged or logged.n <= (row.samples or 0) then return end
  for name, text in pairs(logged.value) do
    local place = data.position[name]
    if place then row[name] = data.columns[place].unit == "text" and text or tonumber(text) end
  end
end

local function update_metrics(row, metrics)
  for name, m in pairs(metrics) do row[name], row[name .. "_lo"], row[name .. "_hi"] = m.median, m.low, m.high end
end

local function update_data(data, cells, run, columns)
  local by_cell, total = {}, 0
  for _, row in ipairs(data.rows) do by_cell[row.cell] = row end
  for _, cell in ipairs(cells) do
    local row, s = by_cell[cell.index], datasets.summarise(run, cell)
    if not row then return nil, ("data.dat has no cell %d"):format(cell.index) end
    update_columns(data, row, columns[cell.index])
    update_metrics(row, s.metrics)
    for _, c in ipairs(data.columns) do
      if s[c.name] then row[c.name] = s[c.name] end
    end
    row.samples, cell.summary = s.n, s
  end
  for _, row in ipairs(data.rows) do total = total + row.samples end
  return total
end

--- The script's metrics, from meta.json.
local function metrics_of(meta)
  local list = {}
  for _, m in ipairs(type(meta.metrics) == "table" and meta.metrics or {}) do
    if type(m) == "table" and type(m.name) == "string" then
      list[#list + 1] = { name = m.name, unit = tostring(m.unit or ""), description = tostring(m.description or m.name) }
    end
  end
  return list
end

--- The metrics of rounds in rounds.dat, by cell, round and name.
---@param folder { path: string }
---@param metrics pmlua.Metric[]
---@param known? table<integer, table<integer, table<string, number>>> those that the log has
---@return table<integer, table<integer, table<string, number>>>
function M.metrics_of(folder, metrics, known)
  local of = known or {}
  local t = #metrics > 0 and dat.read(folder.path .. "/rounds.dat") or nil
  for _, row in ipairs(t and t.rows or {}) do
    local rounds = of[row.cell] or {}
    of[row.cell] = rounds
    rounds[row.round] = rounds[row.round] or {}
    for _, m in ipairs(metrics) do
      local value = rounds[row.round][m.name]
      rounds[row.round][m.name] = value == nil and row[m.name] or value
    end
  end
  return of
end

local function is_usable(meta)
  return type(meta.scale) == "number" and math.tointeger(meta.seed) and math.tointeger(meta.repeats)
    and type(meta.unit) == "string"
end

--- Bring the tables of a killed run up to the samples that it left, in its folder.
---@param folder { path: string, write: function, write_table: function }
---@param meta table meta.json
---@param data table data.dat
---@return { samples: integer, planned: integer }? killed, string? err
M.recover = try.catching(function(folder, meta, data)
  if not is_usable(meta) then return nil, folder.path .. "/meta.json: it lacks the description of the samples" end
  local run = { seed = math.tointeger(meta.seed), scale = meta.scale, unit = meta.unit,
    exp = { name = data.title, metrics = metrics_of(meta) } }
  local left, err = runlog.left(folder.path .. "/samples.pmlog")
  if not left then return nil, err:sentence() end
  local cells, why = cells_of(visits_of(folder.path, left.visit), M.metrics_of(folder, run.exp.metrics, left.metrics))
  if not cells then return nil, ("%s: %s"):format(folder.path, why) end
  local total, refused = update_data(data, cells, run, left.columns)
  if not total then return nil, ("%s: %s"):format(folder.path, refused) end
  local killed, rows = { samples = total, planned = math.tointeger(meta.repeats) * #data.rows }, {}
  for i, row in ipairs(data.rows) do rows[i] = array_of(data, row) end
  run.cells = cells
  local tables = { ["data.dat"] = { title = data.title, status = "incomplete", columns = data.columns, rows = rows } }
  for _, name in ipairs { "rounds", "outliers", "histogram" } do tables[name .. ".dat"] = datasets[name](run, "incomplete") end
  for name, t in pairs(tables) do try(folder:write_table(name, t)) end
  try(folder:write(NAME, json.encode(killed)))
  return killed
end)

--- The result of an earlier recover() for a folder; nil: it was not called.
---@param folder { path: string }
---@return { samples: integer, planned: integer }?
function M.known(folder)
  return (require "pmlua.internal.file".read_json(folder.path .. "/" .. NAME, function(killed)
    killed.samples, killed.planned = math.tointeger(killed.samples), math.tointeger(killed.planned)
    return killed.samples and killed.planned
  end))
end

return M
