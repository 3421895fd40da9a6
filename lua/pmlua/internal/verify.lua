-- SPDX-License-Identifier: BSD-3-Clause
--- Counters against loops whose events are known: which of them count, and which count something else.
--
--     pmlua doctor --verify
--
-- A loop runs for n rounds and for 2 n: the difference is the count of n rounds, without the overhead around the loop. The median
-- of several tries counts. Wrong events are stored for this machine, so that later results can be marked.

local core = require "pmlua.core"
local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"
local state = require "pmlua.internal.state"

local M = {}

local FILE = "counters.json"
local TRIES = 5

-- An event, the loop and its rounds, how often a round raises it, and how far the count may be from that.
local KNOWN = {
  { "page-faults", "touch", 2000, 1, 0.01 },
  { "minor-faults", "touch", 2000, 1, 0.01 },
  { "context-switches", "sleep", 20, 1, 0.5 },
  { "task-clock", "chain", 4000000, "cpu time", 0.1 },
  { "cpu-clock", "chain", 4000000, "cpu time", 0.1 },
  { "msr/tsc/", "chain", 4000000, "cpu ticks", 0.2 },
  { "instructions:u", "chain", 1000000, 10, 0.001 },
  { "branches:u", "chain", 1000000, 1, 0.001 },
  { "cycles:u", "chain", 1000000, 8, 0.05 },
  { "branch-misses:u", "random", 1000000, 0.5, 0.2 },
  { "L1-dcache-loads:u", "copy", 1000000, 1, 0.05 },
  { "L1-dcache-stores:u", "copy", 1000000, 1, 0.05 },
  { "L1-dcache-load-misses:u", "walk", 1000000, 1, 0.3 },
  { "cache-misses:u", "walk", 1000000, 1, 0.5 },
}

-- Floating-point operations have no generic name: those that this processor has, of a loop of additions and multiplications.
local FLOPS = {
  { "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE:u", 2 },
  { "RETIRED_SSE_AVX_FLOPS:ANY:u", 2 },
  { "VFP_SPEC:u", 2 },
}

local GROUP_MOST = 16
local GROUP_EVENTS = { "branches:u", "instructions:u", "cycles:u" } -- first those without a fixed counter

-- ---- one event ----

local truth = {}

--- The time that passes while a function runs, in the event's unit.
truth["cpu time"] = function(run)
  local before = os.clock()
  run()
  return (os.clock() - before) * 1e9
end

truth["cpu ticks"] = function(run)
  return truth["cpu time"](run) * core.clock.rate() / 1e9
end

--- The count of a counter while a function runs; nil if it was multiplexed with others.
local function counted(counter, run)
  local before, enabled, running = assert(counter:read())
  run()
  local after, enabled_then, running_then = assert(counter:read())
  if running_then - running < enabled_then - enabled then return nil end
  return after - before
end

--- Run one try; return the expected and the measured count.
local function try(counter, loop, rounds, per)
  local function times(n) return function() assert(core.counter.exercise(loop, n)) end end
  if truth[per] then
    local count
    local expected = truth[per](function() count = counted(counter, times(rounds)) end)
    return expected, count
  end
  local once, twice = counted(counter, times(rounds)), counted(counter, times(2 * rounds))
  return rounds * per, once and twice and twice - once
end

local function middle(tries)
  table.sort(tries, function(a, b) return a.ratio < b.ratio end)
  return tries[#tries // 2 + 1]
end

--- One event against its loop.
---@return { event: string, loop: string, expected: number?, counted: integer?, ratio: number?, verdict: string, reason: string? }
local function examine(name, loop, rounds, per, within)
  local row = { event = name, loop = loop, verdict = "not counted" }
  local counter <close>, err = core.counter.open(name)
  if not counter then
    local text = err.text or err:sentence()
    row.reason = text:sub(1, #name + 2) == name .. ": " and text:sub(#name + 3) or text
    return row
  end
  if per == "cpu ticks" and core.clock.info().name ~= "tsc" then
    row.reason = "the clock to compare it with is another"
    return row
  end
  local tries = {}
  for _ = 1, TRIES do
    local expected, count = try(counter, loop, rounds, per)
    if count then tries[#tries + 1] = { expected = expected, counted = count, ratio = count / expected } end
  end
  local best = middle(tries)
  if not best then
    row.reason = "others use the counter: it was multiplexed"
    return row
  end
  row.expected, row.counted, row.ratio = math.floor(best.expected + 0.5), best.counted, best.ratio
  row.verdict = math.abs(best.ratio - 1) <= within and "right" or "wrong"
  return row
end

--- Every event against its loop.
---@return table[] rows
function M.events()
  local rows = lists.map(KNOWN, function(known) return examine(table.unpack(known)) end)
  if not core.event.has_pmu() then return rows end
  for _, f in ipairs(FLOPS) do
    local event = core.event.parse(f[1])
    if event and event.parts[1].here then rows[#rows + 1] = examine(f[1], "flops", 1000000, f[2], 0.001) end
  end
  return rows
end

-- ---- counters at the same time ----

--- Whether all members of a group of the same event measure the expected count.
local function count_together(n, event, loop, rounds, per, within)
  local names = {}
  for i = 1, n do names[i] = event end
  local group <close>, err = core.group.open(names)
  if not group then return nil, err:sentence() end
  local before = assert(group:read())
  assert(core.counter.exercise(loop, rounds))
  local after = assert(group:read())
  for i = 1, n do
    local count = after[i].raw - before[i].raw
    if after[i].running_ns < after[i].enabled_ns or math.abs(count / (rounds * per) - 1) > within then
      return nil, ("number %d of %d counted %d of %d"):format(i, n, count, rounds * per)
    end
  end
  return true
end

--- An event of the processor that one counter counts right.
---@param rows table[] of events()
---@return string? event
function M.sound(rows)
  local verdicts = {}
  for _, row in ipairs(rows) do verdicts[row.event] = row.verdict end
  return lists.find(GROUP_EVENTS, function(event) return verdicts[event] == "right" end)
end

--- How many counters of the processor count at the same time: opened and tried, one more each time; some read 0 beyond a few.
---@param event string one of those that are known
---@return integer n, string? why not more
function M.together(event)
  local known
  for _, k in ipairs(KNOWN) do
    if k[1] == event then known = k end
  end
  for n = 1, GROUP_MOST do
    local all, why = count_together(n, table.unpack(known))
    if not all then return n - 1, why end
  end
  return GROUP_MOST
end

-- ---- stored results ----

local function machine()
  local m = require("pmlua.internal.experiment.provenance").machine()
  return { cpu = m.cpu, microcode = m.microcode, virtual = m.virtual, kernel = core.sys.uname().release }
end

local function bare(event) return (event:gsub(":[%a]+$", "")) end

--- Keep which events are wrong.
---@param rows table[] of events()
---@param counters? integer how many counted at the same time
---@return string? path, string? err
function M.keep(rows, counters)
  local path = state.path(FILE)
  if not path then return nil, "neither HOME nor XDG_STATE_HOME is set" end
  local wrong = {}
  for _, row in ipairs(rows) do
    if row.verdict == "wrong" then wrong[bare(row.event)] = row.ratio end
  end
  local made, err = core.sys.private_file(path)
  if not made then return nil, err:sentence() end
  local f <close>, why = io.open(path, "w")
  if not f then return nil, why end
  f:write(json.encode { machine = machine(), wrong = wrong, counters = counters })
  return path
end

local function same(a, b)
  if type(a) ~= "table" then return false end
  for key, value in pairs(b) do
    if a[key] ~= value then return false end
  end
  return true
end

local kept -- the stored results of this machine, read once: { wrong =, counters = }

local function recall()
  if kept then return kept end
  kept = { wrong = {} }
  local path = state.path(FILE)
  local f <close> = path and io.open(path)
  local text = f and f:read(65536)
  local done, found = pcall(json.decode, text or "")
  if not done or type(found) ~= "table" or type(found.wrong) ~= "table" or not same(found.machine, machine()) then return kept end
  for event, ratio in pairs(found.wrong) do
    if type(event) == "string" and type(ratio) == "number" then kept.wrong[event] = ratio end
  end
  local n = math.tointeger(found.counters)
  kept.counters = n and n > 0 and n <= GROUP_MOST and n or nil
  return kept
end

--- The events that `pmlua doctor --verify` found wrong on this machine, and what part of the truth each counts.
---@return table<string, number>
function M.wrong() return recall().wrong end

--- How many counters `pmlua doctor --verify` found to count at the same time on this machine; nil if it never ran here.
---@return integer?
function M.counters() return recall().counters end

--- The names of wrong events; nil without any.
---@return string[]?
function M.names()
  local names = require "pmlua.internal.keys"(M.wrong())
  return #names > 0 and json.array(names) or nil
end

-- The kernel's encoding of an event, which aliases share; nil: not a single kernel event, or unknown here.
local function asked(name)
  local event = core.event.parse(name)
  local part = event and #event.parts == 1 and event.parts[1]
  return part and part.type and ("%s %s %s %s"):format(part.type, part.config, part.config1, part.config2)
end

local aliases -- the kernel's encoding -> ratio

local function ratio_of(event)
  local wrong = M.wrong()
  if next(wrong) == nil then return nil end
  if wrong[bare(event)] then return wrong[bare(event)] end
  if not aliases then
    aliases = {}
    for name, ratio in pairs(wrong) do aliases[asked(name) or name] = ratio end
  end
  local key = asked(event)
  return key and aliases[key]
end

--- A remark on an event that is wrong on this machine, by any of its names; nil for others.
---@return string?
function M.remark(event)
  local ratio = ratio_of(event)
  return ratio and ("wrong here: counts %.3g %% of what is known (pmlua doctor --verify)"):format(100 * ratio)
end

--- The remarks on the wrong ones of some events, with their names, without duplicates.
function M.remarks(events)
  local out, seen = {}, {}
  for _, event in ipairs(events) do
    local remark = not seen[event] and M.remark(event)
    if remark then out[#out + 1] = event .. ": " .. remark end
    seen[event] = true
  end
  return out
end

return M
