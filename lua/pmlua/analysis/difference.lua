-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/difference.lua - what became slower from one trace to another, by call path.
--
-- Try:  pmlua compare before/traces.otf2 after/traces.otf2
--
-- Time of a call path is its exclusive time, of all locations together: each moment in a call belongs to one path, so that the
-- differences of all paths add up to the difference of the traces' times in calls. Paths are alike whose regions have the
-- same names, from the outermost call on.

local sorted = require "pmlua.internal.sorted"

local M = {}

---@class pmlua.analysis.PathDifference
---@field path string names of regions, outermost first, between slashes
---@field depth integer 1: outermost
---@field calls_a integer
---@field calls_b integer
---@field a_s number exclusive time; 0: it is not in this trace
---@field b_s number
---@field difference_s number of B less A
---@field part number? of the whole difference; nil: the wholes do not differ

---@class pmlua.analysis.Difference
---@field paths pmlua.analysis.PathDifference[] the largest difference first, whatever its sign
---@field a_s number time in calls, of all locations
---@field b_s number
---@field difference_s number
---@field length_a_s number from the first event to the last
---@field length_b_s number

--- Paths by their names; regions of one name are one.
local function add(by, list, paths, side)
  local keys, depths = {}, {}
  for i, p in ipairs(paths) do
    keys[i] = (p.parent and keys[p.parent] .. "\0" or "") .. p.region
    depths[i] = (p.parent and depths[p.parent] or 0) + 1
    local path = by[keys[i]]
    if not path then
      path = { path = keys[i]:gsub("%z", "/"), depth = depths[i], calls_a = 0, calls_b = 0, a_s = 0.0, b_s = 0.0 }
      by[keys[i]], list[#list + 1] = path, path
    end
    path["calls_" .. side] = path["calls_" .. side] + p.calls
    path[side .. "_s"] = path[side .. "_s"] + p.exclusive_s
  end
end

local function larger(x, y)
  local dx, dy = math.abs(x.difference_s), math.abs(y.difference_s)
  if dx ~= dy then return dx > dy end
  return x.path < y.path
end

--- Compare two open traces.
---@param a pmlua.TraceReader the reference
---@param b pmlua.TraceReader
---@param where? pmlua.TraceWhere
---@return pmlua.analysis.Difference? difference, pmlua.Failure? failure
function M.of(a, b, where)
  local by, list = {}, {}
  for side, reader in sorted { a = a, b = b } do
    local paths, err = reader:paths { where = where, sum = { "count", "exclusive" } }
    if not paths then return nil, err end
    add(by, list, paths, side)
  end
  local result = { paths = list, a_s = 0.0, b_s = 0.0, length_a_s = a:about().length_s, length_b_s = b:about().length_s }
  table.sort(list, function(x, y) return x.path < y.path end) -- sums do not depend on the order of pairs
  for _, p in ipairs(list) do
    p.difference_s = p.b_s - p.a_s
    result.a_s, result.b_s = result.a_s + p.a_s, result.b_s + p.b_s
  end
  result.difference_s = result.b_s - result.a_s
  for _, p in ipairs(list) do
    if result.difference_s ~= 0 then p.part = p.difference_s / result.difference_s end
  end
  table.sort(list, larger)
  return result
end

return M
