-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/model.lua - cost models: fit a + b n^c log2(n)^d to points or to the cells of a run.
--
-- Try:  print(pml.model.fit { { 1, 2 }, { 2, 5 }, { 4, 17 }, { 8, 65 }, { 16, 257 } })
--
-- The terms form the performance-model normal form: A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, Using Automated
-- Performance Modeling to Find Scalability Bugs in Complex Codes (SC 2013); for two factors A. Calotoiu,
-- D. Beckingsale, C. W. Earl, T. Hoefler, I. Karlin, M. Schulz, F. Wolf, Fast Multi-Parameter Performance Modeling
-- (CLUSTER 2016), which also finds the terms of each factor first and then combines them.
-- The chosen term best predicts held-out points. It must be so much better than the mean that in 199 series
-- of normal noise at the same places, tried in the same way, at most one does as well.

local design = require "pmlua.internal.model.design"
local lists = require "pmlua.internal.lists"
local refuse = require "pmlua.core".failure.refuse
local rng = require "pmlua.internal.rng"
local stats = require "pmlua.stats"

---@class pml.model
local M = {}

local LEAST_VALUES <const>, LEAST_RANGE <const>, SERIES <const> = 5, 4, 199
local CLEARLY <const> = 0.9 -- largest error relative to a simpler term's

---@class pmlua.ModelTerm b n^c log2(n)^d, of each factor
---@field coefficient number
---@field power number[] one for each factor
---@field log integer[]

---@class pmlua.Model tostring() gives the formula
---@field factors string[]
---@field constant number
---@field terms pmlua.ModelTerm[] none: constant
---@field n integer points
---@field left_out number root mean square error of points that were left out of the fit
---@field predicts number 1 - squared error at held-out points over a constant's; 0: no better, 1: exact
---@field low number[] range of the points, by factor
---@field high number[]
local Model = {}
Model.__index = Model

-- ---- terms ----

-- Simple ones first: integers, halves, thirds and quarters, twentieths, then those with logarithms.
local function shapes()
  local list, seen = {}, {}
  for _, parts in ipairs { 1, 2, 3, 4, 20 } do
    for i = 1, 3 * parts do
      local c = i / parts
      if not seen[c] then
        seen[c] = true
        list[#list + 1] = { power = c, log = 0 }
        if c <= 2 then list[#list + 1] = { power = -c, log = 0 } end
      end
    end
  end
  for log = 1, 2 do
    for i = 0, 36 do
      if i % 3 == 0 or i % 4 == 0 then list[#list + 1] = { power = i / 12, log = log } end
    end
  end
  return list
end
local SHAPES <const> = shapes()

local function value_of(shape, n)
  local v = n ^ shape.power
  return shape.log == 0 and v or v * math.log(n, 2) ^ shape.log
end

local function column_of(points, values)
  return lists.map(points, values)
end

local function ones(points) return column_of(points, function() return 1.0 end) end

-- ---- one factor ----

-- Designs of all terms that the points can tell from a constant.
local function candidates(x)
  local list, constant, least = {}, {}, math.huge
  for i, n in ipairs(x) do constant[i], least = 1.0, math.min(least, n) end
  for _, shape in ipairs(SHAPES) do
    if shape.log == 0 or least >= 1 then
      local d = design { constant, column_of(x, function(n) return value_of(shape, n) end) }
      if d then list[#list + 1] = { shape = shape, design = d } end
    end
  end
  return list, design { constant }
end

-- A cost must not fall below zero for large arguments: growing terms are added; decreasing terms may be subtracted.
local function sensible(candidate, y)
  return candidate.shape.power < 0 or candidate.design:coefficients(y)[2] > 0
end

local function best_of(list, y, floor)
  local best, least
  for _, c in ipairs(list) do
    local error = math.max(c.design:left_out(y), floor)
    if (not least or error < CLEARLY * least) and sensible(c, y) then best, least = c, error end
  end
  return best, least
end

-- Squared error that rounding alone makes.
local function rounding(y)
  local sum = 0.0
  for _, v in ipairs(y) do sum = sum + v * v end
  return 1e-24 * sum
end

local function noise(n, random)
  local y = {}
  for i = 1, n do y[i] = stats.normal_quantile((random(1 << 30) - 0.5) / (1 << 30)) end
  return y
end

-- Does noise seem to follow some term as well as these points do?
local function by_chance(list, mean, n, ratio)
  local random, as_well = rng(n), 0
  for _ = 1, SERIES do
    local y = noise(n, random)
    local _, error = best_of(list, y, 0)
    if error and error / mean:left_out(y) <= ratio then as_well = as_well + 1 end
    if as_well > 1 then return true end
  end
  return false
end

--- The term of one factor; nil: constant.
local function shape_of(x, y)
  local list, mean = candidates(x)
  local floor = rounding(y)
  local all = mean:left_out(y)
  if all <= #y * floor then return nil end
  local best, error = best_of(list, y, floor)
  if not best or by_chance(list, mean, #y, error / all) then return nil end
  return best.shape
end

-- ---- two factors ----

-- Mean over the other factor: a + b g(n) for sums and for products of terms.
local function margin(points, k)
  local sum, count, x, y = {}, {}, {}, {}
  for _, p in ipairs(points) do
    if not sum[p[k]] then x[#x + 1], sum[p[k]], count[p[k]] = p[k], 0, 0 end
    sum[p[k]], count[p[k]] = sum[p[k]] + p[#p], count[p[k]] + 1
  end
  table.sort(x)
  for i, n in ipairs(x) do y[i] = sum[n] / count[n] end
  return x, y
end

local NOTHING <const> = { power = 0, log = 0 }

-- The terms that a sum may have: of one factor, or their product.
local function combinations(found)
  local one, other = found[1], found[2]
  if #found == 1 then return one and { { { one } } } or {} end
  if not one and not other then return {} end
  local a, b = { one or NOTHING, NOTHING }, { NOTHING, other or NOTHING }
  if not other then return { { a } } end
  if not one then return { { b } } end
  local product = { one, other }
  return { { product }, { a, b }, { a, product }, { b, product }, { a, b, product } }
end

local function term_value(term, p)
  local v = 1.0
  for k, shape in ipairs(term) do v = v * value_of(shape, p[k]) end
  return v
end

local function best_sum(points, sums, y)
  local floor, best, least, terms = rounding(y), design { ones(points) }, nil, {}
  for _, sum in ipairs(sums) do
    local columns = { ones(points) }
    for _, term in ipairs(sum) do
      columns[#columns + 1] = column_of(points, function(p) return term_value(term, p) end)
    end
    local d = design(columns)
    local error = d and math.max(d:left_out(y), floor)
    if error and (not least or error < CLEARLY * least) then best, least, terms = d, error, sum end
  end
  return best, terms
end

-- ---- what can be fitted ----

local function finite(v) return type(v) == "number" and v == v and math.abs(v) < math.huge end

local function wrong_point(points, names)
  for i, p in ipairs(points) do
    for k, name in ipairs(names) do
      if not finite(p[k]) or p[k] <= 0 then
        return ("point %d: %s is %s; it must be positive and finite"):format(i, name, tostring(p[k]))
      end
    end
    local y = p[#names + 1]
    if not finite(y) or y < 0 then
      return ("point %d: its value is %s; it must be finite and not negative"):format(i, tostring(y))
    end
  end
end

local function too_few(points, names)
  local cells, seen, all = 1, {}, 0
  for k, name in ipairs(names) do
    local x = margin(points, k)
    if #x < LEAST_VALUES then
      return ("%d values of %s are too few for a model"):format(#x, name), ("measure at least %d"):format(LEAST_VALUES)
    end
    if x[#x] < LEAST_RANGE * x[1] then
      return ("%s from %g to %g is too little range for a model"):format(name, x[1], x[#x]),
        ("the largest must be %d times the smallest"):format(LEAST_RANGE)
    end
    cells = cells * #x
  end
  for _, p in ipairs(points) do
    local place = table.concat(p, " ", 1, #names)
    if not seen[place] then seen[place], all = true, all + 1 end
  end
  if all < cells then
    return ("%d of %d combinations of %s are missing"):format(cells - all, cells, table.concat(names, " and ")), "measure them"
  end
end

local function factor_names(points, options)
  local names = options.factors
  if names then return names end
  local first = points[1]
  return type(first) == "table" and #first == 3 and { "n", "m" } or { "n" }
end

-- ---- runs ----

-- The factors and the value of a row; nil: `where` excludes it, or it has no value.
local function point_of(row, names, value, where)
  for k, v in pairs(where) do
    if row[k] ~= v then return nil end
  end
  if row[value] == nil then return nil end
  local p = lists.map(names, function(name) return row[name] end)
  p[#names + 1] = row[value]
  return p
end

local function rows_of(run)
  if run.data then return run.data.rows end
  local rows = {}
  for i, cell in ipairs(run.cells) do
    rows[i] = setmetatable({}, { __index = function(_, name)
      if cell.p[name] ~= nil then return cell.p[name] end
      return cell.summary and cell.summary[name]
    end })
  end
  return rows
end

-- A factor that is neither of the model nor fixed, but varies.
local function loose(run, names, where)
  local fixed = {}
  for _, name in ipairs(names) do fixed[name] = true end
  for _, f in ipairs(run.meta.factors or {}) do
    local first
    for _, row in ipairs(fixed[f.name] and {} or rows_of(run)) do
      if where[f.name] == nil and row[f.name] ~= (first or row[f.name]) then return f.name end
      first = first or row[f.name]
    end
  end
end

--- The points of a run, as `fit` takes them.
---@param run table of `pml.results.open`, or the one that `analyse` is given
---@param options pmlua.ModelOptions
---@return number[][]? points, pmlua.Failure? failure
function M.points(run, options)
  local names, where, points = options.factors, options.where or {}, {}
  if not names then error("model.points: factors is missing: the names of one or two factors of the run", 2) end
  local other = loose(run, names, where)
  if other then return refuse("EINVAL", ("factor %s also varies"):format(other), "name one of its values in where") end
  for _, row in ipairs(rows_of(run)) do
    points[#points + 1] = point_of(row, names, options.value or "median", where)
  end
  return points
end

local function made(points, names, y, sums)
  local d, chosen = best_sum(points, sums, y)
  local c, n = d:coefficients(y), #points
  local mean = design { ones(points) }:left_out(y)
  local error, rss = d:left_out(y), 0.0
  for _, e in ipairs(d:residuals(y)) do rss = rss + e * e end
  local free = n - 1 - 2 * #chosen -- each term has a coefficient and an exponent that were fitted
  local model = setmetatable({ factors = names, constant = c[1], terms = {}, n = n, left_out = math.sqrt(error / n),
    predicts = #chosen > 0 and 1 - error / mean or 0, low = {}, high = {}, design = d, chosen = chosen, free = free,
    spread = free > 0 and math.sqrt(rss / free) or nil }, Model)
  for i, term in ipairs(chosen) do
    local t = { coefficient = c[i + 1], power = {}, log = {} }
    for k, shape in ipairs(term) do t.power[k], t.log[k] = shape.power, shape.log end
    model.terms[i] = t
  end
  for k = 1, #names do
    local x = margin(points, k)
    model.low[k], model.high[k] = x[1], x[#x]
  end
  return model
end

---@class pmlua.ModelOptions
---@field factors? string[] one or two; of points { "n" } or { "n", "m" }
---@field value? string column of a run's data.dat; "median"
---@field where? table<string, any> values of the other factors of a run

--- Find how values grow with one or two factors. A single factor is tried with powers from -2 to 3 in steps of 0.05
--- and a third, and with log2 and its square; two factors with the sums and the product of what each has alone.
---@param data number[][]|table points { n, value } or { n, m, value }, a place also several times; or a run
---@param options? pmlua.ModelOptions
---@return pmlua.Model? model, pmlua.Failure? failure the data does not bear a model
function M.fit(data, options)
  options = options or {}
  local points, err = data, nil
  if data.data or data.cells then points, err = M.points(data, options) end
  if not points then return nil, err end
  local names = factor_names(points, options)
  if #names < 1 or #names > 2 then error("model.fit: factors must name one or two", 2) end
  local wrong, remedy = wrong_point(points, names), nil
  if not wrong then wrong, remedy = too_few(points, names) end
  if wrong then return refuse("ENODATA", wrong, remedy) end
  local found, y = {}, column_of(points, function(p) return p[#names + 1] + 0.0 end)
  for k = 1, #names do
    if #names == 1 then
      found[k] = shape_of(column_of(points, function(p) return p[1] end), y) or false
    else
      found[k] = shape_of(margin(points, k)) or false
    end
  end
  return made(points, names, y, combinations(found))
end

--- The value that the model gives, and the interval of one more measurement there: Student's, for independent normal errors
--- of one size at all points, if the terms are the right ones. Beyond the points it is a guess of the same growth.
---@param at number|number[] the factor, or both
---@param level? number 0.95
---@return number value, number? low nil: too few points for an interval
---@return number? high
function Model:predict(at, level)
  local p = type(at) == "table" and at or { at }
  local row, value = { 1.0 }, self.constant
  for i, term in ipairs(self.chosen) do
    row[i + 1] = term_value(term, p)
    value = value + self.terms[i].coefficient * row[i + 1]
  end
  if not self.spread then return value end
  local reach = stats.student_quantile(1 - (level or 0.95), self.free) * self.spread * math.sqrt(1 + self.design:variance(row))
  return value, value - reach, value + reach
end

local function power_text(name, power, log)
  local parts = {}
  if power ~= 0 then parts[1] = power == 1 and name or ("%s^%.3g"):format(name, power) end
  if log > 0 then parts[#parts + 1] = ("log2(%s)%s"):format(name, log == 1 and "" or "^" .. log) end
  return parts[1] and table.concat(parts, " ")
end

--- How it grows: "n^1.5", "n log2(n)", "constant".
---@return string
function Model:growth()
  local sums = {}
  for i, term in ipairs(self.terms) do
    local parts = {}
    for k, name in ipairs(self.factors) do parts[#parts + 1] = power_text(name, term.power[k], term.log[k]) end
    sums[i] = table.concat(parts, " ")
  end
  return #sums > 0 and table.concat(sums, " + ") or "constant"
end

function Model:__tostring()
  local text, i = ("%.4g"):format(self.constant), 0
  if #self.terms == 0 then return text end
  for part in (self:growth() .. " + "):gmatch "(.-) %+ " do
    i = i + 1
    local c = self.terms[i].coefficient
    text = ("%s %s %.4g %s"):format(text, c < 0 and "-" or "+", math.abs(c), part)
  end
  return text
end

return M
