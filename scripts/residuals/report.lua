-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/residuals/report.lua - write residuals.dat, events.dat and prediction.dat, and print the closing tables.
--
-- Try:  pmlua scripts/residuals.lua --quick --no-plot && head results/residuals/latest/events.dat

local predict = require "residuals.predict"
local solve = require "residuals.solve"
local tabulate = require "pmlua.tabulate"

local M = {}

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
function M.stopped(run, lab, limit)
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
function M.write(run, lab, part)
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

return M
