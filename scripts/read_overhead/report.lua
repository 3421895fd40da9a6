-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/report.lua - three figures on the screen, all tables in report.txt: medians, speed-ups, distributions.
--
-- Try:  pmlua scripts/read_overhead.lua --quick --no-plot; less results/read_overhead/latest/report.txt
--
-- Also ticks.dat, the whole summary in ticks of the clock beside data.dat's nanoseconds, to compare with
-- tables in cycles.

local runner = require "pmlua.internal.experiment.runner"
local series = require "read_overhead.series"
local tabulate = require "pmlua.tabulate"
local share = require "read_overhead.share"
local slope = require "read_overhead.slope"

local M = {}

local function heading(o, text)
  table.insert(o.text, "\n" .. text)
end

local function add_table(o, names, rows)
  table.insert(o.text, tabulate(names, rows))
end

local function in_ticks(run, v) return v and v / run.scale end

-- The display name of a path; "page (needs a PMU)" if it cannot be measured.
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
  heading(o, ("Table 1. Median cost in the bare loop [%s]; the empty operation, two clock reads, costs %s %s"):format(
    run.unit, tabulate.number(empty), run.unit))
  add_table(o, names, rows)
end

local function speedups(run, o)
  local rows = {}
  for i, r in ipairs(series.speedups(run, o.contexts, o.context_events)) do
    rows[i] = {
      r.context, in_ticks(run, r.page), in_ticks(run, r.read), in_ticks(run, r.group), series.ratio(r.read, r.page),
      series.ratio(r.read, r.group),
    }
  end
  heading(o, ("Table 2. A read of %d events where applications would read: medians [ticks], and the speed-up over")
    :format(o.context_events) .. "\none read(2) per event")
  add_table(o, {
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
  heading(o, "Table 3. Other sources, each alone in a set: a read in the bare loop")
  add_table(o, { "event", ("median [%s]"):format(run.unit), ("p99 [%s]"):format(run.unit), "median [ticks]", "status" }, rows)
end

local function additional(run, o)
  local rows = {}
  for i, f in ipairs(slope.all(run, o.operations)) do
    rows[i] = { f.operation, f.path, f.first, f.second, f.each, in_ticks(run, f.each), f.r2 }
  end
  local unit = (" [%s]"):format(run.unit)
  heading(o, "Table 4. Cost of the first event, the second, and each further one (a line through table 1)")
  add_table(o, { "operation", "path", "first" .. unit, "second" .. unit, "each further" .. unit, "[ticks]", "r2" }, rows)
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
  heading(o, "Table 5. User and kernel code of a read in the bare loop, per read")
  run:write_table("share.dat", { columns = share_columns, rows = rows }, "user and kernel share of a read")
  if #rows == 0 then return table.insert(o.text, "  " .. why) end
  add_table(o, { "path", "events", "instr. user", "instr. kernel", "cycles user", "cycles kernel", "user [%]" }, rows)
end

local function workloads(run, o)
  local rows = {}
  for _, name in ipairs { "sobel", "stream", "lu" } do
    for _, r in ipairs(o.lab.measure.results[name] or {}) do rows[#rows + 1] = { name, r.name, r.value, r.unit } end
  end
  heading(o, "Table 6. Results of the workloads (rates include the reads; the residual of LU must be below 16)")
  add_table(o, { "workload", "result", "value", "unit" }, rows)
  run:write_table("workloads.dat", { rows = rows, columns = {
    { "workload", "text", "name of the workload" }, { "result", "text", "name of the result" },
    { "value", "", "last value; of errors the worst, of rates the best" }, { "unit", "text", "unit of the value" },
  } }, "results of the workloads")
end

local fields = { "min", "q1", "median", "q3", "p95", "p99", "max", "mean", "sd" }

local function distributions(run, o)
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
  heading(o, ("Table 7. Distribution of every read [%s]; outliers are more than 1.5 interquartile ranges outside the quartiles")
    :format(run.unit))
  add_table(o, names, rows)
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
  local clock, events = run.core.clock.info(), o.lab.events
  heading(o, ("Clock: %s, %.6g ticks per second (%s); one read of it costs %.1f ns, its smallest step is %.1f ns"):format(
    clock.name, clock.ticks_per_second, clock.calibration, clock.cost_ns, clock.resolution_ns))
  table.insert(o.text, "Events, in the order in which they are added: " .. table.concat(events.names, ", "))
  if not events.pmu then table.insert(o.text, "Rows with the page path need a PMU: " .. events.why) end
  if events.note then table.insert(o.text, "Note: " .. events.note) end
end

local path_text = { page = "through the page (rdpmc)", read = "by read(2)", group = "by one read(2) for the group" }

-- The path that reads these events fastest in this context, and its median.
local function fastest(run, context, events)
  local best, cost
  for _, path in ipairs(series.paths) do
    local median = series.median(run, { context = context, operation = "read", path = path, events = events })
    if median and (not cost or median < cost) then best, cost = path, median end
  end
  return best, cost
end

-- The least and the largest gain in the workloads of the fastest path over one read(2) for each event.
local function gains(run, o)
  local least, most
  for _, r in ipairs(series.speedups(run, o.contexts, o.context_events)) do
    local gain = r.context ~= "loop" and series.ratio(r.read, math.min(r.page or math.huge, r.group or math.huge))
    if gain and (not least or gain < least.gain) then least = { gain = gain, where = r.context } end
    if gain and (not most or gain > most.gain) then most = { gain = gain, where = r.context } end
  end
  return least, most
end

local function figure(run, value, text)
  run:say(("%11s  %s"):format(value, text))
end

local function screen(run, o)
  local function cost(v) return ("%s %s"):format(tabulate.number(v), run.unit) end
  run:say(("What a read of 1 to %d events costs here, in a loop and inside Sobel, STREAM and LU:"):format(o.most))
  local path, one = fastest(run, "loop", 1)
  local empty = series.median(run, { context = "loop", operation = "empty" })
  if one and empty then
    figure(run, cost(one), ("to read one event %s; %s of it are the two clock reads around it"):format(
      path_text[path], cost(empty)))
  end
  local each = series.median(run, { context = "loop", operation = "read", path = "read", events = o.most })
  local best, all = fastest(run, "loop", o.most)
  if each and all then
    figure(run, cost(all), ("to read %d events %s; one read(2) for each takes %s"):format(o.most, path_text[best], cost(each)))
  end
  local least, most = gains(run, o)
  if least then
    figure(run, ("%.2f times"):format(most.gain),
      ("faster than one read(2) for each of %d events in real code, at best (%s); at worst %.2f (%s)"):format(
        o.context_events, most.where, least.gain, least.where))
  end
  if not o.lab.events.pmu then run:say("Reads through the page (rdpmc) could not be measured: " .. o.lab.events.why) end
end

--- Write the tables into the folder, and three figures to stdout.
---@param o table as for series.write, and lab: the events and the measuring
function M.write(run, o)
  o.text = {}
  preface(run, o)
  medians(run, o)
  speedups(run, o)
  alone(run, o)
  additional(run, o)
  shares(run, o)
  workloads(run, o)
  distributions(run, o)
  ticks(run)
  run:write_report(table.concat(o.text, "\n"):sub(2) .. "\n")
  screen(run, o)
end

return M
