-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/library_time.lua - the libraries in which a command spends its time, by several methods.
--
-- Try:  pmlua scripts/library_time.lua --quick gnuplot -e 'set terminal dumb; plot sin(x)'
--
-- After R. Brendel, B. Wesarg, R. Tschueter, M. Weber, T. Ilsche, S. Oeste, Generic library interception for improved
-- performance measurement and insight (2017): calls of FFTW and Qt are recorded without changing the program. The same run is
-- observed by instrumentation, which covers only the program itself, by sampling, which sees code addresses but no calls, and by
-- interception. As there, each view runs five times and the median run is shown.

local pml = require "pmlua"
local report = require "library_time.report"
local views = require "library_time.views"
local preload = require "pmlua.internal.preload"
local build = require "programs.build"

-- --- the command to observe: the user's, or one of pmlua's programs ---

---@class library_time.Subject
---@field folder programs.Folder for what runs leave
---@field words string[] the command
---@field instrumented? string[] the same, compiled with -finstrument-functions
---@field why string? why there is no instrumented one
---@field names table<string, boolean> file names of the program itself

local programs = {
  fftw2d = { sources = { "fftw2d.c" }, flags = "-lfftw3 -lm", package = "libfftw3-dev", asks = "pkg-config --exists fftw3" },
  qt_scene = {
    sources = { "qt_scene.cpp" }, flags = "-fPIC $(pkg-config --cflags --libs Qt5Widgets)", package = "qtbase5-dev",
    asks = "pkg-config --exists Qt5Widgets", variables = { "QT_QPA_PLATFORM=offscreen" },
  },
}

--- Names of pmlua's programs, sorted.
local program_names = { "fftw2d", "qt_scene" }

local function word_list(...)
  local out = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #out + 1, out) end
  return out
end

-- Compile one of pmlua's programs twice; the runtime that counts calls is not instrumented itself.
local function own(folder, name, arguments)
  local p = programs[name]
  if not p then return nil, ("unknown %s; choose one of %s"):format(name, table.concat(program_names, ", ")) end
  if not build.is_here "pkg-config" or not os.execute(p.asks .. " 2>/dev/null") then
    return nil, ("its libraries are not installed; apt-get install pkg-config %s"):format(p.package)
  end
  local path, err = folder:program(name, p.sources, p.flags)
  if not path then return nil, err end
  local out = { words = word_list(p.variables or {}, { path }, arguments), names = { [name] = true } }
  local runtime
  runtime, out.why = folder:library("libfunctions.so", { "functions.c" })
  local counted = runtime and name .. ".instrumented"
  if counted then
    path, out.why = folder:program(counted, p.sources, ("-finstrument-functions -rdynamic %s -L. -lfunctions "
      .. "-Wl,-rpath,%s"):format(p.flags, build.quote(folder.path)))
    out.names[counted] = true
  end
  out.instrumented = counted and path and word_list(p.variables or {}, { path }, arguments)
  return out
end

local function theirs(words)
  local path, err = preload.locate(words[1])
  if not path then return nil, err end
  local why = preload.obstacle(path)
  if why then return nil, why end
  return {
    words = word_list({ path }, { table.unpack(words, 2) }), names = { [path:match "[^/]*$"] = true },
    why = "instrumentation needs the source of the program; use --program",
  }
end

---@param options { program: string?, command: string[] } with a program, the command is its arguments
---@return library_time.Subject? subject, string? err
local function new_subject(options)
  if not options.program and #options.command == 0 then
    return nil, "name what to run: a command, or --program " .. table.concat(program_names, " or ")
  end
  if not options.program and options.command[1]:find("=", 1, true) then
    return nil, "a command with '=' in its name cannot be recorded"
  end
  local folder, err = build.folder()
  if not folder then return nil, err end
  local self
  if options.program then
    self, err = own(folder, options.program, options.command)
    err = err and ("--program %s: %s"):format(options.program, err)
  else
    self, err = theirs(options.command)
  end
  if not self then
    folder:close()
    return nil, err
  end
  self.folder = folder
  return self
end

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

local function prepare(options)
  if options.limit <= 0 then error("option --limit must be more than 0 seconds", 0) end
  if not options.program and #options.command == 0 then
    options.command = { "gnuplot", "-e", "set terminal dumb; plot sin(x)" } -- pmlua depends on it
  end
  lab = assert(new_subject(options))
  return { { "view", options.compare and { "plain", "instrumentation", "sampling", "interception" }
    or { "plain", "interception" } } }
end

local function processor_time(cell)
  local all = {}
  for i, r in ipairs(cell.rounds) do all[i] = r.extra.processor_s end
  return pml.stats.median(all)
end

-- By processor time, because elapsed time also grows when other programs are busy.
local function slowdown(cell, run)
  for _, other in ipairs(run.cells) do
    if other.p.view == "plain" and other.summary then return processor_time(cell) / processor_time(other) end
  end
end

local function sum_of_calls(cell)
  local sum
  for _, f in ipairs(report.seen(cell).functions) do
    if f.calls then sum = (sum or 0) + f.calls end
  end
  return sum
end

return pml.experiment {
  name = "library_time",
  description = [[
Runs a command, plainly and with its calls to libraries recorded, and reports in which libraries it spends its time, how often
it calls their functions, and how long the calls take. Without CMD, gnuplot draws a plot. --compare adds two other views:
sampling by perf, and instrumentation by the compiler, which needs the sources and so works with --program only. --program
compiles and runs one of pmlua's programs: fftw2d [SIZE...] smooths pictures by 2-D transforms of FFTW; qt_scene [FRAMES]
draws with Qt without a screen.]],
  factors = prepare,
  help = { view = "how the run is observed; plain: not at all" },
  command = "[CMD [ARGS]]",
  unit = "s",
  repeats = 5,
  rounds = 5,
  warmup = 1,
  quick = { repeats = 1, rounds = 1, warmup = 0 },
  options = {
    { name = "program", metavar = "NAME", help = "run " .. table.concat(program_names, " or ") .. ", with these arguments" },
    { name = "compare", type = "flag", help = "also measure by instrumentation and sampling" },
    { name = "lib", metavar = "GLOB", help = "record only functions of these libraries" },
    { name = "sym", metavar = "GLOB", help = "record only these functions" },
    { name = "not", metavar = "GLOB", help = "do not record libraries and functions with these names" },
    { name = "top", type = "integer", metavar = "N", min = 1, default = 12, help = "functions in each table printed" },
    { name = "limit", type = "number", metavar = "S", default = 600, help = "time limit of a run, in seconds" },
  },
  examples = {
    "pmlua scripts/library_time.lua python3 -c 'import json; print(json.dumps(list(range(100000))))'",
    "pmlua scripts/library_time.lua --compare --program fftw2d",
    "pmlua scripts/library_time.lua --not 'libstdc*' -- ./simulation input",
  },
  measure = function(_, p, _, options)
    local out, err = views[p.view](lab, options)
    if not out then return nil, err end
    return out.seconds, out
  end,
  columns = {
    { name = "processor", unit = "s", description = "processor time of the command, median of the rounds",
      value = processor_time },
    { name = "slowdown", unit = "", description = "processor time over that of the plain runs", value = slowdown },
    { name = "functions", unit = "", description = "functions seen in the run that is shown",
      value = function(cell) return #report.seen(cell).functions end },
    { name = "calls", unit = "", description = "calls seen in the run that is shown", value = sum_of_calls },
  },
  analyse = function(run)
    report.write(run, run.options.top)
    lab.folder:close()
  end,
  plot = "library_time",
}
