-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/bars.lua - times as bars: of each section or library function, and how much of it is its own.
--
-- Try:  pmlua report DIR --plot sections.svg

local picture = require "pmlua.internal.picture"
local quote = require "pmlua.internal.quote"
local report = require "pmlua.report"
local units = require "pmlua.internal.report.units"

local M = {}

local BARS = 40 -- that can be read

--- A text in a field of gnuplot's data, whose fields are separated by tabs.
local function word(text) return (quote.drawn(text):gsub('"', "'")) end

local function said(s)
  local parts = { units.time(s.all.time_ns) }
  if s.all.share then parts[#parts + 1] = units.percent(s.all.share) .. " %" end
  parts[#parts + 1] = ("%.6g call%s"):format(s.all.count, s.all.count == 1 and "" or "s")
  if s.all.rate then parts[#parts + 1] = units.rate(s.all.rate, s.type) end
  return table.concat(parts, ", ")
end

local function title(r)
  local n = #r.processes
  return ("Time in sections, %s: %s"):format(n == 1 and "threads added" or ("threads added, average of %d processes"):format(n),
    report.short(r.processes[1].command, 60))
end

--- Draw bars, the first of them where they are many.
---@param bars { label: string, total_ns: number, own_ns: number, least_ns: number, most_ns: number, other: boolean?,
---  said: string }[] other: in the second colour
---@param head { title: string, what: string, several: boolean } what: "sections"; several: of processes, with their spread
---@param path string .svg or .png
---@return boolean? ok, string? err
function M.bars(bars, head, path)
  local lines, widest, longest, shown = {}, 8, 0, math.min(#bars, BARS)
  for i = 1, shown do
    local b = bars[i]
    local label = word(b.label)
    widest, longest = math.max(widest, utf8.len(label) or #label), math.max(longest, b.most_ns)
    lines[i] = ("%d\t%.9g\t%.9g\t%.9g\t%.9g\t%d\t%s\t%s"):format(i, b.total_ns / 1e9, b.own_ns / 1e9, b.least_ns / 1e9,
      b.most_ns / 1e9, b.other and 2 or 1, label, word(b.said))
  end
  local note = shown < #bars and ("%d of %d %s"):format(shown, #bars, head.what) or ""
  local run = picture.run_gp(head.title, { "bars = " .. shown, "longest_label = " .. widest,
    ("longest = %.9g"):format(longest / 1e9), "several = " .. (head.several and 1 or 0),
    "what = " .. quote.gnuplot(head.what), "bars_note = " .. quote.gnuplot(note) })
  return picture.draw("bars", { ["run.gp"] = run, ["bars.dat"] = table.concat(lines, "\n") .. "\n" }, path)
end

--- Draw the sections of a report.
---@param r pmlua.Report
---@param path string .svg or .png
---@return boolean? ok, string? err
function M.draw(r, path)
  local bars = {}
  for i, s in ipairs(r.sections) do
    bars[i] = { label = report.label(s), total_ns = s.all.time_ns, own_ns = s.all.own_ns,
      least_ns = s.all.least_ns, most_ns = s.all.most_ns,
      other = s.type == "communication", said = said(s) }
  end
  return M.bars(bars, { title = title(r), what = "sections", several = #r.processes > 1 }, path)
end

return M
