-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_bandwidth.lua - bytes a second that threads read and write, by their number and by the share of writes.
--
-- Try:  pmlua scripts/memory_bandwidth.lua --quick
--
-- Each thread has a separate cpu and memory, which it touched first. Zero to four of every four consecutive blocks of 4 KiB are
-- written and the others read.

local pml = require "pmlua"
local laboratory = require "memory_bandwidth.lab"

local lab

local function prepare(options)
  lab = assert(laboratory.new { megabytes = options.megabytes })
  return { { "threads", laboratory.threads(#pml.sys.affinity()) }, { "writes", { 0, 25, 50, 75, 100 } } }
end

return pml.experiment {
  name = "memory_bandwidth",
  description = [[
Bandwidth of memory by the number of threads and the share of their bytes that are written. A sample is a pass of all threads
over their memory, from the first that begins to the last that ends. Bytes are those of the loads and stores: a processor that
fetches a line before it writes to it moves more.]],
  factors = prepare,
  constraints = function(p) return lab:room(p) end,
  help = { threads = "each on its own cpu", writes = "share of the bytes" },
  units = { writes = "%" },
  unit = "ns",
  repeats = 20,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 5, rounds = 1, megabytes = 8 },
  options = {
    { name = "megabytes", type = "integer", metavar = "MB", min = 1, default = laboratory.megabytes(),
      help = "size of each thread's memory; choose several times the last cache to measure memory" },
  },
  examples = { "pmlua scripts/memory_bandwidth.lua --quick", "pmlua scripts/memory_bandwidth.lua --megabytes 1024" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  columns = {
    { name = "best", unit = "GB/s", description = "the same over its shortest time",
      value = function(cell) return cell.summary and lab:bytes(cell.p) / cell.summary.min end },
    { name = "gbytes", unit = "GB/s", description = "bytes of a pass of all threads over its median time",
      value = function(cell) return cell.summary and lab:bytes(cell.p) / cell.summary.median end },
  },
  analyse = function(run) lab:warn(run) end,
  plot = "memory_bandwidth",
}
