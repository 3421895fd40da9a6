-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/series.lua - series of a running application, collected and plotted: a recorder's values by index,
-- values of other events by the time at which they were read. Each unit and each meaning gets a separate panel.
--
-- Try:  pmlua query SOLVER 'sde:::*residual' --plot

local picture = require "pmlua.internal.picture"
local quote = require "pmlua.internal.quote"
local try = require "pmlua.internal.try"

local M = {}

local POINTS = 1000000 -- kept of each series: more than can be seen
local PANELS = 6       -- of a picture; above that, events without a unit share one

---@class pmlua.Series
---@field name string
---@field recorder boolean
---@field unit string? what its description ends with in brackets
---@field x number[]
---@field y number[]
---@field next integer place from which a recorder is read on

--- A collection that grows with every answer.
function M.new()
  return { list = {}, byname = {}, began_s = nil }
end

local function series_of(set, row)
  local s = set.byname[row.name]
  if not s then
    local unit = (row.description or ""):match "%[([^%[%]]+)%]%s*$"
    s = { name = row.name, recorder = row.kind == "recorder", unit = unit, meaning = row.meaning, x = {}, y = {}, next = 1 }
    set.byname[row.name], set.list[#set.list + 1] = s, s
  end
  return s
end

local function push(s, x, y)
  if #s.x >= POINTS then return end
  s.x[#s.x + 1], s.y[#s.y + 1] = x, y
end

--- Add the values of an answer; values of recorders are fetched.
---@param set table
---@param answer { time_s: number, rows: table[] } a row may have `meaning`, the label of its axis
---@param fetch? fun(row: table, first: integer): number[]?, string?, string?
---@return boolean? ok, string? err, string? code
function M.add(set, answer, fetch)
  set.began_s = set.began_s or answer.time_s
  for _, row in ipairs(answer.rows) do
    local s = series_of(set, row)
    if not s.recorder and type(row.value) == "number" then push(s, answer.time_s - set.began_s, row.value) end
    while s.recorder and #s.x < POINTS do
      local values, err, code = fetch(row, s.next)
      if not values then return nil, err, code end
      if #values == 0 then break end
      for i, v in ipairs(values) do push(s, s.next + i - 1, v) end
      s.next = s.next + #values
    end
  end
  return true
end

local function has_value(s)
  for _, y in ipairs(s.y) do
    if y == y then return true end
  end
  return false
end

--- Whether there is anything to draw.
function M.drawable(set)
  for _, s in ipairs(set.list) do
    if has_value(s) then return true end
  end
  return false
end

-- --- drawing ---

---@class pmlua.Panel
---@field x string what its x axis is
---@field y string its unit or, without one, what its events are called
---@field list pmlua.Series[]

--- The meaning of an event's values, derived from its name: "LIB::SOLVER::residual:MED" is a residual like others.
local function meaning(s)
  return s.meaning or s.name:match("([^:]*):%u%w*$") or s.name:match "([^:]*)$"
end

--- Panels: series of one x axis and one unit, or one meaning, share one.
---@param set table
---@param crowded boolean? those without a unit have one for all
---@return pmlua.Panel[]
local function panels(set, crowded)
  local list, bykey = {}, {}
  for _, s in ipairs(set.list) do
    if has_value(s) then
      local x = s.x_label or s.recorder and "number of the value" or "time [s]"
      local y = s.unit or not crowded and meaning(s) or "value"
      local key = x .. "\0" .. y .. "\0" .. (s.unit and "unit" or "")
      if not bykey[key] then
        bykey[key] = { x = x, y = s.unit and "[" .. y .. "]" or y, list = {} }
        list[#list + 1] = bykey[key]
      end
      table.insert(bykey[key].list, s)
    end
  end
  if #list > PANELS and not crowded then return panels(set, true) end
  return list
end

--- Lowest and highest number of a panel.
local function range(panel)
  local low, high = math.huge, -math.huge
  for _, s in ipairs(panel.list) do
    for _, y in ipairs(s.y) do
      if y - y == 0 then low, high = math.min(low, y), math.max(high, y) end -- neither NaN nor infinite
    end
  end
  return low, high
end

--- The range of a panel's y axis, and whether it is logarithmic. gnuplot would round it to decades, and below 0 what never is.
local function axis(panel)
  local low, high = range(panel)
  if low > high then return 0, 1, false end
  if low > 0 and high / low >= 100 then
    local margin = (high / low) ^ 0.03
    return low / margin, high * margin, true
  end
  local margin = high > low and (high - low) * 0.03 or math.max(math.abs(high) * 0.03, 1)
  return low >= 0 and math.max(low - margin, 0) or low - margin, high + margin, false
end

local function data_of(list)
  local lines = {}
  local function put(text) lines[#lines + 1] = text end
  for _, panel in ipairs(list) do
    for _, s in ipairs(panel.list) do
      put("# " .. quote.plain(s.name))
      for i, x in ipairs(s.x) do put(("%.10g %.17g"):format(x, s.y[i])) end
      put "\n"
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Series and panels as arrays of gnuplot's.
local function variables(list, title)
  local lines, arrays, order = { "panel_n = " .. #list, "plot_height = " .. math.max(600, 300 * #list) }, {}, {}
  local function put(name, value)
    if not arrays[name] then
      arrays[name], order[#order + 1] = {}, name
    end
    table.insert(arrays[name], value)
  end
  local first = 1
  for _, panel in ipairs(list) do
    for _, s in ipairs(panel.list) do put("series_name", quote.gnuplot((s.name:gsub("^sde:::", "")))) end
    put("panel_first", ("%d"):format(first))
    first = first + #panel.list
    put("panel_last", ("%d"):format(first - 1))
    put("panel_x", quote.gnuplot(panel.x))
    put("panel_y", quote.gnuplot(panel.y))
    local low, high, log = axis(panel)
    put("panel_log", log and "1" or "0")
    put("panel_low", ("%.17g"):format(low))
    put("panel_high", ("%.17g"):format(high))
  end
  for _, name in ipairs(order) do
    lines[#lines + 1] = ("array %s[%d] = [%s]"):format(name, #arrays[name], table.concat(arrays[name], ", "))
  end
  return picture.run_gp(title, lines)
end

local dumb = [=[
load "run.gp"
set terminal dumb noenhanced size %d, %d
set key below
set datafile missing "NaN"
do for [p = 1:panel_n] {
  set xlabel panel_x[p]
  set ylabel panel_y[p] noenhanced
  if (panel_log[p]) { set logscale y; set format y "%%.0e" } else { unset logscale y; set format y "%% h" }
  set yrange [panel_low[p]:panel_high[p]]
  plot for [i = panel_first[p]:panel_last[p]] "series.dat" index i - 1 using 1:2 with lines title series_name[i]
}
]=]

--- A drawing of characters, its panels one below the other.
---@return string? text, string? err
function M.text(set, title, columns, lines)
  local list = panels(set)
  local high = math.max(lines // math.max(#list, 1), 12)
  return picture.in_folder(function(folder)
    try(picture.write(folder .. "/series.dat", data_of(list)))
    try(picture.write(folder .. "/run.gp", variables(list, title)))
    try(picture.write(folder .. "/text.gp", dumb:format(columns, high)))
    return (try(picture.gnuplot(folder, "text.gp")):gsub("\f\n*", ""):gsub("^\n+", ""))
  end)
end

--- A picture, .svg or .png by its name.
---@return boolean? ok, string? err
function M.picture(set, title, path)
  local list = panels(set)
  return picture.draw("series", { ["series.dat"] = data_of(list), ["run.gp"] = variables(list, title) }, path)
end

return M
