-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/runner.lua - runs an experiment: warm-up, interleaved rounds, everything kept, whatever happens.
--
-- Try:  require("pmlua").experiment{ name = "demo", measure = function() return os.clock() end }:run{ quick = true }
--
-- A cell is set up, measured and torn down in each round anew: event sets of eighty cells open at once would take
-- turns on the PMU and disturb each other. Three things end a run early, and none loses what was measured: an interrupt
-- (status "interrupted"), an error raised by the script ("failed"), a disk that takes no more ("failed", but the run
-- goes on to its end, so that at least the summary can be shown).

local archive = require "pmlua.internal.experiment.archive"
local cells = require "pmlua.internal.simulation.cells"
local json = require "pmlua.json"
local progress = require "pmlua.internal.experiment.progress"
local results = require "pmlua.results"
local stats = require "pmlua.stats"
local sweep = require "pmlua.internal.experiment.sweep"
local datasets = require "pmlua.internal.experiment.datasets"
local tally = require "pmlua.internal.tally"
local plugin = require "pmlua.plugin"
local trace = require "pmlua.trace"

local M = {}

---@class pmlua.Run
---@field dir string? the folder
---@field cells pmlua.Cell[]
---@field options table<string, any> the experiment's own options
---@field seed integer
---@field rounds integer
---@field repeats integer
---@field unit string unit of the tables
---@field scale number samples times scale are in that unit
local Run = {}
Run.__index = Run

local outlier_limit = 100

--- Say something once on stderr and keep it in meta.json.
---@param text string
function Run:warn(text)
  self.meta.warnings[#self.meta.warnings + 1] = text
  if self.progress then self.progress:clear() end
  if not self.quiet then io.stderr:write("pmlua: warning: ", require "pmlua.internal.printable"(text), "\n") end
end

-- Something could not be written: said once, the run's status is "failed", measuring goes on.
---@package
function Run:lost(err)
  self:release()
  self.status = "failed"
  if self.meta.error then return end
  self.meta.error = tostring(err)
  if self.progress then self.progress:clear() end
  io.stderr:write("pmlua: ", require "pmlua.internal.printable"(err), "\n")
end

-- Room that is kept for the tables while the samples may fill the disk: a file without a name, so that nothing of it is
-- left whatever ends the process.
local reserve_bytes, reserve_per_cell, reserve_most = 128 * 1024, 16 * 1024, 32 * 1024 * 1024

local function fill(f, bytes)
  local block = ("\0"):rep(64 * 1024)
  for _ = 1, (bytes + #block - 1) // #block do
    if not f:write(block) then return nil end
  end
  return f:flush()
end

---@package
function Run:reserve()
  local path = self:path ".reserve"
  local f = require("pmlua.internal.file").new(path)
  if not f then return end
  os.remove(path)
  self.reserved = f
  local bytes = math.min(reserve_bytes + reserve_per_cell * #self.cells, reserve_most)
  if not fill(f, bytes) then self:release() end -- a disk with less than that is left to the run
end

---@package
function Run:release()
  if not self.reserved then return false end
  self.reserved:close()
  self.reserved = nil
  return true
end

-- Write a file of the folder, if need be into the room that was kept for it.
---@package
function Run:save(method, name, content)
  local ok, err = self.folder[method](self.folder, name, content)
  if ok then return true end
  self:lost(err)
  return self.folder[method](self.folder, name, content)
end

--- A path in the folder of the run.
---@param name string
function Run:path(name)
  return self.dir .. "/" .. name
end

--- Print text on stdout; nothing with --json or --csv.
---@param text string
function Run:say(text)
  if not (self.json or self.csv) then io.stdout:write(text, "\n") end
end

local function keep_file_name(run, name, description)
  for _, f in ipairs(run.meta.files) do
    if f.name == name then return end
  end
  run.meta.files[#run.meta.files + 1] = { name = name, description = description }
end

--- Write a table of the experiment's own into the folder.
---@param name string "speedup.dat"
---@param t {columns: table[], rows: table[], title?: string}
---@param description? string for meta.json
function Run:write_table(name, t, description)
  local ok = self:save("write_table", name, {
    title = t.title or (self.exp.name .. " " .. name:gsub("%.dat$", "")), status = self:file_status(),
    columns = t.columns, rows = t.rows,
  })
  if ok then keep_file_name(self, name, description or "table of the experiment") end
end

---@package
function Run:file_status()
  return self.status == "complete" and "complete" or "incomplete"
end

---@package
function Run:write_meta()
  self.meta.status = self.status
  self:save("write", "meta.json", json.encode(self.meta))
end

local standard = {
  { "data.dat", "data", "summary, a row per cell" }, { "rounds.dat", "rounds", "summary per round" },
  { "outliers.dat", "outliers", "largest samples with their position" },
  { "histogram.dat", "histogram", "distribution per cell" },
}

-- Tables are written again after each round, and in a long round when the last are some seconds old and cost little:
-- a kill -9 leaves those that were written last.
---@package
function Run:write_tables()
  local begun = self.core.clock.ns()
  for _, cell in ipairs(self.cells) do cell.summary = datasets.summarise(self, cell) end
  for _, cell in ipairs(self.cells) do -- a column may look at another cell's summary
    cell.derived = {}
    if cell.summary then
      for k, c in ipairs(self.exp.columns) do cell.derived[k] = c.value(cell, self) end
    end
  end
  for _, s in ipairs(standard) do
    local ok = self:save("write_table", s[1], datasets[s[2]](self, self:file_status()))
    if ok then keep_file_name(self, s[1], s[3]) end
  end
  self:collect()
  local now = self.core.clock.ns()
  self.tables_due = now + math.max(2000000000, 50 * (now - begun))
  self.tables_again = now + 9 * (now - begun)
end

-- Collect garbage now, so that it does not fall into a measurement: Lua's collector then rests until the heap is twice
-- as large. All of the heap is walked, and it grows with the cells: between two visits, only when more than half as much is new.
---@package
function Run:collect()
  collectgarbage()
  self.live_kb = collectgarbage "count"
end

---@package
function Run:collect_in_time()
  if collectgarbage "count" > 1.6 * (self.live_kb or 0) then self:collect() end
end

---@package
function Run:tables_in_time()
  self.tables_due = self.tables_due or self.core.clock.ns() -- the first cell at once: better one row than none
  if self.core.clock.ns() < self.tables_due then return end
  self:write_tables()
  self:write_meta()
end

-- Where a function of the script begins: an error about what it gave has no better line.
local function line_of(run, f)
  if run.exp.line == 0 then return run.exp.file .. ": " end -- no script's
  local info = debug.getinfo(f, "S")
  return info.what == "Lua" and ("%s:%d: "):format(info.short_src, info.linedefined) or run.exp.file .. ": "
end

local function wrong(run, text)
  error(line_of(run, run.exp.measure) .. text, 0)
end

local expected = "; return a number, an array, pml.samples, or nil and a reason"

-- What measure() gave, if it can be kept: a finite number, or a series (whose elements tally.of checks).
local function check_measured(run, v, reason)
  local kind = type(v)
  if kind == "number" then
    if v ~= v then wrong(run, "measure returned NaN") end
    if v == math.huge or v == -math.huge then wrong(run, "measure returned an infinite number") end
  elseif kind == "nil" then
    if reason ~= nil then return end
    -- what was refused and not looked at is the likely cause
    local refusal = run.core.sys.refusal()
    wrong(run, "measure returned nothing" .. (refusal and "; the last refusal was: " .. refusal or expected))
  elseif kind ~= "table" and kind ~= "userdata" then
    wrong(run, ("measure returned a %s"):format(kind) .. expected)
  elseif #v == 0 then
    wrong(run, "measure returned no samples" .. expected)
  end
end

-- An interrupt ends a measurement where it is, and what measure() gave after it is not a measurement.
local function check_interrupt(run)
  if run.core.sys.interrupted() then error("interrupted", 0) end
end

-- measure() gives a series, or one number, and is then called n times. What was measured until something failed is in
-- visited.series all the same.
local function take(run, cell, visited, n)
  local exp, p, options = run.exp, cell.p, run.options
  local first, second = exp.measure(visited.state, p, n, options)
  check_interrupt(run)
  check_measured(run, first, second)
  visited.extra = second
  if type(first) ~= "number" then
    visited.series = first
    return
  end
  visited.extra = type(second) == "table" and second or nil
  local series, took = { first }, run.core.samples_log.took
  visited.series = series
  took(first)
  for i = 2, n do
    local v, err = exp.measure(visited.state, p, n, options)
    check_interrupt(run)
    check_measured(run, v, err)
    if type(v) ~= "number" then wrong(run, ("measure returned a %s after a number: %s"):format(type(v), tostring(err or ""))) end
    series[i] = v
    took(v)
  end
end

-- The line of the script that led to an error raised in another file (a module, or a C function).
local function with_position(run, text)
  if text:sub(1, #run.exp.file) == run.exp.file then return text end
  for level = 3, 100 do
    local info = debug.getinfo(level, "Sl")
    if not info then return text end
    if info.source == run.exp.source and info.currentline > 0 then
      return ("%s:%d: %s"):format(run.exp.file, info.currentline, text)
    end
  end
  return text
end

local function handler(run)
  return function(err)
    local text = tostring(err)
    if run.raised == text then return text end
    text = run.core.sys.explained(with_position(run, text))
    run.raised = text
    if run.debug then io.stderr:write(debug.traceback(text, 2), "\n") end
    return text
  end
end

-- Code of the script, which an interrupt ends at once; pmlua's own is never broken in the middle.
local function interruptible(run, f)
  local raise = run.core.sys.raise_interrupt
  return function(...)
    raise(true)
    f(...)
    raise(false)
  end
end

-- One visit of a cell: its state, the series that it gave, what measure told beside it, and why it cannot be measured,
-- or what failed.
local function visit(run, cell, n, tracing)
  local exp, visited = run.exp, {}
  local function end_of(ok, failure)
    run.core.sys.raise_interrupt(false)
    visited.failure = not ok and failure or nil
    return ok
  end
  if exp.setup then
    local function setup()
      local made, err = exp.setup(cell.p, run.options)
      if made == nil and err ~= nil then visited.refused, visited.refuser = tostring(err), exp.setup end
      visited.state = made
    end
    if not end_of(xpcall(interruptible(run, setup), handler(run))) or visited.refused then return visited end
  end
  run:collect_in_time()
  if tracing then run.trace:enter(cell.short ~= "" and cell.short or cell.label, exp.file, exp.line) end
  run.core.sys.refusal() -- what was refused before is not measure's
  local function measure()
    take(run, cell, visited, n)
    return visited.series and #visited.series * exp.calls
  end
  local simulated = tracing ~= nil and run.simulated -- nil: it warms up
  local f = interruptible(run, simulated and function() simulated:count(cell, measure) end or measure)
  local ok = end_of(xpcall(f, handler(run)))
  if simulated and not ok then visited.series = nil end -- its counts are not there
  local extra, state = visited.extra, visited.state
  local phases = type(extra) == "table" and extra.phases or (type(state) == "table" and state.phases) or nil
  if tracing then run.trace:leave(visited.series and #visited.series or 0, phases) end
  if exp.teardown then exp.teardown(state, cell.p, run.options) end
  if ok and visited.series == nil then visited.refused, visited.refuser = tostring(extra), exp.measure end
  return visited
end

local function keep_outliers(cell, series, summary, round)
  local all = cell.outliers
  for _, o in ipairs(stats.outliers(series, summary.fence_lo, summary.fence_hi, outlier_limit)) do
    all[#all + 1] = { round = round, index = o.index - 1, value = o.value } -- as in samples.csv.gz
  end
  table.sort(all, function(a, b)
    if a.value ~= b.value then return a.value > b.value end
    if a.round ~= b.round then return a.round < b.round end
    return a.index < b.index
  end)
  for i = #all, outlier_limit + 1, -1 do all[i] = nil end
end

-- The tallies of all cells together stay below half a GiB: 2^24 distinct values of 32 bytes.
local function bounded(run, cell, merged)
  local most = math.max(1 << 17, (1 << 24) // #run.cells)
  if #merged.value <= most then return merged end
  if not cell.coarse then
    run:warn(("%s: %d distinct values; its quantiles are rounded to 1/8192, samples.csv.gz is exact"):format(cell.label,
      #merged.value))
  end
  cell.coarse = true
  return tally.coarsen(merged)
end

local function absorb(run, cell, round, position, series, extra)
  local t, err = tally.of(series)
  if not t then wrong(run, "measure: " .. err) end
  local s = assert(stats.summary(t))
  if run.archive then
    local ok, why = run.archive:add(cell.index, round, series)
    if not ok then run:lost(why) end
  end
  keep_outliers(cell, series, s, round)
  cell.rounds[#cell.rounds + 1] = {
    round = round, position = position, n = s.n, min = s.min, median = s.median, mean = s.mean, max = s.max, extra = extra,
  }
  cell.tally = bounded(run, cell, tally.merge(cell.tally, t))
  run.meta.samples = run.meta.samples + s.n
end

-- The reason why a cell cannot be measured goes into its row; it is not visited again.
local function refuse(run, cell, visited)
  check_interrupt(run)
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
      local visited = visit(run, cell, run.warmup)
      if visited.refused then refuse(run, cell, visited) end
      close(visited)
      check_interrupt(run)
    end
  end
end

local function one_round(run, round, plan)
  for position, index in ipairs(plan.order) do
    local cell = run.cells[index]
    if cell.status == "ok" then
      run.at = ("cell %s, round %d"):format(cell.label, round)
      run.progress:step(cell.short, round)
      run.core.samples_log.visit(cell.index, round, plan.n)
      local visited = visit(run, cell, plan.n, run.trace ~= nil)
      if visited.refused then refuse(run, cell, visited) end
      if visited.series then absorb(run, cell, round, position, visited.series, visited.extra) end
      run.core.samples_log.kept()
      close(visited)
      run:tables_in_time()
      check_interrupt(run)
    end
    run.progress:advance()
  end
end

-- A run in which every cell was refused has measured nothing, which no caller may take for a result.
local function check_samples(run)
  if run.meta.samples > 0 then return end
  local first = run.cells[1]
  run.at = "cell " .. first.label
  error(line_of(run, run.refuser or run.exp.constraints or run.exp.measure) .. "no cell was measured: " .. first.status, 0)
end

--- Write the tables between two rounds, unless so many short ones have gone by that this would take as long as measuring.
function Run:tables_between_rounds()
  if self.core.clock.ns() < (self.tables_again or 0) then return end
  self:write_tables()
  self:write_meta()
end

-- Whether the experiment's budget is used up after this round, which then was the last.
local function spent(run, round)
  local budget = run.exp.budget
  if not budget or round < budget.rounds or run.core.clock.ns() - run.began < budget.seconds * 1e9 then return false end
  run.rounds, run.repeats = round, run.repeats // run.rounds * round
  run.meta.rounds, run.meta.repeats = run.rounds, run.repeats
  return true
end

local function measure_all(run)
  local plan = sweep.plan(#run.cells, run.rounds, run.repeats, run.seed)
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
    local last = round == #plan or spent(run, round)
    if not last then run:tables_between_rounds() end -- the last are written with the run's status
    if run.trace then
      local ok, err = run.trace:flush()
      if not ok then run:warn("trace: " .. tostring(err)) end
    end
    if last then break end
  end
  check_samples(run)
  run.status = run.status == "running" and "complete" or run.status
end

-- Run f; an error makes the run "failed" or "interrupted" and is said in one line.
local function guarded(run, f)
  local ok, err = xpcall(f, handler(run), run)
  if ok then return true end
  debug.sethook() -- an interrupt must not break the writing that follows
  run.progress = run.progress or progress.new { total = 0, rounds = 0, quiet = true }
  run.progress:clear()
  if run.core.sys.interrupted() then
    run.status = "interrupted"
    run.meta.error = run.meta.error or ("interrupted at %s"):format(run.at)
    io.stderr:write(("pmlua: %s: interrupted at %s; what was measured before is kept\n"):format(run.exp.name, run.at))
  else
    run.status = "failed"
    run.meta.error = run.meta.error or ("%s: %s"):format(run.at, err)
    -- the position first, so that editors and people find the line of the script
    io.stderr:write(require "pmlua.internal.printable"(("pmlua: %s (%s: %s)"):format(err, run.exp.name, run.at)), "\n")
  end
  return false
end

--- In case the run is killed: a table without samples, and a log for those of the visit that is under way. A run
--- inside of another one goes without.
local function prepare_for_the_worst(run)
  run:save("write_table", "data.dat", datasets.data(run, "incomplete"))
  local logged, err = run.core.samples_log.open(run.dir)
  run.logged = logged
  if err and err ~= "EALREADY" then run:warn("a kill would lose samples: " .. err:sentence()) end
end

local function open_companions(run)
  local err
  run.archive, err = archive.create(run:path "samples.csv.gz")
  if run.archive then
    keep_file_name(run, "samples.csv.gz", ("every sample as measured, in %s"):format(run.exp.unit))
  else
    run:lost(err)
  end
  run.plugins = run.core.plugin and plugin.follow()
  if not run.core.trace then return end
  run.trace, err = trace.follow(run.core, run.dir, run.exp.trace_events)
  if run.trace then keep_file_name(run, "traces.otf2", "the run as an OTF2 trace") end
  if err then run:warn("trace: " .. err) end
end

local function close_companions(run)
  if run.logged then run.core.samples_log.close() end
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

local function begin(run)
  run.dir, run.status, run.at = run.folder.path, "running", "start"
  run.meta.process = results.process(run.core.sys.pid())
  run.meta.started = os.date("!%Y-%m-%dT%H:%M:%SZ")
  for _, cell in ipairs(run.cells) do cell.rounds, cell.outliers = {}, {} end
  run.simulated = cells.follow(run)
  run.meta.columns = describe_columns(run)
  run.meta.samples, run.meta.rounds_done = 0, 0
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
  local f = run.core.sys.interrupted() and run.exp.analyse or interruptible(run, run.exp.analyse)
  guarded(run, f)
  run.core.sys.raise_interrupt(false)
end

-- os.exit in the script: the folder is closed and marked, then the process ends, with a failure in any case.
local function leaving(run, exit)
  return function(code, ...)
    local at = run.at
    run.status = "failed"
    run.meta.error = ("%s: the script called os.exit"):format(at)
    io.stderr:write(("pmlua: %s (%s: %s)\n"):format(with_position(run, "os.exit was called in an experiment"), run.exp.name, at))
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
---@param cell pmlua.Cell
---@param key string
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
