-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/common.lua - the options that several verbs have: each means the same wherever it is.
--
-- Try:  print(require("pmlua.internal.cli.common").with("json", { help = "the counts as JSON" }).name)

local M = {}

local words = { "slower", "faster", "more", "less" }

local function bound_of(text)
  if text == "unjudged" then return { word = text } end
  local word, bound = text:match "^(%a+):([%d.]+)%%?$"
  word = word or text
  for _, known in ipairs(words) do
    if word == known and (not bound or tonumber(bound)) then return { word = word, bound = (tonumber(bound) or 0) / 100 } end
  end
  return nil, ("'%s' is not slower, faster, more or less, with a percentage such as slower:2%%, or unjudged"):format(text)
end

local common = {
  json = { name = "json", help = "print the results as JSON, with all digits" },
  csv = { name = "csv", help = "print the results as CSV (RFC 4180)" },
  openmetrics = { name = "openmetrics", kind = "choice", choices = { "openmetrics", "text" }, value = "FORM", optional = true,
    help = "print the values for Prometheus, in the format OpenMetrics, or, with =text, in the older text format that "
      .. "node_exporter's textfile collector reads" },
  out = { name = "out", was = "o", kind = "file", help = "write the results into FILE, which is opened first" },
  folder = { name = "out-dir", short = "o", key = "out", was = "out", kind = "dir", help = "folder for the results" },
  quiet = { name = "quiet", short = "q", help = "print only failures on standard error, no progress, notes and warnings" },
  html = { name = "html", kind = "file", help = "also write the results as one page for a browser into FILE" },
  plot = { name = "plot", kind = "picture", help = "draw the results into FILE (.svg or .png)" },
  event = { name = "event", short = "e", kind = "event", many = true, key = "events", help = "count this event" },
  ["fail-on"] = { name = "fail-on", kind = "text", value = "WORD[:PERCENT]", many = true, key = "bounds", read = bound_of,
    help = "exit with status 1 if a verdict is WORD (slower, faster, more, less) and the whole interval is beyond PERCENT; "
      .. "unjudged: if a cell has no counterpart or too few rounds" },
  patience = { name = "patience", kind = "duration", default = "5s", such = "5s or 500ms",
    help = "wait at most this long for an answer" },
}

--- A copy of a common option with the fields that differ here, such as its help or default.
---@param particular? table
---@return pmlua.cli.Option
function M.with(name, particular)
  local option = {}
  for k, v in pairs(common[name]) do option[k] = v end
  for k, v in pairs(particular or {}) do option[k] = v end
  return option
end

--- The command line, for the record.
function M.line()
  local line = { "pmlua" }
  if type(arg) == "table" then table.move(arg, 0, #arg, 2, line) end
  return line
end

--- The cells of a comparison whose verdict --fail-on names.
---@param bounds table[]? of option fail-on
---@param r table as of compare.compare() or compare.by()
---@param by string?
---@return string[] lines
function M.bad_cells(bounds, r, by)
  local bad = {}
  for _, c in ipairs(bounds and r.cells or {}) do
    for _, b in ipairs(bounds) do
      if b.bound and require "pmlua.compare".beyond(c, b.word, b.bound) then
        bad[#bad + 1] = ("%s: %s"):format(by and c.level_b .. (c.label ~= "all" and " " .. c.label or "") or c.label, c.verdict)
        break
      end
    end
  end
  return bad
end

--- A line on the cells that --fail-on could not judge, and whether this fails: none could be judged, or all must be.
---@param bounds table[]?
---@return string? text, boolean fails
function M.unjudged(bounds, r)
  local judged, first, missing = 0, nil, #(r.only_a or {})
  for _, c in ipairs(r.cells) do
    local counts = c.p or c.low
    judged, missing = judged + (counts and 1 or 0), missing + (counts and 0 or 1)
    first = first or not counts and ("%s: %s"):format(c.label, c.verdict) or nil
  end
  if not bounds or missing == 0 and judged > 0 then return nil, false end
  first = first or r.only_a and r.only_a[1] and r.only_a[1] .. ": only in A"
  local text = ("--fail-on judged %d of %d cells"):format(judged, judged + missing) .. (first and "; " .. first or "")
  for _, b in ipairs(bounds) do
    if b.word == "unjudged" then return text, true end
  end
  return text, judged == 0
end

--- Is this the beginning of a name with a path in it, whose slashes enclose nothing?
local function has_path(name) return name:find "^uprobe:" ~= nil or name:find "^usdt:" ~= nil end

--- Add names separated by commas, except commas inside pmu/a,b/; return an error.
local function add_names(names, text)
  local name, inside = "", false
  for c in (text .. ","):gmatch(".") do
    if c == "/" and not has_path(name) then inside = not inside end
    if c == "," and not inside then
      if name == "" then return "--event: an event's name is empty" end
      names[#names + 1], name = name, ""
    else
      name = name .. c
    end
  end
  if inside then return ("--event: '%s' lacks the closing '/'"):format(text) end
end

--- The events that --event names, which may be several between commas.
---@return string[]? names, string? err
function M.event_names(lists)
  local names = {}
  for _, list in ipairs(lists) do
    local wrong = add_names(names, list)
    if wrong then return nil, wrong end
  end
  return names
end

--- Events of a simulation by their places in its arrays of counts.
---@return integer[]? places, string? err
function M.simulated_places(names)
  local events, places = require("pmlua.internal.simulation.run").events, {}
  for i, name in ipairs(names) do
    local short = name:gsub("^sim::", "")
    for k, event in ipairs(events) do
      if event == short then places[i] = k end
    end
    if not places[i] then
      return nil, ("--event: a simulation has no event '%s'; choose one of %s"):format(name, table.concat(events, " "))
    end
  end
  return places
end

--- A ratio in a table: four decimals, or four digits if it is tiny or huge.
---@param x number
function M.ratio(x)
  local size = math.abs(x)
  return ((size == 0 or size >= 0.001 and size < 1e6) and "%.4f" or "%.4g"):format(x)
end

return M
