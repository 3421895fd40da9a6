-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/host_metrics.lua - what a program's phases do to its host: memory, processors, network and power over time.
--
-- Try:  pmlua scripts/host_metrics.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, sections 3 and 3.4: metrics that belong to no thread are sampled beside the program at their own
-- intervals, and drawn under its regions. A value that covers the time since the previous one is spread over that time.

local pml = require "pmlua"
local lab_of = require "host_metrics.lab"
local report = require "host_metrics.report"

local lab

local function prepare(options)
  lab = assert(lab_of.new(pml, options))
  return { { "phase", lab_of.phases } }
end

local columns = {}
for i, c in ipairs(lab_of.columns) do
  columns[i] = { name = c.name, unit = c.unit, description = c.description,
    value = function(cell) return lab:column(cell, c) end }
end

return pml.experiment {
  name = "host_metrics",
  description = [[
A program rests, touches memory at a steady rate, computes on some threads, and sends data to itself over the loopback;
meanwhile, separate threads sample metrics of the host and of the process (plugins host and process). A sample is the time of
a phase; the columns are means over all visits of a phase.]],
  factors = prepare,
  help = { phase = "phase of the program" },
  unit = "s",
  repeats = 3,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, seconds = 0.2, every = "10ms", megabytes = 64 },
  options = {
    { name = "seconds", type = "number", metavar = "S", min = 0.01, max = 3600, default = 1, help = "duration of a phase" },
    { name = "megabytes", type = "integer", metavar = "N", min = 1, max = 1000000, default = 512,
      help = "memory that the phase allocate touches" },
    { name = "threads", type = "integer", metavar = "N", min = 0, max = 1024, default = 0,
      help = "threads that compute; 0: one per cpu" },
    { name = "every", metavar = "TIME", default = "50ms", help = "interval between two values of a metric" },
    { name = "metrics", metavar = "LIST", default = "",
      help = "more metrics of the host, beside those in the figure (globs, separated by commas)" },
  },
  examples = { "pmlua scripts/host_metrics.lua --quick", "pmlua scripts/host_metrics.lua --every 5ms --metrics 'load_1,disk_*'" },
  measure = function(_, p, n) return lab:measure(p.phase, n) end,
  columns = columns,
  analyse = function(run) report.write(run, lab) end,
  plot = "host_metrics",
}
