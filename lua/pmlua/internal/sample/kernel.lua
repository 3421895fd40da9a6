-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/sample/kernel.lua - the kernel's functions by address, from /proc/kallsyms, read when first asked.
--
-- Try:  print(require("pmlua.internal.sample.kernel").open().name(0xffffffff81000000))

local M = {}

--- Addresses and names of code, ascending; without permission all addresses are 0.
local function read(path)
  local list = {}
  local f <close> = io.open(path)
  for line in f and f:lines() or function() end do
    local address, name = line:match "^(%x+) [tTwW] (%S+)"
    local number = address and tonumber("0x" .. address)
    if number and number ~= 0 then list[#list + 1] = { number, name } end
  end
  table.sort(list, function(a, b) return math.ult(a[1], b[1]) end)
  return list
end

---@param path string? /proc/kallsyms
---@return { name: fun(address: integer): string? }
function M.open(path)
  local list
  return { name = function(address)
    list = list or read(path or "/proc/kallsyms")
    local low, high = 1, #list
    while low <= high do
      local middle = (low + high) // 2
      if math.ult(address, list[middle][1]) then high = middle - 1 else low = middle + 1 end
    end
    return list[high] and list[high][2]
  end }
end

return M
