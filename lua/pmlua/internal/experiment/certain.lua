-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/certain.lua - measure each cell until its interval is narrow or its comparison has a
-- verdict.
--
-- Try:  pmlua bench --until 2% true
--
-- sequential.lua makes the intervals and verdicts, which hold at every look. A cell that is certain is not measured again, so
-- the remaining rounds go to the others. Warm-up rounds at the beginning are left out.

local dependence = require "pmlua.internal.dependence"
local lists = require "pmlua.internal.lists"
local sequential = require "pmlua.internal.sequential"
local stats = require "pmlua.stats"

local M = {}

---@class pmlua.Certainty what an experiment's field `certain` has
---@field interval number? half the width of the median's 95 % interval, as a share of the median
---@field verdict string? the factor whose levels must have a verdict, each against the first
---@field threshold number? differences up to this share are called the same, 0.01

---@class pmlua.Certain
---@field warm_up integer number of rounds left out
local Certain = {}
Certain.__index = Certain

--- The cells that are compared: those that differ in the factor alone, each with the first of them.
local function pairs_of(run, factor)
  local first, out = {}, {}
  for _, cell in ipairs(run.cells) do
    local others = {}
    for i, f in ipairs(run.factors) do others[i] = f.name ~= factor and tostring(cell.levels[f.name]) or "" end
    local key = table.concat(others, "\0")
    if first[key] then out[#out + 1] = { a = first[key], b = cell } end
    first[key] = first[key] or cell
  end
  return out
end

---@param run pmlua.Run
---@return pmlua.Certain
function M.new(run)
  local asked = run.exp.certain
  return setmetatable({ run = run, interval = asked.interval, threshold = asked.threshold or 0.01, warm_up = 0,
    pairs = asked.verdict and pairs_of(run, asked.verdict) or {} }, Certain)
end

--- The interval of the median over rounds, whose number was fixed beforehand or depended on the values.
---@param run pmlua.Run
---@param values number[]
---@return number? low, number? high
function M.interval(run, values) return (run.certain and sequential.median or stats.rounds_interval)(values) end

--- Medians of a cell's rounds after the warm-up.
---@param cell pmlua.Cell
---@return number[]
function Certain:medians(cell)
  local out = {}
  for _, r in ipairs(cell.rounds) do
    if r.round > self.warm_up then out[#out + 1] = r.median end
  end
  return out
end

--- The cells that can still be measured.
local function measured(run) return lists.filter(run.cells, function(cell) return cell.status == "ok" end) end

--- The sum of the logarithms of all cells in each round: which cell is faster does not change it. Nil: no logarithm.
local function levels_of(cells)
  local sum = {}
  for _, cell in ipairs(cells) do
    for i, r in ipairs(cell.rounds) do
      if r.median <= 0 then return nil end
      sum[i] = (sum[i] or 0) + math.log(r.median)
    end
  end
  return sum
end

--- As long as all cells are measured.
local function find_warm_up(self, cells)
  for _, cell in ipairs(cells) do
    if cell.certain or #cell.rounds ~= #cells[1].rounds then return end
  end
  local levels = levels_of(cells)
  local n = levels and sequential.warm_up(levels) or 0
  if n == self.warm_up then return end
  self.warm_up = n
  for _, pair in ipairs(self.pairs) do pair.tests = nil end
end

-- --- verdicts ---

local function begin(pair, threshold)
  pair.differences, pair.done, pair.by_round, pair.a_done = {}, 0, {}, 0
  pair.tests = { zero = sequential.test(0), more = sequential.test(math.log(1 + threshold)),
    less = sequential.test(math.log(1 - threshold)), same = sequential.test(-math.log(1 + threshold)) }
end

--- Take the rounds that both cells have and that were not taken before. Values of 0 or less have no ratio, and no verdict.
local function take(self, pair)
  for i = pair.a_done + 1, #pair.a.rounds do pair.by_round[pair.a.rounds[i].round] = pair.a.rounds[i].median end
  pair.a_done = #pair.a.rounds
  for i = pair.done + 1, #pair.b.rounds do
    local b = pair.b.rounds[i]
    local a = pair.by_round[b.round]
    if a and b.round > self.warm_up and a > 0 and b.median > 0 then
      local d = math.log(b.median / a)
      table.insert(pair.differences, d)
      for _, t in pairs(pair.tests) do t:add(d) end
    end
  end
  pair.done = #pair.b.rounds
end

--- Whether compare.by would give a verdict other than "cannot tell".
local function has_verdict(self, pair)
  if not pair.tests then begin(pair, self.threshold) end
  take(self, pair)
  local t, w = pair.tests, dependence.of(pair.differences).widening
  if t.more:excluded(w) < 0 and t.same:excluded(w) > 0 then return true end
  local side = t.zero:excluded(w, #self.pairs)
  return side > 0 and t.more:excluded(w) > 0 or side < 0 and t.less:excluded(w) < 0
end

-- --- looking ---

local function half_width(self, cell)
  local values = self:medians(cell)
  local low, high = sequential.median(values)
  local median = low and stats.median(values) or 0
  return median ~= 0 and (high - low) / 2 / math.abs(median) or nil
end

local function look_at(self, cell, open)
  local width = self.interval and half_width(self, cell)
  if self.interval and not (width and width <= self.interval) or open[cell] then return end
  cell.certain = ("%s after %d rounds"):format(width and ("+-%.2g %%"):format(100 * width) or "verdict", #cell.rounds)
end

--- Look at all cells after a round.
---@return boolean whether all are certain
function Certain:look()
  local cells, open, all = measured(self.run), {}, true
  if #cells == 0 then return true end
  find_warm_up(self, cells)
  for _, pair in ipairs(self.pairs) do
    pair.judged = pair.judged or pair.a.status ~= "ok" or pair.b.status ~= "ok" or has_verdict(self, pair)
    if not pair.judged then open[pair.a], open[pair.b] = true, true end
  end
  for _, cell in ipairs(cells) do
    if not cell.certain then look_at(self, cell, open) end
    all = all and cell.certain ~= nil
  end
  return all
end

--- Say at the end why measuring stopped, and how many rounds were warm-up.
---@param ended string what ended the run, unless all cells are certain
function Certain:finish(ended)
  local run = self.run
  for _, cell in ipairs(run.cells) do
    if cell.status == "ok" and not cell.certain then
      local width = half_width(self, cell)
      cell.uncertain = ("%s, not certain%s"):format(ended, width and ("; +-%.2g %%"):format(100 * width) or "")
    end
  end
  run.meta.warm_up = self.warm_up
  if self.warm_up == 0 then return end
  local rounds = self.warm_up == 1 and "the first round was" or ("the first %d rounds were"):format(self.warm_up)
  run:warn(rounds .. " warm-up: left out of medians, intervals and verdicts")
end

return M
