-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/functions.lua - what recorded processes left in a folder: their call paths, and all of them
-- by function.
--
-- Try:  for _, f in ipairs(require("pmlua.internal.record.functions").read("calls").functions) do print(f.library,
--       f.name, f.calls) end

local statistics = require("pmlua.core").statistics

local M = {}

---@class pmlua.calls.function
---@field library string
---@field name string
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
---@field calls integer that began
---@field unreturned integer that did not return
---@field threads integer
---@field inclusive_ns number
---@field exclusive_ns number
---@field min_ns number
---@field max_ns number

local figures = { "depth", "calls", "unreturned", "threads", "inclusive_ns", "exclusive_ns", "min_ns", "max_ns" }

-- What is added up, and what a process says of itself as a number.
local amounts = { "pid", "parent", "objects", "scans", "functions", "slots", "shared", "deep", "nested", "threads", "unmatched",
  "dropped", "abandoned", "left_lost_children", "left_deep", "left_brief", "left_often", "untraced", "confined" }
local MOST <const> = 1 << 53 -- calls: more than any machine makes in a year
local BUCKETS <const> = 496  -- pml_histogram.h

--- A whole number that can be one of calls.
local function is_count(v) return math.type(v) == "integer" and v >= 0 and v <= MOST end

--- A time that can be one: not infinite, nor negative.
local function is_time(v) return v and v >= 0 and v < math.huge end

--- Why these figures cannot be those of calls; nil: they can.
local function implausible(p, deepest)
  for _, what in ipairs { "depth", "calls", "unreturned", "threads" } do
    if not is_count(p[what]) then return what .. " is no count" end
  end
  for _, what in ipairs { "inclusive_ns", "exclusive_ns", "min_ns", "max_ns" } do
    if not is_time(p[what]) then return what .. " is no time" end
  end
  if p.depth > deepest then return "a call path has no caller" end
  if p.unreturned > p.calls then return "more calls did not return than began" end
  -- times are rounded to whole ns, each by itself
  if p.min_ns > p.max_ns or p.max_ns > p.inclusive_ns + 1 then return "a call took longer than all of them" end
  if p.exclusive_ns > p.inclusive_ns + 1 then return "a part of the time is longer than the whole" end
end

local function path_of(line)
  local fields = {}
  for field in (line .. "\t"):gmatch("(.-)\t") do fields[#fields + 1] = field end
  if #fields < #figures + 3 then return nil end
  local path = { library = fields[#figures + 2], name = fields[#figures + 3] }
  for i, figure in ipairs(figures) do
    path[figure] = math.tointeger(tonumber(fields[i + 1])) or tonumber(fields[i + 1])
    if not path[figure] then return nil end
  end
  return path
end

--- { library, name, count, min_ns, median_ns, max_ns, bucket }; nil: it is no such line.
local function function_of(line)
  local count, min, median, max, library, name, buckets = line:match(
    "^function\t(%d+)\t(%d+)\t(%d+)\t(%d+)\t([^\t]*)\t([^\t]*)\t([%d: ]*)$")
  if not count then return nil end
  local f = { library = library, name = name, count = math.tointeger(count), bucket = {},
    min_ns = tonumber(min), median_ns = tonumber(median), max_ns = tonumber(max) }
  local sum = 0
  for i, n in buckets:gmatch("(%d+):(%d+)") do
    i, n = math.tointeger(i), math.tointeger(n)
    if not is_count(n) or not i or i >= BUCKETS or f.bucket[i] then return nil end
    f.bucket[i] = n
    sum = sum + n
  end
  if sum ~= f.count or not is_count(sum) or f.min_ns > f.max_ns then return nil end
  return f
end

local special = { nan = 0 / 0, ["-nan"] = 0 / 0, inf = math.huge, ["-inf"] = -math.huge }

--- As a spool's process wrote it; nil: it is no number.
local function number_of(text) return math.tointeger(tonumber(text)) or tonumber(text) or special[text] end

--- { library, name, value, count, sum, min, max }; nil: it is no such line.
local function value_of(line)
  local library, name, value, count, sum, min, max = line:match(
    "^values\t([^\t]*)\t([^\t]*)\t([^\t]+)\t(%d+)\t([^\t]+)\t([^\t]+)\t([^\t]+)$")
  local v = library and { library = library, name = name, value = value, count = math.tointeger(tonumber(count)),
    sum = number_of(sum), min = number_of(min), max = number_of(max) }
  if not v or not is_count(v.count) or v.count == 0 or not (v.sum and v.min and v.max) or v.min > v.max then return nil end
  return v
end

--- The sums of a function by event; nil: it is no such line.
local function sums_of(line, events)
  local library, name, values = line:match("^sums\t([^\t]*)\t([^\t]*)\t(.*)$")
  if not library then return nil end
  local sums, i = { library = library, name = name, events = {} }, 0
  for text in values:gmatch("[^\t]+") do
    i = i + 1
    local v = number_of(text)
    if not v or not events[i] then return nil end
    sums.events[events[i]] = v
  end
  return sums
end

--- "libnone\tlibz,libm" of a line unmatched_lib: a pattern that matched nothing, and names near to it.
local function unmatched(option, value)
  local pattern, nearest = value:match("^([^\t]*)\t?(.*)$")
  return { option = option, pattern = pattern, nearest = nearest }
end

--- What the head says as numbers are numbers; nil and which one is not.
local function check_head(p)
  for _, what in ipairs(amounts) do
    if p[what] ~= nil and not is_count(p[what]) then return nil, what .. " is no count" end
  end
  if p.tick_ns ~= nil and not (type(p.tick_ns) == "number" and p.tick_ns > 0 and p.tick_ns < 1e9) then
    return nil, "tick_ns is no time"
  end
  return true
end

--- One process: its head's fields, paths, and whether the file is whole; nil and why.
local function process(file)
  local f <close>, err = require("pmlua.internal.file").open(file)
  if not f then return nil, err end
  local number, deepest = 0, 0
  local function damaged(why)
    return nil, ("%s:%d: damaged: %s"):format(file, number, why or "not what a recorded process writes")
  end
  local p = { paths = {}, durations = {}, events = {}, sums = {}, values = {}, unmatched_patterns = {}, troubles = {},
    absent = {}, units = {}, whole = false }
  local own = {}
  for name in pairs(p) do own[name] = true end
  for line in f:lines() do
    number = number + 1
    local key, value = line:match("^([a-z_]+)\t(.*)$")
    if line == "end" then p.whole = true
    elseif key == "call" then
      local path = path_of(line)
      local why = path and implausible(path, deepest)
      if not path or why then return damaged(why) end
      deepest = path.depth + 1
      p.paths[#p.paths + 1] = path
    elseif key == "function" then
      local of = function_of(line)
      if not of then return damaged() end
      p.durations[#p.durations + 1] = of
    elseif key == "event" then p.events[#p.events + 1] = value
    elseif key == "sums" then
      local sums = sums_of(line, p.events)
      if not sums then return damaged() end
      p.sums[#p.sums + 1] = sums
    elseif key == "values" then
      local v = value_of(line)
      if not v then return damaged() end
      p.values[#p.values + 1] = v
    elseif key == "absent" then p.absent[value] = true
    elseif key == "trouble" then p.troubles[#p.troubles + 1] = value
    elseif key == "unit" then
      local event, scale, unit = value:match("^([^\t]*)\t([^\t]*)\t%d+\t%d\t%-?%d+\t%w+\t(.*)$")
      if event then p.units[event] = { scale = tonumber(scale) or 1, unit = unit } end
    elseif key and key:find("^unmatched_") then
      table.insert(p.unmatched_patterns, unmatched(key:sub(#"unmatched_" + 1), value))
    elseif own[key] then return damaged()
    elseif key == "tick_ns" then p.tick_ns = tonumber(value) or value
    elseif key then p[key] = math.tointeger(tonumber(value)) or value
    end
  end
  local fine, why = check_head(p)
  if not fine then return damaged(why) end
  return p
end

local function add(functions, path, outermost)
  local key = path.library .. "\0" .. path.name
  local f = functions[key]
  if not f then
    f = { library = path.library, name = path.name, calls = 0, unreturned = 0, inclusive_ns = 0, exclusive_ns = 0, max_ns = 0 }
    functions[key] = f
    functions[#functions + 1] = f
  end
  f.calls, f.unreturned = f.calls + path.calls, f.unreturned + path.unreturned
  f.exclusive_ns = f.exclusive_ns + path.exclusive_ns
  if outermost then f.inclusive_ns = f.inclusive_ns + path.inclusive_ns end
  if path.calls > path.unreturned then
    f.min_ns = math.min(f.min_ns or math.huge, path.min_ns)
    f.max_ns = math.max(f.max_ns, path.max_ns)
  end
end

--- Time in a function called by itself, however far down, is in the outer call already.
local function sum(functions, paths)
  local above = {}
  for _, path in ipairs(paths) do
    local outermost = true
    for depth = 0, path.depth - 1 do
      local a = above[depth]
      if a.library == path.library and a.name == path.name then outermost = false end
    end
    above[path.depth] = path
    add(functions, path, outermost)
  end
end

--- The least duration in a bucket (core/record/pml_histogram.h).
---@param i integer
---@param tick_ns number
function M.bucket_ns(i, tick_ns)
  return tick_ns * statistics.least(i)
end

--- Good to half a bucket, some 6 %.
local function median_of(f, tick_ns)
  local ticks = statistics.histogram_quantile(f.bucket, 0.5)
  return ticks and math.max(f.min_ns, math.min(tick_ns * ticks, f.max_ns))
end

--- What each process says of functions in the list @what, with the function in @functions that it is of.
local function each(functions, processes, what)
  return coroutine.wrap(function()
    for _, p in ipairs(processes) do
      for _, of in ipairs(p[what]) do
        local f = functions[of.library .. "\0" .. of.name]
        if f then coroutine.yield(f, of, p) end
      end
    end
  end)
end

--- Calls by duration of all processes; the clock is the same for all, as they ran on one machine.
local function add_durations(functions, processes)
  for f, of, p in each(functions, processes, "durations") do
    f.bucket = f.bucket or {}
    statistics.add(f.bucket, of.bucket)
    f.tick_ns = p.tick_ns
  end
  for _, f in ipairs(functions) do
    if f.bucket and f.min_ns and f.tick_ns then f.median_ns = median_of(f, f.tick_ns) end
  end
end

local function add_sums(functions, processes)
  for f, of in each(functions, processes, "sums") do
    f.events = statistics.add(f.events or {}, of.events)
  end
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

--- Who counted the events, in their order; of those that the compiler counts, where in the modules of all processes.
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

local function by_time(a, b)
  if a.exclusive_ns ~= b.exclusive_ns then return a.exclusive_ns > b.exclusive_ns end
  return a.library .. a.name < b.library .. b.name
end

---@class pmlua.calls.counter
---@field event string
---@field counted_by string compiler
---@field stage string source, final, or mixed: some modules at source, some at final

---@class pmlua.calls
---@field processes table[]
---@field functions pmlua.calls.function[] by exclusive time, longest first
---@field counters pmlua.calls.counter[] of the events that were not counted by the machine

--- What all processes of a folder left; nil and why.
---@param dir string
---@return pmlua.calls?
---@return string? err
function M.read(dir)
  local lfs = require "lfs"
  local files, processes, functions = {}, {}, {}
  for name in lfs.dir(dir) do
    if name:find("%.calls$") then files[#files + 1] = name end
  end
  table.sort(files)
  for i, name in ipairs(files) do
    local p, err = process(dir .. "/" .. name)
    if not p then return nil, err end
    processes[i] = p
    sum(functions, p.paths)
  end
  add_durations(functions, processes)
  add_sums(functions, processes)
  add_values(functions, processes)
  for i = #functions, 1, -1 do functions[functions[i].library .. "\0" .. functions[i].name] = nil end
  table.sort(functions, by_time)
  return { processes = processes, functions = functions, counters = counters_of(processes) }
end

return M
