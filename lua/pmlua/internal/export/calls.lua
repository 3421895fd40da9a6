-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/calls.lua - recorded calls and constructs of OpenMP as rows, log by log.
--
-- Try:  pmlua record -o out -- ./solver; pmlua export out --table functions

local core = require "pmlua.core"
local functions = require "pmlua.internal.record.functions"
local logs = require "pmlua.internal.record.logs"
local openmp = require "pmlua.internal.record.openmp"
local rows = require "pmlua.internal.report.rows"
local sections = require "pmlua.sections"
local statistics = core.statistics
local refuse = core.failure.refuse

local M = {}

local SHARES <const> = { 0.25, 0.5, 0.75, 0.95, 0.99 }

local function process_cells(p) return { p.rank, sections.show(p.host), p.pid } end

--- A row of a process, of n cells behind its own.
local function put(sink, process, n, ...)
  sink.row(table.move({ ... }, 1, n, 4, { process[1], process[2], process[3] }))
end

-- ---- call paths ----

--- Names in a form, each looked up once.
local function namer(form)
  local known = {}
  return function(name, file)
    local key = name .. "\0" .. file
    if not known[key] then
      local library, shown = logs.names { name = name, file = file }
      known[key] = rows.texts(form, { library, shown }, 2)
    end
    return known[key][1], known[key][2]
  end
end

--- A row for each call path of each thread.
function M.calls(source, sink)
  local name = namer(sink.form)
  for _, p in ipairs(source.survey.processes) do
    local log <close>, err, code = core.recording.open(p.name)
    if not log and code ~= "ENODATA" and p.log then return refuse(err) end
    if log then
      local text, why = log:calls { form = sink.form, process = rows.texts(sink.form, process_cells(p), 3), name = name }
      if not text then return refuse(why) end
      sink.text(text)
    end
  end
  return true
end

-- ---- functions ----

--- The process of each log with recorded calls, by function.
local function each_process(source, f)
  for _, p in ipairs(source.survey.processes) do
    local process, err
    if p.log then process, err = logs.process(p.log) end
    if err then return refuse(err) end
    if process then f(process_cells(p), functions.of { { process = process } }, process) end
  end
  return true
end

--- Quantiles of the calls that returned, within their extremes.
local function quantiles_of(f)
  local list = {}
  for i, share in ipairs(f.min_ns and f.bucket and SHARES or {}) do
    local ticks = statistics.histogram_quantile(f.bucket, share)
    list[i] = ticks and math.max(f.min_ns, math.min(f.tick_ns * ticks, f.max_ns))
  end
  return list
end

--- A row for each function of each process.
function M.functions(source, sink)
  return each_process(source, function(process, all)
    for _, f in ipairs(all.functions) do
      local q = quantiles_of(f)
      put(sink, process, 13, f.library, f.name, f.calls, f.unreturned, f.inclusive_ns, f.exclusive_ns, f.min_ns, q[1], q[2], q[3],
        q[4], q[5], f.min_ns and f.max_ns)
    end
  end)
end

local function sorted_names(of)
  local names = require "pmlua.internal.keys"(of or {})
  return names
end

--- A row for each event and each recorded argument or result of each function of each process.
function M.values(source, sink)
  return each_process(source, function(process, all, of)
    for _, f in ipairs(all.functions) do
      for _, event in ipairs(sorted_names(f.events)) do
        local unit = of.units[event] or { scale = 1 }
        local sum = unit.scale == 1 and f.events[event] or f.events[event] * unit.scale
        put(sink, process, 7, f.library, f.name, "event", event, unit.unit ~= "" and unit.unit or nil, nil, sum)
      end
      for _, name in ipairs(sorted_names(f.values)) do
        local v = f.values[name]
        put(sink, process, 10, f.library, f.name, "value", name, nil, v.count, v.sum, v.mean, v.min, v.max)
      end
    end
  end)
end

-- ---- OpenMP ----

--- A row for each construct and number of a thread in its team, of each process.
function M.openmp(source, sink)
  for _, p in ipairs(source.survey.processes) do
    local log <close> = p.log and core.recording.open(p.log, true)
    for _, o in ipairs(log and log:openmp() or {}) do
      put(sink, process_cells(p), 9, o.name, o.construct, openmp.runtime(o.runtime), o.index, o.threads, o.calls, o.count, o.ns,
        o.waited_ns)
    end
  end
  return true
end

return M
