-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/lists.lua - ask all entries of a list, from the first to the last.
--
-- Try:  print(require "pmlua.internal.lists".any({ 1, 2 }, function(v) return v > 1 end))

local M = {}

--- The results of the function.
---@generic T, U
---@param list T[]
---@param f fun(entry: T): U
---@return U[]
function M.map(list, f)
  local out = {}
  for i, entry in ipairs(list) do out[i] = f(entry) end
  return out
end

--- The entries for which it holds.
---@generic T
---@param list T[]
---@param holds fun(entry: T): any
---@return T[]
function M.filter(list, holds)
  local out = {}
  for _, entry in ipairs(list) do out[#out + 1] = holds(entry) and entry or nil end
  return out
end

--- The first entry for which it holds.
---@generic T
---@param list T[]
---@param holds fun(entry: T): any
---@return T?
function M.find(list, holds)
  for _, entry in ipairs(list) do
    if holds(entry) then return entry end
  end
end

function M.any(list, holds) return M.find(list, holds) ~= nil end

function M.all(list, holds)
  return not M.any(list, function(entry) return not holds(entry) end)
end

return M
