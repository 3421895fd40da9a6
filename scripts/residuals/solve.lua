-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/residuals/solve.lua - run the Krylov library and ask its events what happened.
--
-- Try:  local s = require("residuals.solve").new(pml, { tolerance = 1e-8 })
--       print(s:measure({ matrix = "poisson2d:32", solver = "cg", preconditioner = "none" }, 1))
--
-- The workload solves; everything reported comes from its software-defined events, as it would for a solver deep inside an
-- application.

local workloads = require "workloads.workload"

local M = {}

--- The single-valued events in the order of the paper's table, then those that pmlua adds.
M.events = {
  "numiter_I", "SpmvCount_I", "InitialResidual_D", "FinalResidual_D", "SolverRuntime_D", "TrueResidual_D",
  "SetupRuntime_D", "MatrixRows_I", "MatrixNonzeros_I", "Outcome_I",
}
local outcomes = { [0] = "converged", "iterations", "drifted", "diverged", "breakdown", "stopped", "interrupted" }

local Solve = {}
Solve.__index = Solve

--- @param pml table
--- @param options table of the workload, but for matrix, solver and preconditioner
--- @return table? solve
--- @return string? err
function M.new(pml, options)
  local workload, err = workloads.load "krylov"
  if not workload then return nil, err end
  local self = setmetatable({ pml = pml, options = options, workload = workload, runs = {}, event = {} }, Solve)
  for _, name in ipairs(M.events) do
    self.event[name], err = pml.sde.find("KRYLOV::" .. name)
    if not self.event[name] then return nil, err end
  end
  self.series, err = pml.sde.find "KRYLOV::IterativeResidual_RCRD_D"
  if not self.series then return nil, err end
  return self
end

local function key(p) return table.concat({ p.matrix, p.preconditioner, p.solver }, " ") end

--- The values of the events after the last solve of a cell, by name, with outcome (a word) and series.
---@return table? run
function Solve:outcome(p) return self.runs[key(p)] end

function Solve:once(p)
  local options = { matrix = p.matrix, solver = p.solver, preconditioner = p.preconditioner }
  for k, v in pairs(self.options) do options[k] = v end
  local load <close> = self.pml.samples.new(1)
  local solve <close> = self.pml.samples.new(1)
  local done, err, code = self.workload:run { operation = "empty", samples = { load, solve }, options = options }
  if not done then return nil, err, code end
  local run = {}
  for name, event in pairs(self.event) do
    run[name], err, code = event:read()
    if not run[name] then return nil, err, code end
  end
  run.outcome = outcomes[run.Outcome_I] or "unknown"
  -- a placeholder until the library's first solve, which creates the recorder
  if not self.recorder then self.recorder, err, code = self.series:open() end
  if not self.recorder then return nil, err, code end
  run.series = self.recorder:values()
  return run
end

--- Solve n times.
---@param p table matrix, preconditioner, solver
---@return number[]? seconds, string? err, string? code
function Solve:measure(p, n)
  local seconds = {}
  for i = 1, n do
    local run, err, code = self:once(p)
    if not run then return nil, err, code end
    self.runs[key(p)] = run
    seconds[i] = run.SolverRuntime_D
  end
  return seconds
end

return M
