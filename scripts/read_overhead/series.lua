-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/series.lua - what the plots need beside the standard tables, as files of the result folder.
--
-- Try:  head results/read_overhead/latest/boxplot.dat
--
-- One file per panel, one block (gnuplot's `index`) per path in the order page, read, group. A path that cannot be
-- measured has a row of NaN, so that the blocks keep their numbers and gnuplot its peace.

local slope = require "read_overhead.slope"

local M = {}

local paths = { "page", "read", "group" }
M.paths = paths

local function same(p, want)
  for k, v in pairs(want) do
    if p[k] ~= v then return false end
  end
  return true
end

--- The first cell with the given factors.
---@param run table
---@param want table<string, any>
---@return table? cell
function M.find(run, want)
  for _, cell in ipairs(run.cells) do
    if same(cell.p, want) then return cell end
  end
end

--- Median of a cell in ns, or nil.
function M.median(run, want)
  local cell = M.find(run, want)
  return cell and cell.summary and cell.summary.median
end

local function loop_read(path, events)
  return { context = "loop", operation = "read", path = path, events = events }
end

local function block(rows, add)
  if #rows > 0 then rows[#rows + 1] = false end
  local before = #rows
  add()
  return #rows > before
end

-- Figures 5.1 and 5.2 of the thesis: boxes from the quartiles, whiskers from the minimum to the 99 % quantile.
local function boxplot(run, most)
  local rows = {}
  for _, path in ipairs(paths) do
    local any = block(rows, function()
      for events = 1, most do
        local cell = M.find(run, loop_read(path, events))
        local s = cell and cell.summary
        if s then rows[#rows + 1] = { path, events, s.min, s.q1, s.median, s.q3, s.p99, s.max } end
      end
    end)
    if not any then rows[#rows + 1] = { path, 1 } end
  end
  return { columns = {
    { "path", "text", "how the counters are read" }, { "events", "", "number of events" }, { "min", run.unit, "smallest" },
    { "q1", run.unit, "lower quartile" }, { "median", run.unit, "median" }, { "q3", run.unit, "upper quartile" },
    { "p99", run.unit, "99 % quantile" }, { "max", run.unit, "largest" },
  }, rows = rows }
end

--- Medians of a read by each path, per place.
---@return {context: string, page: number?, read: number?, group: number?}[]
function M.speedups(run, contexts, context_events)
  local out = {}
  for _, c in ipairs(contexts) do
    if not c.event then
      local row = { context = c.name }
      for _, path in ipairs(paths) do
        row[path] = M.median(run, { context = c.name, operation = "read", path = path, events = context_events })
      end
      out[#out + 1] = row
    end
  end
  return out
end

local function ratio(a, b)
  return a and b and b > 0 and a / b or nil
end
M.ratio = ratio

local function speedup(run, rows_of)
  local rows = {}
  for i, r in ipairs(rows_of) do
    rows[i] = { i, r.context, r.page, r.read, r.group, ratio(r.read, r.page), ratio(r.read, r.group) }
  end
  return { columns = {
    { "number", "", "row" }, { "context", "text", "where the read is made" }, { "page", run.unit, "median by the page" },
    { "read", run.unit, "median by one read(2) per event" }, { "group", run.unit, "median by one read(2) for all" },
    { "page_speedup", "", "read / page" }, { "group_speedup", "", "read / group" },
  }, rows = rows }
end

local function distribution(run, events)
  local rows = {}
  for _, path in ipairs(paths) do
    local cell = M.find(run, loop_read(path, events))
    local any = block(rows, function()
      for _, b in ipairs(cell and cell.tally and cell.tally:histogram(200) or {}) do
        rows[#rows + 1] = { path, (b.low + b.high) / 2 * run.scale, 100 * b.count / cell.tally.n, (b.high - b.low) * run.scale }
      end
    end)
    if not any then rows[#rows + 1] = { path } end
  end
  return { columns = {
    { "path", "text", "how the counters are read" }, { "middle", run.unit, "middle of the bin" },
    { "share", "%", "of all samples; the bins end at the 99 % quantile" }, { "width", run.unit, "of the bin" },
  }, rows = rows }
end

-- Position in the whole series: rounds follow each other, each has its share of the iterations.
local function positions(run, events)
  local rows = {}
  for _, path in ipairs(paths) do
    local cell = M.find(run, loop_read(path, events))
    local before, at = {}, 0
    for _, r in ipairs(cell and cell.rounds or {}) do
      before[r.round] = at
      at = at + r.n
    end
    local any = block(rows, function()
      for _, o in ipairs(cell and cell.summary and cell.outliers or {}) do
        rows[#rows + 1] = { path, before[o.round] + o.index, o.value * run.scale, cell.summary.median, o.round }
      end
    end)
    if not any then rows[#rows + 1] = { path } end
  end
  return { columns = {
    { "path", "text", "how the counters are read" }, { "position", "", "iteration, over all rounds" },
    { "cost", run.unit, "of the outlier; the largest 100 are named" }, { "median", run.unit, "of the series" },
    { "round", "", "round" },
  }, rows = rows }
end

local function slopes(run, operations, most)
  local rows = {}
  for _, f in ipairs(slope.all(run, operations, most)) do
    rows[#rows + 1] = { f.operation, f.path, f.first, f.each, f.r2, f.n }
  end
  return { columns = {
    { "operation", "text", "what is measured" }, { "path", "text", "how" }, { "one", run.unit, "fitted cost of one event" },
    { "additional", run.unit, "cost of each additional event" }, { "r2", "", "share of the variance that the line explains" },
    { "n", "", "numbers of events in the fit" },
  }, rows = rows }
end

--- Write all of them.
---@param run table
---@param o {contexts: table[], context_events: integer, operations: string[], most: integer, shown_events: integer}
function M.write(run, o)
  run:write_table("boxplot.dat", boxplot(run, o.most), "a read in the bare loop by number of events")
  run:write_table("speedup.dat", speedup(run, M.speedups(run, o.contexts, o.context_events)), "a read in each place, by path")
  run:write_table("distribution.dat", distribution(run, o.shown_events), "distribution of a read in the bare loop")
  run:write_table("positions.dat", positions(run, o.shown_events), "when the outliers happened")
  run:write_table("slope.dat", slopes(run, o.operations, o.most), "cost of an additional event")
end

return M
