-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead/report.lua - what a way costs beside the floor, and the table that is said at the end.
--
-- Try:  pmlua scripts/intercept_overhead.lua --quick --no-plot

local experiment = require "pmlua.experiment"
local tabulate = require "pmlua.tabulate"
local ways = require "intercept_overhead.ways"

local M = {}

-- The median of a way with as many threads as a cell has.
local function beside(run, cell, way)
  for _, other in ipairs(run.cells) do
    if other.p.way == way and other.p.threads == cell.p.threads and other.summary then return other.summary.median end
  end
end

-- Floors are measured in another order each round: while tables are written early, one may not be there yet.
local function against(run, cell, way, f)
  local floor = cell.summary and beside(run, cell, way)
  return floor and f(cell.summary.median, floor)
end

function M.net(run, cell)
  return against(run, cell, "plain", function(a, b) return a - b end)
end

function M.ratio(run, cell)
  return against(run, cell, "clocks", function(a, b) return a / b end)
end

-- Of all calls, in percent; nil if the tool does not report it.
local function share_seen(cell)
  local calls, seen = experiment.sum(cell, "calls"), experiment.sum(cell, "seen")
  return calls and seen and 100 * seen / calls
end

--- Say the table.
---@param run table
function M.say(run)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local s = cell.summary
    rows[#rows + 1] = {
      ways.named[cell.p.way].title, cell.p.threads, s and s.q1, s and s.median, s and s.q3, M.net(run, cell),
      M.ratio(run, cell), share_seen(cell), cell.status,
    }
  end
  run:say("\nTime of one call, as the caller sees it; above the plain call; as a multiple of the call between two reads of the"
    .. "\nclock, which is what none can do without; and how many of the calls were seen")
  run:say(tabulate({ "way", "threads", "q1 [ns]", "median [ns]", "q3 [ns]", "above plain [ns]", "ratio", "seen [%]",
    "status" }, rows, 1))
end

return M
