-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/multiplex/lab.lua - phases of much and of little, counted by one event and by many that take turns.
--
-- Try:  local lab = assert(require("multiplex.lab").new { event = "branches:u" })
--       lab.seconds = 0.05; print(lab:measure({ events = 8, phase = 1000 }, 1)[1])

local pml = require "pmlua"

local M = {}

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
function M.new(options)
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

return M
