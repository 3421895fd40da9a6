-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/experiment.lua - the definition of an experiment (factors, measurement, results) and its command line.
--
-- Try:  pmlua scripts/timers.lua --quick
--
--     local pml = require "pmlua"
--     return pml.experiment {
--       name    = "clock_cost",
--       factors = { clock = { "ticks", "ns" } },
--       setup   = function(p) return pml.clock[p.clock] end,
--       measure = function(read)
--         local start = pml.clock.ticks()
--         for _ = 1, 100 do read() end
--         return pml.clock.ticks() - start
--       end,
--       calls   = 100,
--     }

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local disk = require "pmlua.internal.file"
local figure = require "pmlua.internal.experiment.figure"
local json = require "pmlua.json"
local options = require "pmlua.internal.cli.experiment"
local cli_parse = require "pmlua.internal.cli.parse"
local plot = require "pmlua.plot"
local provenance = require "pmlua.internal.experiment.provenance"
local printable = require "pmlua.internal.printable"
local results = require "pmlua.results"
local resume = require "pmlua.internal.experiment.resume"
local runner = require "pmlua.internal.experiment.runner"
local sorted = require "pmlua.internal.sorted"
local summary = require "pmlua.internal.experiment.output"
local sweep = require "pmlua.internal.experiment.sweep"
local datasets = require "pmlua.internal.experiment.datasets"
local refuse = core.failure.refuse

---@class pml.experiment
---@overload fun(def: pmlua.Definition): pmlua.Experiment
local M = {}

---@class pmlua.Column
---@field name string
---@field unit string?
---@field description string?
---@field value fun(cell: pmlua.Cell, run: pmlua.Run): number|string|nil
---@field interval boolean? also columns NAME_lo and NAME_hi: value is then computed for each round, whose cells have n, min,
---median, mean, max and metrics only, and these are the ends of the 95 % interval of the rounds' median (stats.rounds_interval)

---@class pmlua.Metric a number that measure returns beside its samples, once in a round
---@field name string key in the table that measure returns
---@field unit string?
---@field description string?

---@class pmlua.Figure what goes where; NAME.gp beside the script, NAME the experiment's, is drawn instead
---@field x string the factor along the x axis
---@field y string? the column of data.dat along the y axis, with its interval if it has one; "median"
---@field lines string? the factor whose values are lines
---@field facet string? the factor whose values are panels
---@field logx boolean?
---@field logy boolean?

---@class pmlua.Definition
---@field name string letters, digits, _ and -
---@field description string?
---@field factors table|fun(options: table): table { a = {1, 2} }, or { {"a", {1, 2}}, ... } to keep an order
---@field constraints? fun(p: table, options: table): boolean|string, string? false: no such cell; a string: why not
---@field repeats integer? samples per cell over all rounds, 1000
---@field rounds integer? 10
---@field warmup integer? samples taken and thrown away before the first round, a tenth of a round, at most 1000
---@field quick table? what --quick changes: repeats, rounds, warmup, and values of the options
---@field cell_setup? fun(p: table, options: table): any, string? once for each cell, before its first visit; nil and a reason:
---cannot be measured here
---@field setup? fun(p: table, options: table, shared: any): any, string? before each visit: the state; shared is what
---cell_setup gave, which is the state if there is no setup; nil and a reason as there
---@field measure fun(state: any, p: table, n: integer, options: table): any, any n samples (pml.samples or array), or one
---number, then it is called n times; after the samples, a table kept in the round's `extra`. nil and a reason as for setup
---@field teardown? fun(state: any, p: table, options: table)
---@field cell_teardown? fun(shared: any, p: table, options: table) at the end of the run, also after a failure
---@field calls integer? operations that one sample covers; tables are per operation, samples.csv.gz is not
---@field unit string? of the samples; "ticks" (the default) are shown in ns
---@field units table<string, string>? units of numeric factors
---@field help table<string, string>? descriptions of factors
---@field columns pmlua.Column[]? more columns of data.dat
---@field metrics pmlua.Metric[]? medians of rounds with their intervals in data.dat, values in rounds.dat
---@field budget { seconds: number, rounds: integer }? end after this time, but not before this many rounds
---@field certain pmlua.Certainty? measure each cell until its result is certain, but not in more rounds
---@field analyse? fun(run: pmlua.Run) at the end: more tables (run:write_table), text (run:say)
---@field options pmlua.Option[]?
---@field command string? the command line may end in a command of the user's: what --help calls it; options.command has it
---@field examples string[]? command lines for --help
---@field plot (string|pmlua.Figure)? the figure, or the stem of a gnuplot script that draws it
---@field trace_events string[]? events in the trace, read when a cell begins and ends

local kinds = {
  name = "string", description = "string", constraints = "function", repeats = "number", rounds = "number",
  warmup = "number", calls = "number", quick = "table", setup = "function", measure = "function", teardown = "function",
  cell_setup = "function", cell_teardown = "function",
  unit = "string", units = "table", help = "table", columns = "table", analyse = "function", options = "table",
  examples = "table", metrics = "table", budget = "table", certain = "table",
  command = "string", plot = "string or table", trace_events = "table", factors = "table or function",
}

-- Where the definition stands. `return pml.experiment {...}` is a tail call, of which the stack keeps no line: then the
-- functions of the definition tell, measure first.
local function origin(def)
  for level = 2, 20 do
    local info = debug.getinfo(level, "Slt")
    if not info then break end
    local ours = info.source:find("pmlua/experiment.lua", 1, true)
    if not ours and info.what ~= "C" then return info.source, info.currentline end
    if info.istailcall then break end
  end
  local functions = {}
  for k, v in pairs(type(def) == "table" and def or {}) do
    if type(v) == "function" then functions[#functions + 1] = k == "measure" and "" or tostring(k) end
  end
  table.sort(functions) -- measure is the first
  for _, k in ipairs(functions) do
    local f = def[k == "" and "measure" or k]
    local info = type(f) == "function" and debug.getinfo(f, "S")
    if info and info.what == "Lua" then return info.source, info.linedefined end
  end
  local script = type(arg) == "table" and arg[0]
  return script and "@" .. script or "=?", 0
end

-- Where the script writes a field: the first line that gives something to this name.
local function line_of(source, name)
  local text = source:sub(1, 1) == "@" and disk.read(source:sub(2)) or source:sub(1, 1) ~= "=" and source or ""
  local line = 0
  for one in (text .. "\n"):gmatch "([^\n]*)\n" do
    line = line + 1
    if (" " .. one):find("[^%w_.]" .. name:gsub("%W", "%%%0") .. "%s*=[^=]") then return line end
  end
end

local function place(source, line)
  local file = source:sub(1, 1) == "@" and source:sub(2) or source:gsub("^=", ""):match("^[^\n]*")
  return file, line > 0 and ("%s:%d: "):format(file, line) or file .. ": "
end

-- Raise an error about a definition, with the line of the named field, or else of the definition, in the script.
local function misuse_of(def, name, ...)
  local source, line = origin(def)
  if line == 0 then line = line_of(source, "name") or 0 end -- a definition without functions
  local _, prefix = place(source, name and line_of(source, name) or line)
  error(prefix .. "experiment: " .. string.format(...), 0)
end

local function misuse(def, ...) misuse_of(def, nil, ...) end

local function unknown(def, given, known, where)
  local wrong, name = fields.unknown(given, known)
  if wrong then misuse_of(def, tostring(name), "%s%s", where and where .. ": " or "", wrong) end
end

local function check_kinds(def)
  if type(def) ~= "table" then misuse(def, "a table expected, got a %s", type(def)) end
  unknown(def, def, kinds)
  for k, v in sorted(def) do
    local kind = kinds[k]
    if not kind:find(type(v), 1, true) then misuse(def, "%s must be a %s, not a %s", k, kind, type(v)) end
  end
  if not def.name or not def.name:match("^[%w_][%w_%-]*$") then
    misuse(def, "name must consist of letters, digits, _ and -: it names a folder")
  end
  if not def.measure then misuse(def, "measure is missing; write measure = function(_, p) ... return VALUE end") end
  for _, k in ipairs { "repeats", "rounds", "warmup", "calls" } do
    local v = def[k]
    if v and (not math.tointeger(v) or v < (k == "warmup" and 0 or 1)) then misuse(def, "%s must be a positive integer", k) end
  end
end

-- Known fields of the tables inside a definition.
local inner = {
  columns = { name = true, unit = true, description = true, value = true, interval = true },
  metrics = { name = true, unit = true, description = true },
  options = { name = true, default = true, help = true, type = true, min = true, max = true, choices = true, metavar = true },
}

local function check_inner(def)
  for name, known in sorted(inner) do
    for i, one in ipairs(def[name] or {}) do
      if type(one) == "table" then unknown(def, one, known, ("%s[%d]"):format(name, i)) end
    end
  end
  unknown(def, def.certain or {}, { interval = true, verdict = true, threshold = true }, "certain")
  if def.budget then unknown(def, def.budget, { seconds = true, rounds = true }, "budget") end
  local quick = { repeats = true, rounds = true, warmup = true }
  for _, o in ipairs(def.options or {}) do
    if type(o) == "table" and type(o.name) == "string" then quick[o.name], quick[o.name:gsub("-", "_")] = true, true end
  end
  unknown(def, def.quick or {}, quick, "quick")
end

local function check_columns(def)
  for i, c in ipairs(def.columns) do
    if type(c) ~= "table" or type(c.name) ~= "string" or type(c.value) ~= "function" then
      misuse(def, "columns[%d] must have a name and a function value(cell)", i)
    end
  end
  for i, m in ipairs(def.metrics) do
    if type(m) ~= "table" or type(m.name) ~= "string" or m.name == "" then
      misuse(def, "metrics[%d] must be a table with a name, such as { name = \"memory\", unit = \"bytes\" }", i)
    end
  end
end

---@class pmlua.Experiment
local Experiment = {}
Experiment.__index = Experiment

local function wrong_figure(exp, factors)
  if type(exp.plot) ~= "table" then return nil end
  local columns = {}
  for name in pairs(datasets.reserved(exp)) do columns[#columns + 1] = name ~= "status" and name or nil end
  for _, c in ipairs(exp.columns) do columns[#columns + 1] = c.unit ~= "text" and c.name or nil end
  local wrong = figure.wrong(exp.plot, factors, columns)
  return wrong and "plot: " .. wrong
end

local function wrong_certainty(exp, factors)
  local asked = exp.certain
  if not asked then return nil end
  for _, name in ipairs { "interval", "threshold" } do
    local v = asked[name]
    if v ~= nil and not (type(v) == "number" and v > 0 and v < 1) then
      return ("certain: %s must be a number between 0 and 1, such as 0.01 for 1 %%"):format(name)
    end
  end
  local levels = {}
  for i, f in ipairs(factors) do levels[i] = #f.levels > 1 and f.name or nil end
  if asked.verdict ~= nil and not require "pmlua.internal.lists".any(levels, function(name) return name == asked.verdict end) then
    return ("certain: verdict must name a factor with several levels, not '%s'"):format(tostring(asked.verdict))
  end
  return asked.interval == nil and asked.verdict == nil and "certain: interval or verdict is missing" or nil
end

local defined, run_any = {}, false -- the experiments that this process has defined, and whether any of them ran

--- A hint for a script that defined an experiment but neither ran nor returned it.
---@return string? sentence
function M.forgotten()
  local exp = not run_any and defined[1]
  return exp and ("%s defines the experiment %s but does not return it; write: return pml.experiment { ... }"):format(exp.file,
    exp.name) or nil
end

--- Define an experiment. `return` it from a script to make it a command; or call its run().
---@param def pmlua.Definition
---@return pmlua.Experiment
function M.define(def)
  check_kinds(def)
  check_inner(def)
  local exp = setmetatable({}, Experiment)
  for k, v in pairs(def) do exp[k] = v end
  for _, k in ipairs { "columns", "metrics", "options", "units", "help", "quick" } do exp[k] = exp[k] or {} end
  check_columns(exp)
  local wrong = options.check(exp)
  if wrong then misuse(def, "%s", wrong) end
  exp.factors = exp.factors or {}
  if type(exp.factors) == "table" then
    local ordered, err = sweep.factors(exp.factors)
    err = err or datasets.clash(exp, ordered)
    if err then misuse(def, "%s", err) end
    err = wrong_figure(exp, ordered)
    if err then misuse_of(def, "plot", "%s", err) end
    err = wrong_certainty(exp, ordered)
    if err then misuse_of(def, "certain", "%s", err) end
  end
  exp.unit, exp.calls = exp.unit or "ticks", exp.calls or 1
  exp.source, exp.line = origin(def)
  exp.file = place(exp.source, exp.line)
  defined[#defined + 1] = exp
  return exp
end

local function default_warmup(repeats, rounds) return math.min(1000, math.max(1, repeats // rounds // 10)) end

local function numbers(exp, given)
  local quick = given.quick and exp.quick or {}
  local repeats = given.iterations or quick.repeats
    or (given.quick and math.min(exp.repeats or 1000, 1000)) or exp.repeats or 1000
  local rounds = given.rounds or quick.rounds or exp.rounds or 10
  repeats, rounds = math.tointeger(repeats), math.tointeger(rounds)
  rounds = math.min(rounds, repeats)
  local warmup = quick.warmup or exp.warmup or default_warmup(repeats, rounds)
  return repeats, rounds, math.tointeger(warmup)
end

-- Ticks mean nothing to a reader; nanoseconds do.
local function scale_of(unit, calls)
  if unit ~= "ticks" then return 1 / calls, unit end
  return 1e9 / core.clock.rate() / calls, "ns"
end

local function factor_record(factors)
  local out = json.array()
  for i, f in ipairs(factors) do out[i] = { name = f.name, levels = f.levels } end
  return out
end

local function make_meta(exp, run, given, record, command)
  record.name, record.description, record.status = exp.name, exp.description, "running"
  record.command, record.options, record.quick = json.array(command), run.options, given.quick or false
  record.seed, record.rounds, record.repeats, record.warmup = run.seed, run.rounds, run.repeats, run.warmup
  record.factors, record.sample_unit, record.unit, record.scale = factor_record(run.factors), exp.unit, run.unit, run.scale
  record.files, record.plot, record.calls = json.array(), exp.plot, exp.calls
  record.metrics = json.array(exp.metrics)
  return record
end

-- nil and a sentence when nothing can be measured or written at all.
local function prepare(exp, given, command)
  local previous, unusable
  if given.resume then
    previous, unusable = resume.open(given.resume, exp)
    if not previous then return nil, unusable end
  end
  local values = options.values(exp, given)
  local factors = type(exp.factors) == "function" and exp.factors(values) or exp.factors
  local cells, ordered = sweep.cells(factors, exp.constraints and function(p) return exp.constraints(p, values) end)
  if not cells then return refuse("EINVAL", "experiment: " .. ordered) end
  local wrong = datasets.clash(exp, ordered) or wrong_figure(exp, ordered) or wrong_certainty(exp, ordered)
  if wrong then return refuse("EINVAL", "experiment: " .. wrong) end
  if #cells == 0 then return refuse("EINVAL", "experiment: the constraints leave no cell to measure") end
  local run = { exp = exp, core = core, options = values, cells = cells, factors = ordered }
  run.repeats, run.rounds, run.warmup = numbers(exp, given)
  run.seed = given.seed or math.random(1, 2 ^ 31 - 1)
  run.scale, run.unit = scale_of(exp.unit, exp.calls)
  if previous then run.seed, run.scale, run.previous = math.tointeger(previous.meta.seed), previous.meta.scale, previous end
  run.quick, run.quiet, run.json, run.debug = given.quick, given.quiet, given.json, given.debug
  run.csv = given.csv
  local record = provenance.collect(core, exp.source:sub(1, 1) == "@" and exp.file or nil)
  run.meta = make_meta(exp, run, given, record, command)
  local folder, err
  if previous then
    folder, err = previous.folder, resume.differs(previous.meta, run.meta)
  else
    folder, err = results.create(given.out or "results", exp.name)
  end
  if err then return nil, err end
  run.folder = folder
  return run
end

local function show_warnings(run)
  if run.quiet then return end
  for _, w in ipairs(run.meta.warnings) do io.stderr:write("pmlua: warning: ", printable(w), "\n") end
  if run.folder.link_error then io.stderr:write("pmlua: warning: ", printable(run.folder.link_error), "\n") end
end

local function draw(run, given)
  if given.no_plot then return end
  local drawn, err = plot.draw(run.dir, { script = run.exp.source:match "^@(.*)$" })
  run.plots = drawn
  if err then io.stderr:write("pmlua: ", require "pmlua.internal.printable"(err), "\n") end
end

local function execute(self, given, command)
  local run, err = prepare(self, given, command or {})
  if not run then return nil, err end
  show_warnings(run)
  runner.execute(run)
  draw(run, given)
  return run
end

-- Options that a run accepts: from the command line, and passed on by the command.
local function given_fields(exp)
  local known = { help = true, command = true, debug = true }
  for _, list in ipairs { options.common, exp.options } do
    for _, o in ipairs(list) do known[cli_parse.key(o)] = true end
  end
  return known
end

--- Run it from a program.
---@param given? table { quick=, out=, no_plot=, json=, seed=, rounds=, iterations=, quiet=, and the experiment's options }
---@param command? string[] the command line, for the record
---@return pmlua.Run? run its status is "complete", "interrupted" or "failed"
---@return pmlua.Failure? failure when nothing could be measured or written at all
function Experiment:run(given, command)
  local wrong = fields.unknown(given or {}, given_fields(self))
  if wrong then error("experiment: run: " .. wrong, 2) end
  run_any = true
  local point <close> = core.sys.with_point() -- luacheck: ignore 211
  return execute(self, given or {}, command)
end

local function report(run)
  if run.json then
    io.stdout:write(summary.json(run))
    return
  elseif run.csv then
    io.stdout:write(summary.csv(run))
    return
  end
  run:say("\n" .. summary.text(run) .. "\n")
  run:say(("%s: %s, %d samples, seed %d"):format(run.dir, run.status, run.meta.samples, run.seed))
  local function has(name) return core.sys.realpath(run:path(name)) end
  local plots, more = {}, {}
  table.move(run.plots or {}, 1, #(run.plots or {}), 1, plots)
  if has "data.dat" then run:say("  table  " .. run:path "data.dat") end
  if plots[1] then run:say("  plot   " .. table.remove(plots, 1)) end
  for _, name in ipairs { "report.txt", "samples.csv.gz", "traces.otf2" } do more[#more + 1] = has(name) and name end
  for _, file in ipairs(plots) do more[#more + 1] = file:match "[^/]*$" end
  if more[1] then run:say("  also   " .. table.concat(more, ", ")) end
end

local function parse(exp, arg)
  local script = arg[0] or exp.file
  local args = {}
  -- code of -e has no arguments: arg is then the whole command line
  if exp.source:sub(1, 1) == "@" then table.move(arg, 1, #arg, 1, args) else script = "-e" end
  return script, options.parse(exp, script, args)
end

-- The options and the command line of the run that is resumed, with those that concern the output now.
local function as_before(exp, script, now)
  local previous, err = resume.open(now.resume, exp)
  if not previous then return nil, err end
  local command = json.array(previous.meta.command)
  local given, misused = options.parse(exp, script, table.move(command, 3, #command, 1, {}))
  if not given then return refuse("EINVAL", ("%s: %s"):format(previous.folder.path, misused)) end
  for _, name in ipairs { "resume", "json", "csv", "quiet", "no_plot" } do given[name] = now[name] end
  return given, command
end

-- Called by main with the script's value and the command line; returns the exit status.
function Experiment:__pmlua_main(arg)
  local script, given, misused = parse(self, arg)
  if not given then
    io.stderr:write(("pmlua: %s: %s\nsee 'pmlua %s --help'\n"):format(script, printable(misused), script))
    return 2
  end
  if given.help then
    io.stdout:write(given.help)
    return 0
  end
  local command = { "pmlua", script }
  table.move(arg, 1, #arg, 3, command)
  if given.resume then
    given, command = as_before(self, script, given)
    if not given then
      io.stderr:write("pmlua: ", printable(command), "\n")
      return 1
    end
  end
  for i = -1, -#command - 16, -1 do given.debug = given.debug or arg[i] == "--debug" end
  core.sys.on_interrupt()
  local run, err = self:run(given, command)
  if not run then
    io.stderr:write("pmlua: ", require "pmlua.internal.printable"(err), "\n")
    return 1
  end
  report(run)
  return run.status == "complete" and 0 or 1
end

--- Sum of a number that measure returned beside its samples: experiment.sum(cell, "retries").
---@param cell pmlua.Cell
---@param key string
---@return number
M.sum = runner.sum

-- No tail call: the stack has to keep the line of the script.
local function call(_, def)
  local exp = M.define(def)
  return exp
end

return setmetatable(M, { __call = call })
