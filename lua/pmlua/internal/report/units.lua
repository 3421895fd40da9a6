-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/units.lua - numbers with the prefix that leaves one to three digits before the point.
--
-- Try:  print(require("pmlua.internal.report.units").scaled(2.5e9, "FLOPS"))

local M = {}

local prefixes = { [-3] = "n", [-2] = "µ", [-1] = "m", [0] = "", "k", "M", "G", "T", "P", "E" }

--- Four significant digits and a unit; "-" for nil, infinity and NaN.
---@param v number?
function M.scaled(v, unit)
  if not v or v ~= v or v == math.huge or v == -math.huge then return "-" end
  if v == 0 then return "0 " .. unit end
  local size, step = math.abs(v), 0
  while size < 0.99995 and step > -3 do size, step = size * 1000, step - 1 end
  while size >= 999.95 and step < 6 do size, step = size / 1000, step + 1 end
  local digits = size >= 999.95 and 0 or size >= 99.995 and 1 or size >= 9.9995 and 2 or 3
  return ("%s%.*f %s%s"):gsub("%*", tostring(digits)):format(v < 0 and "-" or "", size, prefixes[step], unit)
end

--- Format a time in nanoseconds.
function M.time(ns) return M.scaled(ns and ns / 1e9, "s") end

local names = { calculation = { "FLOP", "FLOPS" }, communication = { "B", "B/s" } }

--- Work of a section: operations, or bytes; "-" for none.
function M.work(v, type) return v == 0 and "-" or M.scaled(v, names[type][1]) end

function M.rate(v, type) return M.scaled(v, names[type][2]) end

function M.percent(share) return share and share == share and ("%.1f"):format(100 * share) or "-" end

--- Format a value in a unit of the event groups' data files: rates get a prefix, counts and ratios do not.
function M.metric(v, unit)
  if unit == "byte/s" then return M.scaled(v, "B/s") end
  if unit == "flop/s" then return M.scaled(v, "FLOPS") end
  if unit == "byte" then return M.scaled(v, "B") end
  if unit == "flop" then return M.scaled(v, "FLOP") end
  if unit == "s" then return M.scaled(v, "s") end
  if unit == "1/s" then return M.scaled(v, "/s") end
  if unit:find("/s$") then return M.scaled(v, unit) end
  return (require "pmlua.tabulate".number(v) .. " " .. unit):gsub(" $", "")
end

--- "1 rank", "2 ranks"; "2 processes" with @many.
---@param many? string
function M.plural(n, word, many) return ("%d %s"):format(n, n == 1 and word or many or word .. "s") end

--- Numbers of ranks as people list them: 0, 2 to 5.
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
