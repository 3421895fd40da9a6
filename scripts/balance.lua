-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/balance.lua - ranks that would wait for others are slowed to arrive just in time: energy saved, time lost, and how
-- stable that is under noise.
--
-- Try:  pmlua scripts/balance.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, section 4.5: the algorithm on simulated ranks (scripts/balance/platform.lua has the models), whose
-- load is reversed after three fifths of the iterations; and on real threads of this process, which wait for each other
-- at a barrier. Their frequencies are set where the kernel can and pmlua --allow-tuning allows it; elsewhere it is told
-- what the controller would set.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path

local pml = require "pmlua"
local report = require "balance.report"
local cells = require "balance.run"

local lab

local limits = {
  ranks = { 2, 4096 }, threads = { 2, 64 }, least = { 1, 100 }, bound = { 0, 100 }, turns = { 1, 1e9 },
  reference = { 0.01, 100 }, min = { 0.01, 100 },
}

local function prepare(options)
  for name, range in pairs(limits) do
    local v = options[name]
    if not (v >= range[1] and v <= range[2]) then
      error(("option --%s is %s, it must be from %s to %s"):format(name, v, range[1], range[2]), 0)
    end
  end
  if options.min >= options.reference then error("option --min must be below --reference", 0) end
  lab = cells.new(pml, options)
  return { { "platform", { "simulated", "threads" } }, { "balanced", { "no", "yes" } }, { "delta", { 3, 10, 20 } },
    { "noise", { 0, 1, 2, 5, 10, 20 } } }
end

-- Without balancing there is no delta, and threads bring their own noise.
local function constraints(p)
  if (p.balanced == "no" or p.platform == "threads") and p.delta ~= 10 then return false end
  return p.platform == "simulated" or p.noise == 0
end

return pml.experiment {
  name = "balance",
  description = [[
Ranks with unequal work that wait for each other, with and without the balancing of section 4.5 of Schöne et al., which
slows ranks that would wait so that they arrive just in time. Simulated ranks, with noise, energy and a load that reverses
on the way; and real threads of this process. A sample is the time of an iteration.]],
  factors = prepare,
  constraints = constraints,
  help = { platform = "simulated ranks, or threads of this process", balanced = "no: all at the reference frequency",
    delta = "what a rank is faster than it had to be, of the reference frequency",
    noise = "standard deviation of each rank's work; of threads: added to what they have" },
  units = { delta = "%", noise = "%" },
  unit = "ms",
  repeats = 4000,
  rounds = 20,
  warmup = 0,
  quick = { repeats = 200, rounds = 2, turns = 20000 },
  options = {
    { name = "ranks", type = "integer", metavar = "N", default = 8, help = "that are simulated" },
    { name = "threads", type = "integer", metavar = "N", default = 2, help = "of the real program" },
    { name = "least", type = "number", metavar = "PERCENT", default = 50,
      help = "that the last rank computes of the first's work" },
    { name = "bound", type = "number", metavar = "PERCENT", default = 80,
      help = "of the simulated work that the frequency bounds" },
    { name = "turns", type = "integer", metavar = "N", default = 200000, help = "of a thread's loop between two barriers" },
    { name = "reference", type = "number", metavar = "GHZ", default = 3,
      help = "of ranks, and of threads where files do not tell" },
    { name = "min", type = "number", metavar = "GHZ", default = 1, help = "likewise the least frequency" },
    { name = "root", metavar = "DIR", default = "", help = "in the place of /sys/devices/system/cpu" },
    { name = "noise_seed", type = "integer", metavar = "N", default = 1, help = "of the simulated noise" },
  },
  examples = { "pmlua scripts/balance.lua --quick", "pmlua --allow-tuning scripts/balance.lua --threads 8",
    "pmlua scripts/balance.lua --bound 40 --least 25" },
  setup = function(p) return lab:possible(p) end,
  measure = function(_, p, n) return lab:measure(p, n) end,
  columns = {
    { name = "energy", unit = "J", description = "of an iteration of all ranks; simulated",
      value = function(cell) return report.mean_of(cell, "joules") end },
    { name = "saved", unit = "%", description = "of the energy, against the same without balancing",
      value = function(cell, run) return (report.spread(report.effect(run, cell).saved)) end },
    { name = "lost", unit = "%", description = "of the time, against the same without balancing",
      value = function(cell, run) return (report.spread(report.effect(run, cell).lost)) end },
    { name = "computing", unit = "%", description = "of the time, mean of all ranks",
      value = function(cell) return report.mean_of(cell, "computed") end },
    { name = "changes", unit = "", description = "of frequency, per rank and 100 iterations",
      value = function(cell) return report.mean_of(cell, "changes") end },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "balance",
}
