-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/sweep.lua - the cells of an experiment: every combination of its factors, and the order
-- of visits.
--
-- Try:  for _, c in ipairs(require("pmlua.internal.experiment.sweep").cells{ events = {1, 2}, path = {"page", "read"}
--       }) do print(c.label) end
--
-- A full factorial, visited round after round, each round in a new order: drift during a run (clock
-- frequency, temperature, load of the machine) then spreads over all cells instead of affecting some.

local dat = require "pmlua.internal.dat"
local lists = require "pmlua.internal.lists"
local rng = require "pmlua.internal.rng"

local M = {}

local function check_levels(name, levels)
  if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") then
    return nil, ("factor %q: a name must consist of letters, digits and _"):format(tostring(name))
  end
  if type(levels) ~= "table" or #levels == 0 then
    return nil, ("factor %s: must be an array of values, such as %s = { 1, 2 }"):format(name, name)
  end
  local seen, kind = {}, type(levels[1])
  for i, v in ipairs(levels) do
    if type(v) ~= "number" and type(v) ~= "string" then
      return nil, ("factor %s: value %d is a %s, not a number or a string"):format(name, i, type(v))
    end
    if type(v) ~= kind then return nil, ("factor %s mixes numbers and strings"):format(name) end
    if v ~= v or v == math.huge or v == -math.huge then return nil, ("factor %s: value %d is not finite"):format(name, i) end
    if kind == "string" and v:find("\0", 1, true) then
      return nil, ("factor %s: value %d contains a zero byte, which traces cannot store"):format(name, i)
    end
    local same = kind == "number" and v + 0.0 or v -- tables and figures are read as doubles
    local other = seen[same]
    if other == v then return nil, ("factor %s has the value %s twice"):format(name, dat.level(v)) end
    if other then
      local both = dat.level(other) .. " and " .. dat.level(v)
      return nil, ("factor %s: %s are the same as a double; write them as strings"):format(name, both)
    end
    seen[same] = v
  end
  return { name = name, levels = levels, text = kind == "string" }
end

--- Factors in a definite order. { a = {1, 2} } is ordered by name, { { "a", {1, 2} }, ... } as written.
---@return {name: string, levels: any[], text: boolean}[]?, string? err
function M.factors(factors)
  local list, out, seen = {}, {}, {}
  if type(factors) ~= "table" then return nil, "factors: a table expected, got a " .. type(factors) end
  if #factors > 0 then
    for i, f in ipairs(factors) do
      if type(f) ~= "table" then return nil, ("factors[%d] has no name; write factors = { NAME = { 1, 2 } }"):format(i) end
      list[i] = f
    end
  else
    for name, levels in pairs(factors) do list[#list + 1] = { name, levels } end
    table.sort(list, function(a, b) return tostring(a[1]) < tostring(b[1]) end)
  end
  for i, f in ipairs(list) do
    local factor, err = check_levels(f[1], f[2])
    if not factor then return nil, err end
    if seen[factor.name] then return nil, ("factor %s is defined twice"):format(factor.name) end
    seen[factor.name], out[i] = true, factor
  end
  return out
end

local function label(factors, p)
  local parts = lists.map(factors, function(f) return ("%s=%s"):format(f.name, dat.level(p[f.name])) end)
  return #parts > 0 and table.concat(parts, " ") or "all"
end

local function short_label(factors, p)
  local parts = lists.map(factors, function(f) return dat.level(p[f.name]) end)
  return #parts > 0 and table.concat(parts, " ") or "all"
end

-- true: measure; false: not a cell; a string: a cell of the table that cannot be measured here.
local function judge(constraints, p)
  if not constraints then return true end
  local verdict, reason = constraints(p)
  if type(verdict) == "string" then return verdict end
  if not verdict and reason then return tostring(reason) end
  return verdict and true or false
end

---@class pmlua.Cell
---@field index integer row of data.dat
---@field p table<string, any> the value of each factor, for the script's functions
---@field levels table<string, any> the same, for the tables: no function of the script has it
---@field label string "events=1 path=read"
---@field short string "1 read"
---@field status string "ok", or why it is not measured

--- Every combination, the last factor fastest.
---@param factors table as for M.factors
---@param constraints? fun(p: table): boolean|string, string? true measure, false leave out, a string: the reason shown
---@return pmlua.Cell[]? cells, string|table err or the ordered factors
function M.cells(factors, constraints)
  local ordered, err = M.factors(factors)
  if not ordered then return nil, err end
  local cells, p = {}, {}
  local function descend(depth)
    local f = ordered[depth]
    if f then
      for _, v in ipairs(f.levels) do
        p[f.name] = v
        descend(depth + 1)
      end
      return
    end
    local own, levels, shown = {}, {}, {}
    for k, v in pairs(p) do own[k], levels[k], shown[k] = v, v, v end
    local verdict = judge(constraints, shown)
    if verdict then
      cells[#cells + 1] = {
        index = #cells + 1, p = own, levels = levels, label = label(ordered, own), short = short_label(ordered, own),
        status = verdict == true and "ok" or verdict,
      }
    end
  end
  descend(1)
  return cells, ordered
end

--- A shuffled copy of an array.
-- Fisher and Yates, as R. Durstenfeld, Algorithm 235, Communications of the ACM 7 (1964).
---@param random fun(n: integer): integer
function M.shuffle(list, random)
  local out = table.move(list, 1, #list, 1, {})
  for i = #out, 2, -1 do
    local j = random(i)
    out[i], out[j] = out[j], out[i]
  end
  return out
end

--- The plan of a run: for each round the order of the cells and how many samples each gives.
---@param repeats integer samples per cell, over all rounds
---@return {order: integer[], n: integer}[]
function M.plan(ncells, rounds, repeats, seed)
  local random, list, plan = rng(seed), {}, {}
  for i = 1, ncells do list[i] = i end
  for r = 1, math.min(rounds, repeats) do
    local n = repeats // rounds + (r <= repeats % rounds and 1 or 0)
    plan[r] = { order = M.shuffle(list, random), n = n }
  end
  return plan
end

return M
