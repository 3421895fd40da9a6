-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/timers/report.lua - write stairs.dat and jitter.dat for the figure, and print the table.
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
    { "cell", "", "as in data.dat" }, { "clock", "text", "name of the clock" },
    { "at", "ns", "time since the first reading, by the cpu's counter" },
    { "said", "ns", "time since the first reading, by this clock" },
  }, rows = rows }
end

local function jitter(run, lab)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local seen = lab.seen[cell.p.clock]
    for _, t in ipairs(seen and seen.tail or {}) do rows[#rows + 1] = { cell.index, cell.p.clock, t.share, t.ns } end
  end
  return { columns = {
    { "cell", "", "as in data.dat" }, { "clock", "text", "name of the clock" },
    { "share", "", "share of the steps of the last round" }, { "step", "ns", "duration that this share of the steps reaches" },
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
  run:say("\nEach clock: cost of a reading, claimed and smallest step; readings that repeat the previous one, that go back,\n"
    .. "and that go back between cpus\n" .. tabulate(names, rows, 1))
end

function M.write(run, lab)
  run:write_table("stairs.dat", stairs(run, lab), "the first readings of each clock")
  run:write_table("jitter.dat", jitter(run, lab), "distribution of the steps of each clock")
  say(run)
end

return M
