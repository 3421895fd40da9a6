-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/imbalance.lua - the time that OpenMP threads waited in barriers for the last thread of their team.
--
-- Try:  local t = assert(pml.trace.open "out/traces.otf2"); for _, w in ipairs(assert(require("pmlua.analysis.waits").of(t))) do
--         if w.kind == "OpenMP imbalance" then print(w.path, w.location, w.for_location, w.wait_s) end end
--
-- The definitions are from Scalasca's "Wait at implicit OpenMP barrier" and "Wait at explicit OpenMP barrier" (list of
-- performance properties of Scalasca 2):
--
--   OpenMP imbalance  from entering the implicit barrier of a parallel region or of a construct until the last thread of the team
--                     enters: the time by which threads had less work than the slowest
--   OpenMP barrier    the same for an explicit barrier
--
-- Tasks that a thread executes in a barrier are work. The end of a barrier is ignored, because runtimes report it late to
-- sleeping threads. Teams are inferred from the events of threads: all are in one barrier before any of them is in the next.

local M = {}

local KIND <const> = { ["implicit barrier"] = "OpenMP imbalance", barrier = "OpenMP barrier" }

--- Whether threads of OpenMP wait for each other in a region.
---@param region { paradigm: string?, role: string? } of a reader's regions()
function M.is_barrier(region) return region.paradigm == "OpenMP" and KIND[region.role] ~= nil end

local Teams = {}
Teams.__index = Teams

--- A thread joins a team. @depth: of its open calls.
function Teams:begin(e, depth)
  local numbers = self.numbers[e.location] or {}
  self.numbers[e.location] = numbers
  numbers[e.communicator] = (numbers[e.communicator] or 0) + 1
  local key = ("%d %d"):format(e.communicator, numbers[e.communicator])
  local of = self.of[e.location] or {}
  self.of[e.location] = of
  of[#of + 1] = { key = key, members = e.members }
  local joined = self.joined[key] or {}
  self.joined[key] = joined
  joined[#joined + 1] = { location = e.location, at = e.time_s, depth = depth }
  if #joined < e.members then return end
  self.joined[key] = nil
  local primary = joined[1] -- has the calls around the region
  for _, j in ipairs(joined) do if j.depth > primary.depth then primary = j end end
  for _, j in ipairs(joined) do if j ~= primary then self.forked(j.location, j.at, primary.location) end end
end

function Teams:finish(e)
  local of = self.of[e.location]
  if of then of[#of] = nil end
end

--- The time that a thread spent in calls inside of one of its open calls.
local function inside(call, stack, now)
  local open = stack[call.depth + 1]
  return (call.inside or 0.0) + (open and now - open.enter or 0.0)
end

--- All threads are in a barrier. Its call path is taken from the thread that has the calls around the parallel region.
function Teams:all_met(kind, calls, stacks)
  local last, deepest = calls[#calls], calls[1]
  for _, call in ipairs(calls) do if call.depth > deepest.depth then deepest = call end end
  for _, call in ipairs(calls) do
    call.node = deepest.node
    local wait_s = last.enter - call.enter - inside(call, stacks[call.location], last.enter)
    if call ~= last and wait_s > 0 then self.found(kind, call, last, wait_s, last) end
  end
end

--- A call begins. @stacks: open calls by location, each with depth, enter, and inside: seconds in calls that returned.
function Teams:enter(call, stacks)
  local kind, of = self.barriers[call.number], self.of[call.location]
  local team = kind and of and of[#of]
  if not team then return end
  local calls = self.instances[team.key] or {}
  self.instances[team.key] = calls
  calls[#calls + 1] = call
  if #calls < team.members then return end
  self.instances[team.key] = nil
  self:all_met(kind, calls, stacks)
end

--- Create a watcher that follows teams through the events of a trace in the order of time; nil: the trace has no OpenMP barriers.
--- Needs memory for barriers that some threads of a team have not reached.
---@param found fun(kind: string, call: table, other: table, wait_s: number, last: table) as of pmlua.analysis.waits
---@param forked fun(location: integer, at_s: number, primary: integer) a thread of a team begins, which another thread forked
function M.watch(reader, found, forked)
  local barriers = {}
  for number, region in ipairs(reader:regions()) do
    if region.paradigm == "OpenMP" then barriers[number] = KIND[region.role] end
  end
  if not next(barriers) then return nil end
  return setmetatable({ barriers = barriers, found = found, forked = forked, of = {}, numbers = {}, joined = {}, instances = {} },
    Teams)
end

return M
