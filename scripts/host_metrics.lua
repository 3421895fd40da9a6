-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/host_metrics.lua - what a program's phases do to its host: memory, processors, network, power over time.
--
-- Try:  pmlua scripts/host_metrics.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, sections 3 and 3.4: metrics that belong to no thread are measured beside the program, in their own
-- time, and laid under its regions. A value that stands for the time since the one before is shared out over that time.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path

local pml = require "pmlua"
local lab_of = require "host_metrics.lab"
local report = require "host_metrics.report"

local lab

local limits = { seconds = { 0.01, 3600 }, megabytes = { 1, 1000000 }, threads = { 0, 1024 } }

local function prepare(options)
  local err
  for name, limit in pairs(limits) do
    local v = options[name]
    if not (v >= limit[1] and v <= limit[2]) then
      error(("option --%s is %s, it must be from %s to %s"):format(name, v, limit[1], limit[2]), 0)
    end
  end
  lab, err = lab_of.new(pml, options)
  if not lab then error(err, 0) end
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
Phases of a program that rests, touches memory evenly, computes on some threads, and sends to itself over the loopback,
beside metrics of the host and of the process (plugins host and process), measured by separate threads. A sample is the time
of a phase; the columns are means over all its visits.]],
  factors = prepare,
  help = { phase = "of the program" },
  unit = "s",
  repeats = 3,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, seconds = 0.2, every = "10ms", megabytes = 64 },
  options = {
    { name = "seconds", type = "number", metavar = "S", default = 1, help = "that a phase lasts" },
    { name = "megabytes", type = "integer", metavar = "N", default = 512, help = "that allocate touches" },
    { name = "threads", type = "integer", metavar = "N", default = 0, help = "that compute; 0: as many as there are cpus" },
    { name = "every", metavar = "TIME", default = "50ms", help = "between two values of a metric" },
    { name = "metrics", metavar = "LIST", default = "", help = "of the host, beside those that are drawn (globs, by commas)" },
  },
  examples = { "pmlua scripts/host_metrics.lua --quick", "pmlua scripts/host_metrics.lua --every 5ms --metrics 'load_1,disk_*'" },
  measure = function(_, p, n) return lab:measure(p.phase, n) end,
  columns = columns,
  analyse = function(run) report.write(run, lab) end,
  plot = "host_metrics",
}
