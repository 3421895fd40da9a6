-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/live/series.lua - series of a running application, collected and drawn: a recorder's values by their place, any
-- other event's by the time at which they were read.
--
-- Try:  pmlua query SOLVER 'sde:::*residual' --plot

local picture = require "pmlua.picture"
local quote = require "pmlua.quote"

local M = {}

local POINTS = 1000000 -- kept of each series: more than can be seen

---@class pmlua.Series
---@field name string
---@field recorder boolean
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
    s = { name = row.name, recorder = row.kind == "recorder", x = {}, y = {}, next = 1 }
    set.byname[row.name], set.list[#set.list + 1] = s, s
  end
  return s
end

local function push(s, x, y)
  if #s.x >= POINTS then return end
  s.x[#s.x + 1], s.y[#s.y + 1] = x, y
end

local function add_values(s, row)
  local values, last = row.values or {}, (row.next or s.next) - 1
  for i = s.next, last do -- one that is no number left a hole
    local v = values[i - s.next + 1]
    push(s, i, type(v) == "number" and v or 0 / 0)
  end
  s.next = math.tointeger(last + 1) or s.next
end

--- Add the values of an answer; those of recorders are fetched.
---@param set table
---@param answer table
---@param fetch fun(payload: string): table?, string?, string? ask for more rows
---@return boolean? ok
---@return string? err
---@return string? code
function M.add(set, answer, fetch)
  set.began_s = set.began_s or answer.time_s
  for _, row in ipairs(answer.rows) do
    local s = series_of(set, row)
    if not s.recorder then
      if type(row.value) == "number" then push(s, answer.time_s - set.began_s, row.value) end
    else
      repeat
        local from = s.next
        local more, err, code = fetch(("+%s %d"):format(row.name, from))
        if not more then return nil, err, code end
        add_values(s, more.rows[1] or {})
      until s.next == from or #s.x >= POINTS
    end
  end
  return true
end

--- Whether there is anything to draw.
function M.drawable(set)
  for _, s in ipairs(set.list) do
    for _, y in ipairs(s.y) do
      if y == y then return true end
    end
  end
  return false
end

-- --- drawing ---

--- Lowest and highest number of all series.
local function range(set)
  local low, high = math.huge, -math.huge
  for _, s in ipairs(set.list) do
    for _, y in ipairs(s.y) do
      if y - y == 0 then low, high = math.min(low, y), math.max(high, y) end -- neither NaN nor infinite
    end
  end
  return low, high
end

local function spans_decades(set)
  local low, high = range(set)
  return low > 0 and high / low >= 100
end

-- Offsets of a logarithmic axis are taken of its numbers, and gnuplot rounds to decades: its range is said instead.
local function log_range(set)
  local low, high = range(set)
  local margin = (high / low) ^ 0.03
  return ("[%.17g:%.17g]"):format(low / margin, high * margin)
end

local function data_of(set)
  local lines = {}
  local function put(text) lines[#lines + 1] = text end
  for _, s in ipairs(set.list) do
    put("# " .. quote.plain(s.name))
    if #s.x == 0 then put "NaN NaN" end
    for i, x in ipairs(s.x) do put(("%.10g %.17g"):format(x, s.y[i])) end
    put "\n"
  end
  return table.concat(lines, "\n") .. "\n"
end

local function variables(set, title)
  local lines, names, recorders = {}, {}, 0
  for i, s in ipairs(set.list) do
    names[i] = quote.gnuplot((s.name:gsub("^sde:::", "")))
    if s.recorder then recorders = recorders + 1 end
  end
  local function put(name, value) lines[#lines + 1] = name .. " = " .. value end
  put("series_n", #set.list)
  put("series_log", spans_decades(set) and 1 or 0)
  if spans_decades(set) then lines[#lines + 1] = "set yrange " .. log_range(set) end
  put("series_x", quote.gnuplot(recorders == #set.list and "number of the value" or recorders == 0 and "time [s]"
    or "number of the value, or time [s]"))
  lines[#lines + 1] = ("array series_name[%d] = [%s]"):format(#names, table.concat(names, ", "))
  return picture.run_gp(title, lines)
end

local dumb = [[
load "run.gp"
set terminal dumb noenhanced size %d, %d
if (series_log) { set logscale y; set format y "%%.0e" }
set xlabel series_x
set key below
set datafile missing "NaN"
if (!series_log) { set offsets 0, 0, graph 0.05, graph 0.05 }
plot for [i = 1:series_n] "series.dat" index i - 1 using 1:2 with lines title series_name[i]
]]

--- A drawing of characters.
---@return string? text
---@return string? err
function M.text(set, title, columns, lines)
  return picture.in_folder(function(folder)
    local ok, err = picture.write(folder .. "/series.dat", data_of(set))
    if ok then ok, err = picture.write(folder .. "/run.gp", variables(set, title)) end
    if ok then ok, err = picture.write(folder .. "/text.gp", dumb:format(columns, lines)) end
    if not ok then return nil, err end
    local text, why = picture.gnuplot(folder, "text.gp")
    return text and text:gsub("^\f?\n*", ""), why
  end)
end

--- A picture, .svg or .png by its name.
---@return boolean? ok
---@return string? err
function M.picture(set, title, path)
  return picture.draw("series", { ["series.dat"] = data_of(set), ["run.gp"] = variables(set, title) }, path)
end

return M
