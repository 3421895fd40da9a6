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
local cells = require "balance.run"

-- --- write course.dat, effect.dat and shares.dat, and print the closing tables ---

local function find(run, p, balanced)
  for _, c in ipairs(run.cells) do
    local q = c.p
    local same_delta = balanced == "no" or q.delta == p.delta
    if q.platform == p.platform and q.noise == p.noise and q.balanced == balanced and same_delta then return c end
  end
end

--- The effect of balancing in each round, compared with the same noise without it: percent of energy and of time.
local function effect_of(run, cell)
  local plain = cell.p.balanced == "yes" and find(run, cell.p, "no")
  local out = { saved = {}, lost = {} }
  for i, r in ipairs(plain and cell.rounds or {}) do
    local before = plain.rounds[i]
    if before and before.extra and r.extra then
      if r.extra.joules then table.insert(out.saved, 100 * (1 - r.extra.joules / before.extra.joules)) end
      table.insert(out.lost, 100 * (r.extra.seconds / before.extra.seconds - 1))
    end
  end
  return out
end

local function spread(list)
  if #list == 0 then return nil, nil, nil end
  local sum, least, most = 0, math.huge, -math.huge
  for _, v in ipairs(list) do sum, least, most = sum + v, math.min(least, v), math.max(most, v) end
  return sum / #list, least, most
end

local function mean_of(cell, name)
  local list = {}
  for _, r in ipairs(cell.rounds) do list[#list + 1] = r.extra and r.extra[name] end
  return (spread(list))
end

local function effect_table(run)
  local rows = {}
  for _, c in ipairs(run.cells) do
    if c.p.platform == "simulated" and c.p.balanced == "yes" and #c.rounds > 0 then
      local e, plain = effect_of(run, c), find(run, c.p, "no")
      local saved, saved_least, saved_most = spread(e.saved)
      local lost, lost_least, lost_most = spread(e.lost)
      rows[#rows + 1] = { c.p.delta, c.p.noise, plain and mean_of(plain, "joules"), mean_of(c, "joules"), saved, saved_least,
        saved_most, lost, lost_least, lost_most, plain and mean_of(plain, "seconds") * 1e3, mean_of(c, "seconds") * 1e3,
        mean_of(c, "changes") }
    end
  end
  return { columns = {
    { "delta", "%", "margin, as a share of the reference frequency" },
    { "noise", "%", "standard deviation of each rank's work" },
    { "before", "J", "energy per iteration, all ranks at the reference" }, { "after", "J", "energy per iteration, balanced" },
    { "saved", "%", "energy saved, mean of the rounds" }, { "saved_least", "%", "least saved in a round" },
    { "saved_most", "%", "most saved in a round" }, { "lost", "%", "time lost, mean of the rounds" },
    { "lost_least", "%", "least lost in a round" }, { "lost_most", "%", "most lost in a round" },
    { "time_before", "ms", "mean time of an iteration" }, { "time_after", "ms", "mean time of an iteration, balanced" },
    { "changes", "", "changes of frequency, per rank and 100 iterations" },
  }, rows = rows }
end

local function course_table(lab)
  return { columns = {
    { "delta", "%", "margin, as a share of the reference frequency" },
    { "noise", "%", "standard deviation of each rank's work" },
    { "rank", "", "rank 1 begins with the most work" }, { "iteration", "", "number in the first round" },
    { "frequency", "GHz", "frequency at which it computed" }, { "computing", "%", "share of the iteration spent computing" },
  }, rows = lab.course }
end

local function shares_table(lab)
  local rows = {}
  for _, balanced in ipairs { "no", "yes" } do
    for _, row in ipairs(lab.shares[balanced] or {}) do rows[#rows + 1] = row end
  end
  return { columns = {
    { "balanced", "text", "whether frequencies were set" }, { "thread", "", "thread 1 computes most" },
    { "repetitions", "", "iterations of the last round" },
    { "computing", "%", "share of an iteration spent computing, median" }, { "waiting", "%", "the rest of the iteration" },
    { "frequency", "GHz", "frequency in force, median" }, { "decided", "GHz", "chosen for the next iteration, median" },
    { "least", "GHz", "lowest chosen" }, { "most", "GHz", "highest chosen" },
  }, rows = rows }
end

--- Write the tables into the run's folder, and print the effect and the threads.
local function write_report(run, lab)
  local effect, shares = effect_table(run), shares_table(lab)
  run:write_table("effect.dat", effect)
  run:write_table("course.dat", course_table(lab))
  run:write_table("shares.dat", shares)
  if #effect.rows > 0 then
    run:say_table("Simulated ranks, balanced and not balanced", effect, { "delta", "noise", "before", "after", "saved",
      "time_before", "time_after", "lost", "changes" })
  end
  if #shares.rows > 0 then run:say_table("Threads of this process", shares) end
  local can = lab.can
  if can and not can.writes then
    run:warn("frequencies cannot be set on this machine, so the threads' controller makes a dry run: " .. can.why)
  end
end

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
      value = function(cell) return mean_of(cell, "joules") end },
    { name = "saved", unit = "%", description = "energy saved, compared with the same cell without balancing",
      value = function(cell, run) return (spread(effect_of(run, cell).saved)) end },
    { name = "lost", unit = "%", description = "time lost, compared with the same cell without balancing",
      value = function(cell, run) return (spread(effect_of(run, cell).lost)) end },
    { name = "computing", unit = "%", description = "share of the time spent computing, mean of all ranks",
      value = function(cell) return mean_of(cell, "computed") end },
    { name = "changes", unit = "", description = "changes of frequency, per rank and 100 iterations",
      value = function(cell) return mean_of(cell, "changes") end },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "balance",
}
