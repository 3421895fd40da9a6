-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/core_to_core.lua - how long a cache line takes from one cpu to another, for each two cpus.
--
-- Try:  pmlua scripts/core_to_core.lua --quick
--
-- A thread on each of two cpus; one stores a number, the other waits for it and stores the next. A sample is half of the
-- time of a trip to and fro, the mean of a batch. One pair at a time.

local pml = require "pmlua"
local choice = require "core_to_core.choice"
local laboratory = require "core_to_core.lab"
local report = require "core_to_core.report"

local MOST = 64 -- cpus, unless they are chosen: 2016 pairs
local lab, cpus, all

local function prepare(options)
  local allowed = pml.sys.affinity()
  all = #allowed
  local err
  cpus = table.move(allowed, 1, math.min(MOST, all), 1, {})
  if options.cpus then cpus, err = choice(options.cpus, allowed) end
  if not cpus then error("option --cpus: " .. err, 0) end
  lab = assert(laboratory.new { trips = options.trips, patience = options.patience })
  return { { "pair", laboratory.pairs(cpus) } }
end

return pml.experiment {
  name = "core_to_core",
  description = [[
Latency of a cache line from one cpu to another, for each two cpus of this process, by exchanges between two pinned threads. A
sample is half of a trip to and fro, the mean of a batch of trips. A pair whose cpus do not run at the same time is given up
after --patience, and its row says so.]],
  factors = prepare,
  constraints = function() return #cpus > 1 or "one cpu: an exchange needs two" end,
  help = { pair = "of cpus" },
  unit = "ns",
  repeats = 300,
  rounds = 6,
  warmup = 0,
  quick = { repeats = 20, rounds = 1 },
  options = {
    { name = "cpus", metavar = "LIST", help = ("cpus and ranges of them, such as 0-3,8; otherwise the first %d"):format(MOST) },
    { name = "trips", type = "integer", metavar = "N", min = 1, default = 200, help = "to and fro, of a sample" },
    { name = "patience", type = "integer", metavar = "S", min = 1, default = 5,
      help = "seconds that a round of a pair may take" },
  },
  examples = { "pmlua scripts/core_to_core.lua --quick", "pmlua scripts/core_to_core.lua --cpus 0-3,8" },
  measure = function(_, p, n) return lab:measure(p.pair, n) end,
  columns = {
    { name = "shared", unit = "text", description = "what the cpus share, by the kernel: core, package or machine",
      value = function(cell) return laboratory.shared(cell.p.pair) end },
  },
  analyse = function(run) report.write(run, cpus, all) end,
  plot = "core_to_core",
}
