-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead.lua - what it costs to see a call between libraries, in every way there is.
--
-- Try:  pmlua scripts/intercept_overhead.lua --quick
--
-- After R. Brendel, B. Wesarg, R. Tschueter, M. Weber, T. Ilsche, S. Oeste, Generic library interception for improved
-- performance measurement and insight (2017), which leaves open what an intercepted call costs. A program calls a function
-- of a library that does next to nothing. Between them stands pmlua by its two doors, at run time and by generated wrappers,
-- without consumer, with a profile, a trace, an event; a wrapper written by hand; the loader's LD_AUDIT; uftrace; ltrace.
-- The yardstick is what none of them can do without: the call and two reads of the clock.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local measure = require "intercept_overhead.measure"
local report = require "intercept_overhead.report"
local ways = require "intercept_overhead.ways"

-- What the options and this machine make of the experiment; set when the factors are asked for.
local lab

-- The floor is measured in any case: the others are shown beside it.
local function chosen(text)
  local out, wanted = {}, {}
  for word in text:gmatch "[^,]+" do
    if word ~= "all" and not ways.named[word] then
      local known = {}
      for i, way in ipairs(ways.all) do known[i] = way.name end
      error(("option --ways: unknown %s; choose one of %s"):format(word, table.concat(known, ", ")), 0)
    end
    wanted[word] = true
  end
  for _, way in ipairs(ways.all) do
    if wanted.all or wanted[way.name] or way.group == "floor" then out[#out + 1] = way.name end
  end
  return out
end

local function prepare(options)
  local threads, names = command_line.thread_numbers(options.threads, measure.most_threads), chosen(options.ways)
  local set, err = pml.eventset.open { options.event }
  if not set then error("option --event: " .. err:sentence(), 0) end
  set:close()
  lab, err = measure.new(pml, { event = options.event })
  if not lab then error(err, 0) end
  return { { "way", names }, { "threads", threads } }
end

local function total(name)
  return function(cell) return pml.experiment.sum(cell, name) end
end

return pml.experiment {
  name = "intercept_overhead",
  description = [[
What observing a call between libraries costs: plain; between two reads of the clock (the yardstick); through a wrapper
written by hand and preloaded; intercepted by pmlua without consumer, with a profile, with a trace, with an event read at
each enter and leave, and not selected; through wrappers that pmlua generates; by LD_AUDIT, uftrace and ltrace if installed.
A sample is the mean of 1,000 calls (ltrace: 10). Each thread has its own cpu. Programs are compiled for the run: this needs a
C compiler, and libclang for the generated wrappers.]],
  factors = prepare,
  constraints = function(p) return ways.absent(ways.named[p.way]) or true end,
  help = { way = "how the call is seen", threads = "that call at the same time" },
  unit = "ns",
  repeats = 500,
  rounds = 10,
  warmup = 1,
  quick = { repeats = 40, rounds = 2, warmup = 1 },
  options = {
    { name = "threads", metavar = "LIST", default = "1,2", help = "numbers of threads, separated by commas" },
    { name = "ways", metavar = "LIST", default = "all", help = "some of them" },
    { name = "event", metavar = "NAME", default = "task-clock", help = "read at each enter and leave by the way metrics" },
  },
  examples = {
    "pmlua scripts/intercept_overhead.lua --quick",
    "pmlua scripts/intercept_overhead.lua --ways by_hand,profile,ld_audit --threads 1,2,4",
  },
  measure = function(_, p, n) return lab:cell(p, n) end,
  columns = {
    { name = "net", unit = "ns", description = "median above that of the plain call of as many threads",
      value = function(cell, run) return report.net(run, cell) end },
    { name = "ratio", unit = "", description = "of the median to that of two clock reads and the call, as many threads",
      value = function(cell, run) return report.ratio(run, cell) end },
    { name = "calls", unit = "", description = "made in all rounds, the first batch of each thread with them",
      value = total "calls" },
    { name = "seen", unit = "", description = "of these, by what stands between; NaN: it does not tell",
      value = total "seen" },
    { name = "group", unit = "text", description = "floor, pmlua or others",
      value = function(cell) return ways.named[cell.p.way].group end },
    { name = "title", unit = "text", description = "the way, for people",
      value = function(cell) return ways.named[cell.p.way].title end },
  },
  analyse = function(run)
    report.say(run)
    lab.folder:close()
  end,
  plot = "intercept_overhead",
}
