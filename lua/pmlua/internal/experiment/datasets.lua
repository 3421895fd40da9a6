-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/datasets.lua - the tables every experiment leaves: data, rounds, outliers, histogram.
--
-- Try:  head -40 results/read_overhead/latest/data.dat
--
-- Samples in clock ticks are shown in nanoseconds; samples.csv.gz keeps the ticks.

local certain = require "pmlua.internal.experiment.certain"
local cells = require "pmlua.internal.experiment.cell"
local own = require "pmlua.internal.experiment.columns"
local shape = require "pmlua.internal.shape"
local stats = require "pmlua.stats"

local M = {}

local function factor_columns(run)
  local columns = { { "cell", "", "number of the combination of factors" } }
  for _, f in ipairs(run.factors) do
    columns[#columns + 1] = { f.name, f.text and "text" or (run.exp.units[f.name] or ""), run.exp.help[f.name] or "factor" }
  end
  return columns
end

local function factor_values(run, cell)
  local row = { cell.index }
  for _, f in ipairs(run.factors) do row[#row + 1] = cell.levels[f.name] end
  return row
end

-- Names of the fields of a summary that are in the sample's unit, in the order of the table.
local measured = {
  { "min", "smallest sample" }, { "q1", "lower quartile" }, { "median", "median of all samples" },
  { "median_lo", "lower end of the median's 95 % interval, over rounds" },
  { "median_hi", "upper end of the median's 95 % interval, over rounds" },
  { "q3", "upper quartile" }, { "p95", "95 % quantile" }, { "p99", "99 % quantile" }, { "max", "largest sample" },
  { "mean", "arithmetic mean" }, { "sd", "standard deviation" },
  { "whisker_lo", "smallest sample within 1.5 IQR of the quartiles" },
  { "whisker_hi", "largest sample within 1.5 IQR of the quartiles" },
}

--- Names of columns that are not the experiment's.
local function own_names()
  local names = { "cell", "status", "samples", "outliers", "shape" }
  for _, m in ipairs(measured) do names[#names + 1] = m[1] end
  return names
end

--- The names that y of the figure may have: columns of data.dat and metrics.
---@param exp pmlua.Experiment
---@return table<string, boolean>
function M.reserved(exp)
  local out = {}
  for _, name in ipairs(own_names()) do out[name] = true end
  for _, m in ipairs(exp.metrics) do out[m.name], out[m.name .. "_lo"], out[m.name .. "_hi"] = true, true, true end
  return out
end

--- Two columns that would have one name in a table or, where gnuplot allows letters, digits and _ only, in its scripts.
---@param exp pmlua.Experiment
---@param factors { name: string }[]
---@return string? sentence nil: all names differ
function M.clash(exp, factors)
  local taken = {}
  local function take(what, name)
    local word = name:gsub("[^A-Za-z0-9_]", "_")
    if taken[word] == nil then
      taken[word] = name
      return nil
    end
    if taken[word] == name then return ("%s: a table already has a column of this name; choose another"):format(what) end
    return ("%s: figures would confuse it with %s; choose another name"):format(what, taken[word])
  end
  for _, name in ipairs(own_names()) do take("", name) end
  for _, f in ipairs(factors) do
    local wrong = take("factor " .. f.name, f.name)
    if wrong then return wrong end
  end
  taken.round, taken.position = taken.round or "round", taken.position or "position" -- columns of rounds.dat
  for _, m in ipairs(exp.metrics) do
    for _, ending in ipairs { "", "_lo", "_hi" } do
      local wrong = take(("metric %s"):format(m.name), m.name .. ending)
      if wrong then return wrong end
    end
  end
  for i, c in ipairs(exp.columns) do
    for _, ending in ipairs(c.interval and { "", "_lo", "_hi" } or { "" }) do
      local wrong = take(("columns[%d], %s"):format(i, c.name), c.name .. ending)
      if wrong then return wrong end
    end
  end
end

-- The metrics of a cell: medians of what its rounds gave, with intervals.
local function metrics_of(run, cell)
  local out, warm_up = {}, run.certain and run.certain.warm_up or 0
  for _, m in ipairs(run.exp.metrics) do
    local values = {}
    for _, r in ipairs(cell.rounds) do
      if r.round > warm_up then values[#values + 1] = M.metric(r, m.name) end
    end
    if #values > 0 then
      local low, high = certain.interval(run, values)
      out[m.name] = { median = stats.median(values), low = low, high = low and high or nil }
    end
  end
  return out
end

--- The least of the values and one more, all times a sign.
local function least(values, one, sign)
  sign = sign or 1
  local found = one * sign
  for _, v in ipairs(values) do found = math.min(found, v * sign) end
  return found
end

--- The value that measure returned under a name beside the samples of a round, if it is a number.
---@return number?
function M.metric(round, name)
  local v = type(round.extra) == "table" and round.extra[name]
  return type(v) == "number" and v or nil
end

--- The summary of a cell over all its rounds, in the unit of the table.
-- The interval of the median is that over the rounds. With fewer than five rounds it is the interval of the samples' order
-- statistics, assuming independence, extended to the range of the rounds' medians. One sample per round gives no interval.
---@return table? summary
function M.summarise(run, cell)
  if not cells.tally(cell) then return nil end
  local s = assert(stats.summary(cell.tally))
  local medians = {}
  for i, r in ipairs(cell.rounds) do medians[i] = r.median end
  if run.certain then
    medians = run.certain:medians(cell)
    s.median, s.median_lo, s.median_hi = #medians > 0 and stats.median(medians) or s.median, nil, nil
  end
  local low, high = certain.interval(run, medians)
  if not low and s.median_lo then low, high = least(medians, s.median_lo), -least(medians, s.median_hi, -1) end
  if low then s.median_lo, s.median_hi = math.min(low, s.median), math.max(high, s.median) end
  s.shape = shape.of(medians, cell.tally, run.scale, run.unit)
  s.outlier_fences, s.metrics = { s.fence_lo, s.fence_hi }, metrics_of(run, cell)
  for _, m in ipairs(measured) do s[m[1]] = s[m[1]] and s[m[1]] * run.scale end
  return s
end

--- data.dat: a row per cell.
---@return pmlua.Table
function M.data(run, status)
  local columns = factor_columns(run)
  columns[#columns + 1] = { "status", "text", "ok, or why the cell was not measured" }
  columns[#columns + 1] = { "samples", "", "number of samples" }
  for _, m in ipairs(measured) do columns[#columns + 1] = { m[1], run.unit, m[2] } end
  columns[#columns + 1] = { "outliers", "", "samples outside 1.5 IQR of the quartiles (Tukey)" }
  columns[#columns + 1] = { "shape", "text", "steady, or why the median is not representative: a drift or step over rounds, two "
    .. "modes" }
  for _, m in ipairs(run.exp.metrics) do
    local about = m.description or m.name
    columns[#columns + 1] = { m.name, m.unit, about .. ", median over rounds" }
    columns[#columns + 1] = { m.name .. "_lo", m.unit, "lower end of its 95 % interval" }
    columns[#columns + 1] = { m.name .. "_hi", m.unit, "upper end of its 95 % interval" }
  end
  local list = own.list(run)
  table.move(list, 1, #list, #columns + 1, columns)
  local rows = {}
  for i, cell in ipairs(run.cells) do
    local row = factor_values(run, cell)
    local at, s = #row, cell.summary or {}
    row[at + 1], row[at + 2] = cell.status, s.n or 0
    for k, m in ipairs(measured) do row[at + 2 + k] = s[m[1]] end
    at = at + 4 + #measured
    row[at - 1], row[at] = s.outliers, s.shape
    for _, m in ipairs(run.exp.metrics) do
      local v = s.metrics and s.metrics[m.name] or {}
      row[at + 1], row[at + 2], row[at + 3], at = v.median, v.low, v.high, at + 3
    end
    for k, c in ipairs(list) do row[at + k] = cell.derived and cell.derived[c.key] end
    rows[i] = row
  end
  return { title = run.exp.name, status = status, columns = columns, rows = rows }
end

--- rounds.dat: a row per cell and round. Samples inside a round follow each other closely and are not independent;
-- rounds are what a comparison takes as repetitions.
function M.rounds(run, status)
  local u, rows = run.unit, {}
  local columns = {
    { "cell", "", "as in data.dat" }, { "round", "", "round" }, { "position", "", "position of the cell in the round" },
    { "samples", "", "number of samples" }, { "min", u, "smallest" }, { "median", u, "median of the round" },
    { "mean", u, "mean" }, { "max", u, "largest" },
  }
  for i, m in ipairs(run.exp.metrics) do columns[8 + i] = { m.name, m.unit, m.description or m.name } end
  for _, cell in ipairs(run.cells) do
    for _, r in ipairs(cell.rounds) do
      local row = {
        cell.index, r.round, r.position, r.n, r.min * run.scale, r.median * run.scale, r.mean * run.scale, r.max * run.scale,
      }
      for i, m in ipairs(run.exp.metrics) do row[8 + i] = M.metric(r, m.name) end
      rows[#rows + 1] = row
    end
  end
  return { title = run.exp.name .. " rounds", status = status, rows = rows, columns = columns }
end

--- outliers.dat: the largest samples outside the fences, with their position in samples.csv.gz.
function M.outliers(run, status)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local fences = cell.summary and cell.summary.outlier_fences
    for _, o in ipairs(fences and cell.outliers or {}) do
      if o.value < fences[1] or o.value > fences[2] then
        rows[#rows + 1] = { cell.index, o.round, o.index, o.value * run.scale }
      end
    end
  end
  return { title = run.exp.name .. " outliers", status = status, rows = rows, columns = {
    { "cell", "", "as in data.dat" }, { "round", "", "round" },
    { "index", "", "position in the round, from 0, as in samples.csv.gz" },
    { "value", run.unit, "sample; the largest 100 per cell, data.dat has their number" },
  } }
end

--- histogram.dat: a block per cell, from the minimum to the 99 % quantile.
function M.histogram(run, status)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    if cell.tally then
      if #rows > 0 then rows[#rows + 1] = false end
      for _, b in ipairs(cell.tally:histogram()) do
        rows[#rows + 1] = { cell.index, b.low * run.scale, b.high * run.scale, b.count, b.count / cell.tally.n }
      end
    end
  end
  return { title = run.exp.name .. " histogram", status = status, rows = rows, columns = {
    { "cell", "", "as in data.dat" }, { "low", run.unit, "bin from" }, { "high", run.unit, "bin to, exclusive" },
    { "count", "", "samples" }, { "share", "", "of all samples of the cell; what is above the 99 % quantile is left out" },
  } }
end

return M
