-- SPDX-License-Identifier: BSD-3-Clause
--- Formulas of metrics: arithmetic over counts, and nothing else.
--
-- A formula is text from a data file, so it is parsed here and never passed to Lua. It supports numbers, names, + - * / ^,
-- parentheses, and max(a, ...), min(a, ...), sqrt(a), abs(a). The result is NaN, with the reason, for a name without a value,
-- a division by zero, or a root of a negative number.
--
-- Counted things (operations, cycles, instructions) have no dimension, as in SI; seconds and bytes have one, and a sum of
-- bytes and seconds is an error before anything is measured.
--
--     pmlua -e 'print(pml.formula.compile("64 * lines / time"):value { lines = 1e9, time = 2 })'

local refuse = require "pmlua.core".failure.refuse

---@class pml.formula
local M = {}

M.NAN = 0 / 0
local LENGTH_MAX, DEPTH_MAX = 4000, 100

-- --- words ---

local function word(text, at)
  local number = text:match("^%d+%.?%d*[eE][-+]?%d+", at) or text:match("^%d+%.?%d*", at)
  if number then
    if text:find("^[%w_.]", at + #number) then return nil, "a malformed number" end
    return "number", number
  end
  local name = text:match("^[%a_][%w_]*", at)
  if name then return "name", name end
  local sign = text:match("^[-+*/^(),]", at)
  if sign then return sign, sign end
  local bad = text:match("^" .. utf8.charpattern, at) or text:sub(at, at)
  return nil, ("an unexpected '%s'"):format(utf8.len(bad) and not bad:find("%c") and bad or "\\" .. bad:byte())
end

--- All words of the text: { kind, text, at }; the last has kind "end".
local function words(text)
  local list, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then break end
    local kind, found = word(text, at)
    if not kind then return nil, at, found end
    list[#list + 1] = { kind = kind, text = found, at = at }
    at = at + #found
  end
  list[#list + 1] = { kind = "end", text = "", at = #text + 1 }
  return list
end

-- --- the parser: a node is { op, ..., first = , last = } with the columns of its text ---

local functions = { max = { 1, 16 }, min = { 1, 16 }, sqrt = { 1, 1 }, abs = { 1, 1 } }

local Parser = {}
Parser.__index = Parser

function Parser:fail(what, at)
  error({ at = at or self.list[self.i].at, what = what }, 0)
end

function Parser:peek() return self.list[self.i].kind end

function Parser:take()
  local w = self.list[self.i]
  self.i = self.i + 1
  return w
end

function Parser:expect(kind, after)
  local w = self.list[self.i]
  if w.kind ~= kind then
    self:fail(w.kind == "end" and ("'%s' is missing %s"):format(kind, after) or
      ("'%s' where '%s' is expected"):format(w.text, kind))
  end
  return self:take()
end

function Parser:call(name)
  local arity, args = functions[name.text], {}
  if not arity then self:fail(("no function '%s'; use abs, max, min or sqrt"):format(name.text), name.at) end
  self:take()
  repeat args[#args + 1] = self:sum() until self:peek() ~= "," or not self:take()
  local close = self:expect(")", "after the arguments of " .. name.text)
  if #args < arity[1] or #args > arity[2] then
    self:fail(("%s takes %s"):format(name.text, arity[2] == 1 and "one argument" or "1 to 16 arguments"), name.at)
  end
  return { op = name.text, args = args, first = name.at, last = close.at }
end

function Parser:primary()
  local w = self:take()
  if w.kind == "number" then
    local v = tonumber(w.text)
    if v == math.huge then self:fail("a number too large", w.at) end
    return { op = "number", value = v + 0.0, first = w.at, last = w.at + #w.text - 1 }
  elseif w.kind == "name" then
    if self:peek() == "(" then return self:call(w) end
    return { op = "name", name = w.text, first = w.at, last = w.at + #w.text - 1 }
  elseif w.kind == "(" then
    local inner = self:sum()
    self:expect(")", "for the '(' in column " .. w.at)
    return inner
  end
  local what = w.kind == "end" and "the formula ends" or ("'%s'"):format(w.text)
  self:fail(what .. " where a value is expected", w.at)
end

--- A sign binds looser than a power, as in mathematics: -a^2 is -(a^2).
function Parser:unary()
  self.depth = self.depth + 1
  if self.depth > DEPTH_MAX then self:fail("nested too deeply") end
  local node
  if self:peek() == "-" then
    local sign = self:take()
    local inner = self:unary()
    node = { op = "negate", inner, first = sign.at, last = inner.last }
  else
    node = self:primary()
    if self:peek() == "^" then
      self:take()
      local power = self:unary()
      node = { op = "^", node, power, first = node.first, last = power.last }
    end
  end
  self.depth = self.depth - 1
  return node
end

function Parser:chain(operand, first, second)
  local left = operand(self)
  while self:peek() == first or self:peek() == second do
    local op = self:take().kind
    local right = operand(self)
    left = { op = op, left, right, first = left.first, last = right.last }
  end
  return left
end

function Parser:product() return self:chain(self.unary, "*", "/") end
function Parser:sum() return self:chain(self.product, "+", "-") end

local function names_of(node, seen, list)
  if node.op == "name" and not seen[node.name] then
    seen[node.name] = true
    list[#list + 1] = node.name
  end
  for _, child in ipairs(node.args or node) do names_of(child, seen, list) end
  return list
end

-- --- values ---

local arithmetic = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["^"] = function(a, b) return a ^ b end,
}

local evaluate

local function evaluate_call(self, node, values)
  local result
  for i, argument in ipairs(node.args) do
    local v, why = evaluate(self, argument, values)
    if why then return M.NAN, why end
    if i == 1 then result = v
    elseif node.op == "max" then result = math.max(result, v)
    else result = math.min(result, v) end
  end
  if node.op == "abs" then return math.abs(result) end
  if node.op ~= "sqrt" then return result end
  if result < 0 then return M.NAN, ("the root of a negative number: %s"):format(self.text:sub(node.first, node.last)) end
  return math.sqrt(result)
end

function evaluate(self, node, values)
  local op = node.op
  if op == "number" then return node.value end
  if op == "name" then
    local v = values[node.name]
    if type(v) ~= "number" then return M.NAN, node.name .. " was not counted" end
    if v ~= v then return M.NAN, node.name .. " is not known" end
    return v + 0.0
  end
  if node.args then return evaluate_call(self, node, values) end
  local a, why = evaluate(self, node[1], values)
  if why then return M.NAN, why end
  if op == "negate" then return -a end
  local b
  b, why = evaluate(self, node[2], values)
  if why then return M.NAN, why end
  if op == "/" then
    if b == 0 then return M.NAN, ("division by zero: %s is 0"):format(self.text:sub(node[2].first, node[2].last)) end
    return a / b
  end
  return arithmetic[op](a, b)
end

-- --- dimensions: { s = -1, byte = 1 }; {} for counts ---

local function same(a, b) return (a.s or 0) == (b.s or 0) and (a.byte or 0) == (b.byte or 0) end

local function combine(a, b, sign)
  return { s = (a.s or 0) + sign * (b.s or 0), byte = (a.byte or 0) + sign * (b.byte or 0) }
end

local function dimension_text(d)
  local parts = {}
  for _, base in ipairs { "byte", "s" } do
    local e = d[base] or 0
    if e ~= 0 then parts[#parts + 1] = e == 1 and base or ("%s^%g"):format(base, e) end
  end
  return #parts > 0 and table.concat(parts, " ") or "a plain number"
end

local dimension

local function dimension_same(self, children, dimensions)
  local first = dimension(self, children[1], dimensions)
  for i = 2, #children do
    local other = dimension(self, children[i], dimensions)
    if not same(first, other) then
      error({ at = children[i].first, what = ("%s and %s cannot be added or compared"):format(dimension_text(first),
        dimension_text(other)) }, 0)
    end
  end
  return first
end

function dimension(self, node, dimensions)
  local op = node.op
  if op == "number" then return {} end
  if op == "name" then return dimensions[node.name] or {} end
  if node.args then
    local d = dimension_same(self, node.args, dimensions)
    return op == "sqrt" and { s = (d.s or 0) / 2, byte = (d.byte or 0) / 2 } or d
  end
  if op == "negate" then return dimension(self, node[1], dimensions) end
  if op == "+" or op == "-" then return dimension_same(self, node, dimensions) end
  local a, b = dimension(self, node[1], dimensions), dimension(self, node[2], dimensions)
  if op == "^" then
    if same(a, {}) and same(b, {}) then return {} end
    error({ at = node.first, what = "a power of a value with a unit" }, 0)
  end
  return combine(a, b, op == "*" and 1 or -1)
end

--- The dimension that a unit such as "byte/s" or "flop" declares: only bytes and seconds have one.
---@param unit string
---@return table dimension
function M.unit_dimension(unit)
  local above, below = unit:match("^([^/]*)/?(.*)$")
  local function of(text) return { s = text == "s" and 1 or 0, byte = text == "byte" and 1 or 0 } end
  return combine(of(above), of(below), -1)
end

-- --- a formula ---

---@class pmlua.Formula
---@field text string
---@field names string[] in the order of their first use
local Formula = {}
Formula.__index = Formula

--- Evaluate the formula.
---@param values table<string, number>
---@return number value NaN where it cannot be calculated
---@return string? reason why it is NaN
function Formula:value(values)
  local v, why = evaluate(self, self.root, values)
  if why then return v, why end
  if v ~= v or v == math.huge or v == -math.huge then return M.NAN, "the result is too large for a number" end
  return v
end

--- Does it come out in @unit?
---@param unit string "byte/s", "s", "flop", ...
---@param dimensions table<string, table> of its names; a missing name has no dimension
---@return boolean? ok, pmlua.Failure? failure "column N: what"
function Formula:check_unit(unit, dimensions)
  local done, d = pcall(dimension, self, self.root, dimensions)
  if not done then return refuse("EINVAL", ("column %d: %s"):format(d.at, d.what)) end
  local wanted = M.unit_dimension(unit)
  if same(d, wanted) then return true end
  return refuse("EINVAL", ("column 1: the formula's unit is %s, not %s"):format(dimension_text(d), unit))
end

--- Parse a formula.
---@param text string
---@return pmlua.Formula? formula, pmlua.Failure? failure "column N: what"
function M.compile(text)
  if #text > LENGTH_MAX then
    return refuse("EINVAL", ("column %d: longer than %d characters"):format(LENGTH_MAX + 1, LENGTH_MAX))
  end
  local list, at, what = words(text)
  if not list then return refuse("EINVAL", ("column %d: %s"):format(at, what)) end
  local parser = setmetatable({ list = list, i = 1, depth = 0 }, Parser)
  local done, root = pcall(function()
    local node = parser:sum()
    if parser:peek() ~= "end" then parser:fail(("'%s' where the formula should end"):format(list[parser.i].text)) end
    return node
  end)
  if not done then
    if type(root) ~= "table" then error(root, 0) end
    return refuse("EINVAL", ("column %d: %s"):format(root.at, root.what))
  end
  return setmetatable({ text = text, root = root, names = names_of(root, {}, {}) }, Formula)
end

return M
