-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/page.lua - a run as an HTML page: its figures, table, machine, script, and how to repeat it.
--
-- Try:  pmlua plot --html results/read_overhead/latest
--
-- A folder may come from anybody, and its page is opened in a browser. Therefore all contents of the folder are text:
-- quote.html() escapes them, gnuplot's figure is an image, in which a browser runs nothing, and the page's policy allows no
-- script at all.

local disk = require "pmlua.internal.file"
local html = require "pmlua.internal.quote".html
local lfs = require "lfs"
local quote = require "pmlua.internal.quote"
local tabulate = require "pmlua.tabulate"

local M = {}

local MOST_CELLS = 200      -- drawn
local MOST_SCRIPT = 1 << 20 -- bytes of a script that is shown
local ROW, LEFT, WIDTH, TRACE = 26, 250, 420, 200 -- pixels: a cell's height; label, distribution, rounds

local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
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
th:first-child, td:first-child, .words td, .words th { text-align: left; }
.words td { white-space: normal; }
pre { background: #f6f6f6; padding: 0.8rem; overflow-x: auto; font-size: 0.85rem; }
svg text { font: 12px "DejaVu Sans", Helvetica, Arial, sans-serif; }
</style>
</head>
<body>
]]

local function of_text(v) return v ~= nil and html(v) or "" end

--- JSON knows no integers.
local function word_of(v) return tostring(type(v) == "number" and math.tointeger(v) or v) end

--- A number as people read it, in full where the mouse rests.
local function cell_of(v)
  if type(v) ~= "number" then return ("<td>%s</td>"):format(v == nil and "-" or html(v)) end
  return ('<td title="%s">%s</td>'):format(html(v), html(tabulate.number(v)))
end

local function table_of(columns, rows, class)
  local out = { ('<div class="wide"><table class="%s"><tr>'):format(class or "numbers") }
  for _, c in ipairs(columns) do
    local unit = c.unit and c.unit ~= "" and c.unit ~= "text" and " [" .. c.unit .. "]" or ""
    out[#out + 1] = ('<th title="%s">%s</th>'):format(of_text(c.description), html(c.name .. unit))
  end
  out[#out + 1] = "</tr>\n"
  for _, row in ipairs(rows) do
    out[#out + 1] = "<tr>"
    for _, c in ipairs(columns) do
      local v = row[c.name]
      out[#out + 1] = cell_of(c.unit == "text" and v and tostring(v) or v)
    end
    out[#out + 1] = "</tr>\n"
  end
  out[#out + 1] = "</table></div>\n"
  return table.concat(out)
end

--- A record, nested or not, as rows of words.
local function flatten(record, prefix, rows)
  local keys = {}
  for key in pairs(record) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local v, name = record[key], prefix .. tostring(key):gsub("_", " ")
    if type(v) ~= "table" then rows[#rows + 1] = { what = name, is = word_of(v) }
    elseif #v > 0 and type(v[1]) ~= "table" then
      local words = {}
      for i, word in ipairs(v) do words[i] = word_of(word) end
      rows[#rows + 1] = { what = name, is = table.concat(words, ", ") }
    else flatten(v, name .. ", ", rows) end
  end
  return rows
end

local function record_of(record)
  return table_of({ { name = "what" }, { name = "is" } }, flatten(type(record) == "table" and record or {}, "", {}), "words")
end

-- --- the figure of the cells ---

local function factors_of(run)
  local names = {}
  for i, f in ipairs(type(run.meta.factors) == "table" and run.meta.factors or {}) do
    names[i] = type(f) == "table" and tostring(f.name) or tostring(f)
  end
  return names
end

local function label_of(names, row)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = ("%s=%s"):format(name, tostring(row[name])) end
  return #parts > 0 and table.concat(parts, " "):gsub("_", " ") or "all"
end

local function is_measured(row) return type(row.median) == "number" and type(row.q1) == "number" and type(row.q3) == "number" end

--- From a value to its place; logarithmic where values are far apart.
local function scale_of(rows)
  local low, high = math.huge, -math.huge
  for _, row in ipairs(rows) do
    if is_measured(row) then
      low, high = math.min(low, row.whisker_lo or row.q1), math.max(high, row.whisker_hi or row.q3)
    end
  end
  if low > 0 and high > 30 * low then
    return function(v) return LEFT + WIDTH * math.log(math.max(v, low) / low) / math.log(high / low) end, "logarithmic"
  end
  low = math.min(low, 0)
  return function(v) return LEFT + (high > low and WIDTH * (v - low) / (high - low) or 0) end, "linear"
end

--- Shapes with what they say where the mouse rests; a format's %s are numbers of ours.
local function shape(text, element, ...)
  return ("<g><title>%s</title>%s</g>\n"):format(html(text), element:format(...))
end

local function measure(v, unit) return tabulate.number(v) .. (unit ~= "" and " " .. unit or "") end

local function distribution(row, label, y, at, unit)
  local function line(text, color, width, from, to)
    text = ("%s: %s %s to %s"):format(label, text, measure(from, unit), measure(to, unit))
    return shape(text, '<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" stroke-width="%d"/>', at(from), at(to), y, y,
      color, width)
  end
  local out = {
    line("whiskers", "#56B4E9", 2, row.whisker_lo or row.q1, row.whisker_hi or row.q3),
    line("quartiles", "#9fcdea", 12, row.q1, row.q3),
  }
  local text = ("%s: median %s"):format(label, measure(row.median, unit))
  if type(row.median_lo) == "number" and type(row.median_hi) == "number" then
    out[#out + 1] = line("95 % interval of the median", "#D55E00", 4, row.median_lo, row.median_hi)
  end
  out[#out + 1] = shape(("%s, %s samples"):format(text, word_of(row.samples)), '<circle cx="%.1f" cy="%d" r="4" fill="#D55E00"/>',
    at(row.median), y)
  return table.concat(out)
end

--- Draw the medians of a cell's rounds as a line; a higher point is slower.
local function course(rounds, label, y, unit)
  local low, high, out = math.huge, -math.huge, {}
  for _, r in ipairs(rounds) do low, high = math.min(low, r.median), math.max(high, r.median) end
  for i, r in ipairs(rounds) do
    local x = LEFT + WIDTH + 40 + (#rounds > 1 and TRACE * (i - 1) / (#rounds - 1) or 0)
    local up = high > low and (r.median - low) / (high - low) or 0.5
    out[i] = shape(("%s: round %s, median %s"):format(label, word_of(r.round), measure(r.median, unit)),
      '<circle cx="%.1f" cy="%.1f" r="2.5" fill="#005A94"/>', x, y + 8 - 16 * up)
  end
  return table.concat(out)
end

local function rounds_of(run)
  local of = {}
  for _, r in ipairs(run.rounds and run.rounds.rows or {}) do
    if r.cell and type(r.median) == "number" then
      of[r.cell] = of[r.cell] or {}
      table.insert(of[r.cell], r)
    end
  end
  return of
end

local function figure_of(run)
  local names, rounds, unit = factors_of(run), rounds_of(run), tostring(run.meta.unit or "")
  local rows = table.move(run.data.rows, 1, math.min(#run.data.rows, MOST_CELLS), 1, {})
  local at, scale = scale_of(rows)
  local out = { ('<div class="wide"><svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d">\n'):format(
    LEFT + WIDTH + TRACE + 80, ROW * (#rows + 1)) }
  for i, row in ipairs(rows) do
    local y, label = ROW * i, label_of(names, row)
    local short = utf8.len(label) and #label > 34 and label:sub(1, 31):gsub("[\192-\255]?[\128-\191]*$", "") .. "..." or label
    out[#out + 1] = shape(label, '<text x="%d" y="%d" text-anchor="end">%s</text>', LEFT - 12, y + 4, html(short))
    if is_measured(row) then
      out[#out + 1] = distribution(row, label, y, at, unit)
      out[#out + 1] = course(rounds[row.cell] or {}, label, y, unit)
    end
  end
  out[#out + 1] = "</svg></div>\n"
  local more = #run.data.rows > #rows and (" The first %d of %d cells."):format(#rows, #run.data.rows) or ""
  return table.concat(out) .. ([[
<p class="note">Left, on a %s axis: whiskers within 1.5 IQR, quartiles, median with its 95 %% interval. Right: the medians of the
rounds in their order, each cell to its own scale. Rest the mouse on a mark to read it.%s</p>
]]):format(scale, more)
end

-- --- the parts of the page ---

--- Embed an SVG as an image, in which the browser runs no code.
local function picture_of(svg)
  return ('<img alt="the figure of the run" src="data:image/svg+xml,%s">\n'):format((svg:gsub("[^A-Za-z0-9_.~-]", function(c)
    return ("%%%02X"):format(c:byte())
  end)))
end

local function command_of(meta)
  local words = {}
  for i, word in ipairs(type(meta.command) == "table" and meta.command or {}) do
    words[i] = quote.shell((tostring(word):gsub("%z", "?")))
  end
  if #words == 0 then return nil end
  local seed = type(meta.seed) == "number" and math.tointeger(meta.seed)
  if seed and not table.concat(words, " "):find "%-%-seed" then words[#words + 1] = ("--seed %d"):format(seed) end
  return table.concat(words, " ")
end

--- The script of the run, if its file is unchanged. The folder names the path, so the file must have the hash in the folder:
--- a page shows no file whose contents the folder's creator did not know.
local function script_of(meta)
  local path, hash = meta.script, meta.script_sha256
  if type(path) ~= "string" or type(hash) ~= "string" then return nil, "the run has no script" end
  local attributes = lfs.attributes(path)
  if not attributes or attributes.mode ~= "file" or attributes.size > MOST_SCRIPT then
    return nil, ("%s is not here; its SHA-256 was %s"):format(path, hash)
  end
  if require "pmlua.internal.experiment.provenance".sha256(path) ~= hash then
    return nil, ("%s has changed since; its SHA-256 was %s"):format(path, hash)
  end
  return disk.read(path)
end

local function warnings_of(meta)
  local out = {}
  for _, text in ipairs(type(meta.warnings) == "table" and meta.warnings or {}) do
    out[#out + 1] = ("<li>%s</li>\n"):format(html(text))
  end
  return #out > 0 and "<ul>\n" .. table.concat(out) .. "</ul>\n" or ""
end

local function repeat_of(meta)
  local out = {}
  local command = command_of(meta)
  if command then out[1] = ("<pre>%s</pre>\n"):format(html(command, "lines")) end
  local script, why = script_of(meta)
  if script then
    out[#out + 1] = ("<p>%s, SHA-256 %s:</p>\n<pre>%s</pre>\n"):format(html(meta.script), html(meta.script_sha256),
      html(script, "lines"))
  else
    out[#out + 1] = ('<p class="note">%s</p>\n'):format(html(why))
  end
  return table.concat(out)
end

--- The page of a run.
---@param run pmlua.Folder
---@param svg string? the figure that gnuplot drew
---@return string
function M.text(run, svg)
  local meta = run.meta
  local name = tostring(meta.name or "run")
  return table.concat {
    HEAD:format(html(name)), ("<h1>%s</h1>\n<p>%s</p>\n"):format(html(name), of_text(meta.description)),
    ('<p class="%s">%s, %s rounds, %s samples, started %s</p>\n'):format(run.complete and "note" or "bad", html(run.status),
      html(word_of(meta.rounds_done or "?")), html(word_of(meta.samples or "?")), html(meta.started or "?")),
    warnings_of(meta), svg and "<h2>Figure</h2>\n" .. picture_of(svg) or "",
    "<h2>Cells</h2>\n", figure_of(run), "<h2>Table</h2>\n", table_of(run.data.columns, run.data.rows),
    "<h2>Machine</h2>\n", record_of(meta.machine), "<h2>Versions</h2>\n", record_of(meta.versions),
    "<h2>How to repeat it</h2>\n", repeat_of(meta), "</body>\n</html>\n",
  }
end

return M
