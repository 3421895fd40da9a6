-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/svg_texts.lua - a check of a figure's texts: none overlaps another or leaves the picture.
--
-- An SVG of gnuplot or Graphviz has a position, an anchor and a font size for each text. The box of a text is estimated from
-- these and its number of characters: a character of DejaVu Sans has an average width of about 0.6 of the font size; 0.56
-- tolerates texts that only touch.

local M = {}

local WIDE, UP, DOWN = 0.56, 0.73, 0.17 -- in font sizes: of a character, above and below the line
local shift = { start = 0, middle = 0.5, ["end"] = 1 }

local function plain(markup)
  return (markup:gsub("<[^>]*>", ""):gsub("&#?%w+;", "x"):gsub("^%s+", ""):gsub("%s+$", ""))
end

--- The four corners of a text in the picture.
local function corners(x, y, angle, left, right, up, down)
  local c, s, out = math.cos(math.rad(angle)), math.sin(math.rad(angle)), {}
  for i, at in ipairs { { left, -up }, { right, -up }, { right, down }, { left, down } } do
    out[i] = { x + at[1] * c - at[2] * s, y + at[1] * s + at[2] * c }
  end
  return out
end

--- The figure of a run's folder, drawn once more by gnuplot alone in another size.
---@param folder string
---@param factor number of its own width and height; fonts stay as they are
---@return string svg
function M.draw(folder, factor)
  local command = [[cd '%s' && gnuplot -e 'output_file = "/dev/stdout"; size_factor = %g' plot.gp 2>/dev/null]]
  local f <close> = assert(io.popen(command:format(folder, factor)))
  return f:read "a"
end

--- Multiply each number with a fraction, in the tables of a copy of a run, by a random factor from 0.3 to 3: labels move as they
--- may in another run.
---@param folder string of the run
---@param copy string an empty folder
---@param seed integer
function M.disturb(folder, copy, seed)
  math.randomseed(seed)
  assert(os.execute(("cp '%s'/*.gp '%s'/*.dat '%s'"):format(folder, folder, copy)))
  local names <close> = assert(io.popen(("ls '%s'/*.dat"):format(copy)))
  for path in names:lines() do
    local old <close> = assert(io.open(path))
    local text = ("\n" .. old:read "a"):gsub("\n[^#\n][^\n]*", function(line)
      return (line:gsub("%f[%S]%-?%d+%.%d%S*", function(word)
        return tonumber(word) and ("%.17g"):format(tonumber(word) * 10 ^ (math.random() - 0.5))
      end))
    end)
    local new <close> = assert(io.open(path, "w"))
    new:write((text:sub(2)))
  end
end

--- Graphviz has texts with their own place, all shifted alike.
local function add_graphviz(texts, svg)
  local dx, dy = svg:match 'class="graph" transform="[^"]*translate%(([-%d.]+) ([-%d.]+)%)'
  for anchor, x, y, size, markup in
    svg:gmatch '<text text%-anchor="(%a+)" x="([-%d.]+)" y="([-%d.]+)"[^>]*font%-size="([%d.]+)"[^>]*>(.-)</text>' do
    local text = plain(markup)
    local long = WIDE * size * utf8.len(text)
    local left = -long * shift[anchor]
    texts[#texts + 1] = { text = text, corners = corners(x + dx, y + dy, 0, left, left + long, UP * size, DOWN * size) }
  end
end

--- All texts of a picture, and its size.
---@param svg string
---@return { text: string, corners: number[][] }[]
---@return number width
---@return number height
function M.of(svg)
  local width, height = svg:match 'viewBox="0[.0]* 0[.0]* ([%d.]+) ([%d.]+)"'
  local texts = {}
  for place, attributes, markup in svg:gmatch '<g transform="([^"]*)"([^>]*)>%s*<text>(.-)</text>' do
    local text = plain(markup)
    local x, y = place:match "translate%(([-%d.]+),%s*([-%d.]+)%)"
    local size = tonumber(attributes:match 'font%-size="([%d.]+)"')
    if text ~= "" then
      local long = WIDE * size * utf8.len(text)
      local left = -long * shift[attributes:match 'text%-anchor="(%a+)"']
      local angle = tonumber(place:match "rotate%(([-%d.]+)") or 0
      texts[#texts + 1] = { text = text, corners = corners(x, y, angle, left, left + long, UP * size, DOWN * size) }
    end
  end
  add_graphviz(texts, svg)
  return texts, tonumber(width), tonumber(height)
end

--- The size of the smallest font in a picture of gnuplot, in pixels of 1/96 inch.
---@param svg string
---@return number
function M.smallest(svg)
  local least = math.huge
  for size in svg:gmatch 'font%-size="([%d.]+)"' do least = math.min(least, tonumber(size)) end
  return least
end

local function span(points, nx, ny)
  local low, high = math.huge, -math.huge
  for _, p in ipairs(points) do
    local at = p[1] * nx + p[2] * ny
    low, high = math.min(low, at), math.max(high, at)
  end
  return low, high
end

--- gnuplot draws a boxed label twice, once under its box.
local function same(a, b)
  for i = 1, 4 do
    if a.corners[i][1] ~= b.corners[i][1] or a.corners[i][2] ~= b.corners[i][2] then return false end
  end
  return a.text == b.text
end

--- Two rectangles overlap unless a side of one separates them.
local function overlap(a, b)
  for _, points in ipairs { a, b } do
    for i = 1, 2 do
      local nx, ny = points[i + 1][1] - points[i][1], points[i + 1][2] - points[i][2]
      local low_a, high_a = span(a, nx, ny)
      local low_b, high_b = span(b, nx, ny)
      if high_a <= low_b or high_b <= low_a then return false end
    end
  end
  return true
end

local function leaves(points, width, height)
  for _, p in ipairs(points) do
    if p[1] < 0 or p[2] < 0 or p[1] > width or p[2] > height then return true end
  end
  return false
end

--- The faults of the texts in a picture, a line each; empty if all texts are legible.
---@param svg string
---@return string[]
function M.faults(svg)
  local texts, width, height = M.of(svg)
  local out = {}
  if #texts == 0 then out[1] = "no text" end
  for i, a in ipairs(texts) do
    if leaves(a.corners, width, height) then out[#out + 1] = ("'%s' leaves the picture"):format(a.text) end
    for j = i + 1, #texts do
      if overlap(a.corners, texts[j].corners) and not same(a, texts[j]) then
        out[#out + 1] = ("'%s' and '%s' overlap"):format(a.text, texts[j].text)
      end
    end
  end
  return out
end

return M
