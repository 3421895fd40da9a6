-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/balance.lua - slow the ranks that would wait for others, so that all arrive just in time: the energy this saves,
-- the time it costs, and how stable it is under noise.
--
-- Try:  pmlua scripts/balance.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, section 4.5: the algorithm on simulated ranks (scripts/balance/platform.lua has the models), whose
-- load is reversed after three fifths of the iterations; and on real threads of this process, which wait for each other
-- at a barrier. Their frequencies are set where the kernel can and pmlua --allow-tuning allows it; elsewhere the report
-- shows what the controller would set.

local pml = require "pmlua"
local report = require "balance.report"
local cells = require "balance.run"

local lab

local function prepare(options)
  if options.min >= options.reference then error("option --min must be below --reference", 0) end
  lab = cells.new(pml, options)
  return { { "platform", { "simulated", "threads" } }, { "balanced", { "no", "yes" } }, { "delta", { 3, 10, 20 } },
    { "noise", { 0, 1, 2, 5, 10, 20 } } }
end

-- Cells without balancing do not depend on delta, and threads have natural noise.
local function constraints(p)
  if (p.balanced == "no" or p.platform == "threads") and p.delta ~= 10 then return false end
  return p.platform == "simulated" or p.noise == 0
end

return pml.experiment {
  name = "balance",
  description = [[
Ranks with unequal work wait for each other, with and without the balancing of Schöne et al., section 4.5, which slows the
ranks that would wait so that they arrive just in time. The ranks are simulated, with noise, a model of energy and a load
that reverses halfway; or they are real threads of this process. A sample is the time of one iteration.]],
  factors = prepare,
  constraints = constraints,
  help = { platform = "simulated ranks, or threads of this process",
    balanced = "no: every rank runs at the reference frequency",
    delta = "safety margin: how much faster than necessary a rank runs, as a share of the reference frequency",
    noise = "standard deviation of each rank's work; for threads: added to their own" },
  units = { delta = "%", noise = "%" },
  unit = "ms",
  repeats = 4000,
  rounds = 20,
  warmup = 0,
  quick = { repeats = 200, rounds = 2, turns = 20000 },
  options = {
    { name = "ranks", type = "integer", metavar = "N", min = 2, max = 4096, default = 8, help = "number of simulated ranks" },
    { name = "threads", type = "integer", metavar = "N", min = 2, max = 64, default = 2, help = "threads of the real program" },
    { name = "least", type = "number", metavar = "PERCENT", min = 1, max = 100, default = 50,
      help = "work of the last rank, as a share of the first rank's" },
    { name = "bound", type = "number", metavar = "PERCENT", min = 0, max = 100, default = 80,
      help = "share of the simulated work whose speed depends on the frequency" },
    { name = "turns", type = "integer", metavar = "N", min = 1, max = 1000000000, default = 200000,
      help = "loop iterations of the first thread between two barriers" },
    { name = "reference", type = "number", metavar = "GHZ", min = 0.01, max = 100, default = 3,
      help = "reference frequency of ranks, and of threads if the kernel does not report theirs" },
    { name = "min", type = "number", metavar = "GHZ", min = 0.01, max = 100, default = 1, help = "lowest frequency, likewise" },
    { name = "root", metavar = "DIR", default = "",
      help = "read and set frequencies here instead of in /sys/devices/system/cpu" },
    { name = "noise_seed", type = "integer", metavar = "N", default = 1, help = "seed of the simulated noise" },
  },
  examples = { "pmlua scripts/balance.lua --quick", "pmlua --allow-tuning scripts/balance.lua --threads 8",
    "pmlua scripts/balance.lua --bound 40 --least 25" },
  setup = function(p) return lab:possible(p) end,
  measure = function(_, p, n) return lab:measure(p, n) end,
  columns = {
    { name = "energy", unit = "J", description = "energy of all ranks per iteration; simulated",
      value = function(cell) return report.mean_of(cell, "joules") end },
    { name = "saved", unit = "%", description = "energy saved, compared with the same cell without balancing",
      value = function(cell, run) return (report.spread(report.effect(run, cell).saved)) end },
    { name = "lost", unit = "%", description = "time lost, compared with the same cell without balancing",
      value = function(cell, run) return (report.spread(report.effect(run, cell).lost)) end },
    { name = "computing", unit = "%", description = "share of the time spent computing, mean of all ranks",
      value = function(cell) return report.mean_of(cell, "computed") end },
    { name = "changes", unit = "", description = "changes of frequency, per rank and 100 iterations",
      value = function(cell) return report.mean_of(cell, "changes") end },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "balance",
}
