-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/templates.lua - functions of templates that the library has instantiated.
--
-- A header with `extern template class Matrix<double>;` leaves the code to the library. The library's instantiations are found
-- in its symbol table: the demangled name contains class, function and types of the arguments, but not the type of the result,
-- which the compiler deduces from a call of the member with these arguments.
--
-- Try:  print(require("pmlua.internal.wrap.templates").parse("Vec<int>::push(int const&)").name)

local choose = require "pmlua.internal.wrap.choose"
local lists = require "pmlua.internal.lists"

local M = {}

local opens = { ["("] = ")", ["<"] = ">", ["["] = "]", ["{"] = "}" }
local closes = { [")"] = true, [">"] = true, ["]"] = true, ["}"] = true }

--- Positions of @what in @text that are in no brackets.
local function outside(text, what)
  local depth, found, i = 0, {}, 1
  while i <= #text do
    local c = text:sub(i, i)
    if opens[c] then depth = depth + 1 end
    if closes[c] and text:sub(i - 1, i) ~= "->" then depth = depth - 1 end
    if depth == 0 and text:sub(i, i + #what - 1) == what then found[#found + 1] = i end
    i = i + 1
  end
  return found
end

local function split(text, separator)
  local parts, from = {}, 1
  for _, at in ipairs(outside(text, separator)) do
    parts[#parts + 1] = text:sub(from, at - 1)
    from = at + #separator
  end
  parts[#parts + 1] = text:sub(from)
  return parts
end

local function trim(text) return text:match("^%s*(.-)%s*$") end

--- The '(' that belongs to the ')' at the end.
local function arguments_of(text)
  local depth = 0
  for i = #text, 1, -1 do
    local c = text:sub(i, i)
    if c == ")" then depth = depth + 1 end
    if c == "(" then depth = depth - 1 end
    if depth == 0 then return i end
  end
end

--- The operator at the end of a head, which may have brackets and blanks in its name: "A<int>::operator()".
local function operator_of(head)
  local at = head:find("operator[^%w_][^:]*$") or head:find("operator$")
  if at and (at == 1 or head:sub(at - 1, at - 1):find("[:%s]")) then return head:sub(1, at - 1), head:sub(at) end
end

--- Result, qualified name in parts, parameters, whether it is const, of a demangled function; nil if it is not a function.
---@return table?
function M.parse(title)
  if title:find("[clone", 1, true) or title:find("thunk to ", 1, true) then return nil end
  local text, qualifiers = title:match("^(.*%))([%sconst&]*)$")
  local at = text and arguments_of(text)
  if not at then return nil end
  local head, inside = text:sub(1, at - 1), text:sub(at + 1, -2)
  local before, operator = operator_of(head)
  local name = (before or head):gsub("%[abi:[%w_]+%]", "")
  local blanks = outside(name, " ")
  local result = #blanks > 0 and name:sub(1, blanks[#blanks] - 1) or nil
  if result then name = name:sub(blanks[#blanks] + 1) end
  local parts = split(name:gsub("::$", ""), "::")
  if operator then parts[#parts + 1] = operator end
  local parameters = lists.map(inside ~= "" and split(inside, ",") or {}, trim)
  return { result = result, parts = parts, name = table.concat(parts, "::"), parameters = parameters,
    const = qualifiers:find("const", 1, true) ~= nil, operator = operator }
end

local function bare(part) return (part:gsub("<.*$", "")) end

--- Qualified names without arguments: templates of classes, of functions, and what their members are.
local function known(unit, own)
  local set = { class = {}, ["function"] = {}, member = {} }
  for _, d in ipairs(unit.declarations) do
    if d.template and own(d.file or "") then
      local name = d.scope .. d.name
      if d.kind == "class template" then set.class[name] = d
      elseif d.kind == "function template" then set["function"][name] = d end
      local other = set.member[name]
      if other and other.static ~= d.static then set.member[name] = { mixed = true, file = d.file, line = d.line }
      else set.member[name] = d end
    end
  end
  return set
end

--- The declaration behind the parts of a name, if it is one of the headers' templates.
local function declaration(p, set)
  local path, class = "", nil
  for i, part in ipairs(p.parts) do
    local operator = p.operator and i == #p.parts
    path = path .. (path == "" and "" or "::") .. (operator and part or bare(part))
    if i < #p.parts and part:find("<", 1, true) then class = class or set.class[path] end
  end
  if class then return set.member[path] or class, true end
  -- the demangled names of functions that are not templates do not contain the result
  return p.result and set["function"][path], false
end

--- C++ expressions for the type of the result, which the compiler deduces; a second one for ambiguous calls.
local function result_of(p, of_class)
  local last, class = p.parts[#p.parts], p.parts[#p.parts - 1]
  if of_class and (last:sub(1, 1) == "~" or bare(last) == bare(class or "")) then return "void" end
  if p.operator and p.operator:find("^operator [%w_]") and not p.operator:find("^operator [nd]e[wl]") then
    return p.operator:sub(10)
  end
  if p.result then return p.result end
  local arguments = lists.map(p.parameters, function(t) return ("std::declval<%s>()"):format(t) end)
  local object = table.concat(p.parts, "::", 1, #p.parts - 1)
  return ("decltype(std::declval<%s%s &>().%s(%s))"):format(object, p.const and " const" or "", last,
    table.concat(arguments, ", ")),
    ("decltype(pmlw_with<%s>::%s(&%s))"):format(table.concat(p.parameters, ", "), p.const and "of_const" or "of", p.name)
end

local function functions_of(symbol, p, d, of_class, title)
  local parameters = {}
  for i, t in ipairs(p.parameters) do parameters[i] = { name = "", type = t, canonical = t } end
  local f = { symbol = symbol, title = title, name = p.name, file = d.file, line = d.line, parameters = parameters,
    method = of_class and not d.static }
  f.result, f.other_result = result_of(p, of_class)
  f.canonical_result = f.result
  if d.mixed then f.why = "static and other functions share its name in the template" end
  if parameters[#parameters] and parameters[#parameters].type == "..." then f.why = "a template's function that takes '...'" end
  return f
end

--- The functions that the library instantiated from the headers' templates.
---@param own fun(file: string): boolean
---@param defined table<string, table> symbol -> library
---@param seen table<string, true> symbols that are declared separately
---@return pmlua.wrap.function[] functions, table[] left
function M.instantiated(unit, own, defined, seen)
  local set, symbols, functions, left = known(unit, own), {}, {}, {}
  if not next(set.class) and not next(set["function"]) then return functions, left end
  for symbol in pairs(defined) do
    if symbol:find("^_Z.*I") and not seen[symbol] then symbols[#symbols + 1] = symbol end
  end
  table.sort(symbols)
  local titles = choose.demangle(symbols)
  for _, symbol in ipairs(symbols) do
    local title = titles[symbol]
    local p = title and M.parse(title)
    local d, of_class
    if p then d, of_class = declaration(p, set) end
    if d then
      local f = functions_of(symbol, p, d, of_class, title)
      table.insert(f.why and left or functions, f)
    end
  end
  return functions, left
end

return M
