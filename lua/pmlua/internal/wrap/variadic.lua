-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/variadic.lua - a function with "..." is forwarded to its twin that takes a va_list.
--
-- A twin has the same parameters with a va_list in the place of "...", and the same name but for a 'v': printf, vprintf;
-- gmp_printf, gmp_vprintf; gzprintf, gzvprintf. Any other is named by the user: --variadic log=log_va.
--
-- Try:  pmlua wrap init --name stdio --headers stdio.h --libs -lc --variadic printf=vprintf

local M = {}

local function takes_list(p) return p.canonical:find("va_list", 1, true) ~= nil end

--- Whether @twin can stand for @f.
local function fits(f, twin)
  local n = #f.parameters
  if twin.variadic or #twin.parameters ~= n + 1 or twin.method ~= f.method or twin.canonical_result ~= f.canonical_result then
    return false
  end
  for i, p in ipairs(f.parameters) do
    if p.canonical ~= twin.parameters[i].canonical then return false end
  end
  return takes_list(twin.parameters[n + 1])
end

--- The name of @f with one 'v' or 'V' more, anywhere in its last part, with or without a '_' behind it.
local function usual(f, name)
  local scope, own = f:match("^(.*::)([^:]*)$")
  local its_scope, its = name:match("^(.*::)([^:]*)$")
  if scope ~= its_scope then return false end
  own, its = own or f, its or name
  for i = 1, #its do
    local c = its:sub(i, i)
    if (c == "v" or c == "V") and (its:sub(1, i - 1) .. its:sub(i + 1) == own
      or its:sub(i + 1, i + 1) == "_" and its:sub(1, i - 1) .. its:sub(i + 2) == own) then
      return true
    end
  end
  return false
end

local function find(f, all, given)
  for _, twin in ipairs(all) do
    if given and (twin.symbol == given or twin.name == given) and fits(f, twin) then return twin end
    if not given and usual(f.name, twin.name) and fits(f, twin) then return twin end
  end
end

--- Give variadic functions their twins; the caller gets the reason why one cannot have any.
---@param all pmlua.wrap.function[] of the library
---@param given table<string, string> function -> twin
---@return fun(f: pmlua.wrap.function): string? why
function M.twin(all, given)
  return function(f)
    if not f.variadic then return nil end
    local name = given[f.symbol] or given[f.name]
    f.twin = find(f, all, name)
    if f.twin then return nil end
    if name then return ("%s must have the same parameters, with a va_list at the end"):format(name) end
    return "it takes '...' and has no twin with a va_list; name one with --variadic " .. f.symbol .. "=TWIN"
  end
end

return M
