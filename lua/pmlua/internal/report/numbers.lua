-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/numbers.lua - numbers of ranks as people list them.
--
-- Try:  print(require("pmlua.internal.report.numbers").ranges { 0, 2, 3, 4 })

local M = {}

--- 0, 2 to 5.
---@param list integer[] in order
function M.ranges(list)
  local parts, i = {}, 1
  while i <= #list do
    local last = i
    while list[last + 1] == list[last] + 1 do last = last + 1 end
    parts[#parts + 1] = last > i and ("%d to %d"):format(list[i], list[last]) or ("%d"):format(list[i])
    i = last + 1
  end
  return table.concat(parts, ", ")
end

return M
