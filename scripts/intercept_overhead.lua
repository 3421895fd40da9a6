-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead.lua - what it costs to observe a call between libraries, by pmlua and by other tools.
--
-- Try:  pmlua scripts/intercept_overhead.lua --quick
--
-- After R. Brendel, B. Wesarg, R. Tschueter, M. Weber, T. Ilsche, S. Oeste, Generic library interception for improved
-- performance measurement and insight (2017), which leaves open what an intercepted call costs. A program calls a library
-- function that does next to nothing. The call is intercepted by pmlua, at run time or by a generated wrapper, without a
-- consumer or with a profile, a trace, an event; by a wrapper written by hand; by the loader's LD_AUDIT; by uftrace; by
-- ltrace. The yardstick is what all of them need: the call and two clock reads.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local measure = require "intercept_overhead.measure"
local report = require "intercept_overhead.report"
local ways = require "intercept_overhead.ways"

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

-- The floor is always measured, because the others are compared with it.
local function chosen(text)
  local known, floor = {}, {}
  for i, way in ipairs(ways.all) do known[i], floor[way.name] = way.name, way.group == "floor" end
  return command_line.choose(text, known, "ways", floor)
end

local function prepare(options)
  local threads, names = command_line.thread_numbers(options.threads, measure.most_threads), chosen(options.ways)
  local set, err = pml.eventset.open { options.event }
  if not set then error("option --event: " .. err:sentence(), 0) end
  set:close()
  lab = assert(measure.new(pml, { event = options.event }))
  return { { "way", names }, { "threads", threads } }
end

local function total(name)
  return function(cell) return pml.experiment.sum(cell, name) end
end

return pml.experiment {
  name = "intercept_overhead",
  description = [[
What it costs to observe a call between libraries. The call is made plainly; between two clock reads (the yardstick);
through a preloaded wrapper written by hand; intercepted by pmlua without a consumer, with a profile, with a trace, with an
event read at each enter and leave, and with the function not selected; through wrappers that pmlua generates; and under
LD_AUDIT, uftrace and ltrace, if they are installed. A sample is the mean of 1,000 calls (ltrace: 10). Each thread has its own
cpu. The programs are compiled for the run, which needs a C compiler, and libclang for the generated wrappers.]],
  factors = prepare,
  constraints = function(p) return ways.absent(ways.named[p.way]) or true end,
  help = { way = "how the call is observed", threads = "threads that call at the same time" },
  unit = "ns",
  repeats = 500,
  rounds = 10,
  warmup = 1,
  quick = { repeats = 40, rounds = 2, warmup = 1 },
  options = {
    { name = "threads", metavar = "LIST", default = "1,2", help = "numbers of threads, separated by commas" },
    { name = "ways", metavar = "LIST", default = "all", help = "ways to measure, separated by commas" },
    { name = "event", metavar = "NAME", default = "task-clock",
      help = "event that the way metrics reads at each enter and leave" },
  },
  examples = {
    "pmlua scripts/intercept_overhead.lua --quick",
    "pmlua scripts/intercept_overhead.lua --ways by_hand,profile,ld_audit --threads 1,2,4",
  },
  measure = function(_, p, n) return lab:cell(p, n) end,
  columns = {
    { name = "net", unit = "ns", description = "median less the median of the plain call with as many threads",
      value = function(cell, run) return report.net(run, cell) end },
    { name = "ratio", unit = "", description = "median over the median of the call between two clock reads with as many threads",
      value = function(cell, run) return report.ratio(run, cell) end },
    { name = "calls", unit = "", description = "calls made in all rounds, including the first batch of each thread",
      value = total "calls" },
    { name = "seen", unit = "", description = "calls that the tool saw; NaN if it does not report them",
      value = total "seen" },
    { name = "group", unit = "text", description = "floor, pmlua or others",
      value = function(cell) return ways.named[cell.p.way].group end },
    { name = "title", unit = "text", description = "title of the way",
      value = function(cell) return ways.named[cell.p.way].title end },
  },
  analyse = function(run)
    report.say(run)
    lab.folder:close()
  end,
  plot = "intercept_overhead",
}
