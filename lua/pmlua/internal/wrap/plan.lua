-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/plan.lua - from headers, libraries and filter to the functions that are wrapped, and those left out.
--
-- Try:  pmlua wrap check

local choose = require "pmlua.internal.wrap.choose"
local headers = require "pmlua.internal.wrap.headers"
local library = require "pmlua.internal.wrap.library"
local shell = require "pmlua.internal.wrap.shell"
local templates = require "pmlua.internal.wrap.templates"
local values = require "pmlua.internal.wrap.values"
local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

local M = {}

-- --- a function with "..." is forwarded to its twin that takes a va_list ---

-- A twin has the same parameters with a va_list in the place of "...", and the same name but for a 'v': printf, vprintf;
-- gmp_printf, gmp_vprintf; gzprintf, gzvprintf. Any other is named by the user: --variadic log=log_va.

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
local function twin(all, given)
  return function(f)
    if not f.variadic then return nil end
    local name = given[f.symbol] or given[f.name]
    f.twin = find(f, all, name)
    if f.twin then return nil end
    if name then return ("%s must have the same parameters, with a va_list at the end"):format(name) end
    return "it takes '...' and has no twin with a va_list; name one with --variadic " .. f.symbol .. "=TWIN"
  end
end

---@class pmlua.wrap.plan
---@field functions pmlua.wrap.function[] that are wrapped, by symbol
---@field left table[] that are not, with @why
---@field missing table[] those of @left that no library has
---@field foreign table[] those of @left that link without the libraries
---@field libraries table[]

--- The filter, and whether it says which files are meant; nil and why.
local function filter_of(cfg)
  local core = require "pmlua.core"
  local text = shell.slurp(cfg.filter)
  if not text then return { wants = function() return true end }, false end
  local filter, err = core.filter.open(cfg.filter)
  if not filter then return refuse(err) end
  return filter, ("\n" .. text):find("\n%s*SCOREP_FILE_NAMES_BEGIN") ~= nil
end

local function by_symbol(a, b) return a.symbol < b.symbol end

--- Remove functions that the libraries do not define: a symbol that links without them is not theirs.
local function link(cfg, plan)
  local symbols = {}
  for i, f in ipairs(plan.functions) do symbols[i] = f.symbol end
  local undefined, without = try(library.undefined(cfg, symbols, cfg.build))
  plan.functions = choose.sift(plan.functions, plan.left, function(f)
    if f.library and not undefined[f.symbol] then return nil end
    local foreign = not without[f.symbol]
    table.insert(foreign and plan.foreign or plan.missing, f)
    return foreign and "it belongs to another library, which is linked anyway" or "no library has it"
  end)
  return true
end

--- Plan the wrapper from the folder's headers, libraries and filter; on failure nil, the reason, and the compiler's errors.
---@param cfg pmlua.wrap.folder
---@return pmlua.wrap.plan?, pmlua.Failure? failure, string[]? errors
M.make = try.catching(function(cfg)
  local unit = try(headers.read(cfg.headers, cfg.language, cfg.cflags))
  local filter, says_files = try(filter_of(cfg))
  local libraries = try(library.find(cfg, cfg.build))
  local own = says_files and function() return true end or headers.own(unit)
  local plan = { libraries = libraries, missing = {}, foreign = {} }
  plan.functions, plan.left = choose.declared(unit, cfg.language, own)
  local defined = library.functions(libraries)
  if cfg.language == "c++" then M.add_templates(plan, unit, own, defined) end
  choose.entitle(plan.functions, plan.left)
  local there = {} -- a twin need not be wanted itself
  for _, f in ipairs(plan.functions) do
    f.library = defined[f.symbol]
    if f.library then there[#there + 1] = f end
  end
  plan.functions = choose.sift(plan.functions, plan.left, function(f)
    if not filter:wants(f.file, f.title, f.symbol) then return "the filter excludes it" end
  end)
  try(link(cfg, plan))
  plan.functions = choose.sift(plan.functions, plan.left, twin(there, cfg.variadic))
  table.sort(plan.functions, by_symbol)
  table.sort(plan.left, by_symbol)
  if #plan.functions == 0 then return nil, M.nothing(cfg, plan, unit) end
  try(values.choose(plan.functions, cfg.record))
  return plan
end)

function M.add_templates(plan, unit, own, defined)
  local seen = {}
  for _, list in ipairs { plan.functions, plan.left } do
    for _, f in ipairs(list) do seen[f.symbol] = true end
  end
  local functions, left = templates.instantiated(unit, own, defined, seen)
  table.move(functions, 1, #functions, #plan.functions + 1, plan.functions)
  table.move(left, 1, #left, #plan.left + 1, plan.left)
end

--- Why there is nothing to wrap, in one line.
function M.nothing(cfg, plan, unit)
  if #unit.includes == 0 then return "nothing to wrap: headers.h includes nothing" end
  if #plan.left == 0 then
    return "nothing to wrap: the listed headers themselves declare no functions; choose others with file rules in the filter"
  end
  if #plan.libraries == 0 then
    return ("nothing to wrap: %d functions are declared, but '%s' names no library; set libs in wrap.lua"):format(
      #plan.left, cfg.libs)
  end
  return ("nothing to wrap: %d functions are declared; of %s, for example, %s"):format(#plan.left, plan.left[1].symbol,
    plan.left[1].why)
end

return M
