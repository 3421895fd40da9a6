-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead/report.lua - compare each way with the floor, and print the closing table.
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

-- Each round visits the cells in a different order, so a table written early may lack a floor.
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

-- Percentage of the calls that the tool saw; nil if it does not report them.
local function share_seen(cell)
  local calls, seen = experiment.sum(cell, "calls"), experiment.sum(cell, "seen")
  return calls and seen and 100 * seen / calls
end

--- Print the table.
function M.say(run)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local s = cell.summary
    rows[#rows + 1] = {
      ways.named[cell.p.way].title, cell.p.threads, s and s.q1, s and s.median, s and s.q3, M.net(run, cell),
      M.ratio(run, cell), share_seen(cell), cell.status,
    }
  end
  run:say("\nTime of one call as the caller sees it; its excess over the plain call; its ratio to the call between two clock"
    .. "\nreads, the least that any observer needs; and the percentage of calls that the observer saw")
  run:say(tabulate({ "way", "threads", "q1 [ns]", "median [ns]", "q3 [ns]", "above plain [ns]", "ratio", "seen [%]",
    "status" }, rows, 1))
end

return M
