-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/choose.lua - which of the declared functions can be wrapped, and why not the others.
--
-- Try:  pmlua wrap check, which prints what this module leaves out

local shell = require "pmlua.internal.wrap.shell"

local M = {}

-- A second return, or a stack that is not the caller's, would end a wrapper's frame wrongly.
local twice = {}
for name in ([[setjmp _setjmp __setjmp sigsetjmp __sigsetjmp savectx vfork getcontext setcontext swapcontext makecontext
  longjmp _longjmp siglongjmp __longjmp_chk clone __clone2]]):gmatch("%S+") do
  twice[name] = true
end

---@class pmlua.wrap.function
---@field symbol string in the symbol table
---@field title string as people write it, with arguments in C++
---@field file string of the declaration
---@field line integer
---@field method boolean? its first argument is the object
---@field result string the result's type
---@field parameters { name: string, type: string, kind: integer? }[]
---@field variadic boolean?
---@field library table? that defines it

--- Symbol -> the name with arguments that people write.
---@return table<string, string>
function M.demangle(symbols)
  local titles = {}
  local list = os.tmpname()
  shell.spit(list, table.concat(symbols, "\n") .. "\n")
  local done, out = shell.run("c++filt <" .. shell.quote(list))
  os.remove(list)
  if not done then return titles end
  local i = 0
  for title in out:gmatch("[^\n]*") do
    i = i + 1
    if symbols[i] then titles[symbols[i]] = title end
  end
  return titles
end

local function nameless(text)
  return text:find("(unnamed", 1, true) or text:find("(anonymous", 1, true) or text:find("(lambda", 1, true)
end

--- The type as the wrapper writes it: in C as the header does, in C++ with the full names of everything in it.
local function spelling(language, spelt, canonical)
  if language == "c" then return spelt end
  if canonical:find("__va_list_tag", 1, true) then return "__builtin_va_list" end
  return canonical
end

local function types(d, language)
  local parameters = {}
  for i, p in ipairs(d.parameters) do
    parameters[i] = { name = p.name, type = spelling(language, p.type, p.canonical), kind = p.kind, canonical = p.canonical }
  end
  return spelling(language, d.result, d.canonical_result), parameters
end

--- The reason why a declaration cannot be wrapped, independent of the library; nil: it can.
local function obstacle(d, symbol, bodies, f)
  if bodies[symbol] then return "its code is in the header" end
  if d.pure then return "it is pure virtual" end
  if d.unprototyped then return "its parameters are not declared" end
  if d.unusual then return "it uses another calling convention" end
  if twice[symbol] then return "it returns twice or elsewhere" end
  if d.virtual_base and (d.kind == "constructor" and symbol:find("C2") or d.kind == "destructor" and symbol:find("D2")) then
    return "as a base-class function it takes a hidden table of virtual bases"
  end
  if nameless(f.result) then return "the type of its result has no name" end
  for _, p in ipairs(f.parameters) do
    if nameless(p.type) then return "the type of an argument has no name" end
  end
end

local function external(d) return not d.template and not d.deleted and (d.linkage == "external") end

--- All functions with a symbol that the headers declare: the wrappable ones, and the others with the reason in @why.
---@param own fun(file: string): boolean
---@return pmlua.wrap.function[] functions, table[] left
function M.declared(unit, language, own)
  local bodies, seen, functions, left = {}, {}, {}, {}
  for _, d in ipairs(unit.declarations) do
    for _, symbol in ipairs(external(d) and (d.definition or d.inline and language == "c++") and d.symbols or {}) do
      bodies[symbol] = true
    end
  end
  for _, d in ipairs(unit.declarations) do
    for _, symbol in ipairs(external(d) and own(d.file or "") and d.symbols or {}) do
      if not seen[symbol] and symbol ~= "" then
        seen[symbol] = true
        local result, parameters = types(d, language)
        local f = { symbol = symbol, name = d.scope .. d.name, file = d.file, line = d.line, result = result,
          result_kind = d.result_kind, canonical_result = d.canonical_result, parameters = parameters, variadic = d.variadic,
          method = d.access ~= nil and not d.static }
        f.why = obstacle(d, symbol, bodies, f)
        table.insert(f.why and left or functions, f)
      end
    end
  end
  return functions, left
end

--- Give every function its title.
function M.entitle(...)
  local symbols = {}
  for _, list in ipairs { ... } do
    for _, f in ipairs(list) do symbols[#symbols + 1] = f.symbol end
  end
  local titles = M.demangle(symbols)
  for _, list in ipairs { ... } do
    for _, f in ipairs(list) do f.title = titles[f.symbol] or f.symbol end
  end
end

--- Move from @functions to @left those for which @why gives a reason.
---@param functions pmlua.wrap.function[]
---@param why fun(f: pmlua.wrap.function): string?
---@return pmlua.wrap.function[] kept
function M.sift(functions, left, why)
  local kept = {}
  for _, f in ipairs(functions) do
    f.why = why(f)
    table.insert(f.why and left or kept, f)
  end
  return kept
end

return M
