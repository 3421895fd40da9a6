-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/killed.lua - the tables of a run that was killed, from the samples that it left.
--
-- Try:  pmlua SCRIPT & sleep 2; kill -KILL $!; pmlua plot results/NAME/latest
--
-- Samples of whole visits are in samples.csv.gz; those of the visit in which the run was killed are in samples.pmlog.
-- Tables are written every few seconds only, so the cells for which there are more samples get their rows anew. What
-- only the script knows, as columns of its own, stays as it was written last.

local core = require "pmlua.core"
local datasets = require "pmlua.internal.experiment.datasets"
local json = require "pmlua.json"
local stats = require "pmlua.stats"
local tally = require "pmlua.internal.tally"
local zlib = require "zlib"

local M = {}

local BLOCK = 1 << 16
local NAME = "killed.json" -- says that the tables are of all samples

--- All of a stream that ends anywhere, whole lines only.
local function lines_of(path)
  local f = io.open(path, "rb")
  if not f then return function() end end
  local inflate, rest = zlib.inflate(), ""
  local text
  return function()
    while true do
      local line, after = rest:match "^([^\n]*)\n()"
      if line then
        rest = rest:sub(after)
        return line
      end
      local block = f:read(BLOCK)
      local done
      if block then done, text = pcall(inflate, block) end
      if not (block and done) then
        f:close()
        return nil
      end
      rest = rest .. text
    end
  end
end

---@class pmlua.LeftVisit
---@field cell integer
---@field round integer
---@field values number[]

--- Visits in the order of measuring; the last may be a part of one.
local function archived(path)
  local visits, visit = {}, nil
  for line in lines_of(path) do
    local cell, round, value = line:match "^(%d+),(%d+),%d+,([^,]+)$"
    local v = cell and tonumber(value)
    if v then
      cell, round = math.tointeger(cell), math.tointeger(round)
      if not visit or visit.cell ~= cell or visit.round ~= round then
        visit = { cell = cell, round = round, values = {} }
        visits[#visits + 1] = visit
      end
      visit.values[#visit.values + 1] = v
    end
  end
  return visits
end

--- The visits of a run, with that in which it was killed.
local function visits_of(path)
  local visits = archived(path .. "/samples.csv.gz")
  local left, err = core.samples_log.left(path .. "/samples.pmlog")
  if not left then return nil, err:sentence() end
  local last = visits[#visits]
  if #left.values == 0 then return visits end
  if last and last.cell == left.cell and last.round == left.round then visits[#visits] = nil end
  visits[#visits + 1] = left
  return visits
end

--- Cells with what summaries are made of.
local function cells_of(visits)
  local cells, list = {}, {}
  for position, v in ipairs(visits) do
    local cell = cells[v.cell]
    if not cell then
      cell = { index = v.cell, rounds = {} }
      cells[v.cell], list[#list + 1] = cell, cell
    end
    local t, err = tally.of(v.values)
    if not t then return nil, err end
    local s = assert(stats.summary(t))
    cell.rounds[#cell.rounds + 1] = { round = v.round, position = position, n = s.n, min = s.min, median = s.median,
      mean = s.mean, max = s.max }
    cell.tally = tally.merge(cell.tally, t)
  end
  return list
end

local function array_of(t, row)
  local out = {}
  for i, c in ipairs(t.columns) do out[i] = row[c.name] end
  return out
end

local function update_data(data, cells, run)
  local by_cell, total = {}, 0
  for _, row in ipairs(data.rows) do by_cell[row.cell] = row end
  for _, cell in ipairs(cells) do
    local row, s = by_cell[cell.index], datasets.summarise(run, cell)
    if not row then return nil, ("data.dat has no cell %d"):format(cell.index) end
    for _, c in ipairs(data.columns) do
      if s[c.name] then row[c.name] = s[c.name] end
    end
    row.samples = s.n
  end
  for _, row in ipairs(data.rows) do total = total + row.samples end
  return total
end

local function rounds_of(cells, run, data)
  run.cells, run.exp = cells, { name = data.title, metrics = {} }
  return datasets.rounds(run, "incomplete")
end

local function is_usable(meta)
  return type(meta.scale) == "number" and math.tointeger(meta.seed) and math.tointeger(meta.repeats)
    and type(meta.unit) == "string"
end

--- Bring the tables of a killed run up to the samples that it left, in its folder.
---@param folder { path: string, write: function, write_table: function }
---@param meta table meta.json
---@param data table data.dat
---@return { samples: integer, planned: integer }? killed
---@return string? err
function M.recover(folder, meta, data)
  if not is_usable(meta) then return nil, folder.path .. "/meta.json: it lacks what the samples mean" end
  local run = { seed = math.tointeger(meta.seed), scale = meta.scale, unit = meta.unit, exp = { metrics = {} } }
  local visits, err = visits_of(folder.path)
  if not visits then return nil, err end
  local cells, why = cells_of(visits)
  if not cells then return nil, ("%s: %s"):format(folder.path, why) end
  local total, refused = update_data(data, cells, run)
  if not total then return nil, ("%s: %s"):format(folder.path, refused) end
  local killed, rows = { samples = total, planned = math.tointeger(meta.repeats) * #data.rows }, {}
  for i, row in ipairs(data.rows) do rows[i] = array_of(data, row) end
  local rounds = rounds_of(cells, run, data)
  for name, t in pairs { ["data.dat"] = { title = data.title, status = "incomplete", columns = data.columns, rows = rows },
    ["rounds.dat"] = rounds, ["histogram.dat"] = datasets.histogram(run, "incomplete") } do
    local ok, full = folder:write_table(name, t)
    if not ok then return nil, full end
  end
  local ok, full = folder:write(NAME, json.encode(killed))
  if not ok then return nil, full end
  return killed
end

--- What recover() gave for a folder before; nil: it was not called.
---@param folder { path: string }
---@return { samples: integer, planned: integer }?
function M.known(folder)
  local text = require "pmlua.internal.file".read(folder.path .. "/" .. NAME)
  local killed = text and json.decode(text)
  if type(killed) ~= "table" then return nil end
  local samples, planned = math.tointeger(killed.samples), math.tointeger(killed.planned)
  return samples and planned and { samples = samples, planned = planned } or nil
end

return M
