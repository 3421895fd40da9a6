-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/fields.lua - which fields a table from a script may have; a misspelt one is answered with the nearest.
--
-- Try:  print(require "pmlua.internal.fields".unknown({ mesure = 1 }, { measure = true }))

local nearest = require "pmlua.internal.nearest"

local M = {}

local LONGEST = 120 -- bytes of a list in a message

local function names_of(known)
  local names = {}
  for key, value in pairs(known) do names[#names + 1] = type(key) == "string" and key or value end
  table.sort(names)
  return names
end

--- "; did you mean measure?", or "" where no name is near.
---@param known table<string, any>|string[] names, as keys or as an array
function M.near(name, known)
  local near = nearest(tostring(name), names_of(known))
  return near and ("; did you mean %s?"):format(near) or ""
end

--- "unknown field mesure; did you mean measure?", or all that there are, unless they are many.
---@param known table<string, any>|string[] names, as keys or as an array
---@param what? string "field"
function M.sentence(name, known, what)
  local hint = M.near(name, known)
  if hint == "" then hint = "; there are " .. table.concat(names_of(known), ", ") end
  return ("unknown %s %s%s"):format(what or "field", tostring(name), #hint <= LONGEST and hint or "")
end

--- Check the names of a table's fields; return the error and the name.
---@param known table<string, any>
---@return string? err, any name
function M.unknown(given, known)
  local wrong
  for name in pairs(given) do
    if known[name] == nil and (not wrong or tostring(name) < tostring(wrong)) then wrong = name end
  end
  if wrong ~= nil then return M.sentence(wrong, known), wrong end
end

--- Raise at the caller's caller for an option that there is not.
---@param given table?
---@param known table<string, any>
---@param where string "plot.draw"
function M.options(given, known, where)
  local wrong, name = M.unknown(given or {}, known)
  if wrong then error(("%s: unknown option '%s'%s"):format(where, tostring(name), M.near(name, known)), 3) end
end

--- Make a module answer a misspelt name instead of giving nil. A metatable's own __index is kept.
---@generic T
---@param module T
---@param what string "pml.stats"
---@return T module
function M.strict(module, what)
  if type(module) ~= "table" then return module end
  local meta = getmetatable(module) or {}
  if type(meta) ~= "table" or meta.__index ~= nil then return module end
  setmetatable(module, meta)
  function meta.__index(_, name)
    local names = {}
    for known in next, module do names[#names + 1] = type(known) == "string" and known or nil end
    local near = nearest(tostring(name), names)
    error(("%s has no '%s'; %s"):format(what, tostring(name), near and ("did you mean %s?"):format(near)
      or ("pmlua help api %s lists its fields"):format(what)), 2)
  end
  return module
end

return M
