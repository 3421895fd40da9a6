-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/order.lua - comparisons for table.sort(): by several fields, or by what names count.
--
-- Try:  local t = { { n = 1 }, { n = 2 } }; table.sort(t, require "pmlua.internal.order".by "-n"); print(t[1].n)

local M = {}

--- Compare records by the first of these fields in which they differ; "-" before a field: the largest first.
---@param ... string
---@return fun(a: table, b: table): boolean
function M.by(...)
  local fields, falling = {}, {}
  for i, word in ipairs { ... } do fields[i], falling[i] = word:gsub("^%-", ""), word:find "^%-" ~= nil end
  return function(a, b)
    for i, field in ipairs(fields) do
      local x, y = a[field], b[field]
      if x ~= y and falling[i] then return x > y end
      if x ~= y then return x < y end
    end
    return false
  end
end

--- Compare names by their numbers, the largest first, then by themselves.
---@param numbers table<string, number>
---@return fun(a: string, b: string): boolean
function M.most(numbers)
  return function(a, b)
    if numbers[a] ~= numbers[b] then return numbers[a] > numbers[b] end
    return a < b
  end
end

return M
