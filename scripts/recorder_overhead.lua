-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/recorder_overhead.lua - what a push to a recorder costs, every push timed by itself.
--
-- Try:  pmlua scripts/recorder_overhead.lua --quick
--
-- After H. Jagode, A. Danalis, H. Anzt, J. Dongarra, PAPI software-defined events for in-depth performance analysis,
-- figure 7: record 16,384 doubles, and draw the distribution of the durations on logarithmic axes. In the paper the series
-- was one array that grew by realloc, with a spike of some microseconds at each growth. Here spikes are counted and located:
-- the recorder causes them at the same push in every round, the machine at any push. One and two threads push to the same
-- and to different recorders, beside PAPI's libsde if it is installed.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local measure = require "recorder_overhead.measure"
local report = require "recorder_overhead.report"
local spikes = require "recorder_overhead.spikes"

local pushes = 16384
local rounds = 20

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab = {}

local function prepare(options)
  local threads = command_line.thread_numbers(options.threads, measure.most_threads)
  lab = assert(measure.new(pml, { type = options.type, libsde = options.libsde }))
  return {
    { "library", { "none", "pmlua", "libsde" } }, { "keep", { "all", "sketch" } }, { "threads", threads },
    { "recorder", { "same", "different" } },
  }
end

-- The floor has one cell for each number of threads; one thread has one recorder; libsde keeps all numbers.
local function constraints(p)
  if p.recorder == "different" and (p.threads == 1 or p.library == "none") then return false end
  if p.keep == "sketch" and p.library ~= "pmlua" then return false end
  return p.library == "libsde" and lab.no_libsde or true
end

local function mean_of(name)
  return function(cell)
    local sum = 0
    for _, r in ipairs(cell.rounds) do sum = sum + r.extra[name] end
    return sum / #cell.rounds
  end
end

return pml.experiment {
  name = "recorder_overhead",
  description = [[
What a push to a recorder costs: 16,384 numbers per round and thread, each push timed by itself. One or two threads push to
the same recorder or to different ones, which keep all numbers or a sketch of them; beside PAPI's libsde, if it is installed,
and the floor, two clock reads with nothing between them. Spikes are counted and located. Each round has a new recorder and
new memory. By default, --iterations is 16,384 times the rounds. Needs no PMU.]],
  factors = prepare,
  constraints = constraints,
  help = {
    library = "library of the recorder; none: two clock reads", keep = "all numbers, or a sketch of them",
    threads = "threads that push at the same time", recorder = "same: one for all threads; different: one per thread",
  },
  repeats = pushes * rounds,
  rounds = rounds,
  quick = { repeats = pushes * 5, rounds = 5 },
  options = {
    { name = "threads", metavar = "LIST", default = "1,2", help = "numbers of threads, 1 to 8, separated by commas" },
    { name = "type", metavar = "TYPE", default = "double", help = "type of the numbers: double, float, int64 or int32" },
    { name = "libsde", metavar = "FILE", default = "libsde.so.1", help = "file of PAPI's libsde" },
  },
  examples = {
    "pmlua scripts/recorder_overhead.lua --quick",
    "pmlua scripts/recorder_overhead.lua --threads 1,2,4 --type int64",
    "pmlua scripts/recorder_overhead.lua --libsde /opt/papi/lib/libsde.so",
  },
  measure = function(_, p, n) return lab:cell(p, n) end,
  columns = {
    { name = "typical", unit = "ns", description = "mean time of a push without spikes",
      value = function(cell, run) return (spikes.typical(run, cell)) end },
    { name = "net", unit = "ns", description = "typical less that of the floor",
      value = function(cell, run) return (select(2, spikes.typical(run, cell))) end },
    { name = "spikes", unit = "", description = "samples above 10 times the median and 1 us",
      value = function(cell, run) return #spikes.of(run, cell) end },
    { name = "overlap", unit = "%", description = "share of a round in which all threads were pushing, mean of the rounds",
      value = mean_of "overlap" },
    { name = "pinned", unit = "", description = "1 if each thread had a cpu of its own", value = mean_of "pinned" },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "recorder_overhead",
}
