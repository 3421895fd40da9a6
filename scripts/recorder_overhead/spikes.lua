-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/recorder_overhead/spikes.lua - find spikes, their places and their causes.
--
-- Try:  head results/recorder_overhead/latest/spikes.dat
--
-- A spike is a push that takes more than 10 times the median of its cell and more than 1 us. Its cause is the first that
-- applies:
--   preempted  the kernel took the thread off the cpu during the push
--   waited     the thread gave up the cpu, for a lock
--   grew       the push takes memory from the allocator, as the separate run shows
--   page       the kernel gave the thread a page during the push: it touched memory for the first time
--   repeats    more than half of the rounds have a spike at this push of this thread
--   machine    none of these: an interrupt, or something below the kernel
--   unknown    none of these, but threads compete for libsde's lock and may share its array, which then grows at no fixed
--              place; or there are too few rounds to see repetitions

local measure = require "recorder_overhead.measure"

local M = {}

--- A spike is longer than this many medians.
M.medians = 10
M.causes = { "grew", "page", "repeats", "waited", "preempted", "machine", "unknown" }

local least_rounds = 3 -- with fewer nothing repeats

--- The duration that spikes of the cell exceed, in ns.
function M.bound(cell) return math.max(M.medians * cell.summary.median, measure.least_spike_ns) end

--- Every spike of a cell, in the order of measuring: round, thread, index (of the push, from 0), value in the run's unit.
---@return {round: integer, thread: integer, index: integer, value: number}[]
function M.of(run, cell)
  local bound, out = M.bound(cell), {}
  for _, r in ipairs(cell.rounds) do
    for _, c in ipairs(r.extra.candidates) do
      local value = c.ticks * run.scale
      if value > bound then
        out[#out + 1] = {
          round = r.round, thread = c.thread, index = c.index, value = value, seen = c.seen, pushes = r.extra.pushes,
        }
      end
    end
  end
  return out
end

-- On many machines the clock steps by 10 ns or more, and so does a median; a mean is finer. It leaves spikes out.
local function mean_without_spikes(run, cell)
  local sum, before, bound = 0.0, 0, M.bound(cell)
  for i, v in ipairs(cell.tally.value) do
    if v * run.scale > bound then break end
    sum = sum + v * run.scale * (cell.tally.upto[i] - before)
    before = cell.tally.upto[i]
  end
  return sum / before
end

--- The mean duration of a push without spikes, and that less the floor with as many threads (nil for the floor).
---@return number? typical, number? net
function M.typical(run, cell)
  if not cell.summary then return nil end
  local mean = mean_without_spikes(run, cell)
  for _, c in ipairs(run.cells) do
    if c.p.library == "none" and c ~= cell and c.p.threads == cell.p.threads and c.summary and cell.p.library ~= "none" then
      return mean, mean - mean_without_spikes(run, c)
    end
  end
  return mean
end

local function place(s) return s.thread << 32 | s.index end

local function rounds_by_place(all)
  local out = {}
  for _, s in ipairs(all) do out[place(s)] = (out[place(s)] or 0) + 1 end
  return out
end

local function cause(s, rounds, growth, shared)
  local seen = s.seen or { faults = 0, waits = 0, preemptions = 0 }
  if seen.preemptions > 0 then return "preempted" end
  if seen.waits > 0 then return "waited" end
  if growth and growth[s.index] then return "grew" end
  if seen.faults > 0 then return "page" end
  if rounds < least_rounds then return "unknown" end
  if s.rounds > rounds / 2 then return "repeats" end
  return (shared or not s.seen) and "unknown" or "machine"
end

--- The spikes of a cell, each with its cause and the number of rounds that have one at the same place.
---@param lab recorder_overhead.Measure
---@return table[] spikes, integer places threads' pushes that have a spike in more than half of the rounds
function M.locate(run, lab, cell)
  local all, rounds = M.of(run, cell), #cell.rounds
  local count, places = rounds_by_place(all), 0
  local shared = cell.p.library == "libsde" and cell.p.threads > 1
  for _, n in pairs(count) do
    if rounds >= least_rounds and n > rounds / 2 then places = places + 1 end
  end
  for _, s in ipairs(all) do
    s.rounds = count[place(s)]
    s.cause = cause(s, rounds, lab:growth(cell.p, s.pushes), shared)
  end
  return all, places
end

return M
