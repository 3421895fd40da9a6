-- SPDX-License-Identifier: BSD-3-Clause
--- Expressions of metrics as perf, Intel and Arm write them, turned into formulas.
--
-- They have conditions (a if c else b), comparisons, literals of the machine (#SMT_on), events with dots, and events
-- of a PMU between @ signs with escapes. A formula has arithmetic only: conditions are decided where they hold constants,
-- and refused where they hold counts.
--
--     local node = assert(expression.parse "100 * A.B / C if #SMT_on else D")

local M = {}

local LENGTH_MAX, DEPTH_MAX = 20000, 200

---@alias pmlua.Expression { op: string, value: number?, name: string?, [integer]: pmlua.Expression }

-- --- words ---

local function number_at(text, at)
  return text:match("^0[xX]%x+", at) or text:match("^%d+%.?%d*[eE][-+]?%d+", at) or text:match("^%.%d+", at)
    or text:match("^%d+%.?%d*", at)
end

--- A name may continue after an escape (\-), and contains any characters between two @; escaped characters are literal.
local function name_at(text, at)
  local first, out = at, {}
  if not text:find("^[%a_#]", at) then return nil end
  while at <= #text do
    local c = text:sub(at, at)
    if c == "\\" and at < #text then
      out[#out + 1] = text:sub(at + 1, at + 1)
      at = at + 2
    elseif c == "@" then
      local last = text:find("@", at + 1, true)
      if not last then return nil, "an @ that nothing closes" end
      out[#out + 1] = "/" .. text:sub(at + 1, last - 1):gsub("\\(.)", "%1") .. "/"
      at = last + 1
    elseif c:find "[%w_.:#]" then
      out[#out + 1] = c
      at = at + 1
    else
      break
    end
  end
  return text:sub(first, at - 1), table.concat(out)
end

local function words(text)
  local list, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then break end
    local number = number_at(text, at)
    local raw, name = name_at(text, at)
    if number then
      list[#list + 1] = { "number", number, at }
      at = at + #number
    elseif raw then
      list[#list + 1] = { (raw == "if" or raw == "else") and raw or "name", name, at }
      at = at + #raw
    elseif text:find("^[-+*/%%(),<>|&=!]", at) then
      list[#list + 1] = { text:sub(at, at), text:sub(at, at), at }
      at = at + 1
    else
      return nil, name or ("an unexpected character in column %d"):format(at)
    end
  end
  list[#list + 1] = { "end", "its end", #text + 1 }
  return list
end

-- --- the parser ---

local function fail(what) error({ what = what }, 0) end

local Parser = {}
Parser.__index = Parser

function Parser:peek() return self.list[self.i][1] end

function Parser:take()
  self.i = self.i + 1
  return self.list[self.i - 1]
end

function Parser:expect(kind)
  local w = self:take()
  if w[1] ~= kind then fail(("%s where '%s' is expected"):format(w[2], kind)) end
  return w
end

function Parser:primary()
  local w = self:take()
  if w[1] == "number" then return { op = "number", value = tonumber(w[2]) + 0.0 } end
  if w[1] == "-" then return { op = "negate", self:deeper(self.primary) } end
  if w[1] == "+" then return self:deeper(self.primary) end
  if w[1] == "(" then
    local inner = self:deeper(self.condition)
    self:expect ")"
    return inner
  elseif w[1] == "name" and self:peek() == "(" then
    local call = { op = "call", name = w[2] }
    self:take()
    repeat call[#call + 1] = self:deeper(self.condition) until self:peek() ~= "," or not self:take()
    self:expect ")"
    return call
  elseif w[1] == "name" then
    return { op = "name", name = w[2] }
  end
  fail(("%s where a value is expected"):format(w[2]))
end

function Parser:deeper(rule)
  self.depth = self.depth + 1
  if self.depth > DEPTH_MAX then fail "it is nested too deeply" end
  local node = rule(self)
  self.depth = self.depth - 1
  return node
end

local LEVELS <const> = { { "|" }, { "&" }, { "<", ">" }, { "+", "-" }, { "*", "/", "%" } }

function Parser:level(n)
  local signs = LEVELS[n]
  if not signs then return self:primary() end
  local left = self:level(n + 1)
  while true do
    local kind = self:peek()
    if kind ~= signs[1] and kind ~= signs[2] and kind ~= signs[3] then return left end
    self:take()
    left = { op = kind, left, self:level(n + 1) }
  end
end

function Parser:condition()
  local value = self:level(1)
  if self:peek() ~= "if" then return value end
  self:take()
  local test = self:level(1)
  self:expect "else"
  return { op = "if", value, test, self:deeper(self.condition) }
end

--- Parse an expression.
---@return pmlua.Expression? node, string? why not
function M.parse(text)
  if #text > LENGTH_MAX then return nil, ("it is longer than %d characters"):format(LENGTH_MAX) end
  local list, why = words(text)
  if not list then return nil, why end
  local parser = setmetatable({ list = list, i = 1, depth = 0 }, Parser)
  local done, node = pcall(function()
    local whole = parser:condition()
    if parser:peek() ~= "end" then fail(("%s where it should end"):format(parser.list[parser.i][2])) end
    return whole
  end)
  if done then return node end
  if type(node) ~= "table" then error(node, 0) end
  return nil, node.what
end

-- --- to a formula ---

local function truth(value) return value and 1.0 or 0.0 end

local fold = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return b ~= 0 and a / b or nil end,
  ["%"] = function(a, b) return b ~= 0 and a % b or nil end,
  ["<"] = function(a, b) return truth(a < b) end,
  [">"] = function(a, b) return truth(a > b) end,
  ["|"] = function(a, b) return truth(a ~= 0 or b ~= 0) end,
  ["&"] = function(a, b) return truth(a ~= 0 and b ~= 0) end,
}

local Writer = {}
Writer.__index = Writer

--- The value of a node that needs no count; nil if it is unknown.
function Writer:constant(node)
  if node.op == "number" then return node.value end
  if node.op == "negate" then
    local v = self:constant(node[1])
    return v and -v
  elseif node.op == "name" then
    local kind, value = self.resolve(node.name)
    return kind == "number" and value or nil
  elseif fold[node.op] then
    local a, b = self:constant(node[1]), self:constant(node[2])
    return a and b and fold[node.op](a, b)
  elseif node.op == "if" then
    local test = self:constant(node[2])
    return test and self:constant(test ~= 0 and node[1] or node[3])
  end
end

local function written(number)
  if number == math.floor(number) and math.abs(number) < 2 ^ 53 then return ("%d"):format(number) end
  return ("%.17g"):format(number)
end

local function constant_text(value) return value < 0 and ("(%s)"):format(written(value)) or written(value) end

function Writer:name(name)
  local kind, value = self.resolve(name)
  if kind == "number" then return constant_text(value) end
  if kind == "key" then return value end
  if kind == "expression" then
    self.depth = self.depth + 1
    if self.depth > DEPTH_MAX then fail(name .. " is made of itself") end
    local inner = "(" .. self:text(value) .. ")"
    self.depth = self.depth - 1
    return inner
  end
  fail(value or name .. ": unknown")
end

--- Text of which an operator may take all.
function Writer:operand(node)
  local text, open = self:text(node)
  return open and "(" .. text .. ")" or text
end

function Writer:call(node)
  if node.name == "d_ratio" and #node == 2 then return self:operand(node[1]) .. " / " .. self:operand(node[2]), true end
  local args = {}
  for i, a in ipairs(node) do args[i] = self:text(a) end
  if node.name == "min" or node.name == "max" then return ("%s(%s)"):format(node.name, table.concat(args, ", ")) end
  error({ what = ("it calls %s, which formulas have not"):format(node.name) }, 0)
end

--- The text of a node, and whether it is open: an operator beside it would take a part of it.
---@return string text, boolean? open
function Writer:text(node)
  self.length = self.length + 1
  if self.length > 2000 then error({ what = "it is too long with the metrics it is made of" }, 0) end
  local op = node.op
  if op == "number" then return constant_text(node.value) end
  if op == "name" then return self:name(node.name) end
  if op == "call" then return self:call(node) end
  if op == "negate" then return ("(-%s)"):format(self:operand(node[1])) end
  if op == "if" then
    local test = self:constant(node[2])
    if not test then error({ what = "it depends on a condition of counts" }, 0) end
    return self:text(test ~= 0 and node[1] or node[3])
  end
  local folded = self:constant(node)
  if folded then return constant_text(folded) end
  if op == "<" or op == ">" or op == "|" or op == "&" or op == "%" then
    error({ what = ("it has the operator %s on counts"):format(op) }, 0)
  end
  return self:operand(node[1]) .. " " .. op .. " " .. self:operand(node[2]), true
end

--- Write a parsed expression as a formula.
---@param node pmlua.Expression
---@param resolve fun(name: string): string, any what a name is: "number" and it, "key" and the formula's name,
---  "expression" and its node, or "unknown" and why
---@return string? formula, string? why not
function M.formula(node, resolve)
  local writer = setmetatable({ resolve = resolve, depth = 0, length = 0 }, Writer)
  local done, text = pcall(writer.text, writer, node)
  if done then return text end
  if type(text) ~= "table" then error(text, 0) end
  return nil, text.what
end

return M
