-- SPDX-License-Identifier: BSD-3-Clause
--- A table's keys and values in the order of its keys. The order of pairs() differs between processes, so messages, printed rows
--- and sums of floats must not depend on it.
--
-- Try:  for name, n in require "pmlua.internal.sorted" { b = 2, a = 1 } do print(name, n) end

local function before(a, b)
  local x, y = type(a), type(b)
  if x ~= y then return x < y end
  if x == "number" or x == "string" then return a < b end
  return tostring(a) < tostring(b)
end

---@generic K, V
---@param t table<K, V> may change meanwhile
---@param less? fun(a: K, b: K): boolean for keys other than numbers and strings
---@return fun(): K, V
return function(t, less)
  local keys, i = {}, 0
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, less or before)
  return function()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end
