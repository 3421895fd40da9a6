-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/scaling.lua - scaling of an MPI program: its time with 1, 2, 4, ... ranks, and the factors that limit it.
--
-- Try:  pmlua scripts/scaling.lua --quick
--
-- Strong scaling: the same problem on more ranks. Weak scaling: a problem that grows with the ranks. The efficiency is the
-- product of three factors, as the POP Centre of Excellence defines them: computation, computing time of the run with one rank
-- over the sum of all ranks' computing times; load balance, mean over longest computation of a rank; and communication, longest
-- computation over the time of the run. They come from the sections of each rank and from its recorded MPI calls: time in its
-- sections but not in MPI is computation.

local pml = require "pmlua"
local laboratory = require "scaling.lab"
local mpi = require "programs.mpi"
local report = require "scaling.report"

local lab

local function prepare(options)
  lab = assert(laboratory.new(options))
  return { { "scaling", lab.scalings }, { "ranks", lab.levels } }
end

local function figure(name)
  return function(cell, run)
    local f = report.figures(run, cell)
    return f and f[name]
  end
end

return pml.experiment {
  name = "scaling",
  description = [[
Runs an MPI program with 1, 2, 4, ... ranks and reports its time, the time in MPI, the efficiency and its factors, and the
load balance, in all and by section. --program runs a program of pmlua's: stencil SIDE STEPS exchanges halos of a grid,
gradient SIDE SOLVES solves a sparse system, sort KEYS SORTS sorts by samples; each checks its own result. CMD runs a
program of yours that has sections (pml_section_start and _stop); {n} in its arguments stands for the number of ranks and
makes the scaling weak. A sample is the time of the slowest rank in its sections.]],
  factors = prepare,
  help = { scaling = "strong: the same problem for all; weak: a problem for each rank", ranks = "of the program" },
  command = "[CMD [ARGS]]",
  unit = "s",
  repeats = 5,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, ranks = 2 },
  options = {
    { name = "program", metavar = "NAME", help = "run " .. table.concat(mpi.programs, ", ") .. ", with these arguments" },
    { name = "ranks", type = "integer", metavar = "N", min = 1, default = math.max(4, #pml.sys.affinity()),
      help = "the most" },
    { name = "mpi", metavar = "NAME", help = "openmpi or mpich; otherwise what mpirun is" },
    { name = "launch", metavar = "OPTIONS", help = "further options for mpirun, such as '--hostfile hosts'" },
    { name = "limit", type = "integer", metavar = "S", min = 1, default = 600, help = "seconds that a run may take" },
  },
  examples = {
    "pmlua scripts/scaling.lua --quick",
    "pmlua scripts/scaling.lua --program sort 4000000 1",
    "pmlua scripts/scaling.lua --ranks 16 --mpi mpich -- ./solver --cells {n}000",
  },
  measure = function(_, p) return lab:measure(p) end,
  columns = {
    { name = "efficiency", unit = "%", description = "against one rank", value = figure "efficiency" },
    { name = "mpi", unit = "%", description = "of the ranks' time, in functions of MPI", value = figure "mpi" },
    { name = "balance", unit = "%", description = "time of a rank outside MPI, mean over longest", value = figure "balance" },
    { name = "communication", unit = "%", description = "longest time of a rank outside MPI over the time",
      value = figure "communication" },
    { name = "computation", unit = "%", description = "time outside MPI on one rank over that of all",
      value = figure "computation" },
    { name = "per_cpu", unit = "", description = "ranks on a cpu; more than 1 is oversubscribed",
      value = figure "per_cpu" },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "scaling",
}
