-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/benchmark.lua - commands as an experiment: a cell per command and combination of parameters.
--
-- Try:  pmlua bench 'sort /etc/services' 'sort -r /etc/services'
--
-- A round runs each command once, in an order that differs between rounds. So a sample is one run of a command, and drift of
-- the machine affects all commands. Standard input and output are /dev/null; standard error goes to a file, whose last line
-- explains a failure.

local child = require "pmlua.internal.child"
local common = require "pmlua.internal.cli.common"
local compare = require "pmlua.compare"
local compiler = require "pmlua.internal.stat.compiler"
local core = require "pmlua.core"
local counts = require "pmlua.internal.stat.run"
local disk = require "pmlua.internal.file"
local json = require "pmlua.json"
local preload = require "pmlua.internal.preload"
local provenance = require "pmlua.internal.experiment.provenance"
local simulation = require "pmlua.internal.simulation.run"
local sorted = require "pmlua.internal.sorted"
local sweep = require "pmlua.internal.experiment.sweep"
local tables = require "pmlua.internal.experiment.datasets"
local temporary = require "pmlua.internal.temporary"
local refuse = core.failure.refuse

local M = {}

local NULL = "/dev/null"
local SECONDS, RUNS, FEWEST, MOST = 3, 10, 5, 500
local CERTAIN_SECONDS, CERTAIN_MOST = 60, 2000 -- with --until
local SHORT <const> = 5e6 -- ns: the start of a process is much of a shorter run
local SLOW_FIRST <const> = 1.5 -- times the median, beyond the outliers' fence: caches were cold
local SIMULATED = 5 -- runs: as many as an interval needs
local SAID = 120    -- bytes of what a command that failed said
local DRAIN_S <const> = 0.1
local PADDING <const> = 272 -- bytes of environment: each layout has the stack at another place within a line and a page

---@class pmlua.BenchmarkOptions
---@field commands string[]
---@field names? string[] of the commands
---@field parameters? { name: string, values: any[] }[]
---@field events? string[]
---@field shell? string "none" or a shell's path; nil: sh for all if one of them needs it
---@field setup? string before all runs, once for each cell
---@field prepare? string before each run
---@field cleanup? string after all runs, once for each cell
---@field warmup? integer
---@field runs? integer of each cell
---@field time? number seconds
---@field min_runs? integer
---@field max_runs? integer
---@field input? string a file
---@field output? string a file; "inherit": the caller's
---@field show_output? boolean
---@field time_unit? string of tables
---@field by? string the factor whose levels are compared
---@field threshold? number
---@field ignore_failure? boolean
---@field cause? boolean find why the two commands differ
---@field layouts? integer start each command with so many layouts

---@class pmlua.Benchmark
---@field experiment pmlua.Experiment
---@field by string? the factor whose levels are compared
---@field shell string? nil: commands run without one
---@field cells table<string, any>[] values of the factors
---@field comparisons table[] after a run: time's, then one of each metric
---@field cause table? with --cause: rows, during the run; the result of cause.of(), after it
---@field failed boolean? after a run: a command ended with another status than 0
local Benchmark = {}
Benchmark.__index = Benchmark

-- --- commands ---

--- The words of a command, as a shell would split it; nil: only a shell can tell.
---@param literally? boolean characters that are special to a shell are not
---@return string[]?
local function words_of(text, literally)
  local words, word, quote = {}, nil, nil
  for c in text:gmatch "." do
    if quote then
      if c == quote then quote = nil
      elseif quote == '"' and c:find "[$`\\]" and not literally then return nil
      else word = word .. c end
    elseif c == "'" or c == '"' then quote, word = c, word or ""
    elseif c:find "%s" and not (c == "\n" and not literally) then
      if word then words[#words + 1], word = word, nil end
    elseif not literally and (c:find "[|&;<>()$`\\*?%[\n]" or not word and c:find "[~#]" or #words == 0 and c == "=") then
      return nil
    else
      word = (word or "") .. c
    end
  end
  if quote then return nil end
  words[#words + 1] = word
  return words
end

M.words_of = words_of

local function substitute(text, p)
  return (text:gsub("{([%a_][%w_]*)}", function(name)
    if name ~= "command" and p[name] ~= nil then return tostring(p[name]) end
  end))
end

--- Names that differ.
local function labels_of(commands, names)
  local labels, taken = {}, {}
  for i, command in ipairs(commands) do
    local label, n = names and names[i] or command, 1
    while taken[label] do
      n = n + 1
      label = ("%s (%d)"):format(names and names[i] or command, n)
    end
    taken[label], labels[i] = true, label
  end
  return labels
end

function Benchmark:text(p) return substitute(self.commands[p.command], p) end

-- A command that no program is found for may be the shell's own.
local function alone(text)
  local words = words_of(text)
  return words and words[1] and preload.locate(words[1]) and true or false
end

local function shell_for(self, wish)
  if wish then return wish ~= "none" and wish or nil end
  for _, p in ipairs(self.cells) do
    if not alone(self:text(p)) then return "sh" end
  end
end

--- The command line that runs a cell's command; nil and the error.
function Benchmark:words(p)
  local text = self:text(p)
  if self.shell then return { self.shell, "-c", text } end
  local words = words_of(text, true)
  if not words or #words == 0 then
    return refuse("EINVAL", ("'%s' is not a command"):format(text), "with --shell none, write a program and its arguments")
  end
  return words
end

-- --- running ---

--- The last line that a command wrote on standard error.
function Benchmark:said()
  local text = disk.read(self.errors) or ""
  local line = text:match "([^\n]*%S[^\n]*)%s*$"
  return line and #line > SAID and line:sub(1, SAID) .. "..." or line
end

--- How a command failed; nil: it succeeded.
function Benchmark:failure(ended)
  if not ended.signal and ended.status == 0 then return nil end
  local how = ended.signal and ("ended by signal %d"):format(ended.signal) or ("exit status %d"):format(ended.status)
  local said = self:said()
  return said and ("%s (%s)"):format(how, said) or how
end

--- Run a hook (setup, prepare, cleanup) without measuring it; return its error.
function Benchmark:hook(name, p, shielded)
  if not self[name] then return nil end
  local words = { self.shell or "sh", "-c", substitute(self[name], p) }
  local ended, err = child.run(words, nil, { input = NULL, output = NULL, error = self.errors, shielded = shielded })
  local how = err or self:failure(ended)
  return how and ("--%s '%s': %s"):format(name, words[3], how)
end

--- Counts of a run by their names; why some are missing is noted.
function Benchmark:counted(rows)
  local out, kernel = {}, 0
  for _, row in ipairs(rows) do
    local name = row.event
    if row.source == "perf_event" then
      kernel = kernel + 1
      name = self.kernel[kernel] -- the requested name, because the kernel may have counted it as NAME:u
    end
    if row.source ~= "getrusage" then
      out[name] = row.value
      if row.reason then self.notes[("%s: %s"):format(name, row.reason)] = true end
      if row.at_least then self.notes[name .. " is at least what was counted"] = true end
      if row.running_ns and row.running_ns < row.enabled_ns then
        self.notes[name .. " was counted part of the time, and is scaled"] = true
      end
    end
  end
  return out
end

--- Run a cell's command under callgrind and sum the simulated counts over its processes.
function Benchmark:simulate(words, extra)
  local all, err = simulation.count(words, { child = self.streams })
  if not all then return err end
  for i, name in ipairs(self.simulated) do
    extra[name] = 0
    for _, process in ipairs(all.processes) do extra[name] = extra[name] + process.totals[self.places[i]] end
  end
end

--- The command line that starts a command with the cell's layout: an environment of another size, and random addresses for even
--- layouts. The file PROGRAM.N, if `pmlua cc --layouts` linked it, has its objects in another order.
function Benchmark:placed(words, p)
  if not p.layout then return words end
  local line = { "env", "PMLUA_LAYOUT=" .. ("x"):rep(PADDING * (p.layout - 1)) }
  if p.layout % 2 == 1 and self.fixed then table.move({ "setarch", "-R" }, 1, 2, #line + 1, line) end
  table.move(words, 1, #words, #line + 1, line)
  local other = ("%s.%d"):format(preload.locate(words[1]) or words[1], p.layout)
  if disk.kind(other) == "file" then line[#line - #words + 1] = other end
  return line
end

--- Count the functions of both commands, before the rounds.
function Benchmark:count_functions()
  local cause, functions = require "pmlua.internal.cause", {}
  for i, label in ipairs(self.labels) do
    local p = { command = label }
    local words, err = self:words(p)
    err = err or self:hook("prepare", p)
    if words and not err then
      functions[i], err = cause.count(words, { child = self.streams,
        failure = function(ended) return not self.ignore_failure and self:failure(ended) or nil end })
    end
    if not functions[i] then return err end
  end
  self.cause = { rows = cause.rows(functions[1], functions[2], self.threshold) }
end

--- Run a command and count its events and, for --cause, its time in functions with equal counts.
function Benchmark:count(words)
  local sampled, no_samples
  local streams = setmetatable({}, { __index = self.streams })
  if self.cause then
    streams.every = { seconds = DRAIN_S, call = function() if sampled then sampled.drain() end end }
  end
  local result, err = counts.run(words, { events = self.counted_events, child = streams,
    ready = self.cause and function(pid) sampled, no_samples = require "pmlua.internal.cause".sample(self.cause.rows, pid) end })
  local share = sampled and sampled.share()
  if no_samples then self.notes[("no samples, so equal functions are not timed: %s"):format(no_samples)] = true end
  return result, err, share
end

--- Run once: the time in ns and the counts; nil and the reason.
function Benchmark:measure(p)
  core.sys.raise_interrupt(false) -- the command is waited for, then the run ends
  local cell = self.places_of_cells[self:key(p)]
  local words, wrong = self:words(p)
  wrong = wrong or self:hook("prepare", p, true)
  if wrong then return nil, wrong end
  local result, err, share = self:count(self:placed(words, p))
  if not result then return nil, err end
  if core.sys.interrupted() then return refuse("EINTR", "interrupted") end -- which may have ended the command
  cell.runs = cell.runs + 1
  local failed = self:failure(result.ended)
  cell.exits[cell.runs] = result.ended.signal and -result.ended.signal or result.ended.status
  if failed and not self.ignore_failure then
    self.failed = true
    local run = cell.runs - self.warmup
    return nil, run > 1 and ("run %d: %s"):format(run, failed) or failed
  elseif failed and cell.runs > self.warmup then
    cell.failed, cell.how = (cell.failed or 0) + 1, failed
  end
  local ended, extra = result.ended, self:counted(result.rows)
  extra.user, extra.system = ended.user_ns, ended.system_ns
  extra.maxrss = ended.maxrss_bytes
  extra.unchanged = share and share * (ended.user_ns + ended.system_ns)
  if #self.simulated > 0 and cell.runs > self.warmup and cell.runs <= self.warmup + SIMULATED then
    err = self:simulate(words, extra)
    if err then return nil, err end
  end
  return ended.real_ns, extra
end

--- The exit statuses of a cell's runs, without warm-up runs; a signal is its negative number.
function Benchmark:exit_statuses(p)
  local cell = self.places_of_cells[self:key(p)]
  return table.move(cell.exits, self.warmup + 1, #cell.exits, 1, {})
end

function Benchmark:key(p)
  local parts = {}
  for i, f in ipairs(self.factors) do parts[i] = tostring(p[f.name]) end
  return table.concat(parts, "\0")
end

-- --- the experiment ---

--- Warn of doubtful times: short runs, a slow first run, outliers.
local function warn_of_times(self, run)
  for _, cell in ipairs(run.cells) do
    local s, first = cell.summary, cell.rounds[1]
    local label = cell.label ~= "" and cell.label or "the command"
    if s and s.median < SHORT then
      run:warn(("%s: runs of %.3g ms are mostly the start of a process%s"):format(label, s.median / 1e6,
        self.shell and "; --shell none leaves out the shell's" or ""))
    end
    local fence = s and math.max(SLOW_FIRST * s.median, s.q3 + 1.5 * (s.q3 - s.q1))
    if s and #cell.rounds >= FEWEST and first.median * run.scale > fence then
      run:warn(("%s: the first run was slower than the others; --warmup or --prepare make all alike"):format(label))
    elseif s and s.n >= RUNS and s.outliers * 10 > s.n then
      run:warn(("%s: %d of %d runs are outliers; other programs may disturb"):format(label, s.outliers, s.n))
    end
  end
end

--- Write the counts of functions, and find the cause of the difference in the run as recorded.
local function find_cause(self, run)
  local cause = require "pmlua.internal.cause"
  for i, p in ipairs { { command = self.labels[1] }, { command = self.labels[2] } } do
    local words = self.shell == nil and self:words(p)
    run.meta.commands[i].file_sha256 = words and provenance.sha256(preload.locate(words[1])) or nil
  end
  run:write_table(cause.table, cause.table_of(self.cause.rows), "simulated instructions of each function")
  run:write_meta()
  local found, err = cause.of(run.dir, { threshold = self.threshold })
  if not found then run:warn(tostring(err)) end
  self.cause = found
end

--- Compare the levels of a factor: time, and each event.
local function analyse(self, run)
  self.comparisons = {}
  run.meta.shell, run.meta.commands = self.shell or "none", json.array()
  for i, label in ipairs(self.labels) do run.meta.commands[i] = { name = label, command = self.commands[label] } end
  for note in sorted(self.notes) do run:warn(note) end
  for _, p in ipairs(self.cells) do
    local cell = self.places_of_cells[self:key(p)]
    if cell.failed then
      run:warn(("%s: %d of %d runs failed and are in the numbers (the last: %s)"):format(p.command, cell.failed,
        cell.runs - self.warmup, cell.how))
    end
  end
  warn_of_times(self, run)
  if self.cause then find_cause(self, run) end
  if not self.by then return end
  local rows = {}
  for i = 0, #self.events do
    local metric = self.events[i]
    local result = compare.by(run.dir, self.by, { metric = metric, threshold = self.threshold })
    if result then table.insert(self.comparisons, result) end
    for _, c in ipairs(result and result.cells or {}) do
      rows[#rows + 1] = { c.cell, metric or "time", c.label, c.level_a, c.level_b, c.ratio, c.low, c.high, c.adjusted, c.verdict }
    end
  end
  run:write_table("comparison.dat", { rows = rows, columns = {
    { "cell", "", "of B, as in data.dat" }, { "metric", "text", "what is compared" }, { "with", "text", "the other factors" },
    { "a", "text", "level of " .. self.by }, { "b", "text", "level of " .. self.by },
    { "ratio", "", "B/A of the medians" }, { "low", "", "lower end of its 95 % interval" },
    { "high", "", "upper end of its 95 % interval" }, { "p", "", "chance of such a difference between equals, after Holm" },
    { "verdict", "text", "same, slower, faster, more, less, or cannot tell" },
  } }, "comparison of the levels of " .. self.by)
end

local function metrics_of(self)
  local metrics = {
    { name = "user", unit = "ns", description = "user time" }, { name = "system", unit = "ns", description = "system time" },
    { name = "maxrss", unit = "bytes", description = "largest resident set; no less than the half megabyte of its start" },
  }
  if self.wants_cause then
    metrics[4] = { name = "unchanged", unit = "ns", description = "cpu time in functions with equal counts" }
  end
  for _, name in ipairs(self.events) do
    local event = core.event.parse(name) -- an unknown name is refused before a run
    metrics[#metrics + 1] = { name = name, unit = event and event.unit or "", description = name }
  end
  return metrics
end

--- The metrics of requested events, without those that every command gets.
---@return pmlua.Metric[]
function Benchmark:event_metrics()
  local all = self.definition.metrics
  return table.move(all, #all - #self.events + 1, #all, 1, {})
end

--- The experiment's table.
local function definition(self, o)
  local certain = (o.until_interval or o.until_verdict) and { interval = o.until_interval, threshold = o.threshold,
    verdict = o.until_verdict and self.by } or nil
  local budget = not o.runs and { seconds = o.time or (certain and CERTAIN_SECONDS or SECONDS) * #self.cells,
    rounds = math.min(o.min_runs or ((o.time or certain) and FEWEST or RUNS), o.max_runs or math.huge) } or nil
  local runs = o.runs or o.max_runs or math.max(certain and CERTAIN_MOST or MOST, budget.rounds)
  return {
    name = "bench", description = "commands compared", factors = self.levels, repeats = runs, rounds = runs,
    warmup = self.warmup, unit = "ns", plot = "bench", budget = budget, certain = certain, metrics = metrics_of(self),
    measure = function(_, p) return self:measure(p) end,
    analyse = function(run) analyse(self, run) end,
  }
end

--- Sort the events by the counter that counts them; return an error.
local function sort_events(self, events)
  self.events, self.kernel, self.simulated, self.counted_events = {}, {}, {}, {}
  local seen = {}
  for _, name in ipairs(events or {}) do
    if not seen[name] then
      table.insert(self.events, name)
      if name:find "^sim::" then
        table.insert(self.simulated, name)
      else
        table.insert(self.counted_events, name)
        if not compiler.takes(name) then table.insert(self.kernel, name) end
      end
    end
    seen[name] = true
  end
  local err
  self.places, err = common.simulated_places(self.simulated)
  return err
end

--- Whether the requested events can be counted here; nil and the reason.
local function can_count(self)
  for _, name in ipairs(self.kernel) do
    local set <close>, err = core.eventset.open { name }
    if not set then return refuse(err) end
  end
  if #self.simulated == 0 and not self.wants_cause then return true end
  local found, missing = simulation.available()
  return found and true, missing
end

local function factors_of(self, parameters)
  local factors = { { "command", self.labels } }
  for _, p in ipairs(parameters or {}) do factors[#factors + 1] = { p.name, p.values } end
  if not self.layouts then return factors end
  local layouts = {}
  for i = 1, self.layouts do layouts[i] = i end
  factors[#factors + 1] = { "layout", layouts }
  return factors
end

--- A parameter that neither commands nor hooks use is a mistake.
local function unused(o)
  local all = table.concat(o.commands, "\0") .. "\0" .. (o.setup or "") .. (o.prepare or "") .. (o.cleanup or "")
  for _, p in ipairs(o.parameters or {}) do
    if not all:find("{" .. p.name .. "}", 1, true) then
      return ("--parameter %s: no command contains {%s}"):format(p.name, p.name)
    end
  end
end

local function compared(self, by)
  for _, f in ipairs(self.factors) do
    if f.name == by or not by and #f.levels > 1 then return #f.levels > 1 and f.name or nil end
  end
  return nil, by and ("--by %s: neither 'command' nor a parameter"):format(by)
end

--- Create a benchmark of commands; nil and the error in the options.
---@param o pmlua.BenchmarkOptions
---@return pmlua.Benchmark?, pmlua.Failure? failure
function M.new(o)
  local self = setmetatable({ warmup = o.warmup or 1, threshold = o.threshold, ignore_failure = o.ignore_failure,
    time_unit = o.time_unit, input = o.input, output = o.output, show_output = o.show_output,
    wants_cause = o.cause, layouts = o.layouts,
    setup = o.setup, prepare = o.prepare, cleanup = o.cleanup, notes = {}, commands = {}, places_of_cells = {} }, Benchmark)
  local err = sort_events(self, o.events) or unused(o)
  if err then return nil, err end
  self.labels = labels_of(o.commands, o.names)
  for i, label in ipairs(self.labels) do self.commands[label] = o.commands[i] end
  self.levels = factors_of(self, o.parameters)
  local cells, factors = sweep.cells(self.levels)
  if not cells then return nil, factors end
  self.cells, self.factors = {}, factors
  for i, cell in ipairs(cells) do self.cells[i], self.places_of_cells[self:key(cell.p)] = cell.p, { runs = 0, exits = {} } end
  local taken = {}
  for name in pairs(tables.reserved { metrics = metrics_of(self) }) do taken[name:gsub("[^A-Za-z0-9_]", "_")] = true end
  for _, f in ipairs(factors) do
    if taken[f.name] or f.name == "round" or f.name == "position" then
      return refuse("EINVAL", ("--parameter %s: a column of the results has that name"):format(f.name), "choose another name")
    end
  end
  self.by, err = compared(self, o.by)
  if err then return nil, err end
  if o.until_verdict and not self.by then
    return refuse("EINVAL", "--until-verdict: there is nothing to compare", "name a second command or a --parameter")
  end
  self.shell = shell_for(self, o.shell)
  self.definition = definition(self, o)
  return self
end

--- Run --setup of all cells, measure, then run --cleanup of all cells, even after a failure.
---@param given table as of experiment:run()
---@param line string[] the command line, for the record
---@return pmlua.Run? run, pmlua.Failure? failure
function Benchmark:run(given, line)
  local fine, err = can_count(self)
  if not fine then return nil, err end
  if self.input and not core.file.kind(self.input) then
    return nil, self.input .. ": no such file; name an existing one by --input"
  end
  local exp = require "pmlua.experiment".define(self.definition)
  exp.source, exp.file, exp.line = "=bench", "bench", 0
  local dir
  dir, err = temporary.folder "bench"
  if not dir then return nil, err end
  self.errors = dir .. "/errors"
  local inherit = self.show_output or self.output == "inherit"
  self.streams = { input = self.input or NULL, output = not inherit and (self.output or NULL) or nil,
    error = not self.show_output and self.errors or nil, shielded = true }
  for _, p in ipairs(self.cells) do err = err or self:hook("setup", p) end
  self.fixed = self.layouts and simulation.can_fix_addresses()
  if self.wants_cause and not err then err = self:count_functions() end
  local run
  if not err then
    core.sys.on_interrupt()
    run, err = exp:run(given, line)
    core.sys.on_interrupt(false)
  end
  for _, p in ipairs(self.cells) do
    local wrong = self:hook("cleanup", p)
    if wrong then io.stderr:write("pmlua bench: ", require "pmlua.internal.printable"(wrong), "\n") end
  end
  temporary.remove(dir)
  return run, err
end

return M
