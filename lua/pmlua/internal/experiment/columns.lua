-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/columns.lua - the columns that an experiment computes from its cells, and their intervals.
--
-- Try:  columns = { { name = "speedup", interval = true, value = function(cell, run)
--         return run.cells[1].summary.median / cell.summary.median end } }   in an experiment
--
-- For an interval the value is computed for each round as for the whole run, so that a ratio of two cells is one of the same
-- round, and drift cancels. The interval of the median of these values is the column's interval (stats.rounds_interval).

local certain = require "pmlua.internal.experiment.certain"

local M = {}

local ENDS <const> = { { "_lo", "lower" }, { "_hi", "upper" } }

---@class pmlua.OwnColumn
---@field key string|integer of the values in cell.derived
---@field name string
---@field unit string?
---@field description string?
---@field interval boolean? the ends of its interval follow

--- The experiment's columns, each with the ends of its interval if it has one.
---@return pmlua.OwnColumn[]
function M.list(run)
  local out = {}
  for k, c in ipairs(run.exp.columns) do
    out[#out + 1] = { name = c.name, unit = c.unit, description = c.description, key = k, interval = c.interval }
    for _, e in ipairs(c.interval and ENDS or {}) do
      out[#out + 1] = { name = c.name .. e[1], unit = c.unit, description = e[2] .. " end of its 95 % interval", key = k .. e[1] }
    end
  end
  return out
end

--- The samples of one round, in the form of a summary.
local function summary_of(run, r)
  local summary = { n = r.n, metrics = {} }
  for _, name in ipairs { "min", "median", "mean", "max" } do summary[name] = r[name] * run.scale end
  for _, m in ipairs(run.exp.metrics) do
    summary.metrics[m.name] = { median = require "pmlua.internal.experiment.datasets".metric(r, m.name) }
  end
  return summary
end

--- The runs that consist of one round, of the rounds in which all cells were measured that have samples.
local function single_rounds(run)
  local rounds, whole = {}, 0
  for i, cell in ipairs(run.cells) do
    whole = whole + (cell.summary and 1 or 0)
    for _, r in ipairs(cell.rounds) do
      rounds[r.round] = rounds[r.round] or { n = 0 }
      rounds[r.round][i], rounds[r.round].n = r, rounds[r.round].n + 1
    end
  end
  local out = {}
  for round = 1, run.rounds do
    local of = rounds[round]
    if of and of.n == whole then
      local cells = {}
      for i, cell in ipairs(run.cells) do
        cells[i] = setmetatable({ summary = of[i] and summary_of(run, of[i]) or false, rounds = { of[i] } }, { __index = cell })
      end
      out[#out + 1] = setmetatable({ cells = cells }, { __index = run })
    end
  end
  return out
end

--- Add the intervals to the derived values of the cells.
function M.intervals(run)
  local rounds
  for k, c in ipairs(run.exp.columns) do
    rounds = rounds or c.interval and single_rounds(run) or nil
    for i, cell in ipairs(c.interval and run.cells or {}) do
      local values, whole = {}, cell.derived[k]
      for _, one in ipairs(cell.summary and rounds or {}) do values[#values + 1] = c.value(one.cells[i], one) end
      local low, high = certain.interval(run, values)
      if low and type(whole) == "number" then
        cell.derived[k .. "_lo"], cell.derived[k .. "_hi"] = math.min(low, whole), math.max(high, whole)
      end
    end
  end
end

return M
