-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/truss.lua - the stiffness matrix of a plane truss, as a Matrix Market file. Try:
--   print(require("spec.scripts.truss").text(12, 8))
--
-- The truss is a grid of nodes with a bar of stiffness 1 / length to each of eight neighbours and a clamped left edge; a node has
-- two displacements. Like all matrices of structural mechanics, this one is symmetric and positive definite.

local M = {}

local BARS = { { 1, 0 }, { 0, 1 }, { 1, 1 }, { 1, -1 } }

---@param nx integer nodes that move, to the right
---@param ny integer nodes upwards
---@return string
function M.text(nx, ny)
  local value, order = {}, {}
  local function add(i, j, v)
    if i < j or v == 0 then return end -- only the lower half of a symmetric matrix is stored
    local key = i * 1000000 + j
    if not value[key] then order[#order + 1], value[key] = key, 0 end
    value[key] = value[key] + v
  end
  local function unknown(x, y, axis)
    if x >= 1 and x <= nx and y >= 1 and y <= ny then return 2 * ((x - 1) * ny + y - 1) + axis end
  end
  local function bar(x, y, dx, dy)
    local length = math.sqrt(dx * dx + dy * dy)
    local cosine = { dx / length, dy / length }
    for a = 1, 2 do
      for b = 1, 2 do
        local k = cosine[a] * cosine[b] / length
        for _, e in ipairs { { 0, 0, k }, { 1, 1, k }, { 0, 1, -k }, { 1, 0, -k } } do
          local i = unknown(x + e[1] * dx, y + e[1] * dy, a)
          local j = unknown(x + e[2] * dx, y + e[2] * dy, b)
          if i and j then add(i, j, e[3]) end
        end
      end
    end
  end
  for x = 0, nx do
    for y = 1, ny do
      for _, d in ipairs(BARS) do
        if y + d[2] >= 1 and y + d[2] <= ny and x + d[1] <= nx and x + d[1] > 0 then bar(x, y, d[1], d[2]) end
      end
    end
  end
  table.sort(order)
  local lines = { "%%MatrixMarket matrix coordinate real symmetric", ("%d %d %d"):format(2 * nx * ny, 2 * nx * ny, #order) }
  for _, key in ipairs(order) do
    lines[#lines + 1] = ("%d %d %.17g"):format(key // 1000000, key % 1000000, value[key])
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
