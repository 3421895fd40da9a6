-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/keys.lua - the sorted keys of a table: each process prints them in the same order.
--
-- Try:  print(table.concat(require "pmlua.internal.keys" { b = 1, a = 2 }, " "))

---@param t table whose keys are all strings or all numbers
return function(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end
