-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/svg_series.lua - series of a figure that look alike in grey, or to readers with red-green colour blindness.
--
-- Two series of a panel differ if they have other marks or dashes, or if their colours differ. Colour vision is simulated after
-- G. Machado et al., A physiologically-based model for simulation of color vision deficiency (2009), severity 1.

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

local XYZ <const> = { { 0.4339, 0.3762, 0.1899 }, VIEWS.grey[1], { 0.0177, 0.1095, 0.8728 } } -- over those of white

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

--- The commonest colour of a group, over white where it is transparent; its marks, hatches and dashes.
local function look(group)
  local colours, marks, dashes = {}, {}, {}
  for kind, attributes in group:gmatch "<(%a+) ([^>]*)/>" do
    local r, g, b = attributes:match "rgb%(%s*(%d+),%s*(%d+),%s*(%d+)%)"
    local opacity = tonumber(attributes:match "fill%-opacity = '([%d.]+)'") or 1
    if r then
      local rgb = { r, g, b }
      for i, v in ipairs(rgb) do rgb[i] = math.floor(opacity * v + (1 - opacity) * 255 + 0.5) end
      add(colours, table.concat(rgb, " "))
    end
    if kind == "use" then add(marks, attributes:match "#(%w+)") end
    local hatch = attributes:match "^style='fill:none;.* d='([^']*)'"
    if hatch then add(marks, hatch) end
    if kind == "path" and not attributes:find "^style" then add(dashes, attributes:match "dasharray='([^']*)'" or "solid") end
  end
  local most
  for colour, n in pairs(colours) do
    if colour ~= "255 255 255" and (not most or n > colours[most] or n == colours[most] and colour < most) then most = colour end
  end
  local rgb = {}
  for v in (most or ""):gmatch "%d+" do rgb[#rgb + 1] = tonumber(v) end
  return most and { rgb = rgb, marks = words(marks), dashes = words(dashes) }
end

--- The series that a legend names, by panel. Their groups contain the legend's text.
local function panels_of(svg)
  local panels = {}
  for from, panel, title in svg:gmatch '()<g id="gnuplot_plot_%d+(%a*)" ><title>([^<]*)</title>' do
    local group = group_at(svg, from)
    local series = group:find(("<text>%s</text>"):format(title), 1, true) and look(group)
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

return M
