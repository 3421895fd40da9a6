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
local tabulate = require "pmlua.tabulate"
local predict = require "residuals.predict"
local solve = require "residuals.solve"

-- --- write residuals.dat, events.dat and prediction.dat, and print the closing tables ---

-- A solution counts as right if its true residual is at most this many times the reported one, or the target.
local agree = 10

-- Names as in MAGMA: CG, and PCG with a preconditioner.
local function title(p)
  local name = ({ bicgstab = "BiCGStab", bicg = "BiCG", refine = "IterRef" })[p.solver] or p.solver:upper()
  return p.preconditioner == "none" and name or "P" .. name
end

-- The last part of a path; names in data files have no spaces.
local function short(matrix) return (matrix:match "[^/]+$" or matrix):gsub("%.gz$", ""):gsub("%.mtx$", "") end

-- The solved cells, numbered as the curves of the figure.
local function solved(run, lab)
  local out = {}
  for _, cell in ipairs(run.cells) do
    local r = lab:outcome(cell.p)
    if r then
      out[#out + 1] = {
        number = #out + 1, p = cell.p, run = r, title = title(cell.p), matrix = short(cell.p.matrix),
      }
    end
  end
  return out
end

local function residuals(curves)
  local rows = {}
  for _, c in ipairs(curves) do
    for k, residual in ipairs(c.run.series) do rows[#rows + 1] = { c.number, k - 1, residual } end
  end
  return { columns = {
    { "curve", "", "row of events.dat" }, { "iteration", "", "iteration; 0: the start" },
    { "residual", "", "2-norm, as the solver reports it" },
  }, rows = rows }
end

-- The solver's target: relative to the right-hand side, which is the first residual (x starts at 0).
local function target(c, tolerance) return tolerance * c.run.InitialResidual_D end

local function confirmed(c, tolerance)
  if c.run.outcome ~= "converged" then return "-" end
  return c.run.TrueResidual_D <= agree * math.max(c.run.FinalResidual_D, target(c, tolerance)) and "yes" or "no"
end

local function events(curves, tolerance)
  local columns = {
    { "curve", "", "row of this table" }, { "matrix", "text", "matrix of the linear system" },
    { "solver", "text", "method; P: preconditioned with ILU(0)" }, { "preconditioner", "text", "none or ilu0" },
    { "outcome", "text", "how the solve ended" }, { "confirmed", "text", "yes if the true residual confirms the reported one" },
  }
  local units = { SolverRuntime_D = "s", SetupRuntime_D = "s" }
  for _, name in ipairs(solve.events) do columns[#columns + 1] = { name, units[name] or "", "sde:::KRYLOV::" .. name } end
  local rows = {}
  for i, c in ipairs(curves) do
    local row = { c.number, c.matrix, c.title, c.p.preconditioner, c.run.outcome, confirmed(c, tolerance) }
    for _, name in ipairs(solve.events) do row[#row + 1] = c.run[name] end
    rows[i] = row
  end
  return { columns = columns, rows = rows }
end

local function predictions(curves, part, tolerance)
  local rows = {}
  for i, c in ipairs(curves) do
    -- LOBPCG's target is relative to the norm of the matrix, which no event provides
    local fit = c.p.solver ~= "lobpcg" and predict.fit(c.run.series, part, target(c, tolerance)) or nil
    local converged = c.run.outcome == "converged" or c.run.outcome == "drifted"
    local verdict, off = predict.judge(fit, converged, c.run.numiter_I)
    fit = fit or {}
    rows[i] = {
      c.number, c.matrix, c.title, fit.seen, fit.slope, fit.r2, fit.iteration, c.run.numiter_I, off and 100 * off,
      verdict, c.p.solver ~= "lobpcg" and target(c, tolerance) or nil,
    }
  end
  return { columns = {
    { "curve", "", "row of events.dat" }, { "matrix", "text", "matrix of the linear system" },
    { "solver", "text", "method" }, { "seen", "", "iterations that the prediction used" },
    { "slope", "decades/iteration", "slope fitted to the second half of them" },
    { "r2", "", "share of the variance that the line explains" },
    { "predicted", "", "predicted iteration of convergence" }, { "iterations", "", "iterations that the solver took" },
    { "off", "%", "error of the prediction" }, { "verdict", "text", "prediction and outcome compared" },
    { "target", "", "residual at which the solver converges" },
  }, rows = rows }
end

-- Print these columns of a table.
local function say(run, heading, t, chosen)
  local at, rows = {}, {}
  for i, c in ipairs(t.columns) do at[c[1]] = i end
  for i, row in ipairs(t.rows) do
    rows[i] = {}
    for k, name in ipairs(chosen) do
      local v = row[at[name]]
      if math.type(v) == "float" then v = tonumber(("%.4g"):format(v)) end
      if v == nil then v = "-" end
      rows[i][k] = type(v) == "string" and v:gsub("_", " ") or v
    end
  end
  run:say("\n" .. heading .. "\n" .. tabulate(chosen, rows, 1))
end

--- The solves that a rule stopped, and the time this saved compared with a run to the limit at their pace.
---@param lab table residuals.solve
---@param limit number the residual that was too much
local function stopped(run, lab, limit)
  local most, rows, taken, saved = lab.options.iterations, {}, 0, 0
  for _, c in ipairs(solved(run, lab)) do
    if c.run.outcome == "stopped" then
      local left = most - c.run.numiter_I
      local left_s = c.run.SolverRuntime_D / c.run.numiter_I * left
      taken, saved = taken + c.run.SolverRuntime_D, saved + left_s
      rows[#rows + 1] = { c.number, c.matrix, c.title, c.run.numiter_I, c.run.FinalResidual_D, left,
                          c.run.SolverRuntime_D, left_s }
    end
  end
  local t = { columns = {
    { "curve", "", "row of events.dat" }, { "matrix", "text", "matrix of the linear system" },
    { "solver", "text", "method" }, { "iterations", "", "iterations before it was stopped" },
    { "residual", "", "residual at that point" },
    { "saved", "", ("iterations left of the limit of %d"):format(most) }, { "time", "s", "time of the solve" },
    { "saved_time", "s", "time that the iterations left would take at its pace" },
  }, rows = rows }
  run:write_table("stopped.dat", t, "solves that the rule stopped")
  if #rows == 0 then return run:say(("\nThe rule stopped no solve: no residual exceeded %g"):format(limit)) end
  say(run, ("Solves that the rule stopped: residual above %g"):format(limit), t,
    { "matrix", "solver", "iterations", "residual", "saved", "time", "saved_time" })
  run:say(("%.3g s instead of up to %.3g s: %.3g %% saved"):format(taken, taken + saved, 100 * saved / (taken + saved)))
end

--- Write the tables and print them.
---@param lab table residuals.solve
local function write_report(run, lab, part)
  local tolerance = lab.options.tolerance
  local curves = solved(run, lab)
  if #curves == 0 then return end
  local single, foreseen = events(curves, tolerance), predictions(curves, part, tolerance)
  run:write_table("residuals.dat", residuals(curves), "the residual of every iteration")
  run:write_table("events.dat", single, "single-valued events of each solve")
  run:write_table("prediction.dat", foreseen, "predicted and actual iteration of convergence")
  say(run, "Single-valued events", single, {
    "matrix", "solver", "numiter_I", "SpmvCount_I", "InitialResidual_D", "FinalResidual_D", "TrueResidual_D",
    "SolverRuntime_D", "outcome", "confirmed",
  })
  say(run, ("Predicted from the first %.3g %% of each series"):format(100 * part), foreseen,
    { "matrix", "solver", "seen", "slope", "r2", "predicted", "iterations", "off", "verdict" })
end

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
    write_report(run, lab.solve, lab.part)
    if not lab.watch then return end
    stopped(run, lab.solve, lab.limit)
    lab.watch:cancel()
  end,
  plot = "residuals",
}
