-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/ring.lua - latency and bandwidth of MPI messages, by their size and between each two ranks.
--
-- Try:  pmlua scripts/ring.lua --quick
--
-- Pairs: two ranks send a message to and fro while the others sleep, as in a ping-pong; a pair at a time. Around: each rank
-- sends to the next rank and receives from the previous one, all at once. The program (scripts/programs/mpi/ring.c) compares
-- the received bytes with the sent ones.

local pml = require "pmlua"
local laboratory = require "ring.lab"
local report = require "ring.report"

local sizes = { 8, 64, 512, 4096, 32768, 262144, 2097152 }
local few = { 8, 4096, 262144 }
local lab

local function prepare(options)
  lab = assert(laboratory.new(options))
  return { { "between", { "pairs", "around" } }, { "bytes", options.quick and few or sizes } }
end

local function of_pairs(name)
  return function(cell) return report.extremes(cell)[name] end
end

return pml.experiment {
  name = "ring",
  description = [[
Latency and bandwidth of MPI's point-to-point messages by size: to and fro between each two ranks, while the others sleep,
and around all ranks at once. A sample is the time of a message: the median of all pairs, or around that of the slowest
rank. Each byte that arrives is checked.]],
  factors = prepare,
  help = { between = "pairs: two ranks at a time; around: all send to the next", bytes = "of a message" },
  unit = "us",
  units = { bytes = "B" },
  repeats = 60,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 5, rounds = 1, ranks = 2 },
  options = {
    { name = "ranks", type = "integer", metavar = "N", min = 2, max = 64,
      default = math.max(4, math.min(16, #pml.sys.affinity())),
      help = "of the program, to 64" },
    { name = "mpi", metavar = "NAME", help = "openmpi or mpich; otherwise what mpirun is" },
    { name = "launch", metavar = "OPTIONS", help = "further options for mpirun, such as '--hostfile hosts'" },
    { name = "limit", type = "integer", metavar = "S", min = 1, default = 600, help = "seconds that a run may take" },
  },
  examples = { "pmlua scripts/ring.lua --quick", "pmlua scripts/ring.lua --mpi mpich --ranks 2",
    "pmlua scripts/ring.lua --ranks 8 --launch '--hostfile hosts --map-by node'" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  columns = {
    { name = "bandwidth", unit = "MB/s", description = "bytes of a message over the median",
      value = function(cell) return cell.summary and cell.p.bytes / cell.summary.median end },
    { name = "fastest", unit = "us", description = "median of the fastest pair", value = of_pairs "least" },
    { name = "slowest", unit = "us", description = "median of the slowest pair", value = of_pairs "most" },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "ring",
}
