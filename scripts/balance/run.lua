-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/balance/run.lua - the cells of the experiment: simulated ranks with and without the controller, and real threads.
--
-- Try:  pmlua scripts/balance.lua --quick --no-plot

local platform = require "balance.platform"
local median = require("pmlua.stats").median

local M = {}
M.__index = M

local giga = 1e9

--- @param options table of the experiment
function M.new(pml, options)
  return setmetatable({ pml = pml, options = options, rounds = {}, course = {}, shares = {} }, M)
end

local function key(p) return ("%s %s %g %g"):format(p.platform, p.balanced, p.delta, p.noise) end

-- Each round has its own noise; cells with the same round and noise level share it.
function M:seed(p)
  self.rounds[key(p)] = (self.rounds[key(p)] or 0) + 1
  return self.options.noise_seed + 1000003 * self.rounds[key(p)] + math.floor(p.noise * 1000)
end

-- --- simulated ---

local function controllers(self, p, simulated)
  local list = {}
  for i = 1, simulated.ranks do
    list[i] = self.pml.balance.controller { reference = simulated.reference, min = simulated.min,
      delta = p.delta / 100 * simulated.reference }
  end
  return list
end

-- Keep the first round for the figure: each rank's frequency, iteration by iteration.
function M:keep_course(p, iteration, simulated, done)
  if self.rounds[key(p)] > 1 or p.balanced == "no" then return end
  for rank = 1, simulated.ranks do
    table.insert(self.course, { p.delta, p.noise, rank, iteration, simulated.hz[rank] / giga,
      100 * done.compute[rank] / done.seconds })
  end
end

--- n iterations; at three fifths of them the load is reversed.
function M:simulate(p, n)
  local o = self.options
  local simulated = platform.new { ranks = o.ranks, least = o.least / 100, bound = o.bound / 100, noise = p.noise / 100,
    seed = self:seed(p), reference = o.reference * giga, min = o.min * giga }
  local list, samples, sum = controllers(self, p, simulated), {}, { joules = 0, seconds = 0, changes = 0, computed = 0 }
  for i = 1, n do
    if i == n * 3 // 5 + 1 then simulated:reverse() end
    local done = simulated:iterate()
    self:keep_course(p, i, simulated, done)
    samples[i] = done.seconds * 1e3
    sum.joules, sum.seconds = sum.joules + done.joules, sum.seconds + done.seconds
    for rank = 1, simulated.ranks do
      sum.computed = sum.computed + done.compute[rank] / done.seconds / simulated.ranks / n
      if p.balanced == "yes" then
        local hz = list[rank]:step(done.compute[rank], done.seconds, simulated.hz[rank])
        if simulated:set(rank, hz) then sum.changes = sum.changes + 1 end
      end
    end
  end
  return samples, { joules = sum.joules / n, seconds = sum.seconds / n, computed = 100 * sum.computed,
    changes = sum.changes / simulated.ranks / n * 100 }
end

-- --- threads ---

-- The mode of balancing on this machine: set frequencies, or only report them.
function M:mode()
  local pml, o = self.pml, self.options
  if not self.can then
    local b, err = pml.balance { sync = { "imbalance barrier" }, root = o.root ~= "" and o.root or nil }
    if b then -- enter the section once, or the balancer would report its name as misspelt
      pml.section.start "imbalance barrier"
      pml.section.stop "imbalance barrier"
      b:close()
    end
    self.can = { writes = b ~= nil, why = err }
  end
  return self.can
end

--- nil and why, where a cell cannot be measured.
function M:possible(p)
  if p.platform == "simulated" then return true end
  if not self.pml.paths.workloads then return nil, "the workloads are not built; run make all" end
  local can = self:mode()
  if p.balanced == "yes" and not can.writes then return nil, "frequencies cannot be set on this machine: " .. can.why end
  return true
end

-- The shares of each thread, the busiest first; a later round replaces an earlier one.
local function keep_shares(self, p, records)
  local threads, list = {}, {}
  for _, r in ipairs(records) do
    local t = threads[r.thread]
    if not t then
      t = { share = {}, hz = {}, next = {} }
      threads[r.thread], list[#list + 1] = t, t
    end
    table.insert(t.share, 100 * r.compute / r.total)
    table.insert(t.hz, r.hz / giga)
    table.insert(t.next, r.next / giga)
  end
  for _, t in ipairs(list) do t.computing = median(t.share) end
  table.sort(list, function(a, b) return a.computing > b.computing end)
  local rows = {}
  for i, t in ipairs(list) do
    -- The first three repetitions decide nothing.
    local decided = table.move(t.next, math.min(4, #t.next), #t.next, 1, {})
    table.sort(decided)
    rows[i] = { p.balanced, i, #t.share, t.computing, 100 - t.computing, median(t.hz), median(decided), decided[1],
      decided[#decided] }
  end
  self.shares[p.balanced] = rows
end

function M:threads(p, n)
  local pml, o = self.pml, self.options
  local can = self:mode()
  local dry = p.balanced == "no"
  local b <close> = assert(pml.balance { sync = { "imbalance barrier" }, dry_run = dry, root = o.root ~= "" and o.root or nil,
    reference = not can.writes and o.reference * giga or nil, min = not can.writes and o.min * giga or nil,
    delta = p.delta / 100 * o.reference * giga })
  local workload, err = pml.workload.load(pml.paths.workloads .. "/imbalance.so")
  if not workload then return nil, err end
  local done
  done, err = workload:run { operation = "empty", samples = {}, options = { threads = o.threads, iterations = n + 1,
    turns = o.turns, least = o.least } }
  if not done then return nil, err end
  local records, samples, first, computed = b:take(), {}, nil, 0
  for _, r in ipairs(records) do
    first = first or r.thread
    computed = computed + r.compute / r.total / #records
    if r.thread == first and #samples < n then samples[#samples + 1] = r.total * 1e3 end
  end
  keep_shares(self, p, records)
  if #samples < n then return nil, ("%d of %d iterations were seen"):format(#samples, n) end
  local s, seconds = b:stats(), 0
  for _, ms in ipairs(samples) do seconds = seconds + ms / 1e3 / n end
  return samples, { seconds = seconds, computed = 100 * computed, changes = s.writes / o.threads / n * 100 }
end

--- n samples: the ms that an iteration takes.
function M:measure(p, n)
  if p.platform == "simulated" then return self:simulate(p, n) end
  return self:threads(p, n)
end

return M
