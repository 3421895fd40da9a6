-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/residuals.lua - how Krylov solvers converge, observed from outside through their software-defined events.
--
-- Try:  pmlua scripts/residuals.lua --quick
--
-- After H. Jagode, A. Danalis, H. Anzt, J. Dongarra, PAPI software-defined events for in-depth performance analysis,
-- figures 1 to 4 and table 3: the residual of every iteration of eight solvers, with and without ILU(0), from the
-- library's recorder; its single-valued events as a table. Where the paper judges slopes by eye, a line is fitted to the
-- first part of each series and predicts the iteration of convergence, to compare with the actual one. The true residual of
-- each solution is compared with the one its solver reports.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local report = require "residuals.report"
local solve = require "residuals.solve"

local solvers = { "bicg", "bicgstab", "cg", "cgs", "gmres", "idr", "qmr", "tfqmr", "refine", "lobpcg" }
local in_the_paper = 8 -- the first ones have curves in the paper

-- The experiment's setup from the options; set when the factors are requested.
local lab = {}

local function matrices(text)
  local out = {}
  for word in text:gmatch "[^,]+" do out[#out + 1] = word end
  if #out == 0 then error("option --matrices is empty", 0) end
  return out
end

local function choose_solvers(text)
  if text == "paper" then return table.move(solvers, 1, in_the_paper, 1, {}) end
  return command_line.choose(text, solvers, "solvers")
end

-- Stop a solver from outside, without changing it: its residuals are events, and so is the request to stop.
local function stop_above(limit)
  return pml.sde.watch("KRYLOV::IterativeResidual_RCRD_D", "1ms", function(_, series)
    local wish, outcome = pml.sde.find "KRYLOV::Stop_I", pml.sde.find "KRYLOV::Outcome_I"
    for _, residual in ipairs(series:new()) do
      if residual > limit and outcome:read() == -1 then return wish:write(1) end
    end
  end, { name = "--watch" })
end

local function prepare(options)
  lab.solve = assert(solve.new(pml, {
    tolerance = options.tolerance, iterations = options.most, restart = options.restart, s = options.s, stop = options.stop,
  }))
  lab.limit = options.watch
  if lab.limit > 0 then lab.watch = stop_above(lab.limit) end
  lab.part = options.part
  return {
    { "matrix", matrices(options.matrices) }, { "preconditioner", { "ilu0", "none" } },
    { "solver", choose_solvers(options.solvers) },
  }
end

local function told(name)
  return function(cell)
    local run = lab.solve:outcome(cell.p)
    return run and run[name]
  end
end

return pml.experiment {
  name = "residuals",
  description = [[
How Krylov solvers converge: for each solver, plain and preconditioned with ILU(0), the residual of every iteration and the
single-valued events, from the library's software-defined events; and the iteration of convergence predicted from the first
part of the residuals, beside the actual one. A sample is the time of one solve.]],
  factors = prepare,
  help = { matrix = "matrix of the linear system", preconditioner = "none or ilu0", solver = "iterative method" },
  unit = "s",
  repeats = 5,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, matrices = "poisson2d:40,convdiff2d:40:40" },
  options = {
    { name = "matrices", metavar = "LIST", default = "poisson2d:128,convdiff3d:24:60",
      help = "poisson2d:N, poisson3d:N, convdiff2d:N:C, convdiff3d:N:C or Matrix Market files, separated by commas" },
    { name = "solvers", metavar = "LIST", default = "paper",
      help = "paper (the eight with a curve there), all, or some of " .. table.concat(solvers, ",") },
    { name = "tolerance", type = "number", metavar = "X", min = 1e-300, max = 0.999, default = 1e-8,
      help = "target residual, relative to the right-hand side" },
    { name = "most", type = "integer", metavar = "N", min = 1, max = 1000000000, default = 1000, help = "limit of iterations" },
    { name = "restart", type = "integer", metavar = "N", min = 1, max = 10000, default = 50,
      help = "iterations between restarts of gmres" },
    { name = "s", type = "integer", metavar = "N", min = 1, max = 16, default = 4,
      help = "shadow vectors of idr, eigenpairs of lobpcg" },
    { name = "stop", type = "number", metavar = "X", min = 0, max = 1e300, default = 0,
      help = "the solver gives up when its residual is X times the first one; 0: never" },
    { name = "watch", type = "number", metavar = "X", min = 0, max = 1e300, default = 0,
      help = "a rule outside of the solver stops it once its residual exceeds X; 0: no rule" },
    { name = "part", type = "number", metavar = "X", min = 0.05, max = 1, default = 0.75,
      help = "share of each series that the prediction may use" },
  },
  examples = {
    "pmlua scripts/residuals.lua --quick",
    "pmlua scripts/residuals.lua --matrices bcsstk16.mtx.gz,watt_2.mtx.gz",
    "pmlua scripts/residuals.lua --matrices west0479.mtx.gz --stop 1e6 --solvers bicgstab,gmres",
    "pmlua scripts/residuals.lua --matrices convdiff2d:100:500 --watch 1e10 --solvers bicg,gmres",
  },
  measure = function(_, p, n) return lab.solve:measure(p, n) end,
  columns = {
    { name = "outcome", unit = "text", description = "how the solve ended", value = told "outcome" },
    { name = "iterations", unit = "", description = "iterations of the last solve", value = told "numiter_I" },
  },
  analyse = function(run)
    report.write(run, lab.solve, lab.part)
    if not lab.watch then return end
    report.stopped(run, lab.solve, lab.limit)
    lab.watch:cancel()
  end,
  plot = "residuals",
}
