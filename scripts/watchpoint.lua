-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/watchpoint.lua - accesses to variables of an unmodified program and their values, thread by thread.
--
-- Try:  pmlua scripts/watchpoint.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, section 3.5. Figure 5: calls of two functions in a parallel loop of 22 chunks on 4 threads, which are
-- 6 * 506 on two threads and 5 * 506 on the others. Figure 6: the values that two threads write to one variable, in a loop
-- with static or dynamic scheduling. The same loops without watching show what watching costs.

local pml = require "pmlua"
local report = require "watchpoint.report"
local watch = require "watchpoint.watch"

local lab = {}

local function prepare(options)
  lab.watch = watch.new(pml, options)
  return { { "loop", { "chunks", "static", "dynamic" } }, { "watched", { "no", "yes" } } }
end

return pml.experiment {
  name = "watchpoint",
  description = [[
Hardware breakpoints show the accesses of threads to variables and functions of an unmodified program, and the values they
write: the calls in a parallel loop of 22 chunks on 4 threads, and the values of a variable that two threads write under static
and dynamic scheduling. Each loop also runs unwatched. A sample is the time of the loop, as the program measures it.]],
  factors = prepare,
  help = { loop = "loop of the program", watched = "whether the loop is watched" },
  unit = "s",
  repeats = 5,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, writes = 10000, chunk = 410 },
  options = {
    { name = "writes", type = "integer", metavar = "N", min = 100, max = 10000000, default = 100000,
      help = "writes to d_var in the static and the dynamic loop" },
    { name = "chunk", type = "integer", metavar = "N", min = 1, max = 10000000, default = 4096,
      help = "iterations that a thread takes at a time in the dynamic loop" },
    { name = "regions", type = "integer", metavar = "N", min = 1, max = 10000, default = 1,
      help = "parallel regions of 22 chunks" },
  },
  examples = { "pmlua scripts/watchpoint.lua --quick", "pmlua scripts/watchpoint.lua --chunk 64" },
  setup = function(p) return lab.watch:possible(p) end,
  measure = function(_, p, n) return lab.watch:measure(p, n) end,
  columns = {
    { name = "threads", unit = "", description = "threads of the loop",
      value = function(cell) return watch.threads[cell.p.loop] end },
    { name = "accesses", unit = "", description = "watched accesses of all threads, in the last run",
      value = function(cell) return lab.watch:accesses(cell.p) end },
    { name = "cpu", unit = "s", description = "processor time of the program, median",
      value = function(cell) return lab.watch:cpu(cell.p) end },
    { name = "cost", unit = "us", description = "processor time that watching adds, per access",
      value = function(cell) return lab.watch:cost(cell.p) end },
  },
  analyse = function(run) report.write(run, lab.watch) end,
  plot = "watchpoint",
}
