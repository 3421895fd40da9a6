-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/simulation/cells.lua - what each cell of an experiment costs under `pmlua --sim`: columns sim::Ir and so on.
--
-- Try:  pmlua --sim scripts/timers.lua --quick --no-plot
--
-- The thread that measures is counted around `measure`, and what reading the counts takes by itself is subtracted: the
-- columns are per operation, as the times are, and have what Lua does within `measure` in them. Warming up is not
-- counted.

local left = require "pmlua.internal.simulation.left"
local statistics = require("pmlua.core").statistics

local M = {}

local Cells = {}
Cells.__index = Cells

local function names()
  local out = {}
  for i, event in ipairs(left.events) do out[i] = "sim::" .. event end
  return out
end

local function differences(now, before)
  local out = {}
  for i in ipairs(left.events) do out[i] = now[i] - before[i] end
  return out
end

--- The difference between two consecutive reads, after warming up.
local function empty(set)
  local out
  for _ = 1, 3 do
    local before = { set:read() }
    out = differences({ set:read() }, before)
  end
  return out
end

local function column(k, name, description)
  return { name = name, unit = "", description = description .. ", of an operation", value = function(cell)
    local s = cell.simulated
    return s and s.counts[k] / s.operations
  end }
end

--- Count the cells of a run, if it is simulated.
---@return table? cells nil: it is not
function M.follow(run)
  local set = os.getenv "PMLUA_SIM" and run.core.eventset.open(names())
  if not set then return nil end
  run.meta.simulation = { tool = "callgrind", caches = os.getenv "PMLUA_SIM_CACHES" }
  run:warn("this is a simulation: the columns sim:: count, times are of no meaning")
  local columns = table.move(run.exp.columns, 1, #run.exp.columns, 1, {})
  for _, row in ipairs(run.core.event.list("sim::*")) do
    columns[#columns + 1] = column(#columns - #run.exp.columns + 1, row.name, row.description)
  end
  run.exp = setmetatable({ columns = columns, trace_events = run.exp.trace_events or names() }, { __index = run.exp })
  return setmetatable({ set = set, empty = empty(set) }, Cells)
end

--- Call f and add what it costs to a cell.
---@param f fun(): integer? how many operations it was; none: it is not counted
function Cells:count(cell, f)
  local before = { self.set:read() }
  local operations = f()
  local counts = differences(differences({ self.set:read() }, before), self.empty)
  if not operations then return end
  local s = cell.simulated or { operations = 0, counts = {} }
  for i, v in ipairs(counts) do counts[i] = math.max(v, 0) end
  statistics.add(s.counts, counts)
  s.operations, cell.simulated = s.operations + operations, s
end

return M
