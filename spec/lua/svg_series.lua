-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/svg_series.lua - series of a figure that look alike in grey, or to readers with red-green colour blindness.
--
-- Two series of a panel differ if they have other marks or dashes, or if their colours differ. Colour vision is simulated after
-- G. Machado et al., A physiologically-based model for simulation of color vision deficiency (2009), severity 1.

local svg_texts = require "spec.lua.svg_texts"

local M = {}

local LEAST <const> = 8 -- distance of colours (CIE 1976); black and white are 100 apart

local VIEWS <const> = {
  grey = { { 0.2126, 0.7152, 0.0722 }, { 0.2126, 0.7152, 0.0722 }, { 0.2126, 0.7152, 0.0722 } },
  deuteranopia = { { 0.367, 0.861, -0.228 }, { 0.280, 0.673, 0.047 }, { -0.012, 0.043, 0.969 } },
  protanopia = { { 0.152, 1.053, -0.205 }, { 0.115, 0.786, 0.099 }, { -0.004, -0.048, 1.052 } },
}

local function linear(v)
  v = v / 255
  return v <= 0.04045 and v / 12.92 or ((v + 0.055) / 1.055) ^ 2.4
end

local XYZ <const> = { { 0.4339, 0.3762, 0.1899 }, VIEWS.grey[1], { 0.0177, 0.1095, 0.8728 } } -- relative to white

local function product(matrix, v)
  local out = {}
  for i, row in ipairs(matrix) do out[i] = row[1] * v[1] + row[2] * v[2] + row[3] * v[3] end
  return out
end

--- Lightness and hue of a colour in a view: L*, a*, b*.
local function lab(rgb, view)
  local seen = product(VIEWS[view], { linear(rgb[1]), linear(rgb[2]), linear(rgb[3]) })
  for i, v in ipairs(seen) do seen[i] = math.max(0, math.min(1, v)) end
  local f = product(XYZ, seen)
  for i, v in ipairs(f) do f[i] = v > 0.008856 and v ^ (1 / 3) or 7.787 * v + 16 / 116 end
  return { 116 * f[2] - 16, 500 * (f[1] - f[2]), 200 * (f[2] - f[3]) }
end

--- The distance of two colours in a view (CIE 1976).
---@param a number[] red, green, blue from 0 to 255
---@param b number[]
---@param view string
function M.distance(a, b, view)
  local sum, from, to = 0, lab(a, view), lab(b, view)
  for i, v in ipairs(from) do sum = sum + (v - to[i]) ^ 2 end
  return sum ^ 0.5
end

local function group_at(svg, from)
  local depth, at = 0, from
  repeat
    local start, stop, close = svg:find("<(/?)g[%s>]", at)
    depth, at = depth + (close == "/" and -1 or 1), stop
  until depth == 0 or not start
  return svg:sub(from, at)
end

local function add(counts, key)
  counts[key] = (counts[key] or 0) + 1
end

local function words(counts)
  local out = {}
  for key in pairs(counts) do out[#out + 1] = key end
  table.sort(out)
  return table.concat(out, " ")
end

--- The commonest colour of a group, of its areas if it has any, over white where it is transparent; its marks, hatches, dashes.
local function look(group)
  local colours, fills, marks, dashes = {}, {}, {}, {}
  for kind, attributes in group:gmatch "<(%a+) ([^>]*)/>" do
    local r, g, b = attributes:match "rgb%(%s*(%d+),%s*(%d+),%s*(%d+)%)"
    local opacity = tonumber(attributes:match "fill%-opacity = '([%d.]+)'") or 1
    if r then
      local rgb = { r, g, b }
      for i, v in ipairs(rgb) do rgb[i] = math.floor(opacity * v + (1 - opacity) * 255 + 0.5) end
      add(kind == "polygon" and fills or colours, table.concat(rgb, " "))
    end
    if kind == "use" then add(marks, attributes:match "#(%w+)") end
    local hatch = attributes:match "^style='fill:none;.* d='([^']*)'"
    if hatch then add(marks, hatch) end
    if kind == "path" and not attributes:find "^style" then add(dashes, attributes:match "dasharray='([^']*)'" or "solid") end
  end
  local most
  if next(fills) then colours = fills end
  for colour, n in pairs(colours) do
    if colour ~= "255 255 255" and (not most or n > colours[most] or n == colours[most] and colour < most) then most = colour end
  end
  local rgb = {}
  for v in (most or ""):gmatch "%d+" do rgb[#rgb + 1] = tonumber(v) end
  return most and { rgb = rgb, marks = words(marks), dashes = words(dashes) }
end

--- Each group of a series with its panel, and its title if a legend names it. Then it contains the legend's text.
local function groups_of(svg)
  local out = {}
  for from, panel, title in svg:gmatch '()<g id="gnuplot_plot_%d+(%a*)" ><title>([^<]*)</title>' do
    local text = group_at(svg, from)
    out[#out + 1] = { panel = panel, text = text, title = text:find(("<text>%s</text>"):format(title), 1, true) and title }
  end
  return out
end

--- The series that a legend names, by panel.
local function panels_of(svg)
  local panels = {}
  for _, group in ipairs(groups_of(svg)) do
    local panel, title, series = group.panel, group.title, group.title and look(group.text)
    if series then
      series.title = title
      panels[panel] = panels[panel] or {}
      panels[panel][title] = series
    end
  end
  return panels
end

local function alike(a, b, view)
  return a.marks == b.marks and a.dashes == b.dashes and M.distance(a.rgb, b.rgb, view) < LEAST
end

--- Pairs of series that look alike, a line each.
---@param svg string
---@return string[]
function M.faults(svg)
  local out = {}
  for _, panel in pairs(panels_of(svg)) do
    for title, a in pairs(panel) do
      for other, b in pairs(panel) do
        for view in pairs(title < other and VIEWS or {}) do
          if alike(a, b, view) then out[#out + 1] = ("'%s' and '%s' look alike: %s"):format(title, other, view) end
        end
      end
    end
  end
  table.sort(out)
  return out
end

--- Whether a line from a to b enters a box: Liang and Barsky's clipping.
local function enters(box, a, b)
  local first, last = 0, 1
  for i = 1, 2 do
    local way = b[i] - a[i]
    local near, far = (box.low[i] - a[i]) / way, (box.high[i] - a[i]) / way
    if way == 0 then
      if a[i] <= box.low[i] or a[i] >= box.high[i] then return false end
    else
      first, last = math.max(first, math.min(near, far)), math.min(last, math.max(near, far))
    end
  end
  return first < last
end

--- Whether a mark, a line or a box of a series lies in a box.
local function covers(group, box)
  for x, y in group:gmatch "<use [^>]*translate%(([-%d.]+),([-%d.]+)%)" do
    local at = { tonumber(x), tonumber(y) }
    if enters(box, { at[1] - 1, at[2] }, { at[1] + 1, at[2] }) then return true end
  end
  for path in group:gmatch "[ds] ?= ?'([-M%d][^']*)'" do
    local last
    for command, x, y in path:gmatch "(%a?)([-%d.]+),([-%d.]+)" do
      local at = { tonumber(x), tonumber(y) }
      if last and command ~= "M" and enters(box, last, at) then return true end
      last = at
    end
  end
end

--- Texts of legends that lie on data, a line each.
---@param svg string
---@return string[]
function M.covered(svg)
  local groups, titles, out = groups_of(svg), {}, {}
  for _, group in ipairs(groups) do titles[group.title or ""] = true end
  for _, text in ipairs((svg_texts.of(svg))) do
    local box = { low = text.corners[1], high = text.corners[3] }
    for _, group in ipairs(titles[text.text] and groups or {}) do
      if covers(group.text, box) then
        out[#out + 1] = ("'%s' lies on data"):format(text.text)
        break
      end
    end
  end
  return out
end

return M
