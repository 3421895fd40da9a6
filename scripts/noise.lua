-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/noise.lua - noise of the system: how long, how often and on which cpu other activity interrupts a computation.
--
-- Try:  pmlua scripts/noise.lua --quick
--
-- A thread on each cpu in turn computes and reads the clock after each unit of some 100 cycles; a longer gap is a detour.
-- Fixed-work quanta lengthen by the stolen time; fixed-time quanta contain less work.

local pml = require "pmlua"
local laboratory = require "noise.lab"
local report = require "noise.report"

local lab

local function prepare(options)
  local plant, err = laboratory.plant(options.plant)
  if not plant then error("option --plant: " .. err, 0) end
  local cpus
  cpus, err = laboratory.cpus(options.cpus, pml.sys.affinity())
  if not cpus then error("option --cpus: " .. err, 0) end
  lab = assert(laboratory.new { quantum = options.quantum, threshold = options.threshold, plant = plant })
  assert(lab:calibrate(cpus[1]))
  return { { "cpu", cpus }, { "quantum", { "work", "time" } } }
end

return pml.experiment {
  name = "noise",
  description = [[
What takes the processor away from a thread that only computes: quanta of fixed work and of fixed time on each cpu, and every
gap between two readings of the clock above a threshold, a detour. A sample is a quantum's time for a unit of work. Each
detour has a cause by what the kernel counted meanwhile. The report has their sums beside the kernel's own account of the thread
(run queue, switches, steal time, interrupts), and the periods of those that come regularly.]],
  factors = prepare,
  help = { cpu = "where the thread runs", quantum = "fixed work or fixed time" },
  unit = "ns",
  repeats = 5000,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 500, rounds = 1 },
  options = {
    { name = "cpus", metavar = "LIST", help = "cpus and ranges of them, such as 0-3,8; otherwise the first 16" },
    { name = "quantum", type = "integer", metavar = "US", min = 10, default = 1000, help = "microseconds of a quantum" },
    { name = "threshold", type = "integer", metavar = "NS", min = 1, default = 1000, help = "a longer gap is a detour" },
    { name = "plant", metavar = "PERIOD:LENGTH",
      help = "also run a thread on the same cpu for LENGTH every PERIOD microseconds: it must be found" },
  },
  examples = {
    "pmlua scripts/noise.lua --quick", "pmlua scripts/noise.lua --cpus 0 --plant 20000:2000",
    "pmlua scripts/noise.lua --quantum 100 --threshold 500",
  },
  measure = function(_, p, n) return lab:measure(p, n) end,
  metrics = {
    { name = "lost", unit = "%", description = "share of the time that detours took" },
    { name = "detours", unit = "1/s", description = "detours of a second" },
    { name = "waited", unit = "%", description = "share of the time in the run queue, by the scheduler" },
    { name = "steal", unit = "%", description = "share of the time that the host took from this cpu, by the kernel" },
    { name = "interrupts", unit = "1/s", description = "interrupts of a second on this cpu, by the kernel" },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "noise",
}
