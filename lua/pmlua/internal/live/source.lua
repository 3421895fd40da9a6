-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/source.lua - serialization of a function, as a chunk that another Lua state loads.
--
-- Try:  local source = require "pmlua.internal.live.source"
--       local n = 3;  print(load(source.of(function(x) return n + x end))()(4))
--
-- The chunk contains the function's bytecode and the values of its upvalues: nil, booleans, numbers, strings, modules and
-- functions of modules. Its globals are the other state's. Changes that the function makes stay in its state.

local M = {}

local standard = { _G = 1, string = 1, table = 1, math = 1, utf8 = 1, os = 1, io = 1, debug = 1, coroutine = 1, package = 1 }

--- An expression for a module, or a function of one, in any state; nil for other values.
local function expression_of(value)
  for name, module in next, package.loaded do
    local everywhere = standard[name] or name:find "^pmlua%f[.%z]"
    if everywhere and rawequal(module, value) then return ("require %q"):format(name) end
    for key, field in next, everywhere and type(module) == "table" and module or {} do
      if rawequal(field, value) and type(key) == "string" then return ("require(%q)[%q]"):format(name, key) end
    end
  end
end

local kinds = { userdata = "a userdata", table = "a table", thread = "a thread", ["function"] = "a function" }

local function literal(name, value)
  if name == "_ENV" then return "_G" end
  local kind = type(value)
  local text = not kinds[kind] and ("%q"):format(value) or (kind == "table" or kind == "function") and expression_of(value)
  if text then return text end
  error(("upvalue '%s' is %s: a function that runs in a separate state gets copies of numbers, strings and booleans"):format(
    name, kinds[kind]), 0)
end

--- Raises for a function that cannot go, and names the upvalue.
---@param f function
---@return string text of a chunk that returns the function
function M.of(f)
  local good, code = pcall(string.dump, f)
  if not good then error("a C function cannot run in a separate state; call it in a function of Lua", 0) end
  local lines = { ("local f = load(%q, nil, 'b')"):format(code) }
  for i = 1, debug.getinfo(f, "u").nups do
    lines[i + 1] = ("debug.setupvalue(f, %d, %s)"):format(i, literal(debug.getupvalue(f, i)))
  end
  lines[#lines + 1] = "return f"
  return table.concat(lines, "\n")
end

return M
