-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/page.lua - results as one HTML page that needs no other file: facts, figures, tables that sort, text.
--
-- Try:  io.write(require("pmlua.internal.page").text { title = "demo", parts = {
--         { heading = "Table", names = { "path", "ns" }, rows = { { "page", 12.5 }, { "read", 230 } } } } })
--
-- Names come from other programs and from folders of other people. Therefore all contents are text: quote.html() escapes them,
-- gnuplot's figures are images, in which a browser runs nothing, and the page's policy allows one script, by its hash.

local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local quote = require "pmlua.internal.quote"
local html = quote.html
local tabulate = require "pmlua.tabulate"
local units = require "pmlua.internal.report.units"

local M = {}

local MOST_VALUES = 20000     -- in a table
local MOST_BYTES = 300000     -- in a table, by whole rows
local MOST_PICTURE = 400000   -- bytes
local ROW, LEFT, WIDTH, RIGHT = 26, 250, 420, 200 -- pixels: a row's height; label, marks, course

-- Sorts the rows of a table by the column whose head is clicked. Without it the page shows the same, unsorted.
M.SCRIPT = [[
for (const head of document.querySelectorAll(".numbers th")) {
  head.tabIndex = 0;
  head.onkeydown = (event) => event.key == "Enter" && head.onclick();
  head.onclick = () => {
    const body = head.closest("table").tBodies[0], sign = head.ariaSort == "ascending" ? -1 : 1;
    const key = (row) => row.cells[head.cellIndex].title || row.cells[head.cellIndex].textContent;
    const order = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
    body.append(...[...body.rows].sort((a, b) => sign * order(key(a), key(b))));
    for (const other of head.parentNode.cells) other.ariaSort = null;
    head.ariaSort = sign > 0 ? "ascending" : "descending";
  };
}
]]
M.HASH = "sha256-1rNlUTRPudY3hGeG6sFHDOjR9A/miuAAJJ/v3Ev6it8=" -- the hash of SCRIPT, in base64

local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '%s'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
body { font: 15px/1.5 "DejaVu Sans", Helvetica, Arial, sans-serif; color: #222; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.note { color: #666; } .bad { color: #b34a00; }
.wide { overflow-x: auto; }
img { max-width: 100%%; height: auto; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, .text, .words td, .words th { text-align: left; }
.words td { white-space: normal; }
.numbers th[tabindex] { cursor: pointer; }
th[aria-sort=ascending]::after { content: " \25B4"; } th[aria-sort=descending]::after { content: " \25BE"; }
pre { background: #f6f6f6; padding: 0.8rem; overflow-x: auto; font-size: 0.85rem; }
.values { white-space: normal; overflow-wrap: anywhere; }
svg text { font: 12px "DejaVu Sans", Helvetica, Arial, sans-serif; }
.axis { stroke: #ddd; } .axis + text { fill: #666; }
.whiskers { stroke: #56B4E9; stroke-width: 2; } .quartiles { stroke: #9fcdea; stroke-width: 12; }
.interval { stroke: #D55E00; stroke-width: 4; } .median { fill: #D55E00; } .round { fill: #005A94; }
.reference { stroke: #222; } .samples { stroke: #005A94; stroke-opacity: 0.35; }
</style>
</head>
<body>
]]

-- --- tables ---

local function number(v) return math.abs(v) < 1 and ("%.4g"):format(v) or tabulate.number(v) end

--- A number as people read it, in full where the mouse rests.
local function cell_of(v)
  if type(v) ~= "number" then return ('<td class="text">%s</td>'):format(v == nil and "-" or html(v)) end
  return ('<td title="%s">%s</td>'):format(html(v), html(number(v)))
end

local function table_of(names, rows, about, class)
  local out = { ('<div class="wide"><table class="%s"><thead><tr>'):format(class or "numbers") }
  local most = math.max(MOST_VALUES // math.max(#names, 1), 1)
  for i, name in ipairs(names) do
    local text = false
    for r = 1, math.min(#rows, most) do text = text or rows[r][i] ~= nil and type(rows[r][i]) ~= "number" end
    out[#out + 1] = ('<th%s title="%s">%s</th>'):format(text and ' class="text"' or "", html(about and about[i] or ""),
      html(name))
  end
  out[#out + 1] = "</tr></thead><tbody>\n"
  local bytes, shown = 0, 0
  while shown < math.min(#rows, most) and bytes < MOST_BYTES do
    local cells = {}
    shown = shown + 1
    for i = 1, #names do cells[i] = cell_of(rows[shown][i]) end
    out[#out + 1] = ("<tr>%s</tr>\n"):format(table.concat(cells))
    bytes = bytes + #out[#out]
  end
  out[#out + 1] = "</tbody></table></div>\n"
  if #rows > shown then out[#out + 1] = ('<p class="note">The first %d of %d rows.</p>\n'):format(shown, #rows) end
  return table.concat(out)
end

--- JSON knows no integers.
function M.word(v) return tostring(type(v) == "number" and math.tointeger(v) or v) end

--- A record, nested or not, as rows of words.
local function flatten(record, prefix, rows)
  local keys = {}
  for key in pairs(record) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local v, name = record[key], prefix .. tostring(key):gsub("_", " ")
    if type(v) ~= "table" then rows[#rows + 1] = { name, M.word(v) }
    elseif #v > 0 and type(v[1]) ~= "table" then
      local words = lists.map(v, M.word)
      rows[#rows + 1] = { name, table.concat(words, ", ") }
    else flatten(v, name .. ", ", rows) end
  end
  return rows
end

-- --- figures ---

--- Shapes with a text where the mouse rests; a format's %s are numbers or classes of ours.
local function shape(text, element, ...)
  return ("<g><title>%s</title>%s</g>\n"):format(html(text), element:format(...))
end

--- The least and greatest value of all marks.
local function range_of(rows, reference)
  local low, high = reference or math.huge, reference or -math.huge
  local function take(v) if v then low, high = math.min(low, v), math.max(high, v) end end
  for _, row in ipairs(rows) do
    for _, mark in ipairs(row.marks or {}) do
      if not mark.values then take(mark.at) take(mark.from) take(mark.to) end
    end
  end
  return low, high
end

--- Round values from low to high: multiples of 1, 2 or 5 times a power of ten, at most six.
local function linear_tics(low, high)
  local tics, step = {}, 10 ^ math.floor(math.log(math.max(high - low, math.abs(high) * 1e-9, 1e-300), 10) - 1)
  for _, factor in ipairs { 2, 2.5, 2, 2, 2.5 } do step = (high - low) / step > 5 and step * factor or step end
  for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do tics[#tics + 1] = k * step end
  return tics
end

--- Powers of ten with an even distance, at most six; round values if fewer than two powers are in the range.
local function logarithmic_tics(low, high)
  local first, last, tics = math.ceil(math.log(low, 10) - 1e-9), math.floor(math.log(high, 10) + 1e-9), {}
  for k = first, last, math.max(math.ceil((last - first) / 5), 1) do tics[#tics + 1] = 10.0 ^ k end
  return #tics > 1 and tics or linear_tics(low, high)
end

--- From a value to its place, and the values of the tics; logarithmic where values are far apart.
local function scale_of(rows, zero, reference)
  local low, high = range_of(rows, reference)
  if low > 0 and high > 30 * low then
    local span = math.log(high / low)
    return function(v) return LEFT + WIDTH * math.log(math.max(v, low) / low) / span end, logarithmic_tics(low, high),
      "logarithmic"
  end
  if low > high then low, high = 0, 0 end
  if zero then low = math.min(low, 0) end
  return function(v) return LEFT + (high > low and WIDTH * (v - low) / (high - low) or 0) end, linear_tics(low, high), "linear"
end

--- A value with the prefix of SI: "1.5 µs", "20 k"; in full if no prefix helps, or if the prefix hides the step between tics.
local function tic_of(v, unit, step)
  local text = ("%.10g %s"):format(v, unit)
  if math.abs(v) < 1e21 and step >= math.abs(v) * 1e-3 and (math.abs(v) >= 1 or v == 0 or unit == "s" or unit == "ns") then
    text = unit == "ns" and units.time(v) or units.scaled(v, unit)
  end
  return (text:gsub("(%.%d-)0+ ", "%1 "):gsub("%. ", " "):gsub(" $", ""))
end

local function axis_of(at, tics, unit, height)
  local out = {}
  for i, v in ipairs(tics) do
    local step = math.abs(v - (tics[i - 1] or tics[i + 1] or 0))
    out[i] = ('<line class="axis" x1="%.1f" x2="%.1f" y1="10" y2="%d"/>'):format(at(v), at(v), height - 18)
      .. ('<text x="%.1f" y="%d" text-anchor="middle">%s</text>\n'):format(at(v), height - 4, html(tic_of(v, unit, step)))
  end
  return table.concat(out)
end

local function mark_of(mark, y, at)
  if mark.values then
    local path = {}
    for i, v in ipairs(mark.values) do path[i] = ("M%.1f %dv5"):format(math.min(math.max(at(v), LEFT), LEFT + WIDTH), y + 7) end
    return shape(mark.text, '<path class="%s" d="%s"/>', mark.style, table.concat(path))
  elseif mark.at then
    return shape(mark.text, '<circle class="%s" cx="%.1f" cy="%d" r="4"/>', mark.style, at(mark.at), y)
  end
  return shape(mark.text, '<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>', mark.style, at(mark.from), at(mark.to), y, y)
end

--- Draw values in their order, from left to right; a higher point is a larger value.
local function course_of(course, y)
  local low, high, out = math.huge, -math.huge, {}
  for _, point in ipairs(course) do low, high = math.min(low, point.value), math.max(high, point.value) end
  for i, point in ipairs(course) do
    local x = LEFT + WIDTH + 40 + (#course > 1 and RIGHT * (i - 1) / (#course - 1) or 0)
    local up = high > low and (point.value - low) / (high - low) or 0.5
    out[i] = shape(point.text, '<circle class="round" cx="%.1f" cy="%.1f" r="2.5"/>', x, y + 8 - 16 * up)
  end
  return table.concat(out)
end

---@class pmlua.page.Mark what lies at a value (at), from one to another, or at many
---@field text string where the mouse rests
---@field style "median"|"interval"|"quartiles"|"whiskers"|"samples"
---@field at number?
---@field from number?
---@field to number?
---@field values number[]?

---@class pmlua.page.Row
---@field label string
---@field marks pmlua.page.Mark[]?
---@field course { value: number, text: string }[]? values in their order; the row scales them to their range

---@class pmlua.page.Figure
---@field rows pmlua.page.Row[]
---@field zero boolean? a linear axis begins at 0
---@field unit string? of the values, for the axis
---@field reference number? a value with a line from top to bottom
---@field about string what the marks are; a %s in it is linear or logarithmic

local function figure_of(figure)
  local at, tics, scale = scale_of(figure.rows, figure.zero, figure.reference)
  local height, right = ROW * (#figure.rows + 1) + 16, 0
  for _, row in ipairs(figure.rows) do right = row.course and #row.course > 0 and RIGHT + 20 or right end
  local out = { ('<div class="wide"><svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d">\n'):format(
    LEFT + WIDTH + 60 + right, height), axis_of(at, tics, figure.unit or "", height) }
  if figure.reference then
    out[3] = ('<line class="reference" x1="%.1f" x2="%.1f" y1="10" y2="%d"/>\n'):format(at(figure.reference),
      at(figure.reference), height - 18)
  end
  for i, row in ipairs(figure.rows) do
    local y = ROW * i
    out[#out + 1] = shape(row.label, '<text x="%d" y="%d" text-anchor="end">%s</text>', LEFT - 12, y + 4,
      html(tabulate.cut(row.label, 34)))
    for _, mark in ipairs(row.marks or {}) do out[#out + 1] = mark_of(mark, y, at) end
    out[#out + 1] = course_of(row.course or {}, y)
  end
  out[#out + 1] = ('</svg></div>\n<p class="note">%s</p>\n'):format(html(figure.about:format(scale)))
  return table.concat(out)
end

--- Embed an SVG as an image, in which the browser runs no code.
local function picture_of(svg)
  if #svg > MOST_PICTURE then return '<p class="note">The figure is too large for a page.</p>\n' end
  return ('<img alt="the figure" src="data:image/svg+xml,%s">\n'):format((svg:gsub("[^A-Za-z0-9_.~ =:;,/()+-]", function(c)
    return ("%%%02X"):format(c:byte())
  end)))
end

--- A picture of pmlua's own in the document itself, where a browser shows the titles of its parts under the mouse.
local function drawing_of(svg)
  if #svg > MOST_PICTURE then return picture_of(svg) end
  return ('<div class="wide">%s</div>\n'):format(svg)
end

--- Values that open by a click, also without a script.
local function values_of(list)
  local out = {}
  for i, one in ipairs(list) do
    local words = lists.map(one.values, function(v) return ("%.6g"):format(v) end)
    out[i] = ('<details><summary>%s</summary><pre class="values">%s</pre></details>\n'):format(html(one.label),
      html(table.concat(words, " ")))
  end
  return table.concat(out)
end

--- A command line as a shell takes it.
function M.command(words)
  local out = lists.map(words, function(word) return quote.shell((tostring(word):gsub("%z", "?"))) end)
  return table.concat(out, " ")
end

-- --- the page ---

---@class pmlua.page.Part one of these, below its heading
---@field heading string?
---@field names string[]? a table, as tabulate() takes it
---@field rows any[][]?
---@field about string[]? descriptions of its columns
---@field facts table? names and values
---@field figure pmlua.page.Figure?
---@field picture string? an SVG of any origin, shown as an image
---@field drawing string? an SVG of pmlua, whose texts are escaped, without style and script
---@field values { label: string, values: number[] }[]?
---@field note string?
---@field code string?

local function part_of(part)
  return table.concat {
    part.heading and ("<h2>%s</h2>\n"):format(html(part.heading)) or "",
    part.note and ('<p class="note">%s</p>\n'):format(html(part.note)) or "",
    part.picture and picture_of(part.picture) or "", part.drawing and drawing_of(part.drawing) or "",
    part.figure and figure_of(part.figure) or "",
    part.names and table_of(part.names, part.rows, part.about) or "",
    part.facts and table_of({ "what", "is" }, flatten(part.facts, "", {}), nil, "words") or "",
    part.values and values_of(part.values) or "",
    part.code and ("<pre>%s</pre>\n"):format(html(part.code, "lines")) or "",
  }
end

---@class pmlua.page.Page
---@field title string
---@field about string? a sentence below it
---@field state string? how the run ended
---@field bad boolean? it is incomplete
---@field warnings string[]?
---@field parts pmlua.page.Part[]

--- The rows of a table whose columns are fields of records.
function M.rows(names, records)
  local rows = {}
  for r, record in ipairs(records) do
    rows[r] = {}
    for i, name in ipairs(names) do rows[r][i] = record[name] end
  end
  return rows
end

--- A part with the picture that `draw` writes into a file; empty if it cannot be drawn.
---@param draw fun(path: string): any
---@return pmlua.page.Part
function M.drawn(heading, draw)
  return require "pmlua.internal.picture".in_folder(function(folder)
    local path = folder .. "/figure.svg"
    return draw(path) and { heading = heading, picture = disk.read(path) } or {}
  end) or {}
end

--- A part with the flame graph of a run or trace; empty if it has no calls.
---@param path string as for pmlua flame
---@param where pmlua.TraceWhere?
---@return pmlua.page.Part
function M.flame(path, where)
  local stacks, text = require "pmlua.internal.export.stacks".read(path, { where = where }), {}
  local drawn = stacks and require "pmlua.internal.export.flame".svg(stacks, function(piece) text[#text + 1] = piece end,
    { title = path, width = 1000, still = true })
  return drawn and { heading = "Flame graph", drawing = table.concat(text),
    note = ("For a picture with search, run pmlua flame %s."):format(path) } or {}
end

--- Write a page into a file, with the command line unless the page has one.
---@return boolean? ok, pmlua.Failure? failure
function M.save(path, page)
  local has = false
  for _, part in ipairs(page.parts) do has = has or part.code ~= nil end
  if not has then
    table.insert(page.parts, { heading = "Command", code = M.command(require "pmlua.internal.cli.common".line()) })
  end
  local ok, err = disk.write(path, M.text(page))
  return ok, err
end

--- The text of a page.
function M.text(page)
  local out = { HEAD:format(M.HASH, html(page.title)), ("<h1>%s</h1>\n"):format(html(page.title)) }
  out[#out + 1] = page.about and ("<p>%s</p>\n"):format(html(page.about))
  out[#out + 1] = page.state and ('<p class="%s">%s</p>\n'):format(page.bad and "bad" or "note", html(page.state))
  if page.warnings and #page.warnings > 0 then
    for i, text in ipairs(page.warnings) do out[#out + 1] = ("%s<li>%s</li>\n"):format(i == 1 and "<ul>\n" or "", html(text)) end
    out[#out + 1] = "</ul>\n"
  end
  for _, part in ipairs(page.parts) do out[#out + 1] = part_of(part) end
  out[#out + 1] = ("<script>%s</script>\n</body>\n</html>\n"):format(M.SCRIPT)
  return table.concat(out)
end

return M
