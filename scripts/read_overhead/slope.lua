-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/slope.lua - what each additional event costs: a line through the medians.
--
-- Try:  pmlua scripts/read_overhead.lua --quick --no-plot && cat results/read_overhead/latest/slope.dat

local stats = require "pmlua.stats"

local M = {}

--- For every operation and path of the bare loop: the cost of one event, of the second, and of each further one.
-- A second event turns a plain read into a group read, which costs more than the event; the line begins there.
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
      local line = data and stats.line(data.x, data.y)
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
