-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/bench.lua - the cost of a function call: as many iterations as the clock needs, without the loop around it.
--
-- Try:  print(pml.bench(function() return ("x"):rep(1000) end))
--
-- A sample is the time of a loop over so many calls that the clock's resolution and cost are negligible. Samples of the same
-- loop over an empty function alternate with these, and their median is subtracted, which leaves the function's body. Both
-- loops store the result of the last call, and the functions are called through a variable, so neither PUC Lua nor a Lua
-- compiler may remove a call.

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local lists = require "pmlua.internal.lists"
local stats = require "pmlua.stats"

---@class pmlua.BenchOptions
---@field seconds? number about how long to measure, 0.5
---@field events? string[] also count these

---@class pml.bench
---@overload fun(f: function, options?: pmlua.BenchOptions): pmlua.Benched?, pmlua.Failure?
local M = {}

local SECONDS, SAMPLES, FEWEST = 0.5, 200, 5
local LEAST_NS = 100000 -- shortest sample: clocks resolve 100 ns or better
local MOST = 1 << 40    -- most iterations

---@class pmlua.Benched
---@field median number ns a call, without the empty loop
---@field low number 95 % interval of the median, of samples of both loops
---@field high number
---@field min number
---@field max number
---@field iterations integer calls in a sample
---@field samples integer
---@field empty number ns that an empty function and the loop take a call; subtracted
---@field values number[] ns a call of each sample, in their order
---@field counts table<string, number>? per call, for each event, without the counts of the empty loop
---@field result any the result of the last call
local Benched = {}
Benched.__index = Benched

local function empty() end

local function loop(f, n)
  local kept
  for _ = 1, n do kept = f() end
  return kept
end

local function timed(f, n)
  local ns = core.clock.ns
  local from = ns()
  local kept = loop(f, n)
  return ns() - from, kept
end

-- The number of iterations that takes this long, found by doubling, which also warms up the function.
local function iterations_for(f, sample_ns)
  local n = 1
  while n < MOST do
    local took = timed(f, n)
    if took >= sample_ns then return n end
    local factor = took > 0 and sample_ns / took or 16
    n = math.min(n * 16, math.max(n + 1, math.ceil(n * factor * 1.1)))
  end
  return n
end

-- One sample: ns, and how much each event counted meanwhile.
local function sample(f, n, set)
  if not set then return timed(f, n) end
  local before = { set:read() }
  local took, kept = timed(f, n)
  local counts = { set:read() }
  for i, v in ipairs(counts) do counts[i] = v - before[i] end
  return took, kept, counts
end

local function per_call(list, n)
  return lists.map(list, function(v) return v / n end)
end

-- Medians of what each event counted, per call, less the empty loop's.
local function counts_of(events, full, bare, n)
  local out = {}
  for k, name in ipairs(events) do
    local function median_of(list)
      local values = lists.map(list, function(counts) return counts[k] end)
      return stats.median(values)
    end
    out[name] = (median_of(full) - median_of(bare)) / n
  end
  return out
end

-- The samples by turns, until the time is over.
local function measure(f, n, seconds, set)
  local taken = { full = {}, bare = {}, full_counts = {}, bare_counts = {} }
  local function take(function_, where)
    local ns, kept, counts = sample(function_, n, set)
    table.insert(taken[where], ns)
    table.insert(taken[where .. "_counts"], counts)
    return kept
  end
  local stop = core.clock.ns() + seconds * 1e9
  repeat
    take(empty, "bare")
    taken.result = take(f, "full")
  until #taken.full >= FEWEST and core.clock.ns() >= stop
  return taken
end

-- Interval of the difference of two medians, from the interval of each: G. Y. Zou & A. Donner, Construction of confidence
-- limits about effect measures, Statistics in Medicine 27 (2008).
local function interval(full, bare)
  local f, b = stats.median(full), stats.median(bare)
  local f_low, f_high = stats.rounds_interval(full)
  local b_low, b_high = stats.rounds_interval(bare)
  local low = f - b - math.sqrt((f - f_low) ^ 2 + (b_high - b) ^ 2)
  return math.max(low, math.min(f - b, 0)), f - b + math.sqrt((f_high - f) ^ 2 + (b - b_low) ^ 2)
end

local function checked(f, options)
  local callable = type(f) == "function" or getmetatable(f) and getmetatable(f).__call
  if not callable then error(("bench: a function expected, got a %s"):format(type(f)), 3) end
  for key, value in pairs(options) do
    if key ~= "seconds" and key ~= "events" then
      error("bench: " .. fields.sentence(key, { "seconds", "events" }, "option"), 3)
    end
    if key == "seconds" and not (type(value) == "number" and value > 0 and value < math.huge) then
      error("bench: option seconds must be a positive number", 3)
    end
  end
end

local function summarised(taken, n, events)
  local full, bare = per_call(taken.full, n), per_call(taken.bare, n)
  local r = setmetatable({ iterations = n, samples = #full, empty = stats.median(bare), values = {}, result = taken.result },
    Benched)
  for i, v in ipairs(full) do r.values[i] = v - r.empty end
  local all = stats.tally(r.values)
  r.median, r.min, r.max = all:quantile(0.5), all:quantile(0), all:quantile(1)
  r.low, r.high = interval(full, bare)
  if events then r.counts = counts_of(events, taken.full_counts, taken.bare_counts, n) end
  return r
end

--- Measure what a call of a function costs. An error of the function is raised.
---@param f function called without arguments, very often
---@param options? pmlua.BenchOptions
---@return pmlua.Benched? result, pmlua.Failure? failure an event that cannot be counted
function M.run(f, options)
  options = options or {}
  checked(f, options)
  local seconds, set = options.seconds or SECONDS, nil
  if options.events then
    local opened, err = core.eventset.open(options.events)
    if not opened then return nil, err end
    set = opened
    set:start()
  end
  local closing <close> = set -- luacheck: ignore 211
  collectgarbage()
  local n = iterations_for(f, math.max(LEAST_NS, 1e9 * seconds / SAMPLES / 2))
  return summarised(measure(f, n, seconds, set), n, options.events)
end

local units = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } }

local function unit_for(ns)
  for _, u in ipairs(units) do
    if math.abs(ns) >= u[1] then return table.unpack(u) end
  end
  return 1, "ns"
end

--- "12.34 ns a call (95 %: 12.30 .. 12.41), 50 samples of 8192 calls, less 21.50 ns of the empty loop"
function Benched:__tostring()
  local number = require "pmlua.tabulate".number
  local divisor, unit = unit_for(self.median)
  local text = ("%s %s a call (95 %%: %s .. %s), %d samples of %d calls, less %s ns of the empty loop"):format(
    number(self.median / divisor), unit, number(self.low / divisor), number(self.high / divisor), self.samples,
    self.iterations, number(self.empty))
  local names = require "pmlua.internal.keys"(self.counts or {})
  for _, name in ipairs(names) do text = ("%s; %s %s"):format(text, name, number(self.counts[name])) end
  return text
end

return setmetatable(M, { __call = function(_, ...) return M.run(...) end })
