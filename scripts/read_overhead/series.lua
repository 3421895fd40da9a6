-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/series.lua - speed-ups and the cost of an additional event, as values and as files.
--
-- Try:  head results/read_overhead/latest/speedup.dat
--
-- Values derived from several rows of data.dat. The plot itself needs only the standard tables.

local lists = require "pmlua.internal.lists"
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
---@param want table<string, any>
---@return table? cell
function M.find(run, want) return lists.find(run.cells, function(cell) return same(cell.p, want) end) end

--- Median of a cell in ns, or nil.
function M.median(run, want)
  local cell = M.find(run, want)
  return cell and cell.summary and cell.summary.median
end

--- Medians of a read by each path, for each place.
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

local function ratio(a, b) return a and b and b > 0 and a / b or nil end
M.ratio = ratio

local function speedup(run, rows_of)
  local rows = {}
  for i, r in ipairs(rows_of) do
    rows[i] = { i, r.context, r.page, r.read, r.group, ratio(r.read, r.page), ratio(r.read, r.group) }
  end
  return { columns = {
    { "number", "", "row" }, { "context", "text", "where the read is made" },
    { "page", run.unit, "median through the page" },
    { "read", run.unit, "median by one read(2) per event" }, { "group", run.unit, "median by one read(2) for all" },
    { "page_speedup", "", "read / page" }, { "group_speedup", "", "read / group" },
  }, rows = rows }
end

local function slopes(run, operations)
  local rows = {}
  for i, f in ipairs(slope.all(run, operations)) do rows[i] = { f.operation, f.path, f.first, f.second, f.each, f.r2, f.n } end
  return { columns = {
    { "operation", "text", "the operation" }, { "path", "text", "how the counters are read" },
    { "one", run.unit, "median of one event" },
    { "second", run.unit, "cost that the second event adds" }, { "each", run.unit, "cost that each further event adds (fitted)" },
    { "r2", "", "share of the variance that the line explains" }, { "n", "", "numbers of events in the fit" },
  }, rows = rows }
end

--- Write both files.
---@param o {contexts: table[], context_events: integer, operations: string[]}
function M.write(run, o)
  run:write_table("speedup.dat", speedup(run, M.speedups(run, o.contexts, o.context_events)), "a read in each place, by path")
  run:write_table("slope.dat", slopes(run, o.operations), "cost of an additional event")
end

return M
