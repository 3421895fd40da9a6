-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/timers.lua - every clock: the cost of a reading, its resolution, whether it goes back, its jitter.
--
-- Try:  pmlua scripts/timers.lua --quick
--
-- After K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific applications using PMlib
-- (2018), figure 5: the general timer beside the precise one. C clocks are read in C; four more from Lua, at a cost that
-- includes the interpreter's call.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local tabulate = require "pmlua.tabulate"
local clocks = require "timers.clocks"

-- --- write stairs.dat and jitter.dat for the figure, and print the table ---

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

local function write_report(run, lab)
  run:write_table("stairs.dat", stairs(run, lab), "the first readings of each clock")
  run:write_table("jitter.dat", jitter(run, lab), "distribution of the steps of each clock")
  say(run)
end

-- The experiment's setup from the options; set when the factors are requested.
local lab

local function prepare(options)
  local chosen = command_line.choose(options.clocks, clocks.names, "clocks")
  lab = assert(clocks.new(pml, { reads = options.reads, threads = options.threads }))
  return { { "clock", chosen } }
end

local function sum(name) return function(cell) return pml.experiment.sum(cell, name) end end

local function extreme(name, pick)
  return function(cell)
    local out
    for _, r in ipairs(cell.rounds) do
      local v = r.extra[name]
      if v then out = out and pick(out, v) or v end
    end
    return out
  end
end

return pml.experiment {
  name = "timers",
  description = [[
For every clock: what a reading costs (in batches of 100); its resolution, that is, the smallest step between successive
readings, beside the one it claims; whether it goes back, from one reading to the next or between cpus; and the distribution of
the steps, which is the jitter of measurements with this clock. `ticks` is the cpu's counter (TSC, cntvct), `ticks-ordered` the
same between fences; clocks with the prefix lua: are called from Lua.]],
  factors = prepare,
  help = { clock = "name of the clock" },
  unit = "ns",
  repeats = 10000,
  rounds = 10,
  quick = { repeats = 400, rounds = 2, warmup = 1, reads = 10000 },
  options = {
    { name = "clocks", metavar = "LIST", default = "all", help = "some of " .. table.concat(clocks.names, ",") },
    { name = "reads", type = "integer", metavar = "N", min = 10, max = 100000000, default = 200000,
      help = "successive readings per round and cpu" },
    { name = "threads", type = "integer", metavar = "N", min = 0, max = #pml.sys.affinity(), default = 0,
      help = "cpus whose readings are compared; 0: all" },
  },
  examples = {
    "pmlua scripts/timers.lua --quick",
    "pmlua scripts/timers.lua --clocks ticks,MONOTONIC,gettimeofday --reads 10000000",
  },
  measure = function(_, p, n) return lab:measure(p.clock, n) end,
  columns = {
    { name = "claimed", unit = "ns", description = "resolution by clock_getres, or the unit it counts in",
      value = extreme("claimed", math.min) },
    { name = "resolution", unit = "ns", description = "smallest step seen", value = extreme("least", math.min) },
    { name = "reads", unit = "", description = "successive readings, all rounds", value = sum "reads" },
    { name = "still", unit = "%", description = "readings equal to the previous one",
      value = function(cell)
        local still, reads = sum "still"(cell), sum "reads"(cell)
        return still and reads and 100 * still / reads
      end },
    { name = "back", unit = "", description = "readings earlier than the previous one", value = sum "back" },
    { name = "worst_back", unit = "ns", description = "largest step back", value = extreme("worst_back", math.max) },
    { name = "across_reads", unit = "", description = "readings on all cpus at the same time", value = sum "across_reads" },
    { name = "across_back", unit = "",
      description = "readings earlier than a previous one of another cpu",
      value = sum "across_back" },
    { name = "across_worst", unit = "ns", description = "largest step back between cpus",
      value = extreme("across_worst", math.max) },
    { name = "longest", unit = "ns", description = "longest step, by an interruption or of the clock itself",
      value = extreme("most", math.max) },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "timers",
}
