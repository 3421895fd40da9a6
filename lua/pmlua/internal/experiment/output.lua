-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/output.lua - what a run prints at its end: a table, or JSON.
--
-- Try:  pmlua scripts/timers.lua --quick --json | head

local dat = require "pmlua.internal.dat"
local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"
local own = require "pmlua.internal.experiment.columns"
local tabulate = require "pmlua.tabulate"

local M = {}

-- More rows than these are not printed, they are in data.dat.
local most_rows = 64

local function all_measured(run) return lists.all(run.cells, function(cell) return cell.status == "ok" end) end

--- A line for each cell that is not steady, to be printed below a table.
function M.unsteady(run)
  local lines = {}
  for _, cell in ipairs(run.cells) do
    if #cell.rounds == 5 and cell.summary and not lines[1] then
      lines[1] = "\n5 rounds are too few for a 95 % interval; the interval from the smallest to the largest median has 93.75 %"
    end
  end
  for _, cell in ipairs(run.cells) do
    local shape = cell.summary and cell.summary.shape
    local label = cell.label ~= "" and cell.label or "all"
    if shape and shape ~= "steady" then lines[#lines + 1] = ("\n%s: %s"):format(label, shape) end
  end
  return table.concat(lines)
end

local function range(low, high)
  return low and ("%s .. %s"):format(tabulate.number(low), tabulate.number(high)) or nil
end

--- The table at the end of a run: a row per cell.
function M.text(run)
  if #run.cells > most_rows then return ("%d cells, a row each in data.dat"):format(#run.cells) end
  local u = " [" .. run.unit .. "]"
  local names = { "min" .. u, "q1" .. u, "median" .. u, "95 % interval", "q3" .. u, "p99" .. u, "max" .. u, "outliers" }
  for i, f in ipairs(run.factors) do table.insert(names, i, f.name) end
  local metrics, columns = run.exp.metrics, run.exp.columns
  for _, list in ipairs { metrics, columns } do
    for _, c in ipairs(list) do
      names[#names + 1] = c.name .. (c.unit and c.unit ~= "" and c.unit ~= "text" and " [" .. c.unit .. "]" or "")
      if c.interval then names[#names + 1] = "95 % interval" end
    end
  end
  local width = #names
  if not all_measured(run) then names[#names + 1] = "status" end
  local rows = {}
  for r, cell in ipairs(run.cells) do
    local row, s = {}, cell.summary
    for _, f in ipairs(run.factors) do row[#row + 1] = cell.levels[f.name] end
    local at = #row
    if s then
      table.move({ s.min, s.q1, s.median, range(s.median_lo, s.median_hi), s.q3, s.p99, s.max, s.outliers }, 1, 8, at + 1, row)
      for k, m in ipairs(metrics) do row[at + 8 + k] = s.metrics[m.name] and s.metrics[m.name].median end
      at = at + 8 + #metrics
      for k, c in ipairs(columns) do
        local d = cell.derived or {}
        row[at + 1], at = d[k], at + 1
        if c.interval then row[at + 1], at = range(d[k .. "_lo"], d[k .. "_hi"]), at + 1 end
      end
    end
    row[width + 1] = cell.status
    rows[r] = row
  end
  return tabulate(names, rows, 1, #run.factors) .. M.unsteady(run)
end

local csv_fields = { "min", "q1", "median", "median_lo", "median_hi", "q3", "p99", "max", "outliers" }

--- The same for programs: factors, summary, metrics, the experiment's own columns, status.
---@return string[] names, any[][] rows one per cell
function M.rows(run)
  local names, rows, columns = {}, {}, own.list(run)
  for i, f in ipairs(run.factors) do names[i] = f.name end
  local first = #names
  table.move(csv_fields, 1, #csv_fields, first + 1, names)
  for k, m in ipairs(run.exp.metrics) do
    table.move({ m.name, m.name .. "_lo", m.name .. "_hi" }, 1, 3, first + #csv_fields + 3 * k - 2, names)
  end
  local last = #names
  for k, c in ipairs(columns) do names[last + k] = c.name end
  names[#names + 1] = "status"
  for r, cell in ipairs(run.cells) do
    local row = { [#names] = cell.status }
    for i, f in ipairs(run.factors) do row[i] = dat.level(cell.levels[f.name]) end
    for k, field in ipairs(csv_fields) do row[first + k] = cell.summary and cell.summary[field] end
    for k, m in ipairs(run.exp.metrics) do
      local v = cell.summary and cell.summary.metrics[m.name] or {}
      table.move({ v.median, v.low, v.high }, 1, 3, first + #csv_fields + 3 * k - 2, row)
    end
    for k, c in ipairs(columns) do row[last + k] = cell.derived and cell.derived[c.key] end
    rows[r] = row
  end
  return names, rows
end

--- As CSV.
function M.csv(run) return require "pmlua.internal.cli.csv".table(M.rows(run)) end

--- The same for programs, with the medians of the rounds.
function M.object(run)
  local cells = json.array()
  for i, cell in ipairs(run.cells) do
    local out = { cell = cell.index, factors = cell.levels, label = cell.label, status = cell.status, n = 0 }
    for k, v in pairs(cell.summary or {}) do
      if type(v) == "number" and not k:find("^fence") then out[k] = v end
    end
    for _, c in ipairs(own.list(run)) do out[c.name] = cell.derived and cell.derived[c.key] end
    out.shape = cell.summary and cell.summary.shape
    out.metrics = next(run.exp.metrics) and cell.summary and cell.summary.metrics or nil
    out.round_medians = json.array()
    for r, round in ipairs(cell.rounds) do out.round_medians[r] = round.median * run.scale end
    cells[i] = out
  end
  return {
    name = run.exp.name, dir = run.dir, status = run.status, error = run.meta.error, unit = run.unit,
    seed = run.seed, rounds = run.rounds, repeats = run.repeats, warnings = run.meta.warnings, cells = cells,
    plots = json.array(run.plots),
  }
end

--- As JSON.
function M.json(run) return json.encode(M.object(run)) end

return M
