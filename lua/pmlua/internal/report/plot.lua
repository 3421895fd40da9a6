-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/plot.lua - a report as bars: the time of each section, and how much of it is its own.
--
-- Try:  pmlua report DIR --plot sections.svg

local picture = require "pmlua.internal.picture"
local quote = require "pmlua.internal.quote"
local report = require "pmlua.report"
local units = require "pmlua.internal.report.units"

local M = {}

local BARS = 40 -- that can be read

--- A text in a field of gnuplot's data, whose fields are separated by tabs.
local function word(text)
  return (quote.plain(text):gsub('"', "'"))
end

local function said(s)
  local parts = { units.time(s.all.time_ns) }
  if s.all.share then parts[#parts + 1] = units.percent(s.all.share) .. " %" end
  parts[#parts + 1] = ("%.6g call%s"):format(s.all.count, s.all.count == 1 and "" or "s")
  if s.all.rate then parts[#parts + 1] = units.rate(s.all.rate, s.type) end
  return table.concat(parts, ", ")
end

--- Least and most time of a process; one that was never in the section has 0.
local function extremes(r, s)
  local least, most = #s.by_process < #r.processes and 0 or math.huge, 0
  for _, row in ipairs(s.by_process) do least, most = math.min(least, row.total_ns), math.max(most, row.total_ns) end
  return least, most
end

local function title(r)
  local n = #r.processes
  return ("Time in sections, %s: %s"):format(n == 1 and "threads added" or ("threads added, average of %d processes"):format(n),
    report.short(r.processes[1].command, 60))
end

--- Draw the bars.
---@param r pmlua.Report
---@param path string .svg or .png
---@return boolean? ok
---@return string? err
function M.draw(r, path)
  local lines, widest, longest, shown = {}, 8, 0, math.min(#r.sections, BARS)
  for i = 1, shown do
    local s = r.sections[i]
    local least, most = extremes(r, s)
    local label = word(report.label(s))
    widest, longest = math.max(widest, utf8.len(label) or #label), math.max(longest, most)
    lines[i] = ("%d\t%.9g\t%.9g\t%.9g\t%.9g\t%d\t%s\t%s"):format(i, s.all.time_ns / 1e9, s.all.own_ns / 1e9, least / 1e9,
      most / 1e9, s.type == "communication" and 2 or 1, label, word(said(s)))
  end
  local note = shown < #r.sections and ("%d of %d sections"):format(shown, #r.sections) or ""
  local run = picture.run_gp(title(r), { "bars = " .. shown, "longest_label = " .. widest,
    ("longest = %.9g"):format(longest / 1e9), "several = " .. (#r.processes > 1 and 1 or 0),
    "bars_note = " .. quote.gnuplot(note) })
  return picture.draw("sections", { ["run.gp"] = run, ["sections.dat"] = table.concat(lines, "\n") .. "\n" }, path)
end

return M
