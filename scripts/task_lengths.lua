-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/task_lengths.lua - how a tensor contraction library divides its work, observed from outside through its events.
--
-- Try:  pmlua scripts/task_lengths.lua --quick
--
-- After H. Jagode, A. Danalis, H. Anzt, J. Dongarra, PAPI software-defined events for in-depth performance analysis,
-- figure 5 and table 4: the tasks of five contractions of coupled cluster by length (number of chained DGEMMs), and the
-- floating-point operations of each, from the library's counters and recorders. A task is longer where spin lets more pairs
-- of blocks meet, so each contraction has two lengths, the longer twice the shorter. Beyond the paper: the time of each task,
-- and how evenly the threads are busy.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local contract = require "task_lengths.contract"
local report = require "task_lengths.report"

local contractions = { "t2_7_3", "t2_7", "t2_2_5", "t2_6", "t2_8" } -- in the order of the figure

-- The experiment's setup from the options; set when the factors are requested.
local lab

local function prepare(options)
  if options.unpaired >= options.occupied then error("option --unpaired must be below --occupied", 0) end
  local names = command_line.choose(options.contractions, contractions, "contractions")
  local sizes = {
    occupied = options.occupied, virtual = options.virtual, tile = options.tile, threads = options.threads, blas = options.blas,
    unpaired = options.unpaired,
  }
  lab = assert(contract.new(pml, names, sizes))
  return { { "contraction", names } }
end

local function told(name)
  return function(cell)
    local run = lab:outcome(cell.p.contraction)
    return run and run[name]
  end
end

return pml.experiment {
  name = "task_lengths",
  description = [[
How a tiled tensor contraction is divided into tasks: the DGEMMs, floating-point operations and time of each task, from the
library's software-defined events, for five contractions of coupled cluster. Results are checked. A sample is the time of one
contraction.]],
  factors = prepare,
  help = { contraction = "a term of the doubles equations" },
  unit = "ms",
  repeats = 10,
  rounds = 5,
  warmup = 1,
  quick = { repeats = 2, rounds = 1, warmup = 0, occupied = 7, virtual = 13, tile = 4 },
  options = {
    { name = "contractions", metavar = "LIST", default = table.concat(contractions, ","),
      help = "contractions, separated by commas" },
    { name = "occupied", type = "integer", metavar = "N", min = 1, max = 512, default = 15,
      help = "occupied orbitals of alpha spin" },
    { name = "virtual", type = "integer", metavar = "N", min = 1, max = 512, default = 31,
      help = "virtual orbitals of alpha spin" },
    { name = "unpaired", type = "integer", metavar = "N", min = 0, default = 0,
      help = "difference of beta spin: N fewer occupied orbitals, N more virtual ones" },
    { name = "tile", type = "integer", metavar = "N", min = 1, max = 64, default = 8, help = "most orbitals in a tile" },
    { name = "threads", type = "integer", metavar = "N", min = 1, max = 256, default = math.min(pml.sys.nprocs(), 256),
      help = "threads that work on the tasks" },
    { name = "blas", metavar = "LIB", default = "none",
      help = "DGEMM to use; none: the workload's own; system, or the path of a library: that of a BLAS" },
  },
  examples = {
    "pmlua scripts/task_lengths.lua --quick",
    "pmlua scripts/task_lengths.lua --tile 5 --unpaired 3 --contractions t2_7_3,t2_8",
    "pmlua scripts/task_lengths.lua --threads 1 --blas system",
  },
  measure = function(_, p, n) return lab:measure(p.contraction, n) end,
  columns = {
    { name = "tasks", unit = "", description = "tasks of a contraction", value = told "tasks" },
    { name = "dgemms", unit = "", description = "DGEMMs of a contraction", value = told "dgemms" },
    { name = "flops", unit = "FLOP", description = "floating-point operations of a contraction", value = told "flops" },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "task_lengths",
}
