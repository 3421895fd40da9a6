-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/values.lua - which arguments and results a wrapper records, from "FUNCTION:ARGUMENT[=HOW]".
--
-- ARGUMENT is a parameter's name or number, or "return"; HOW is metric (on the event), recorder (a software-defined
-- event with quantiles) or both, which is the default. Integers, enumerations, floating-point numbers and texts can be
-- recorded; texts as metrics only.
--
-- Try:  pmlua wrap init --name zlib --headers zlib.h --libs -lz --record deflate:return

local refuse = require "pmlua.core".failure.refuse

local M = {}

local ways = {
  metric = "PML_WRAP_METRIC",
  recorder = "PML_WRAP_RECORD",
  both = "PML_WRAP_METRIC | PML_WRAP_RECORD",
}

-- Kinds of types as libclang numbers them.
local INTEGERS, ENUM, REALS = { first = 3, last = 19 }, 106, { [21] = true, [22] = true, [23] = true }
local WIDE = { [12] = true } -- 128 bits

-- Types of instantiated templates are known by name only.
local named = { bool = "INTEGER", char = "INTEGER", ["signed char"] = "INTEGER", ["unsigned char"] = "INTEGER",
  short = "INTEGER", ["unsigned short"] = "INTEGER", int = "INTEGER", ["unsigned int"] = "INTEGER", long = "INTEGER",
  ["unsigned long"] = "INTEGER", ["long long"] = "INTEGER", ["unsigned long long"] = "INTEGER", float = "REAL",
  double = "REAL", ["long double"] = "REAL", ["char const*"] = "TEXT", ["char*"] = "TEXT" }

--- INTEGER, REAL or TEXT; nil: it cannot be recorded.
local function type_of(kind, canonical)
  if not kind then return named[canonical] end
  if kind == ENUM or kind >= INTEGERS.first and kind <= INTEGERS.last and not WIDE[kind] then return "INTEGER" end
  if REALS[kind] then return "REAL" end
  if canonical == "const char *" or canonical == "char *" then return "TEXT" end
end

--- Parse "f:arg=how"; nil and the error.
---@return { f: string, argument: string, how: string }?, pmlua.Failure? failure
function M.parse(text)
  local f, argument, how = text:match("^(.*[^:]):([%w_]+)=?(.*)$")
  if how == "" then how = "both" end
  if not f or not ways[how] then
    return refuse("EINVAL", ("--record %s: not FUNCTION:ARGUMENT"):format(text),
      "write FUNCTION:ARGUMENT, with =metric or =recorder for only one of the two")
  end
  return { f = f, argument = argument, how = how }
end

local function names(f)
  local list = {}
  for i, p in ipairs(f.parameters) do list[i] = p.name ~= "" and p.name or tostring(i) end
  if f.canonical_result ~= "void" then list[#list + 1] = "return" end
  return #list > 0 and table.concat(list, ", ") or "none"
end

local function parameter(f, argument)
  for i, p in ipairs(f.parameters) do
    if p.name == argument or i == math.tointeger(tonumber(argument)) then return i, p end
  end
end

local function add(f, wish)
  local result = wish.argument == "return"
  local number, p = parameter(f, wish.argument)
  if result and f.canonical_result ~= "void" then p = { kind = f.result_kind, canonical = f.canonical_result } end
  if not p or result == (number ~= nil) then
    return refuse("ENOENT", ("%s has no argument '%s'"):format(f.symbol, wish.argument), "choose one of " .. names(f))
  end
  local kind = type_of(p.kind, p.canonical)
  if not kind then
    return refuse("ENOTSUP", ("%s: %s is a %s, which cannot be recorded"):format(f.symbol, wish.argument, p.canonical))
  end
  if kind == "TEXT" and wish.how == "recorder" then
    return refuse("ENOTSUP", ("%s: %s is a string, which no recorder keeps"):format(f.symbol, wish.argument), "append =metric")
  end
  local list = result and "out" or "inside"
  f[list] = f[list] or {}
  table.insert(f[list], { name = wish.argument, number = number, type = kind,
    keep = ways[kind == "TEXT" and "metric" or wish.how] })
  return true
end

--- Whether a wish means the function: its symbol, or its name or title, all of it or the last parts.
local function meant(f, wish)
  for _, name in ipairs { f.name, f.title } do
    if name == wish or name:sub(-#wish - 2) == "::" .. wish then return true end
  end
  return f.symbol == wish
end

--- Mark the recorded arguments in the functions; nil and the error.
---@param functions pmlua.wrap.function[]
---@return true?, pmlua.Failure? failure
function M.choose(functions, wishes)
  for _, text in ipairs(wishes) do
    local wish, wrong = M.parse(text)
    if not wish then return nil, wrong end
    local found, known = false, {}
    for _, f in ipairs(functions) do
      known[#known + 1] = f.name
      if meant(f, wish.f) then
        found = true
        local added, err = add(f, wish)
        if not added then return refuse(err, "--record " .. text) end
      end
    end
    if not found then
      local nearest = require "pmlua.internal.nearest"(wish.f, known)
      return refuse("ENOENT", ("--record %s: no such function is wrapped"):format(text),
        nearest and "did you mean " .. nearest .. "?")
    end
  end
  return true
end

return M
