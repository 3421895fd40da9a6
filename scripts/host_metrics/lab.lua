-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/host_metrics/lab.lua - run the phases with the plugins beside them, and look up a metric during a phase.
--
-- Try:  for _, c in ipairs(require("host_metrics.lab").columns) do print(c.name, c.event) end

local own_plugins = require "pmlua.internal.own_plugins"
local series_of = require "pmlua.internal.host.series"
local workloads = require "workloads.workload"

local M = {}

M.phases = { "rest", "allocate", "compute", "send" }

-- The metrics in the figure and in the columns of each phase; `factor` converts the metric's unit to the column's. An
-- `event` may be a pattern, which selects the first metric that matches, because machines name their sensors differently.
M.columns = {
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
function M.new(pml, options)
  local self = setmetatable({ pml = pml, options = options, visits = {} }, Lab)
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
  local clock, seconds = self.pml.clock, {}
  for i = 1, n do
    local samples <close> = assert(self.pml.samples.new(1))
    local from = clock.ns()
    local run, err = self.workload:run { operation = "empty", samples = { samples }, options = {
      phase = phase, seconds = self.options.seconds, megabytes = self.options.megabytes,
      threads = self.options.threads > 0 and self.options.threads or #self.pml.sys.affinity() } }
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
function M.series_of(column, series, order)
  if column.event:sub(1, 1) ~= "^" then return series[column.event] end
  for _, s in ipairs(order) do
    if s.event:find(column.event) then return s end
  end
end

function Lab:spans(phase)
  local spans = {}
  for _, visit in ipairs(self.visits) do
    if visit.phase == phase then spans[#spans + 1] = visit end
  end
  return spans
end

--- A column of data.dat.
function Lab:column(cell, column)
  local s = M.series_of(column, self:series())
  local mean = s and series_of.during(s, self:spans(cell.p.phase))
  return mean and mean * column.factor
end

return M
