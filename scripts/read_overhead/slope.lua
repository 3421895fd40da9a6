-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/slope.lua - what each additional event costs: a line through the medians.
--
-- Try:  print(require("read_overhead.slope").fit({1, 2, 3}, {100, 150, 200}).each)

local M = {}

--- Ordinary least squares.
---@param x number[]
---@param y number[]
---@return {at_zero: number, each: number, r2: number?, n: integer}? nil for fewer than two points
function M.fit(x, y)
  local n, sx, sy = #x, 0, 0
  if n < 2 then return nil end
  for i = 1, n do sx, sy = sx + x[i], sy + y[i] end
  local mx, my, sxx, sxy, syy = sx / n, sy / n, 0, 0, 0
  for i = 1, n do
    sxx, sxy, syy = sxx + (x[i] - mx) ^ 2, sxy + (x[i] - mx) * (y[i] - my), syy + (y[i] - my) ^ 2
  end
  if sxx == 0 then return nil end
  local each = sxy / sxx
  return { at_zero = my - each * mx, each = each, r2 = syy > 0 and sxy ^ 2 / (sxx * syy) or nil, n = n }
end

--- For every operation and path of the bare loop: the cost of one event, what the second adds, and each further one.
-- A second event turns a plain read into that of a group, which costs more than the event; the line begins there.
---@return {operation: string, path: string, first: number?, second: number?, each: number, r2: number?, n: integer}[]
function M.all(run, operations)
  local points, out = {}, {}
  for _, cell in ipairs(run.cells) do
    local p = cell.p
    if p.context == "loop" and cell.summary and p.events >= 1 then
      local key = p.operation .. " " .. p.path
      points[key] = points[key] or { x = {}, y = {}, median = {} }
      local data = points[key]
      data.median[p.events] = cell.summary.median
      if p.events >= 2 then data.x[#data.x + 1], data.y[#data.y + 1] = p.events, cell.summary.median end
    end
  end
  for _, operation in ipairs(operations) do
    for _, path in ipairs { "page", "read", "group" } do
      local data = points[operation .. " " .. path]
      local line = data and M.fit(data.x, data.y)
      if line then
        local one, two = data.median[1], data.median[2]
        out[#out + 1] = {
          operation = operation, path = path, first = one, second = one and two and two - one, each = line.each, r2 = line.r2,
          n = line.n,
        }
      end
    end
  end
  return out
end

return M
