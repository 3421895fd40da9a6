-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/nearest.lua - suggest the nearest name for a misspelt one.
--
-- Try:  print(require "pmlua.internal.nearest"("evnts", { "events", "stat" }))

local LONGEST = 64 -- bytes of the word that are compared; the rest of a longer word would not help

--- Levenshtein's distance between two short strings.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

--- The nearest name, if one is near enough.
---@return string?
local function nearest(asked, names)
  local best, least = nil, (#asked < 4 and 1 or math.max(2, #asked // 2)) + 1
  for _, name in ipairs(names) do
    -- Prefer names of the same length, because letters are exchanged more often than omitted.
    local d = distance(asked:sub(1, LONGEST), name) + math.abs(#asked - #name) / 1000
    if d < least then best, least = name, d end
  end
  return best
end

return nearest
