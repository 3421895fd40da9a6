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
local series_of = require "pmlua.internal.host.series"
local tabulate = require "pmlua.tabulate"

-- --- write regions.dat, metrics.dat and means.dat, and print the means ---

local function colour(phase)
  for i, name in ipairs(lab_of.phases) do
    if name == phase then return i end
  end
end

local function regions(lab, begin)
  local rows = {}
  for i, v in ipairs(lab.visits) do
    rows[i] = { v.phase, (v.from - begin) * 1e-9, (v.to - begin) * 1e-9, colour(v.phase) }
  end
  return { rows = rows, columns = { { "phase", "text", "phase of the program" },
    { "from", "s", "start, since the run began" }, { "to", "s", "end, since the run began" },
    { "colour", "", "number of the phase's colour" } } }
end

-- The plotted steps: a row where a value begins to hold and one where it ends.
local function metrics(series, order, begin)
  local rows = {}
  for _, column in ipairs(lab_of.columns) do
    local s = lab_of.series_of(column, series, order)
    if s then
      series_of.each(s, function(from, to, v)
        local function add(ns) rows[#rows + 1] = { column.name, (ns - begin) * 1e-9, v * column.factor, column.unit } end
        if series_of.kind(s) ~= "level" then add(from) end
        add(to)
      end)
    end
  end
  return { rows = rows, columns = { { "metric", "text", "column of data.dat" }, { "time", "s", "since the run began" },
    { "value", "", "value, in the unit of the next column" }, { "unit", "text", "unit of the value" } } }
end

-- The number of processors: the upper limit of the metrics that count busy ones.
local function processors()
  return { rows = { { pml.sys.nprocs() } }, columns = { { "processors", "", "processors of the host" } } }
end

-- Every metric in every phase, in its own unit.
local function means(lab, order)
  local rows = {}
  for _, s in ipairs(order) do
    for _, phase in ipairs(lab_of.phases) do
      local mean, least, most = series_of.during(s, lab:spans(phase))
      rows[#rows + 1] = { s.event, phase, mean, least, most, series_of.unit(s) }
    end
  end
  return { rows = rows, columns = { { "event", "text", "metric of a plugin" }, { "phase", "text", "phase of the program" },
    { "mean", "", "mean over all visits; for a counter, its rate" }, { "least", "", "smallest value" },
    { "most", "", "largest value" }, { "unit", "text", "unit of the three values" } } }
end

--- A line per metric, a column per phase.
local function say(run, t)
  local names, rows, by = { "mean during" }, {}, {}
  for i, phase in ipairs(lab_of.phases) do names[i + 1] = phase end
  for _, r in ipairs(t.rows) do
    local row = by[r[1]]
    if not row then
      row = { r[1]:gsub("^plugin::", "") .. (r[6] ~= "" and (" [%s]"):format(r[6]) or "") }
      by[r[1]], rows[#rows + 1] = row, row
    end
    row[1 + colour(r[2])] = r[3] or "-"
  end
  run:say("\n" .. tabulate(names, rows, 1))
end

--- Write the tables into the run's folder; print the means, and the metrics that this machine lacks.
---@param lab table host_metrics.lab
local function write_report(run, lab)
  local series, order = lab:series()
  local begin = run.plugins and run.plugins.since_ns or (lab.visits[1] or { from = 0 }).from
  run:write_table("regions.dat", regions(lab, begin))
  run:write_table("metrics.dat", metrics(series, order, begin))
  run:write_table("processors.dat", processors())
  local t = means(lab, order)
  run:write_table("means.dat", t)
  if #t.rows > 0 and #lab.visits > 0 then say(run, t) end
  for _, line in ipairs(lab.lacking) do run:say("not on this machine: " .. line) end
end

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
  analyse = function(run) write_report(run, lab) end,
  plot = "host_metrics",
}
