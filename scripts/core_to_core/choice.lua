-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/core_to_core/choice.lua - a list of cpus that the user wrote.
--
-- Try:  print(table.concat(require "core_to_core.choice"("0-2,5", { 0, 1, 2, 3, 5 }), " "))

--- Cpus of a list such as 0-3,8, each once and in order.
---@param allowed integer[] that this process may use
---@return integer[]? cpus, string? err
return function(text, allowed)
  local may, out = {}, {}
  for _, cpu in ipairs(allowed) do may[cpu] = true end
  for word in text:gmatch "[^,]+" do
    local first, last = word:match "^(%d+)%-?(%d*)$"
    first, last = math.tointeger(first), math.tointeger(last ~= "" and last or first)
    if not first or not last or last < first or last >= 1 << 16 then
      return nil, ("%s is not a cpu or a range such as 0-3"):format(word)
    end
    for cpu = first, last do
      if may[cpu] == nil then return nil, ("this process may not use cpu %d"):format(cpu) end
      if may[cpu] then out[#out + 1] = cpu end
      may[cpu] = false
    end
  end
  if #out == 0 then return nil, "the list is empty" end
  table.sort(out)
  return out
end
