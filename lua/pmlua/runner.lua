-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/runner.lua - runs an experiment: warm-up, interleaved rounds, everything kept, whatever happens.
--
-- Try:  require("pmlua").experiment{ name = "demo", measure = function() return os.clock() end }:run{ quick = true }
--
-- A cell is set up, measured and torn down in each round anew: event sets of eighty cells open at once would take
-- turns on the PMU and disturb each other. Three things end a run early, and none loses what was measured: an interrupt
-- (status "interrupted"), an error raised by the script ("failed"), a disk that takes no more ("failed", but the run
-- goes on to its end, so that at least the summary can be shown).

local archive = require "pmlua.archive"
local cells = require "pmlua.simulation.cells"
local json = require "pmlua.json"
local progress = require "pmlua.progress"
local results = require "pmlua.results"
local stats = require "pmlua.stats"
local sweep = require "pmlua.sweep"
local tables = require "pmlua.tables"
local tally = require "pmlua.tally"
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
  if not self.quiet then io.stderr:write("pmlua: warning: ", text, "\n") end
end

-- Something could not be written: said once, the run's status is "failed", measuring goes on.
function Run:lost(err)
  self:release()
  self.status = "failed"
  if self.meta.error then return end
  self.meta.error = err
  if self.progress then self.progress:clear() end
  io.stderr:write("pmlua: ", err, "\n")
end

-- Room that is kept for the tables while the samples may fill the disk: a file without a name, so that nothing of it is
-- left whatever ends the process.
local reserve_bytes = 128 * 1024

function Run:reserve()
  local path = self:path ".reserve"
  local f = io.open(path, "wb")
  if not f then return end
  os.remove(path)
  self.reserved = f
  local written = f:write(("\0"):rep(reserve_bytes + 16 * 1024 * #self.cells)) and f:flush()
  if not written then self:release() end -- a disk with less than that is left to the run
end

function Run:release()
  if not self.reserved then return false end
  self.reserved:close()
  self.reserved = nil
  return true
end

-- Write a file of the folder, if need be into the room that was kept for it.
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

--- Text for people on stdout; nothing with --json.
---@param text string
function Run:say(text)
  if not self.json then io.stdout:write(text, "\n") end
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

function Run:file_status()
  return self.status == "complete" and "complete" or "incomplete"
end

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
function Run:write_tables()
  local begun = self.core.clock.ns()
  for _, cell in ipairs(self.cells) do
    cell.summary = tables.summarise(self, cell)
    cell.derived = {}
    if cell.summary then
      for k, c in ipairs(self.exp.columns) do cell.derived[k] = c.value(cell, self) end
    end
  end
  for _, s in ipairs(standard) do
    local ok = self:save("write_table", s[1], tables[s[2]](self, self:file_status()))
    if ok then keep_file_name(self, s[1], s[3]) end
  end
  local now = self.core.clock.ns()
  self.tables_due = now + math.max(2000000000, 50 * (now - begun))
end

function Run:tables_in_time()
  self.tables_due = self.tables_due or self.core.clock.ns() -- the first cell at once: better one row than none
  if self.core.clock.ns() < self.tables_due then return end
  self:write_tables()
  self:write_meta()
end

-- measure() gives a series, or one number, and is then called n times.
local function take(run, cell, state, n)
  local exp, p, options = run.exp, cell.p, run.options
  local first, second, third = exp.measure(state, p, n, options)
  if type(first) ~= "number" then return first, second, third end
  local series = { first }
  for i = 2, n do
    local v, err, code = exp.measure(state, p, n, options)
    if type(v) ~= "number" then return nil, err or ("measure gave a %s after a number"):format(type(v)), code end
    series[i] = v
  end
  return series, type(second) == "table" and second or nil
end

-- The line of the script that led to an error raised in somebody else's file (a module, or a C function).
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
    text = with_position(run, text)
    run.raised = text
    if run.debug then io.stderr:write(debug.traceback(text, 2), "\n") end
    return text
  end
end

-- One visit of a cell. Returns the series and what measure told beside it, or nil and why the cell cannot be measured.
local function visit(run, cell, n, tracing)
  local exp, state, extra, series = run.exp, nil, nil, nil
  if exp.setup then
    local made, err = exp.setup(cell.p, run.options)
    if made == nil and err ~= nil then return nil, tostring(err) end
    state = made
  end
  collectgarbage() -- here, so that it does not fall into the measurement
  if tracing then run.trace:enter(cell.short, exp.file, exp.line) end
  local function measure()
    series, extra = take(run, cell, state, n)
    return series and #series * exp.calls
  end
  local simulated = tracing ~= nil and run.simulated -- nil: it warms up
  local ok, failure = xpcall(simulated and function() simulated:count(cell, measure) end or measure, handler(run))
  local phases = type(extra) == "table" and extra.phases or (type(state) == "table" and state.phases) or nil
  if tracing then run.trace:leave(ok and series and #series or 0, phases) end
  if exp.teardown then exp.teardown(state, cell.p, run.options) end
  if not ok then error(failure, 0) end
  if series == nil then return nil, tostring(extra or "measure returned nothing") end
  return series, extra
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
  if not t then error(("measure: %s"):format(err), 0) end
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

-- Whether the cell may be visited again; the reason it cannot be measured goes into its row.
local function refused(run, cell, why)
  if run.core.sys.interrupted() then error("interrupted", 0) end
  cell.status = why
  run:warn(("%s is not measured: %s"):format(cell.label, why))
end

local function check_interrupt(run)
  if run.core.sys.interrupted() then error("interrupted", 0) end
end

local function warm_up(run)
  if run.warmup == 0 then return end
  for _, cell in ipairs(run.cells) do
    if cell.status == "ok" then
      run.at = ("cell %s, warm-up"):format(cell.label)
      run.progress:step("warm-up " .. cell.short, 1)
      local series, why = visit(run, cell, run.warmup)
      if not series then refused(run, cell, why) end
      if type(series) == "userdata" then series:close() end
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
      local series, extra = visit(run, cell, plan.n, run.trace ~= nil)
      if series then absorb(run, cell, round, position, series, extra) else refused(run, cell, extra) end
      if type(series) == "userdata" then series:close() end
      run:tables_in_time()
      check_interrupt(run)
    end
    run.progress:advance()
  end
end

local function measure_all(run)
  local plan = sweep.plan(#run.cells, run.rounds, run.repeats, run.seed)
  run.progress = progress.new {
    total = #plan * #run.cells, rounds = #plan, quiet = run.quiet, tty = run.core.sys.isatty(2),
    now = function() return run.core.clock.ns() / 1e9 end,
  }
  warm_up(run)
  for round, part in ipairs(plan) do
    one_round(run, round, part)
    run.meta.rounds_done = round
    run.at = "tables"
    run:write_tables()
    run:write_meta()
    if run.trace then
      local ok, err = run.trace:flush()
      if not ok then run:warn("trace: " .. tostring(err)) end
    end
    run.progress:round(round)
  end
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
    io.stderr:write(("pmlua: %s: interrupted at %s; what was measured is kept\n"):format(run.exp.name, run.at))
  else
    run.status = "failed"
    run.meta.error = run.meta.error or ("%s: %s"):format(run.at, err)
    -- the position first, so that editors and people find the line of the script
    io.stderr:write(("pmlua: %s (%s: %s)\n"):format(err, run.exp.name, run.at))
  end
  return false
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
  for i, c in ipairs(tables.data(run, "incomplete").columns) do
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

--- Run what `experiment` prepared: measure, write, analyse. The run's status says how it ended.
---@param run pmlua.Run with exp, core, cells, factors, options, folder, meta and the numbers set
function M.execute(run)
  setmetatable(run, Run)
  run.dir, run.status, run.at = run.folder.path, "running", "start"
  run.meta.process = results.process(run.core.sys.pid())
  run.meta.started = os.date("!%Y-%m-%dT%H:%M:%SZ")
  for _, cell in ipairs(run.cells) do cell.rounds, cell.outliers = {}, {} end
  run.simulated = cells.follow(run)
  run.meta.columns = describe_columns(run)
  run.meta.samples, run.meta.rounds_done = 0, 0
  run:write_meta()
  run:reserve()
  open_companions(run)
  guarded(run, measure_all)
  debug.sethook()
  run.progress:done()
  run:release()
  run.at = "tables"
  guarded(run, run.write_tables)
  close_companions(run)
  if run.exp.analyse then
    run.at = "analyse"
    guarded(run, run.exp.analyse)
  end
  run.meta.ended = os.date("!%Y-%m-%dT%H:%M:%SZ")
  run.meta.unmeasured = unmeasured(run)
  run:write_meta()
  return run
end

--- Sum of a number that measure returned beside its samples, over the rounds of a cell; nil if it never did.
---@param cell pmlua.Cell
---@param key string
---@return number?
function M.sum(cell, key)
  local sum
  for _, r in ipairs(cell.rounds) do
    local v = type(r.extra) == "table" and r.extra[key]
    if type(v) == "number" then sum = (sum or 0) + v end
  end
  return sum
end

return M
