-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/flame.lua - a flame graph as one SVG file: bars whose width is time or counts, with search and
-- zoom in a browser, and readable without.
--
-- Try:  pmlua flame out --out flame.svg
--
-- A bar is a call path; on it lie the paths that it called. B. Gregg, The Flame Graph (CACM 59, 6, 2016).

local units = require "pmlua.internal.report.units"

local M = {}

local ROW <const>, MARGIN <const>, HEAD <const>, FOOT <const>, LETTER <const> = 17, 10, 44, 30, 7.0
local LEAST <const> = 0.1 -- width of a bar in pixels, below which it is left out

local SHOWN <const> = {
  ns = function(v) return units.scaled(v / 1e9, "s") end,
  calls = function(v) return ("%d calls"):format(v) end,
}

local function text_of(v, unit)
  local show = SHOWN[unit]
  return show and show(v) or units.scaled(v, unit == "#" and "" or unit)
end

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- A name as XML has it; bytes that are no UTF-8 become question marks, control characters spaces.
local function xml(name)
  if not utf8.len(name) then name = name:gsub("[\128-\255]", "?") end
  return (name:gsub("%c", " "):gsub('[&<>"]', entities))
end

--- As much of a name as its bar has room for.
local function cut(name, width)
  local room = math.floor((width - 6) / LETTER)
  if room < 3 then return "" end
  local n = utf8.len(name)
  if n and n <= room then return name end
  if not n then return #name <= room and name or name:sub(1, room - 2) .. ".." end
  return name:sub(1, utf8.offset(name, room - 1) - 1) .. ".."
end

-- ---- the bars ----

--- Nodes with totals and children, largest first, below one root.
local function tree_of(stacks)
  local bars = {}
  for i, n in ipairs(stacks.nodes) do bars[i] = { name = n.name, file = n.file, total = math.max(n.own, 0), children = {} } end
  local root = { name = "all", total = 0, children = {} }
  for i = #bars, 1, -1 do
    local above = stacks.nodes[i].parent and bars[stacks.nodes[i].parent] or root
    above.total = above.total + bars[i].total
    table.insert(above.children, bars[i])
  end
  for _, b in ipairs(bars) do table.sort(b.children, M.larger) end
  table.sort(root.children, M.larger)
  return root
end

--- Whether a bar comes before another.
function M.larger(a, b)
  if a.total ~= b.total then return a.total > b.total end
  return a.name < b.name
end

--- A colour for a library, the same in every picture; shades tell its functions apart.
local function colour(bar)
  local function hash(text)
    local h = 5381
    for i = 1, #text do h = (h * 33 + text:byte(i)) % 4294967296 end
    return h
  end
  local hue, shade = 10 + hash(bar.file or "") % 5 * 12, hash(bar.name) % 18
  return ("hsl(%d,%d%%,%d%%)"):format(hue, 85 - shade, 70 - shade)
end

--- Bars with their place, outer ones first; narrower ones are counted only.
local function placed(root, width, least)
  local list, left_out, deepest = {}, 0, 0
  local function count(bar)
    for _, b in ipairs(bar.children) do count(b) end
    left_out = left_out + 1
  end
  local todo = { { root, 0, 0 } }
  while #todo > 0 do
    local bar, x, depth = table.unpack(table.remove(todo))
    if bar.total / root.total * width < least then
      count(bar)
    else
      list[#list + 1] = { bar = bar, x = x / root.total, w = bar.total / root.total, depth = depth }
      deepest = math.max(deepest, depth)
      for _, b in ipairs(bar.children) do
        todo[#todo + 1] = { b, x, depth + 1 }
        x = x + b.total
      end
    end
  end
  table.sort(list, require "pmlua.internal.order".by("depth", "x"))
  return list, deepest, left_out
end

-- ---- SVG ----

local script <const> = [[
(function () {
  var svg = document.documentElement, bars = [].slice.call(svg.querySelectorAll('g.bar'));
  var status = document.getElementById('status');
  var inner = +svg.getAttribute('data-inner'), margin = +svg.getAttribute('data-margin');
  bars.forEach(function (g) {
    g.x = +g.getAttribute('data-x'); g.w = +g.getAttribute('data-w'); g.depth = +g.getAttribute('data-depth');
    g.name = g.getAttribute('data-name');
    g.addEventListener('click', function () { zoom(g); });
  });
  function put(g, x, w) {
    var rect = g.querySelector('rect'), text = g.querySelector('text'), room = Math.floor((w * inner - 6) / 7);
    rect.setAttribute('x', margin + x * inner); rect.setAttribute('width', Math.max(w * inner - 0.5, 0.1));
    text.setAttribute('x', margin + x * inner + 3);
    text.textContent = room < 3 ? '' : g.name.length <= room ? g.name : g.name.slice(0, room - 2) + '..';
    g.style.display = '';
  }
  function zoom(to) {
    var tiny = 1e-9;
    bars.forEach(function (g) {
      if (g.depth < to.depth && g.x <= to.x + tiny && g.x + g.w >= to.x + to.w - tiny) put(g, 0, 1);
      else if (g.depth >= to.depth && g.x >= to.x - tiny && g.x + g.w <= to.x + to.w + tiny)
        put(g, (g.x - to.x) / to.w, g.w / to.w);
      else g.style.display = 'none';
    });
  }
  function search() {
    var word = prompt('Search (a regular expression):', ''), pattern, found = [];
    if (word === null) return;
    try { pattern = word === '' ? null : new RegExp(word); } catch (e) { status.textContent = 'no regular expression'; return; }
    bars.forEach(function (g) {
      var hit = pattern !== null && g.depth > 0 && pattern.test(g.name);
      g.querySelector('rect').style.fill = hit ? '#b14fd6' : '';
      if (hit) found.push(g);
    });
    found.sort(function (a, b) { return a.x - b.x || b.w - a.w; });
    var sum = 0, end = -1;
    found.forEach(function (g) { if (g.x + 1e-9 >= end) { sum += g.w; end = g.x + g.w; } });
    status.textContent = pattern === null ? '' : (100 * sum).toFixed(1) + ' % in ' + word;
  }
  document.getElementById('search').addEventListener('click', search);
  document.getElementById('reset').addEventListener('click', function () { zoom(bars[0]); });
  window.addEventListener('keydown', function (e) {
    if ((e.ctrlKey || e.metaKey) && e.key === 'f') { e.preventDefault(); search(); }
  });
})();
]]

local style <const> = [[
text { font: 12px sans-serif; fill: #1a1a1a; } .title { font-size: 16px; text-anchor: middle; } .note { fill: #555; }
.bar { cursor: pointer; } .bar:hover rect { stroke: #1a1a1a; } .button { cursor: pointer; fill: #1f5fa8; }]]

local function bar_text(placed_bar, y, o, root)
  local bar, x, w = placed_bar.bar, placed_bar.x, placed_bar.w
  local name = xml(bar.name)
  local title = ("%s%s: %s, %.2f %%"):format(name, bar.file and " (" .. xml(bar.file) .. ")" or "",
    xml(text_of(bar.total, o.unit)), 100 * bar.total / root.total)
  return ('<g class="bar" data-x="%.9g" data-w="%.9g" data-depth="%d" data-name="%s"><title>%s</title>'
    .. '<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="1" fill="%s"/><text x="%.1f" y="%d">%s</text></g>\n'):format(
    x, w, placed_bar.depth, name, title, MARGIN + x * o.inner, y, math.max(w * o.inner - 0.5, 0.1), ROW - 1,
    placed_bar.depth == 0 and "#d8d8d8" or colour(bar), MARGIN + x * o.inner + 3, y + 12, xml(cut(bar.name, w * o.inner)))
end

---@class pmlua.FlameOptions
---@field title string
---@field width integer of the picture, in pixels
---@field icicle? boolean the outermost calls on top
---@field still? boolean for a page, as its element: no buttons, style or script, and no bars narrower than a pixel

--- Write the graph of the values in `stacks`; if no value is above 0, write nothing.
---@param write fun(text: string)
---@param o pmlua.FlameOptions
---@return boolean drawn false: all values are 0
function M.svg(stacks, write, o)
  local root, inner = tree_of(stacks), o.width - 2 * MARGIN
  if root.total <= 0 then return false end
  local least = o.still and 1 or LEAST
  local list, deepest, left_out = placed(root, inner, least)
  local height = HEAD + (deepest + 1) * ROW + FOOT
  write(o.still and "" or '<?xml version="1.0" encoding="UTF-8"?>\n')
  write(('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '):format(o.width, height, o.width,
    height))
  write(o.still and 'font-family="sans-serif" font-size="12">\n'
    or ('data-inner="%d" data-margin="%d">\n<style>%s</style>\n'):format(inner, MARGIN, style))
  write '<rect width="100%" height="100%" fill="#ffffff"/>\n'
  write(('<text class="title" font-size="16" text-anchor="middle" x="%d" y="24">%s</text>\n'):format(o.width // 2, xml(o.title)))
  if not o.still then
    write(('<text id="reset" class="button" x="%d" y="24">whole</text>\n'):format(MARGIN))
    write(('<text id="search" class="button" x="%d" y="24" text-anchor="end">search</text>\n'):format(o.width - MARGIN))
  end
  for _, p in ipairs(list) do
    local row = o.icicle and p.depth or deepest - p.depth
    write(bar_text(p, HEAD + row * ROW, { unit = stacks.unit, inner = inner }, root))
  end
  local note = ("%s: %s in all"):format(stacks.value, text_of(root.total, stacks.unit))
  if left_out > 0 then note = ("%s; %d bars narrower than %.1f pixels are left out"):format(note, left_out, least) end
  write(('<text class="note" x="%d" y="%d">%s</text>\n'):format(MARGIN, height - 10, xml(note)))
  write(('<text id="status" class="note" x="%d" y="%d" text-anchor="end"></text>\n'):format(o.width - MARGIN, height - 10))
  write((o.still and "" or "<script><![CDATA[\n" .. script .. "]]></script>\n") .. "</svg>\n")
  return true
end

return M
