-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/residuals_spec.lua - tests of the experiment residuals, run for real by its command, and of its predictions.

local tables = require "spec.scripts.tables"
local predict = require "residuals.predict"
local sh = require "spec.shell"
local truss = require "spec.scripts.truss"
local shell, folder, read_table = tables.shell, tables.folder, tables.words

local pmlua = tables.pmlua
local data = "spec/data/matrices" -- from the SuiteSparse collection

local function run(arguments) return tables.run("residuals", arguments) end

-- Invariants of every solve: the series ends with the final residual, and all numbers are finite.
local function check_solves(dir)
  local last, length, events = {}, {}, read_table(dir .. "/events.dat")
  for _, row in ipairs(read_table(dir .. "/residuals.dat")) do
    last[row.curve], length[row.curve] = tonumber(row.residual), (length[row.curve] or 0) + 1
  end
  for _, e in ipairs(events) do
    local where = e.matrix .. " " .. e.solver .. " " .. e.outcome
    assert.equal(tonumber(e.FinalResidual_D), last[e.curve], where)
    assert.equal(tonumber(e.numiter_I) + 1, length[e.curve], where)
    assert.is_true(tonumber(e.SpmvCount_I) >= tonumber(e.numiter_I) and tonumber(e.SolverRuntime_D) > 0, where)
    for k, v in pairs(e) do assert.falsy(k:find "_[ID]$" and v:lower():find "nan" or v:lower():find "^-?inf$", where) end
    if e.outcome == "converged" then
      assert.equal("yes", e.confirmed, where)
      local relative = tonumber(e.FinalResidual_D) / tonumber(e.InitialResidual_D)
      assert.is_true(relative <= 1e-8 or e.solver:find "LOBPCG" ~= nil, where) -- its target is relative to the matrix
    end
  end
  return events
end

describe("scripts/residuals.lua --quick", function()
  local text, status, dir
  setup(function() text, status, dir = run() end)

  it("ends well, with eight solvers twice on each matrix", function()
    assert.equal(0, status, text)
    assert.equal(32, #check_solves(dir))
    assert.truthy(text:find("Single-valued events", 1, true) and text:find("Predicted from the first 75 %", 1, true))
    assert.is_true(tables.drawn(dir), text)
  end)

  it("sees all of them converge on Poisson's problem, sooner with ILU(0)", function()
    local taken = {}
    for _, e in ipairs(read_table(dir .. "/events.dat")) do
      if e.matrix == "poisson2d:40" then
        assert.equal("converged", e.outcome, e.solver)
        taken[e.solver] = tonumber(e.numiter_I)
      end
    end
    for _, name in ipairs { "BiCG", "BiCGStab", "CG", "CGS", "GMRES", "IDR", "QMR", "TFQMR" } do
      assert.is_true(taken["P" .. name] < taken[name], name)
    end
  end)

  it("predicts nothing before the observed part, and compares its predictions with the outcome", function()
    for _, p in ipairs(read_table(dir .. "/prediction.dat")) do
      if tonumber(p.predicted) then assert.is_true(tonumber(p.predicted) >= tonumber(p.seen), p.solver) end
      assert.truthy(#p.verdict > 1, p.solver)
    end
  end)
end)

describe("scripts/residuals.lua", function()
  it("solves a structural problem by every solver", function()
    local file = folder() .. "/truss.mtx"
    sh.write(file, truss.text(24, 12))
    local text, status, dir = run("--no-plot --solvers all --matrices " .. file)
    assert.equal(0, status, text)
    local events = check_solves(dir)
    assert.equal(20, #events)
    for _, e in ipairs(events) do assert.equal("converged", e.outcome, e.solver) end
  end)

  it("comes to an end with hard matrices, and stops the exploding solver", function()
    local text, status, dir = run(("--no-plot --stop 1e4 --matrices poisson2d:10,%s/west0479.mtx.gz,%s/nnc1374.mtx.gz")
      :format(data, data))
    assert.equal(0, status, text)
    local seen = {}
    for _, e in ipairs(check_solves(dir)) do seen[e.outcome] = true end
    assert.is_true(seen.converged and seen.diverged and seen.breakdown and seen.iterations)
    assert.truthy(text:find("has no diagonal entry", 1, true))
  end)

  -- By iterations, not by time: a rule that is kept waiting stops it later, but long before these run out.
  local function stopped_early(matrix, solver, limit, extra)
    local arguments = ("--no-plot --solvers %s --matrices %s %s"):format(solver, matrix, extra)
    local text, status, dir = run(arguments)
    assert.equal(0, status, text)
    local full, worst = read_table(dir .. "/events.dat"), 0
    for _, row in ipairs(read_table(dir .. "/residuals.dat")) do
      if row.curve == full[#full].curve then worst = math.max(worst, tonumber(row.residual)) end
    end
    text, status, dir = run(("%s --watch %g"):format(arguments, limit))
    assert.equal(0, status, text)
    local watched, stopped = read_table(dir .. "/events.dat"), read_table(dir .. "/stopped.dat")
    local last = #full -- without a preconditioner
    assert.equal("none", full[last].preconditioner)
    assert.is_true(worst > limit)
    assert.truthy(full[last].outcome == "iterations" or full[last].outcome == "breakdown", full[last].outcome)
    assert.equal("stopped", watched[last].outcome, text)
    assert.is_true(tonumber(watched[last].numiter_I) < tonumber(full[last].numiter_I))
    assert.equal(watched[last].numiter_I, stopped[#stopped].iterations)
    local most = tonumber(extra:match "%d+")
    assert.equal(most - tonumber(watched[last].numiter_I), tonumber(stopped[#stopped].saved))
    assert.truthy(text:find("Solves that the rule stopped: residual above", 1, true) and text:find("%% saved"), text)
  end

  it("stops an exploding solver by a separate rule; without the rule it runs to its last iteration", function()
    stopped_early("convdiff2d:100:500", "cgs", 1e12, "--most 4000")
  end)

  it("stops a chemical plant of the SuiteSparse collection, like the paper", function()
    stopped_early(data .. "/west0479.mtx.gz", "bicgstab", 1e14, "--most 100000")
  end)

  it("leaves solvers alone that stay below the rule's limit", function()
    local text, status, dir = run("--no-plot --solvers cg,gmres --matrices poisson2d:40 --watch 1e10")
    assert.equal(0, status, text)
    for _, e in ipairs(check_solves(dir)) do assert.equal("converged", e.outcome, e.solver) end
    assert.truthy(text:find("The rule stopped no solve", 1, true), text)
  end)

  it("is also stopped by the shipped rules file", function()
    local text, status = shell(pmlua .. " -e " .. ("%q"):format([[
      package.path = 'scripts/?.lua;' .. package.path
      assert(pml.live.start { unasked = true, rules = 'scripts/rules/stop_diverged.lua' })
      local lab = assert(require('residuals.solve').new(pml, { tolerance = 1e-8, iterations = 4000 }))
      local p = { matrix = 'convdiff2d:100:500', solver = 'cgs', preconditioner = 'none' }
      assert(lab:measure(p, 1))
      print(lab:outcome(p).outcome)]]):gsub("\\\n", "\n"))
    assert.equal(0, status, text)
    assert.truthy(text:find("stopped\n", 1, true) and text:find("pmlua: stopped: residual", 1, true), text)
  end)

  it("names a matrix that it cannot solve", function()
    for _, matrix in ipairs { "poisson2d:x", "/nonexistent.mtx" } do
      assert.truthy(run("--no-plot --matrices " .. matrix):find(matrix, 1, true))
    end
  end)
end)

describe("a prediction", function()
  local function falling(decades, n)
    local out = {}
    for k = 0, n do out[k + 1] = 10 ^ (-decades * k) end
    return out
  end

  it("continues along a straight line", function()
    local fit = predict.fit(falling(0.1, 40), 0.5, 1e-8)
    assert.equal(20, fit.seen)
    assert.is_true(math.abs(fit.iteration - 80) <= 1 and math.abs(fit.slope + 0.1) < 1e-9)
    assert.equal("as predicted", (predict.judge(fit, true, 80)))
    assert.equal("as predicted: not yet", (predict.judge(fit, false, 40)))
    assert.equal("sooner", (predict.judge(fit, true, 40)))
  end)

  it("is never for a stagnating series, and does not exist for a short one", function()
    local flat = {}
    for k = 1, 50 do flat[k] = 3 + k % 2 end
    local fit = predict.fit(flat, 1, 1e-8)
    assert.is_nil(fit.iteration)
    assert.equal("as predicted: never", (predict.judge(fit, false, 49)))
    assert.equal("unforeseen", (predict.judge(fit, true, 49)))
    assert.is_nil(predict.fit({ 1, 0.1 }, 1, 1e-8))
    assert.is_nil(predict.fit({ 0 }, 1, 0))
  end)
end)
