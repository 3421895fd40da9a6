-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/host/series.lua - mean and extremes of a plugin's series during spans of time.
--
-- Try:  local mean, least, most = require("pmlua.internal.host.series").during(plugin:series()[1], { { from = t0, to = t1 } })
--
-- Each value applies to the interval since the previous value: an absolute value at a point as an estimate for the interval,
-- a value of mode absolute_last by definition, and an accumulated value by its rate.

local M = {}

--- The interpretation of a series: counts have a rate; a share or a power is already a mean; all other values are levels.
---@return "level"|"mean"|"rate"
function M.kind(s)
  if s.mode:find "^accumulated" then return "rate" end
  return s.mode:find "_last$" and "mean" or "level"
end

--- The unit of the values of each(); "" for counts.
function M.unit(s)
  local counted = s.unit == "#"
  if M.kind(s) == "rate" then return counted and "1/s" or s.unit .. "/s" end
  return counted and "" or s.unit
end

--- Visit the steps of a series: the interval between two values in ns, and the value for it, in its unit.
---@param s table of plugin:series()
---@param step fun(from: integer, to: integer, value: number)
function M.each(s, step)
  local rate = M.kind(s) == "rate"
  for k = 2, #s.ns do
    local from, to, v = s.ns[k - 1], s.ns[k], s.value[k]
    if rate then v = (v - s.value[k - 1]) / ((to - from) * 1e-9) end
    if to > from then step(from, to, v * s.scale) end
  end
end

--- Mean, least and most over spans of time, each value weighed by how long it was there; nil without values.
---@param spans { from: integer, to: integer }[] ns
---@return number? mean, number? least, number? most
function M.during(s, spans)
  local sum, time, least, most = 0, 0, math.huge, -math.huge
  M.each(s, function(from, to, v)
    for _, span in ipairs(spans) do
      local overlap = math.min(to, span.to) - math.max(from, span.from)
      if overlap > 0 then
        sum, time = sum + v * overlap, time + overlap
        least, most = math.min(least, v), math.max(most, v)
      end
    end
  end)
  if time == 0 then return nil end
  return sum / time, least, most
end

return M
