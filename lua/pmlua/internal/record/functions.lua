-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/functions.lua - what recorded processes left in a folder: their call paths, and all of them
-- by function.
--
-- Try:  for _, f in ipairs(require("pmlua.internal.record.functions").read("calls").functions) do print(f.library,
--       f.name, f.calls) end

local logs = require "pmlua.internal.record.logs"
local statistics = require("pmlua.core").statistics

local M = {}

---@class pmlua.calls.function
---@field library string
---@field name string
---@field kind string function, library, section, python, lua, mpi, openmp, ...; unknown: as in logs of 1.0.0
---@field calls integer that began
---@field unreturned integer of them: the process ended in it, or it was left by a longjmp, an exception, or its thread's end
---@field inclusive_ns number not counting calls inside others of the same function
---@field exclusive_ns number
---@field min_ns? number of a call that returned, inclusive, as the next three; nil: none returned
---@field median_ns? number
---@field max_ns number
---@field bucket? table<integer, integer> calls by duration: from bucket_ns(i, tick_ns) to that of i + 1
---@field tick_ns? number
---@field events? table<string, number> what the function's own calls added to each event that was counted
---@field values? table<string, pmlua.calls.value> arguments and results that its wrapper records

---@class pmlua.calls.value
---@field count integer calls that had it
---@field sum number a float where integers need more than 64 bits
---@field mean number
---@field min number NaN if all were
---@field max number

---@class pmlua.calls.path
---@field depth integer 0: called by no recorded function
---@field library string
---@field name string
---@field kind string
---@field calls integer that began
---@field unreturned integer that did not return
---@field threads integer
---@field inclusive_ns number
---@field exclusive_ns number
---@field min_ns number?
---@field max_ns number?

local function key_of(of) return of.library .. "\0" .. of.name end

local function add(functions, key, path, outermost)
  local f = functions[key]
  if not f then
    f = { library = path.library, name = path.name, kind = path.kind,
      calls = 0, unreturned = 0, inclusive_ns = 0, exclusive_ns = 0 }
    functions[key] = f
    functions[#functions + 1] = f
  end
  f.calls, f.unreturned = f.calls + path.calls, f.unreturned + path.unreturned
  f.exclusive_ns = f.exclusive_ns + path.exclusive_ns
  if outermost then f.inclusive_ns = f.inclusive_ns + path.inclusive_ns end
  if path.calls > path.unreturned then
    f.min_ns = math.min(f.min_ns or math.huge, path.min_ns)
    f.max_ns = math.max(f.max_ns or 0, path.max_ns)
  end
end

--- Time in a function called by itself, however far down, is in the outer call already.
local function sum(functions, paths)
  -- above: the keys of the path's ancestors; open: how many of them each key is
  local above, open = {}, {}
  for _, path in ipairs(paths) do
    for depth = #above, path.depth + 1, -1 do
      open[above[depth]] = open[above[depth]] - 1
      above[depth] = nil
    end
    local key = key_of(path)
    local inside = open[key] or 0
    above[#above + 1], open[key] = key, inside + 1
    add(functions, key, path, inside == 0)
  end
end

--- The least duration in a bucket (core/record/pml_histogram.h).
function M.bucket_ns(i, tick_ns) return tick_ns * statistics.least(i) end

--- Good to half a bucket, some 6 %.
local function median_of(f, tick_ns)
  local ticks = statistics.histogram_quantile(f.bucket, 0.5)
  return ticks and math.max(f.min_ns, math.min(tick_ns * ticks, f.max_ns))
end

--- Iterate over the entries of the list @what of each process, with the function in @functions that each belongs to.
local function each(functions, processes, what)
  return coroutine.wrap(function()
    for _, p in ipairs(processes) do
      for _, of in ipairs(p[what]) do
        local f = functions[key_of(of)]
        if f then coroutine.yield(f, of, p) end
      end
    end
  end)
end

local SAME = 1e-3 -- the rate of one clock, as two processes measure it, differs by far less

--- Calls by duration on a clock whose ticks are @ratio times as long. Between clocks of two machines a call is counted by the
--- middle of its bucket, so that it may come into the one beside its own.
local function on_clock(bucket, ratio)
  if math.abs(ratio - 1) < SAME then return bucket end
  local moved = {}
  for i, n in pairs(bucket) do
    local to = statistics.bucket((statistics.least(i) + statistics.least(i + 1) - 1) / 2 * ratio)
    moved[to] = (moved[to] or 0) + n
  end
  return moved
end

--- Calls by duration of all processes, in ticks of the first's clock.
local function add_durations(functions, processes)
  for f, of, p in each(functions, processes, "durations") do
    f.bucket = f.bucket or {}
    f.tick_ns = f.tick_ns or p.tick_ns
    statistics.add(f.bucket, on_clock(of.bucket, p.tick_ns / f.tick_ns))
  end
  for _, f in ipairs(functions) do
    if f.bucket and f.min_ns and f.tick_ns then f.median_ns = median_of(f, f.tick_ns) end
  end
end

local function add_sums(functions, processes)
  for f, of in each(functions, processes, "sums") do f.events = statistics.add(f.events or {}, of.events) end
end

--- @all: a function's. A NaN is neither the least nor the most where there are numbers.
local function add_value(all, v)
  local of = all[v.value]
  if not of then
    all[v.value] = { count = v.count, sum = v.sum, min = v.min, max = v.max, mean = v.sum / v.count }
    return
  end
  of.count, of.sum = of.count + v.count, statistics.plus(of.sum, v.sum)
  if v.min < of.min or of.min ~= of.min then of.min = v.min end
  if v.max > of.max or of.max ~= of.max then of.max = v.max end
  of.mean = of.sum / of.count
end

local function add_values(functions, processes)
  for f, v in each(functions, processes, "values") do
    f.values = f.values or {}
    add_value(f.values, v)
  end
end

--- The counters of the events, in their order; of those that the compiler counts, where in the modules of all processes.
local function counters_of(processes)
  local stage, names, seen = nil, {}, {}
  for _, p in ipairs(processes) do
    if p.counted then stage = (stage == nil or stage == p.counted) and p.counted or "mixed" end
    for _, event in ipairs(p.events) do
      if not seen[event] then names[#names + 1] = event end
      seen[event] = true
    end
  end
  local counters = {}
  for _, event in ipairs(names) do
    if stage and event:find "^sde:::BYFL::" then
      counters[#counters + 1] = { event = event, counted_by = "compiler", stage = stage }
    end
  end
  return counters
end

---@class pmlua.calls.counter
---@field event string
---@field counted_by string compiler
---@field stage string source, final, or mixed: some modules at source, some at final

---@class pmlua.calls
---@field processes table[]
---@field functions pmlua.calls.function[] by exclusive time, longest first
---@field counters pmlua.calls.counter[] of the events that were not counted by the machine
---@field openmp pmlua.openmp.construct[]

local function constructs(results)
  for _, r in ipairs(results) do
    local p = r.process
    if p and p.openmp and p.openmp[1] then return require "pmlua.internal.record.openmp".of(results) end
  end
  return {}
end

--- All processes of these, by function.
---@param results pmlua.logs.result[]
---@return pmlua.calls
function M.of(results)
  local processes, functions = {}, {}
  for _, r in ipairs(results) do
    processes[#processes + 1] = r.process
    if r.process then sum(functions, r.process.paths) end
  end
  add_durations(functions, processes)
  add_sums(functions, processes)
  add_values(functions, processes)
  for i = #functions, 1, -1 do functions[functions[i].library .. "\0" .. functions[i].name] = nil end
  table.sort(functions, require "pmlua.internal.order".by("-exclusive_ns", "library", "name"))
  return { processes = processes, functions = functions, counters = counters_of(processes),
    openmp = constructs(results) }
end

--- Read the functions of all processes in a folder; nil and the reason.
---@return pmlua.calls?, string? err
function M.read(dir)
  local results = logs.read(dir)
  for _, r in ipairs(results) do
    if r.err then return nil, r.err end
  end
  return M.of(results)
end

return M
