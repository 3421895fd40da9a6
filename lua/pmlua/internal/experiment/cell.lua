-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/cell.lua - what a cell is made of: rounds, the tally of its samples, the largest of them.
--
-- Try:  local c = { rounds = {}, outliers = {}, parts = {} }
--       require("pmlua.internal.experiment.cell").add(c, { 1, 2, 3 }, { round = 1 }); print(c.rounds[1].median)

local stats = require "pmlua.stats"
local tally = require "pmlua.internal.tally"

local M = {}

local outlier_limit = 100
local LARGE <const> = 1 << 20 -- values of a part, whose halves go at once, not when Lua's memory has doubled

local function keep_outliers(cell, series, summary, round)
  local all = cell.outliers
  for _, o in ipairs(stats.outliers(series, summary.fence_lo, summary.fence_hi, outlier_limit)) do
    all[#all + 1] = { round = round, index = o.index - 1, value = o.value } -- as in samples.csv.gz
  end
  table.sort(all, require "pmlua.internal.order".by("-value", "round", "index"))
  for i = #all, outlier_limit + 1, -1 do all[i] = nil end
end

--- Merge the last part into its predecessor.
local function join(cell, last)
  local parts = cell.parts
  local before = parts[#parts]
  parts[#parts] = tally.merge(before, last)
  if #parts[#parts].value <= LARGE then return end
  before, last = nil, nil -- luacheck: ignore 311
  collectgarbage()
end

--- Add a part to a cell. Each part is at least twice as long as the one after it, so that in a thousand rounds a value is
--- merged ten times, not a thousand.
local function push(cell, part)
  local parts = cell.parts
  parts[#parts + 1], cell.tally = part, nil -- M.tally() makes the next
  while #parts > 1 and #parts[#parts - 1].value < 2 * #parts[#parts].value do
    join(cell, table.remove(parts))
  end
end

--- How many distinct values a cell holds at most.
function M.values(cell)
  local n = 0
  for _, part in ipairs(cell.parts) do n = n + #part.value end
  return n
end

--- Bring the tally of a cell up to date.
---@return pmlua.Tally? tally also in cell.tally; nil: nothing was measured
function M.tally(cell)
  local parts = cell.parts
  while #parts > 1 do
    join(cell, table.remove(parts))
  end
  cell.tally = parts[1]
  return parts[1]
end

---@class pmlua.CellRound
---@field round integer
---@field position integer position of the cell in the round
---@field extra any what measure gave beside the samples
---@field n integer? of its samples, as all that follows
---@field min number?
---@field median number?
---@field mean number?
---@field max number?

--- Take what a visit gave into its cell.
---@param cell pmlua.Cell with rounds, outliers and parts
---@param series userdata|number[]
---@return integer? n how many samples there were
---@return pmlua.Failure? failure
function M.add(cell, series, round)
  local t, err = tally.of(series)
  if not t then return nil, err end
  local s = assert(stats.summary(t))
  keep_outliers(cell, series, s, round.round)
  round.n, round.min, round.median, round.mean, round.max = s.n, s.min, s.median, s.mean, s.max
  cell.rounds[#cell.rounds + 1] = round
  push(cell, t)
  return s.n
end

return M
