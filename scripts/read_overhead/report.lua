-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/report.lua - the tables people read: medians, speed-ups, cost per event, shares, distributions.
--
-- Try:  pmlua scripts/read_overhead.lua --quick --no-plot | head -60
--
-- Also ticks.dat, the whole summary in ticks of the clock beside data.dat's nanoseconds, to compare with
-- tables in cycles.

local runner = require "pmlua.internal.experiment.runner"
local series = require "read_overhead.series"
local tabulate = require "pmlua.tabulate"
local share = require "read_overhead.share"
local slope = require "read_overhead.slope"

local M = {}

local function heading(run, text)
  run:say("\n" .. text)
end

local function say_table(run, names, rows)
  run:say(tabulate(names, rows, 1))
end

local function in_ticks(run, v)
  return v and v / run.scale
end

-- "page (needs a PMU)": the name of a path that cannot be measured says so.
local function path_name(o, path)
  return path == "page" and not o.lab.events.pmu and "page (needs a PMU)" or path
end

-- Operations by paths down, numbers of events across: figures 5.1 and 5.2 of the thesis in numbers.
local function medians(run, o)
  local names, rows = { "operation", "path" }, {}
  for k = 1, o.most do names[k + 2] = k .. (k == 1 and " event" or " events") end
  for _, operation in ipairs(o.operations) do
    for _, path in ipairs(operation ~= "empty" and series.paths or {}) do
      local row = { operation, path_name(o, path) }
      for k = 1, o.most do
        row[k + 2] = series.median(run, { context = "loop", operation = operation, path = path, events = k })
      end
      rows[#rows + 1] = row
    end
  end
  local empty = series.median(run, { context = "loop", operation = "empty" })
  heading(run, ("Table 1. Median cost in the bare loop [%s]; the empty operation, two clock reads, costs %s %s"):format(
    run.unit, tabulate.number(empty), run.unit))
  say_table(run, names, rows)
end

local function speedups(run, o)
  local rows = {}
  for i, r in ipairs(series.speedups(run, o.contexts, o.context_events)) do
    rows[i] = {
      r.context, in_ticks(run, r.page), in_ticks(run, r.read), in_ticks(run, r.group), series.ratio(r.read, r.page),
      series.ratio(r.read, r.group),
    }
  end
  heading(run, ("Table 2. A read of %d events where applications would read: medians [ticks], and the speed-up over")
    :format(o.context_events) .. "\none read(2) per event")
  say_table(run, {
    "context", path_name(o, "page"), "read", "group", path_name(o, "page") .. " speed-up", "group speed-up",
  }, rows)
end

local function alone(run, o)
  local rows = {}
  for _, c in ipairs(o.contexts) do
    local cell = c.event and series.find(run, { context = c.name })
    if cell then
      local s = cell.summary
      rows[#rows + 1] = { c.event, s and s.median, s and s.p99, in_ticks(run, s and s.median), cell.status }
    end
  end
  heading(run, "Table 3. Other sources, each alone in a set: a read in the bare loop")
  say_table(run, { "event", ("median [%s]"):format(run.unit), ("p99 [%s]"):format(run.unit), "median [ticks]", "status" }, rows)
end

local function additional(run, o)
  local rows = {}
  for i, f in ipairs(slope.all(run, o.operations)) do
    rows[i] = { f.operation, f.path, f.first, f.second, f.each, in_ticks(run, f.each), f.r2 }
  end
  local unit = (" [%s]"):format(run.unit)
  heading(run, "Table 4. Cost of the first event, the second, and each further one (a line through table 1)")
  say_table(run, { "operation", "path", "first" .. unit, "second" .. unit, "each further" .. unit, "[ticks]", "r2" }, rows)
end

local share_columns = {
  { "path", "text", "how the counters are read" }, { "events", "", "number of events" },
  { "instructions_user", "", "instructions per read in user space" },
  { "instructions_kernel", "", "instructions per read in the kernel" },
  { "cycles_user", "", "cycles per read in user space" }, { "cycles_kernel", "", "cycles per read in the kernel" },
  { "user_share", "%", "share of the cycles in user space" },
}

local function shares(run, o)
  local rows, why = share.rows(o.lab.measure, o.lab.events, { 1, 2, 4, 8 }, run.quick and 1000 or 100000)
  heading(run, "Table 5. User and kernel code of a read in the bare loop, per read")
  run:write_table("share.dat", { columns = share_columns, rows = rows }, "user and kernel share of a read")
  if #rows == 0 then return run:say("  " .. why) end
  say_table(run, { "path", "events", "instr. user", "instr. kernel", "cycles user", "cycles kernel", "user [%]" }, rows)
end

local function workloads(run, o)
  local rows = {}
  for _, name in ipairs { "sobel", "stream", "lu" } do
    for _, r in ipairs(o.lab.measure.results[name] or {}) do rows[#rows + 1] = { name, r.name, r.value, r.unit } end
  end
  heading(run, "Table 6. Results of the workloads (rates include the reads; the residual of LU must be below 16)")
  say_table(run, { "workload", "result", "value", "unit" }, rows)
  run:write_table("workloads.dat", { rows = rows, columns = {
    { "workload", "text", "name of the workload" }, { "result", "text", "name of the result" },
    { "value", "", "last value; of errors the worst, of rates the best" }, { "unit", "text", "unit of the value" },
  } }, "results of the workloads")
end

local fields = { "min", "q1", "median", "q3", "p95", "p99", "max", "mean", "sd" }

local function distributions(run)
  local names, rows = { "context", "path", "events", "samples" }, {}
  for k, f in ipairs(fields) do names[4 + k] = f end
  table.move({ "outliers", "retries", "status" }, 1, 3, #names + 1, names)
  for _, cell in ipairs(run.cells) do
    local p, s = cell.p, cell.summary
    if p.operation == "read" then
      local row = { p.context, p.path, p.events, s and s.n }
      for k, f in ipairs(fields) do row[4 + k] = s and s[f] end
      table.move({ s and s.outliers, s and (runner.sum(cell, "retries") or 0), cell.status }, 1, 3, 5 + #fields, row)
      rows[#rows + 1] = row
    end
  end
  heading(run, ("Table 7. Distribution of every read [%s]; outliers are more than 1.5 interquartile ranges outside the quartiles")
    :format(run.unit))
  say_table(run, names, rows)
end

local function ticks(run)
  local columns, rows = { { "cell", "", "as in data.dat" } }, {}
  for _, f in ipairs(run.factors) do columns[#columns + 1] = { f.name, f.text and "text" or "", "factor" } end
  for _, f in ipairs(fields) do columns[#columns + 1] = { f, "ticks", "as in data.dat" } end
  for _, cell in ipairs(run.cells) do
    local row = { cell.index }
    for _, f in ipairs(run.factors) do row[#row + 1] = cell.p[f.name] end
    local at = #row
    for k, f in ipairs(fields) do row[at + k] = in_ticks(run, cell.summary and cell.summary[f]) end
    rows[#rows + 1] = row
  end
  run:write_table("ticks.dat", { columns = columns, rows = rows }, "the summary in ticks of the clock")
end

local function preface(run, o)
  local clock = run.core.clock.info()
  run:say(("Clock: %s, %.6g ticks per second (%s); one read of it costs %.1f ns, its smallest step is %.1f ns"):format(
    clock.name, clock.ticks_per_second, clock.calibration, clock.cost_ns, clock.resolution_ns))
  run:say("Events, in the order in which they are added: " .. table.concat(o.lab.events.names, ", "))
  if not o.lab.events.pmu then run:say("Rows with the page path need a PMU: " .. o.lab.events.why) end
  if o.lab.events.note then run:say("Note: " .. o.lab.events.note) end
end

--- Write the tables to stdout and into the folder.
---@param run table
---@param o table as for series.write, and lab: the events and the measuring
function M.write(run, o)
  preface(run, o)
  medians(run, o)
  speedups(run, o)
  alone(run, o)
  additional(run, o)
  shares(run, o)
  workloads(run, o)
  distributions(run)
  ticks(run)
end

return M
