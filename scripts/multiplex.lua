-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/multiplex.lua - how wrong a scaled count is, by the number of events and the length of the program's phases.
--
-- Try:  pmlua scripts/multiplex.lua --quick --model 4
--
-- More events than counters take turns, and each count is scaled by the share of the time that it was counted. A program
-- whose phases are about as long as the turns is then counted wrong. The truth is the same work with one event.

local pml = require "pmlua"
local model = require "multiplex.model"

-- --- phases of high and low activity, counted by one event and by many that take turns ---

local Lab = {}
Lab.__index = Lab

local MUCH, LITTLE = "chain", "walk" -- a branch in some 8 cycles; one in the time of a cache miss
local TRIAL = 20000 -- rounds

-- ns of a round
local function pace(loop)
  local best = math.huge
  for _ = 1, 5 do
    local from = pml.clock.ns()
    assert(pml.counter.exercise(loop, TRIAL))
    best = math.min(best, (pml.clock.ns() - from) / TRIAL)
  end
  return best
end

---@param options { event: string }
---@return table? lab, string? err
local function new_lab(options)
  local has, why = pml.event.has_pmu()
  if not has then
    return nil, ("nothing is multiplexed here: %s; --model COUNTERS simulates it"):format(why or "no hardware PMU")
  end
  local counter <close>, err = pml.counter.open(options.event)
  if not counter then return nil, err:sentence() end
  return setmetatable({ event = options.event, pace = { [MUCH] = pace(MUCH), [LITTLE] = pace(LITTLE) }, truths = {} }, Lab)
end

-- Phases by turns, for about the seconds of a sample: the same rounds each time.
function Lab:work(phase)
  local times = math.max(1, math.floor(self.seconds * 1e6 / (2 * phase) + 0.5))
  local much = math.max(1, math.floor(phase * 1000 / self.pace[MUCH]))
  local little = math.max(1, math.floor(phase * 1000 / self.pace[LITTLE]))
  for _ = 1, times do
    pml.counter.exercise(MUCH, much)
    pml.counter.exercise(LITTLE, little)
  end
end

-- Counts of n counters, each opened by itself.
function Lab:count(n, phase)
  local counters = {}
  for i = 1, n do
    local counter, err = pml.counter.open(self.event, { no_page = true })
    if not counter then
      for _, c in ipairs(counters) do c:close() end
      return nil, err:sentence()
    end
    counters[i] = counter
  end
  local before, out = {}, {}
  for i, c in ipairs(counters) do before[i] = { c:read() } end
  self:work(phase)
  for i, c in ipairs(counters) do
    local raw, enabled, running = c:read()
    out[i] = { raw = raw - before[i][1], enabled = enabled - before[i][2], running = running - before[i][3] }
    c:close()
  end
  return out
end

function Lab:truth(phase)
  local of = self.truths[phase]
  if of then return of end
  local counts, err = self:count(1, phase)
  if not counts then return nil, err end
  local one = counts[1]
  if one.running < one.enabled then return nil, "another program has the counters: one event alone was multiplexed" end
  self.truths[phase] = one.raw
  return one.raw
end

---@param p { events: integer, phase: integer } phase in us
---@param n integer samples
---@return number[]? percent, table|string about worst, running; or why not
function Lab:measure(p, n)
  local truth, err = self:truth(p.phase)
  if not truth then return nil, err end
  local out, worst, share = {}, 0, 0
  while #out < n do
    local counts
    counts, err = self:count(p.events, p.phase)
    if not counts then return nil, err end
    for _, c in ipairs(counts) do
      if #out == n then break end
      -- an event whose turn never came has no count to scale: all of it is missing
      local scaled = c.running > 0 and c.raw * c.enabled / c.running or 0
      out[#out + 1] = 100 * (scaled / truth - 1)
      worst, share = math.max(worst, math.abs(out[#out])), share + 100 * c.running / c.enabled
    end
  end
  return out, { worst = worst, running = share / #out }
end

local lab

local function prepare(options)
  lab = options.model and model.new { counters = options.model, turn_us = options.turn }
    or assert(new_lab { event = options.event })
  lab.seconds = options.milliseconds / 1000
  return { { "events", { 1, 2, 4, 6, 8, 12, 16, 24 } }, { "phase", { 300, 1300, 4700, 17000, 70000 } } }
end

return pml.experiment {
  name = "multiplex",
  description = [[
Error of scaled counts by the number of events that take turns on the counters, and by the length of the phases in which the
program counts much and little. A sample is a scaled count over the true one, less 1. With --model the turns, the phases and
the counts are a simulation, computed by arithmetic, not measured.]],
  factors = prepare,
  help = { events = "number of open events", phase = "length of a phase of high or low activity" },
  units = { phase = "us" },
  unit = "%",
  repeats = 60,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 10, rounds = 1, milliseconds = 50 },
  options = {
    { name = "event", metavar = "NAME", default = "branches:u", help = "the event that is opened several times" },
    { name = "milliseconds", type = "integer", metavar = "MS", min = 1, default = 200, help = "that a sample takes" },
    { name = "model", type = "integer", metavar = "COUNTERS", min = 1,
      help = "simulate a processor with so many counters instead of measuring this one" },
    { name = "turn", type = "integer", metavar = "US", min = 1, default = 4000,
      help = "of the model: after which counters change" },
  },
  examples = { "pmlua scripts/multiplex.lua --quick", "pmlua scripts/multiplex.lua --model 4 --turn 1000" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  metrics = {
    { name = "worst", unit = "%", description = "largest error of a round, either way" },
    { name = "running", unit = "%", description = "share of the time that an event was counted" },
  },
  analyse = function(run)
    if lab.simulated then run:warn(lab.simulated) end
  end,
  plot = "multiplex",
}
