-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/runner.lua - runs an experiment: warm-up, interleaved rounds; all samples survive failures.
--
-- Try:  require("pmlua").experiment{ name = "demo", measure = function() return os.clock() end }:run{ quick = true }
--
-- A cell is set up, measured and torn down in each round anew: event sets of eighty cells open at once would take
-- turns on the PMU and disturb each other. Three events end a run early, and none loses measured samples: an interrupt
-- (status "interrupted"), an error raised by the script ("failed"), and a full disk ("failed", but the run
-- continues to its end, so that at least the summary can be shown).

local archive = require "pmlua.internal.experiment.archive"
local certain = require "pmlua.internal.experiment.certain"
local cells = require "pmlua.internal.experiment.cell"
local datasets = require "pmlua.internal.experiment.datasets"
local json = require "pmlua.json"
local plugin = require "pmlua.plugin"
local progress = require "pmlua.internal.experiment.progress"
local results = require "pmlua.results"
local resume = require "pmlua.internal.experiment.resume"
local Run = require "pmlua.internal.experiment.run"
local runlog = require "pmlua.internal.experiment.runlog"
local simulated = require "pmlua.internal.simulation.cells"
local sweep = require "pmlua.internal.experiment.sweep"
local tally = require "pmlua.internal.tally"
local trace = require "pmlua.trace"
local visits = require "pmlua.internal.experiment.visit"

local M = {}

-- The tallies of all cells together stay below half a GiB: 2^24 distinct values of 16 bytes, and what they are merged into.
local function bound(run, cell)
  local most = math.max(1 << 17, (1 << 24) // #run.cells)
  if cells.values(cell) <= most then return end
  local values = #cells.tally(cell).value
  if values <= most then return end
  if not cell.coarse then
    run:warn(("%s: %d distinct values; its quantiles are rounded to 1/8192, samples.csv.gz is exact"):format(cell.label, values))
  end
  cell.coarse, cell.parts, cell.tally = true, { tally.coarsen(cell.tally) }, nil
end

local function absorb(run, cell, round, position, visited)
  local n, err = cells.add(cell, visited.series, { round = round, position = position, extra = visited.extra })
  if not n then visits.wrong(run, "measure: " .. err) end
  if run.archive then
    local ok, why = run.archive:add(cell.index, round, visited.series)
    if not ok then run:lost(why) end
  end
  bound(run, cell)
  run.meta.samples = run.meta.samples + n
  if run.log then run.log:tell_columns(run, cell) end
end

-- The reason why a cell cannot be measured goes into its row; it is not visited again.
local function refuse(run, cell, visited)
  visits.check_interrupt(run)
  cell.status = visited.refused
  run.refuser = run.refuser or visited.refuser
  run:warn(("%s was skipped: %s"):format(cell.label, visited.refused))
end

local function close(visited)
  if type(visited.series) == "userdata" then visited.series:close() end
  if visited.failure then error(visited.failure, 0) end
end

local function warm_up(run)
  if run.warmup == 0 then return end
  for _, cell in ipairs(run.cells) do
    if cell.status == "ok" then
      run.at = ("cell %s, warm-up"):format(cell.label)
      run.progress:step("warm-up " .. cell.short, 1)
      local visited = visits.visit(run, cell, run.warmup)
      if visited.refused then refuse(run, cell, visited) end
      close(visited)
      visits.check_interrupt(run)
    end
  end
end

local function one_round(run, round, plan)
  for position, index in ipairs(plan.order) do
    local cell = run.cells[index]
    if cell.status == "ok" and not cell.certain and not (run.done and run.done[("%d %d"):format(index, round)]) then
      run.at = ("cell %s, round %d"):format(cell.label, round)
      run.progress:step(cell.short, round)
      if run.log then run.log:visit(cell.index, round, plan.n) end
      local visited = visits.visit(run, cell, plan.n, run.trace ~= nil)
      if visited.refused then refuse(run, cell, visited) end
      if visited.series then absorb(run, cell, round, position, visited) end
      if run.log then run.log.kept() end
      close(visited)
      run:tables_in_time()
      visits.check_interrupt(run)
    end
    run.progress:advance()
  end
end

-- A run in which every cell was refused has measured nothing, which no caller may take for a result.
local function check_samples(run)
  if run.meta.samples > 0 then return end
  local first = run.cells[1]
  run.at = "cell " .. first.label
  error(visits.line_of(run, run.refuser or run.exp.constraints or run.exp.measure) .. "no cell was measured: " .. first.status, 0)
end

-- Whether all cells are certain after this round, or the experiment's budget is used up; then it was the last.
local function spent(run, round)
  local budget = run.exp.budget
  local late = budget and run.core.clock.ns() - run.began >= budget.seconds * 1e9
  if budget and round < budget.rounds then return false end
  local sure = run.certain and run.certain:look()
  if not (late or sure) then return false end
  run.ended = late and ("time ran out after %d rounds"):format(round)
  run.rounds, run.repeats = round, run.repeats // run.rounds * round
  run.meta.rounds, run.meta.repeats = run.rounds, run.repeats
  return true
end

local function measure_all(run)
  local plan = run.plan
  run.progress = progress.new {
    total = #plan * #run.cells, rounds = #plan, quiet = run.quiet, tty = run.core.sys.isatty(2),
    now = function() return run.core.clock.ns() / 1e9 end, budget = run.exp.budget,
  }
  warm_up(run)
  run.began = run.core.clock.ns()
  for round, part in ipairs(plan) do
    one_round(run, round, part)
    run.meta.rounds_done = round
    run.at = "tables"
    local last = spent(run, round) or round == #plan
    if not last then run:tables_between_rounds() end -- the last are written with the run's status
    if last then break end
  end
  check_samples(run)
  if run.certain then run.certain:finish(run.ended or ("%d rounds were the most"):format(#plan)) end
  run.status = run.status == "running" and "complete" or run.status
end

-- Run f; an error makes the run "failed" or "interrupted" and is said in one line.
local function guarded(run, f)
  local ok, err = xpcall(f, visits.handler(run), run)
  if ok then return true end
  debug.sethook() -- an interrupt must not break the writing that follows
  run.progress = run.progress or progress.new { total = 0, rounds = 0, quiet = true }
  run.progress:clear()
  if run.core.sys.interrupted() then
    run.status = "interrupted"
    run.meta.error = run.meta.error or ("interrupted at %s"):format(run.at)
    io.stderr:write(("pmlua: %s: interrupted at %s; earlier measurements are kept\n"):format(run.exp.name, run.at))
  else
    run.status = "failed"
    run.meta.error = run.meta.error or ("%s: %s"):format(run.at, err)
    -- the position first, so that editors and people find the line of the script
    io.stderr:write(require "pmlua.internal.printable"(("pmlua: %s (%s: %s)"):format(err, run.exp.name, run.at)), "\n")
  end
  return false
end

--- Prepare for a kill: write a table without samples, and open a log for the samples of the current visit. A run
--- inside another run has no log.
local function prepare_for_the_worst(run)
  run:save("write_table", "data.dat", datasets.data(run, "incomplete"))
  local err
  run.log, err = runlog.open(run.dir)
  if err and err ~= "EALREADY" then run:warn("a kill would lose samples: " .. err:sentence()) end
end

local function open_companions(run)
  local err
  if not run.previous then run.archive, err = archive.create(run:path "samples.csv.gz") end
  if run.archive then
    run:keep_file_name("samples.csv.gz", ("every sample as measured, in %s"):format(run.exp.unit))
  else
    run:lost(err)
  end
  run.plugins = run.core.plugin and plugin.follow()
  if not run.core.trace or run.previous then return end -- a trace cannot be continued
  run.trace, err = trace.follow(run.core, run.dir, run.exp.trace_events)
  if run.trace then run:keep_file_name("traces.otf2", "the run as an OTF2 trace") end
  if err then run:warn("trace: " .. err) end
end

local function close_companions(run)
  if run.log then run.log.close() end
  if run.archive then
    local ok, err = run.archive:close()
    if not ok then run:lost(err) end
  end
  if run.plugins then
    local t, err = run.plugins:finish(run.trace and run.trace.archive)
    if t then run:write_table("plugins.dat", t, t.title) end
    if err then run:warn("plugins: " .. err) end
  end
  if run.trace then
    local ok, err = run.trace:close()
    if not ok then run:warn("trace: " .. tostring(err)) end
  end
end

local function describe_columns(run)
  local out = json.array()
  for i, c in ipairs(datasets.data(run, "incomplete").columns) do
    out[i] = { name = c.name or c[1], unit = c.unit or c[2], description = c.description or c[3] }
  end
  return out
end

local function unmeasured(run)
  local out = json.array()
  for _, cell in ipairs(run.cells) do
    if cell.status ~= "ok" then out[#out + 1] = { cell = cell.index, label = cell.label, reason = cell.status } end
  end
  return out
end

--- Take what the run measured before.
local function resumed(run, now)
  local meta = run.previous.meta
  run.meta.started, run.meta.resumed = meta.started, json.array(meta.resumed)
  table.insert(run.meta.resumed, now)
  return resume.restore(run, run.previous, function(...) absorb(run, ...) end)
end

local function begin(run)
  run.dir, run.status, run.at = run.folder.path, "running", "start"
  run.meta.process = results.process(run.core.sys.pid())
  local now = os.date("!%Y-%m-%dT%H:%M:%SZ")
  run.meta.started = now
  run.plan = sweep.plan(#run.cells, run.rounds, run.repeats, run.seed)
  for _, cell in ipairs(run.cells) do cell.rounds, cell.outliers, cell.parts = {}, {}, {} end
  run.certain = run.exp.certain and certain.new(run)
  run.simulated = simulated.follow(run)
  run.meta.columns = describe_columns(run)
  run.meta.samples, run.meta.rounds_done = 0, 0
  local err = run.previous and resumed(run, now)
  if err then run:lost(err) end
  run:write_meta()
  run:reserve()
  prepare_for_the_worst(run)
  open_companions(run)
end

local function finish(run)
  debug.sethook()
  run.core.sys.raise_interrupt(false)
  if run.progress then run.progress:done() end
  run:release()
  guarded(run, visits.tear_down)
  run.at = "tables"
  guarded(run, run.write_tables)
  close_companions(run)
end

local function seal(run)
  run.meta.ended = os.date("!%Y-%m-%dT%H:%M:%SZ")
  run.meta.unmeasured = unmeasured(run)
  run:write_meta()
end

local function analyse(run)
  if not run.exp.analyse then return end
  run.at = "analyse"
  -- after an interrupt it makes tables of what there is
  local f = run.core.sys.interrupted() and run.exp.analyse or visits.interruptible(run, run.exp.analyse)
  guarded(run, f)
  run.core.sys.raise_interrupt(false)
end

-- Replaces os.exit in the script: close and mark the folder, then end the process with a failure status.
local function leaving(run, exit)
  return function(code, ...)
    local at = run.at
    run.status = "failed"
    run.meta.error = ("%s: the script called os.exit"):format(at)
    local where = visits.with_position(run, "os.exit was called in an experiment")
    io.stderr:write(("pmlua: %s (%s: %s)\n"):format(where, run.exp.name, at))
    finish(run)
    seal(run)
    if code == nil or code == true or code == 0 then code = 1 end
    exit(code, ...)
  end
end

--- Run what `experiment` prepared: measure, write, analyse. The run's status says how it ended.
---@param run pmlua.Run with exp, core, cells, factors, options, folder, meta and the numbers set
function M.execute(run)
  setmetatable(run, Run)
  local exit = os.exit
  os.exit = leaving(run, exit) -- luacheck: ignore 122
  run.core.sys.raise_interrupt(false)
  begin(run)
  guarded(run, measure_all)
  finish(run)
  analyse(run)
  os.exit = exit -- luacheck: ignore 122
  seal(run)
  return run
end

--- Sum of a number that measure returned beside its samples, over the rounds of a cell; nil if it never did.
---@return number?
function M.sum(cell, key)
  local sum
  for _, r in ipairs(cell.rounds) do
    local v = datasets.metric(r, key)
    if v then sum = (sum or 0) + v end
  end
  return sum
end

return M
