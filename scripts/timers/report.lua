-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/timers/report.lua - stairs.dat and jitter.dat for the figure, and the table people read.
--
-- Try:  pmlua scripts/timers.lua --quick --no-plot

local tabulate = require "pmlua.tabulate"

local M = {}

local function stairs(run, lab)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local seen = lab.seen[cell.p.clock]
    for _, s in ipairs(seen and seen.stairs or {}) do rows[#rows + 1] = { cell.index, cell.p.clock, s[1], s[2] } end
  end
  return { columns = {
    { "cell", "", "as in data.dat" }, { "clock", "text", "which one" }, { "at", "ns", "since the first reading, by the counter" },
    { "said", "ns", "since the first reading, by the clock" },
  }, rows = rows }
end

local function jitter(run, lab)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local seen = lab.seen[cell.p.clock]
    for _, t in ipairs(seen and seen.tail or {}) do rows[#rows + 1] = { cell.index, cell.p.clock, t.share, t.ns } end
  end
  return { columns = {
    { "cell", "", "as in data.dat" }, { "clock", "text", "which one" }, { "share", "", "of the steps of the last round" },
    { "step", "ns", "that are at least so long, or longer" },
  }, rows = rows }
end

local said = { "claimed", "resolution", "still", "back", "across_back", "across_worst", "longest" }
local units = { claimed = " [ns]", resolution = " [ns]", still = " [%]", across_worst = " [ns]", longest = " [ns]" }

local function say(run)
  local at, names, rows, incomplete = {}, { "clock", "cost [ns]", "p99 [ns]" }, {}, false
  for k, c in ipairs(run.exp.columns) do at[c.name] = k end
  for k, name in ipairs(said) do names[3 + k] = name .. (units[name] or "") end
  for i, cell in ipairs(run.cells) do
    local s = cell.summary
    rows[i] = { cell.p.clock, s and s.median, s and s.p99 }
    for k, name in ipairs(said) do rows[i][3 + k] = cell.derived and cell.derived[at[name]] end
    if cell.status ~= "ok" then rows[i][4 + #said], incomplete = cell.status, true end
  end
  if incomplete then names[4 + #said] = "state" end
  run:say("\nEvery clock: cost of a reading, its claimed and its smallest step; readings that repeat, that go back, and\n"
    .. "that go back between cpus\n" .. tabulate(names, rows, 1))
end

function M.write(run, lab)
  run:write_table("stairs.dat", stairs(run, lab), "the first readings of each clock")
  run:write_table("jitter.dat", jitter(run, lab), "how long the steps of each clock are")
  say(run)
end

return M
