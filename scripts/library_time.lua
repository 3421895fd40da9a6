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
local subject = require "library_time.subject"
local views = require "library_time.views"

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

local function prepare(options)
  if options.limit <= 0 then error("option --limit must be more than 0 seconds", 0) end
  if not options.program and #options.command == 0 then
    options.command = { "gnuplot", "-e", "set terminal dumb; plot sin(x)" } -- pmlua depends on it
  end
  lab = assert(subject.new(options))
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
    { name = "program", metavar = "NAME", help = "run " .. table.concat(subject.programs, " or ") .. ", with these arguments" },
    { name = "compare", type = "flag", help = "measure by instrumentation and sampling, too" },
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
