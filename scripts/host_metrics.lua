-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/host_metrics.lua - what a program's phases do to its host: memory, processors, network and power over time.
--
-- Try:  pmlua scripts/host_metrics.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, sections 3 and 3.4: metrics that belong to no thread are sampled beside the program at their own
-- intervals, and drawn under its regions. A value that covers the time since the previous one is spread over that time.

local lists = require "pmlua.internal.lists"
local pml = require "pmlua"
local series_of = require "pmlua.internal.host.series"
local own_plugins = require "pmlua.internal.own_plugins"
local tabulate = require "pmlua.tabulate"
local workloads = require "workloads.workload"

-- --- run the phases with the plugins beside them, and look up a metric during a phase ---

local all_phases = { "rest", "allocate", "compute", "send" }

-- The metrics in the figure and in the columns of each phase; `factor` converts the metric's unit to the column's. An
-- `event` may be a pattern, which selects the first metric that matches, because machines name their sensors differently.
local metric_columns = {
  { name = "resident", unit = "MB", event = "plugin::process::resident", factor = 1e-6,
    description = "memory of the process" },
  { name = "memory_used", unit = "MB", event = "plugin::host::memory_used", factor = 1e-6,
    description = "memory of the host not available to new programs" },
  { name = "process_cpus", unit = "", event = "plugin::process::cpus", factor = 1,
    description = "processors that the process keeps busy" },
  { name = "cpus_busy", unit = "", event = "plugin::host::cpus_busy", factor = 1,
    description = "busy processors of the host" },
  { name = "loopback", unit = "MB/s", event = "plugin::host::network_lo_sent", factor = 1e-6,
    description = "data sent over the loopback" },
  { name = "switches", unit = "1/s", event = "plugin::host::context_switches", factor = 1,
    description = "context switches of the host" },
  { name = "power", unit = "W", event = "^plugin::host::power_", factor = 1,
    description = "reading of the first power meter" },
  { name = "temperature", unit = "degC", event = "^plugin::host::temperature_", factor = 1,
    description = "reading of the first temperature sensor" },
}

local drawn = { "memory_used", "cpus_busy", "network_lo_sent", "context_switches", "power_*", "temperature_*" }

local Lab = {}
Lab.__index = Lab

--- The wanted metrics that this host has; and for each of the others, a line with the reason.
local function available(wanted)
  local metrics, lacking, taken = {}, {}, {}
  for _, token in ipairs(wanted) do
    local found, why = own_plugins.find("host", token)
    if not found then return nil, why end
    for _, name in ipairs(found) do
      if not taken[name] then metrics[#metrics + 1] = name end
      taken[name] = true
    end
    if #found == 0 then lacking[#lacking + 1] = ("%s: %s"):format(token, why) end
  end
  return metrics, lacking
end

--- Load the workload and the plugins, which start with the run.
---@param options table of the experiment
---@return table? lab, string? err
local function new_lab(options)
  local self = setmetatable({ options = options, visits = {} }, Lab)
  local err
  self.workload, err = workloads.load "phases"
  if not self.workload then return nil, err end
  local every = pml.plugin.seconds(options.every)
  if not every or every < 0.001 then return nil, ("option --every is '%s'; it must be at least 1ms"):format(options.every) end
  local wanted = table.move(drawn, 1, #drawn, 1, {})
  for token in options.metrics:gmatch("[^,]+") do wanted[#wanted + 1] = token end
  local metrics
  metrics, self.lacking = available(wanted)
  if not metrics then return nil, "option --metrics: " .. self.lacking end
  self.plugins = {}
  local of_process = { "resident", "cpus", "threads" }
  for _, t in ipairs { { name = "host", metrics = metrics }, { name = "process", metrics = of_process } } do
    t.every = options.every
    local p
    p, err = pml.plugin.load(t)
    if not p then return nil, err end
    self.plugins[#self.plugins + 1] = p
  end
  return self
end

--- Run a phase n times.
---@return number[]|nil seconds, string? err
function Lab:measure(phase, n)
  local clock, seconds = pml.clock, {}
  for i = 1, n do
    local samples <close> = assert(pml.samples.new(1))
    local from = clock.ns()
    local run, err = self.workload:run { operation = "empty", samples = { samples }, options = {
      phase = phase, seconds = self.options.seconds, megabytes = self.options.megabytes,
      threads = self.options.threads > 0 and self.options.threads or #pml.sys.affinity() } }
    if not run then return nil, err end
    local to = clock.ns()
    seconds[i] = (to - from) * 1e-9
    self.visits[#self.visits + 1] = { phase = phase, from = from, to = to }
  end
  return seconds
end

-- --- measured series ---

--- All series by the names of their events, with the values collected so far.
function Lab:series()
  local series, order = {}, {}
  for _, p in ipairs(self.plugins) do
    p:collect()
    for _, s in ipairs(p:series() or {}) do
      series[s.event] = s
      order[#order + 1] = s
    end
  end
  return series, order
end

--- The series of a column, if this machine has it.
local function column_series(column, series, order)
  if column.event:sub(1, 1) ~= "^" then return series[column.event] end
  return lists.find(order, function(s) return s.event:find(column.event) end)
end

function Lab:spans(phase)
  return lists.filter(self.visits, function(visit) return visit.phase == phase end)
end

--- A column of data.dat.
function Lab:column(cell, column)
  local s = column_series(column, self:series())
  local mean = s and series_of.during(s, self:spans(cell.p.phase))
  return mean and mean * column.factor
end

-- --- write regions.dat, metrics.dat and means.dat, and print the means ---

local function colour(phase)
  for i, name in ipairs(all_phases) do
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
  for _, column in ipairs(metric_columns) do
    local s = column_series(column, series, order)
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
    for _, phase in ipairs(all_phases) do
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
  for i, phase in ipairs(all_phases) do names[i + 1] = phase end
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
  lab = assert(new_lab(options))
  return { { "phase", all_phases } }
end

local columns = {}
for i, c in ipairs(metric_columns) do
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
