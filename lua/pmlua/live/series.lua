-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/live/series.lua - series of a running application, collected and drawn: a recorder's values by their place, any
-- other event's by the time at which they were read.
--
-- Try:  pmlua query SOLVER 'sde:::*residual' --plot

local core = require "pmlua.core"

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

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function string_of(text)
  return '"' .. tostring(text):gsub("%c+", " "):gsub('[\\"]', "\\%0") .. '"'
end

--- Lowest and highest number of all series.
local function range(set)
  local low, high = math.huge, -math.huge
  for _, s in ipairs(set.list) do
    for _, y in ipairs(s.y) do
      if y == y then low, high = math.min(low, y), math.max(high, y) end
    end
  end
  return low, high
end

local function spans_decades(set)
  local low, high = range(set)
  return low > 0 and high / low >= 100
end

local function write_data(set, path)
  local f <close>, err = io.open(path, "w")
  if not f then return nil, err end
  for _, s in ipairs(set.list) do
    f:write("# ", s.name, "\n")
    if #s.x == 0 then f:write("NaN NaN\n") end
    for i, x in ipairs(s.x) do f:write(("%.10g %.17g\n"):format(x, s.y[i])) end
    f:write("\n\n")
  end
  return f:close()
end

local function variables(set, title, complete)
  local lines, names, recorders = {}, {}, 0
  for i, s in ipairs(set.list) do
    names[i] = string_of((s.name:gsub("^sde:::", "")))
    if s.recorder then recorders = recorders + 1 end
  end
  local function put(name, value) lines[#lines + 1] = name .. " = " .. value end
  put("run_name", string_of(title))
  put("run_subtitle", string_of(("pmlua %s, %s"):format(core.version, os.date("!%Y-%m-%d %H:%M:%S UTC"))))
  put("run_complete", 1)
  put("run_status", string_of(complete or ""))
  put("series_n", #set.list)
  put("series_log", spans_decades(set) and 1 or 0)
  put("series_x", string_of(recorders == #set.list and "number of the value" or recorders == 0 and "time [s]"
    or "number of the value, or time [s]"))
  lines[#lines + 1] = ("array series_name[%d] = [%s]"):format(#names, table.concat(names, ", "))
  return table.concat(lines, "\n") .. "\n"
end

local function gnuplot(folder, script)
  local pipe = io.popen(("cd %s && timeout 60 gnuplot %s 2>&1 </dev/null"):format(quote(folder), script))
  local output = pipe:read("a")
  local ok = pipe:close()
  if ok then return output end
  if not os.execute("command -v gnuplot >/dev/null 2>&1") then
    return nil, "gnuplot is not installed (apt-get install gnuplot-nox)"
  end
  return nil, output:match("line %d+: ([^\n]*)") or "gnuplot failed"
end

local function write(path, text)
  local f <close>, err = io.open(path, "w")
  if not f then return nil, err end
  return f:write(text)
end

local function in_folder(f)
  local folder = os.tmpname()
  os.remove(folder)
  if not os.execute("mkdir -m 700 " .. quote(folder)) then return nil, folder .. ": no folder can be made there" end
  local result, err = f(folder)
  os.execute("rm -rf " .. quote(folder))
  return result, err
end

local dumb = [[
load "run.gp"
set terminal dumb noenhanced size %d, %d
if (series_log) { set logscale y; set format y "%%.0e" }
set xlabel series_x
set key below
set datafile missing "NaN"
set offsets 0, 0, graph 0.05, graph 0.05
plot for [i = 1:series_n] "series.dat" index i - 1 using 1:2 with lines title series_name[i]
]]

--- A drawing of characters.
---@return string? text
---@return string? err
function M.text(set, title, columns, lines)
  return in_folder(function(folder)
    local ok, err = write_data(set, folder .. "/series.dat")
    ok, err = ok and write(folder .. "/run.gp", variables(set, title)), err
    ok, err = ok and write(folder .. "/text.gp", dumb:format(columns, lines)), err
    if not ok then return nil, err end
    local text, why = gnuplot(folder, "text.gp")
    return text and text:gsub("^\f?\n*", ""), why
  end)
end

--- A picture, .svg or .png by its name.
---@return boolean? ok
---@return string? err
function M.picture(set, title, path)
  local plots = require "pmlua".paths.plots
  if not plots then return nil, "pmlua's folder of plots is not found" end
  return in_folder(function(folder)
    local ok, err = write_data(set, folder .. "/series.dat")
    ok, err = ok and write(folder .. "/run.gp", variables(set, title)), err
    if not ok then return nil, err end
    local copied = os.execute(("cp %s/theme.gp %s/series.gp %s"):format(quote(plots), quote(plots), quote(folder)))
    if not copied then return nil, plots .. ": theme.gp or series.gp cannot be read" end
    local format = path:match("%.(%a+)$")
    local done, why = gnuplot(folder, ("-e %s series.gp"):format(quote(("format='%s'; output_file='picture'"):format(format))))
    if not done then return nil, why end
    local moved = os.execute(("cp %s/picture %s 2>/dev/null"):format(quote(folder), quote(path)))
    if not moved then return nil, path .. ": cannot be written" end
    return true
  end)
end

return M
