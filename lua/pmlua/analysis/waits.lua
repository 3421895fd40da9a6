-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/waits.lua - how long ranks of MPI waited for each other, in which call and for whom.
--
-- Try:  local t = assert(pml.trace.read "out/traces.otf2"); for _, w in ipairs(assert(require("pmlua.analysis.waits").of(t))) do
--         print(w.kind, w.region, w.rank, w.for_rank, w.wait_s) end
--
-- The definitions are those of Scalasca: M. Geimer, F. Wolf, B. J. N. Wylie, E. Abraham, D. Becker, B. Mohr, The Scalasca
-- Performance Toolset Architecture (2010), and its list of performance properties.
--
--   late sender     from entering the call that receives to entering the one that sends
--   late receiver   from entering a send to entering the call that receives, if the send had not returned by then
--   barrier         from entering a barrier until the last rank enters
--   n to n          the same of operations in which each rank needs all others' data
--   late broadcast  from entering an operation in which all need the root's data until the root enters
--   early reduce    at the root of one that needs all others' data, until the first of these enters
--
-- A wait ends with its call at the latest. A call that completes several messages waits once, for the one that was longest.
-- Collective operations that are completed by another call, as MPI_Wait, are left out.

local M = {}

local KIND <const> = {
  barrier = "barrier", allgather = "n to n", allgatherv = "n to n", alltoall = "n to n", alltoallv = "n to n",
  alltoallw = "n to n", allreduce = "n to n", reduce_scatter = "n to n", reduce_scatter_block = "n to n",
  bcast = "late broadcast", scatter = "late broadcast", scatterv = "late broadcast",
  reduce = "early reduce", gather = "early reduce", gatherv = "early reduce",
}

---@class pmlua.analysis.Wait
---@field kind "late sender"|"late receiver"|"barrier"|"n to n"|"late broadcast"|"early reduce"
---@field region string the call that waited
---@field process integer of the trace's processes
---@field rank integer
---@field for_process integer that it waited for
---@field for_rank integer
---@field waits integer
---@field wait_s number

local function add(sums, kind, call, other, wait_s)
  if wait_s <= 0 then return end
  local key = ("%s\0%d\0%d\0%d"):format(kind, call.number, call.process, other.process)
  local sum = sums[key]
  if not sum then
    sum = { kind = kind, region = call.region, process = call.process, rank = call.rank, for_process = other.process,
      for_rank = other.rank, waits = 0, wait_s = 0.0 }
    sums[key], sums[#sums + 1] = sum, sum
  end
  sum.waits, sum.wait_s = sum.waits + 1, sum.wait_s + wait_s
end

-- ---- messages ----

local function note_late_sender(call, other, wait_s)
  if wait_s > (call.late and call.late.wait_s or 0) then call.late = { other = other, wait_s = wait_s } end
end

local function late_receiver(sums, send, receive)
  if receive.enter > send.enter and receive.enter < send.leave then
    add(sums, "late receiver", send, receive, receive.enter - send.enter)
  end
end

--- A send met its receive, which ended at @ended.
local function meet(sums, send, receive, ended)
  local late = math.min(send.enter, ended) - receive.enter
  if receive.leave then
    if late > 0 then add(sums, "late sender", receive, send, late) end
  else note_late_sender(receive, send, late) end
  if send.leave then late_receiver(sums, send, receive)
  else send.met[#send.met + 1] = receive end
end

--- The other end of a message, if it was there before: messages of a channel arrive in their order.
local function other_end(channels, key, is_send, call, time)
  local queue = channels[key]
  if queue and queue.sends ~= is_send then
    local first = queue[queue.first]
    queue[queue.first], queue.first = nil, queue.first + 1
    if queue.first > queue.last then channels[key] = nil end
    return first
  end
  if not queue then
    queue = { sends = is_send, first = 1, last = 0 }
    channels[key] = queue
  end
  queue.last = queue.last + 1
  queue[queue.last] = { call = call, time = time }
  return nil
end

-- ---- collective operations ----

local function until_last(sums, kind, calls)
  local last = calls[1]
  for _, call in ipairs(calls) do if call.enter > last.enter then last = call end end
  for _, call in ipairs(calls) do add(sums, kind, call, last, last.enter - call.enter) end
end

local function late_broadcast(sums, kind, calls, root)
  for _, call in ipairs(calls) do
    if root and call ~= root then add(sums, kind, call, root, math.min(root.enter, call.ended) - call.enter) end
  end
end

local function early_reduce(sums, kind, calls, root)
  local first
  for _, call in ipairs(calls) do
    if call ~= root and (not first or call.enter < first.enter) then first = call end
  end
  if root and first then add(sums, kind, root, first, first.enter - root.enter) end
end

local WAITS <const> = { barrier = until_last, ["n to n"] = until_last, ["late broadcast"] = late_broadcast,
  ["early reduce"] = early_reduce }

--- All members of a communicator were in the operation.
local function all_met(sums, instance)
  local kind = KIND[instance.operation]
  if not kind or instance.immediate then return end
  local root
  for _, call in ipairs(instance.calls) do if call.process == instance.root then root = call end end
  WAITS[kind](sums, kind, instance.calls, root)
end

-- ---- events ----

local function is_immediate(region)
  return region:find "^MPI_I%l" ~= nil or region:find "^MPI_Wait" ~= nil or region:find "^MPI_Test" ~= nil
end

local Walk = {}
Walk.__index = Walk

function Walk:enter(e)
  local stack = self.stacks[e.location]
  if not stack then
    stack = {}
    self.stacks[e.location] = stack
  end
  stack[#stack + 1] = { enter = e.time_s, region = e.region, number = e.number, process = e.process, rank = e.rank, met = {} }
end

function Walk:leave(e)
  local stack = self.stacks[e.location]
  local call = stack and table.remove(stack)
  if not call then return end
  call.leave = e.time_s
  if call.late then add(self.sums, "late sender", call, call.late.other, call.late.wait_s) end
  for _, receive in ipairs(call.met) do late_receiver(self.sums, call, receive) end
end

function Walk:call_of(e)
  local stack = self.stacks[e.location]
  return stack and stack[#stack]
end

function Walk:send(e)
  local call = self:call_of(e)
  if not call or not e.to then return end
  local receive = other_end(self.channels, ("%d %d %d %d"):format(e.process, e.to, e.communicator, e.tag), true, call, e.time_s)
  if receive then meet(self.sums, call, receive.call, receive.time) end
end

function Walk:receive(e)
  local call = self:call_of(e)
  if not call or not e.from then return end
  local send = other_end(self.channels, ("%d %d %d %d"):format(e.from, e.process, e.communicator, e.tag), false, call, e.time_s)
  if send then meet(self.sums, send.call, call, e.time_s) end
end

function Walk:collective(e)
  local call = self:call_of(e)
  if not call or e.members < 2 then return end
  local own = ("%d %d"):format(e.communicator, e.location)
  local number = (self.counts[own] or 0) + 1
  self.counts[own] = number
  local key = ("%d %d"):format(e.communicator, number)
  local instance = self.instances[key]
  if not instance then
    instance = { operation = e.operation, calls = {} }
    self.instances[key] = instance
  end
  call.ended = e.time_s
  instance.root = instance.root or e.root
  instance.immediate = instance.immediate or is_immediate(call.region) or e.operation ~= instance.operation
  instance.calls[#instance.calls + 1] = call
  if #instance.calls < e.members then return end
  self.instances[key] = nil
  all_met(self.sums, instance)
end

local function longer(a, b)
  if a.wait_s ~= b.wait_s then return a.wait_s > b.wait_s end
  if a.process ~= b.process then return a.process < b.process end
  if a.for_process ~= b.for_process then return a.for_process < b.for_process end
  return a.kind .. a.region < b.kind .. b.region
end

--- The waits of a trace, longest first. Reads all events in the order of time, some 150 ns each; memory for open calls,
--- messages under way and collective operations that some ranks have not reached.
---@param reader pmlua.TraceReader
---@return pmlua.analysis.Wait[]? waits
---@return pmlua.Failure? failure
function M.of(reader)
  local walk = setmetatable({ sums = {}, stacks = {}, channels = {}, counts = {}, instances = {} }, Walk)
  if reader:about().ranks == 0 then return {} end
  local done, err = reader:each(function(e) walk[e.kind](walk, e) end,
    { order = "time", where = { kinds = { "enter", "leave", "send", "receive", "collective" } } })
  if not done then return nil, err end
  local list = table.move(walk.sums, 1, #walk.sums, 1, {})
  table.sort(list, longer)
  return list
end

return M
