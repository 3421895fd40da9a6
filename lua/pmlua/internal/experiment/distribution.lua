-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/distribution.lua - distributions of samples: outlines of violins, and cumulative shares.
--
-- Try:  pmlua plot -o violins.pdf --kind violin results/read_overhead/latest
--
-- samples.csv.gz has each sample. A figure shows at most POINTS quantiles of a cell, so it does not grow with the run.

local archive = require "pmlua.internal.experiment.archive"

local M = {}

local POINTS <const> = 200

--- The samples of each cell of a run, in the run's unit, ascending.
local function samples_of(run)
  local cells = {}
  for _, visit in ipairs(archive.visits(run.path .. "/samples.csv.gz")) do
    local all = cells[visit.cell] or {}
    for _, v in ipairs(visit.values) do all[#all + 1] = v * (tonumber(run.meta.scale) or 1) end
    cells[visit.cell] = all
  end
  for _, all in pairs(cells) do table.sort(all) end
  return cells
end

--- Values and the share of samples up to each; the first and the last sample are among them.
local function quantiles(sorted)
  local n, values, shares = math.min(#sorted, POINTS), {}, {}
  for i = 1, n do
    local at = n == 1 and 1 or 1 + (i - 1) * (#sorted - 1) // (n - 1)
    values[i], shares[i] = sorted[at], at / #sorted
  end
  return values, shares
end

--- The density at each value: Gaussian kernels, with the width of B. W. Silverman, Density Estimation (1986), formula 3.31.
local function densities(values)
  local n, mean, square = #values, 0, 0
  for _, v in ipairs(values) do mean = mean + v / n end
  for _, v in ipairs(values) do square = square + (v - mean) ^ 2 / n end
  local spread, between = square ^ 0.5, (values[math.ceil(0.75 * n)] - values[math.ceil(0.25 * n)]) / 1.34
  local width = 0.9 * (between > 0 and math.min(spread, between) or spread) * n ^ -0.2
  local out, most = {}, 0
  for i, at in ipairs(values) do
    out[i] = 0
    for _, v in ipairs(values) do out[i] = out[i] + (width > 0 and math.exp(-0.5 * ((at - v) / width) ^ 2) or 1) end
    most = math.max(most, out[i])
  end
  for i in ipairs(out) do out[i] = out[i] / most end
  return out
end

local function logarithms(values)
  local out = {}
  for i, v in ipairs(values) do out[i] = math.log(v) end
  return out
end

--- The outline of a violin: up its right side, and down its left one.
local function outline(values, log)
  local logs = log and values[1] > 0 and logarithms(values) or values
  local density, out = densities(logs), {}
  for i, v in ipairs(values) do out[i] = { v, density[i] / 2 } end
  for i = #values, 1, -1 do out[#out + 1] = { values[i], -density[i] / 2 } end
  out[#out + 1] = out[1]
  return out
end

local function steps(values, shares)
  local out = { { values[1], 0 } }
  for i, v in ipairs(values) do out[i + 1] = { v, shares[i] } end
  return out
end

--- The levels of a row in the order of the roles.
local function levels(row, by_role)
  local function of(role) return by_role[role] and row[by_role[role].name] end
  return of "x", of "lines", of "facet", of "rows"
end

--- The curves of all cells: a table of pmlua.internal.dat with a column for each role, then value, place and median; and for the
--- ranges of axes the ends of each cell.
---@param by_role table<string, { name: string, text: boolean }>
---@return { table: pmlua.Table, points: table[] }?, string? err
function M.of(run, by_role, plot)
  local columns, rows, points, samples = {}, {}, {}, {}
  for i, role in ipairs { "x", "lines", "facet", "rows" } do
    columns[i] = { role, by_role[role] and by_role[role].unit == "text" and "text" or "" }
  end
  table.move({ { "value", run.meta.unit }, { "place" }, { "median", run.meta.unit } }, 1, 3, 5, columns)
  for _, row in ipairs(run.data.rows) do
    local source = (run.data.sources or {})[row] or { run = run, cell = row.cell }
    samples[source.run] = samples[source.run] or samples_of(source.run)
    local sorted = samples[source.run][source.cell]
    if sorted then
      local values, shares = quantiles(sorted)
      local x, lines, facet, other = levels(row, by_role)
      for k, p in ipairs(plot.kind == "violin" and outline(values, plot.logy) or steps(values, shares)) do
        rows[#rows + 1] = { x, lines, facet, other, p[1], p[2], k == 1 and sorted[(#sorted + 1) // 2] or nil }
      end
      rows[#rows + 1] = false
      points[#points + 1] = { values[1], values[#values], facet = facet, rows = other }
    end
  end
  if #points == 0 then return nil, "kind: the folder has no samples.csv.gz with samples of these cells" end
  return { table = { title = "distribution", columns = columns, rows = rows }, points = points }
end

return M
