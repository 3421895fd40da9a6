-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/waits.lua - how long ranks of MPI and threads of OpenMP waited for each other, in which call and for whom.
--
-- Try:  local t = assert(pml.trace.open "out/traces.otf2"); for _, w in ipairs(assert(require("pmlua.analysis.waits").of(t))) do
--         print(w.kind, w.path, w.rank, w.for_rank, w.wait_s) end
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
--   early scan      from entering a scan until the last of the ranks before it enters
--
-- A wait ends with its call at the latest. A call that completes several messages waits once, for the one that was longest.
-- Collective operations that are completed by another call, as MPI_Wait, are left out, and those between neighbours.
-- Waits of threads at barriers of OpenMP are those of pmlua.analysis.imbalance.
--
-- Who caused it: the rank or thread that was late, the call by which it ended the waiting, and what it was in meanwhile, by call
-- path. That is one step back: if the late one waited itself, its call path says so, and the critical path leads on.

local imbalance = require "pmlua.analysis.imbalance"
local pasts = require "pmlua.analysis.past"

local M = {}

local KIND <const> = {
  barrier = "barrier", allgather = "n to n", allgatherv = "n to n", alltoall = "n to n", alltoallv = "n to n",
  alltoallw = "n to n", allreduce = "n to n", reduce_scatter = "n to n", reduce_scatter_block = "n to n",
  bcast = "late broadcast", scatter = "late broadcast", scatterv = "late broadcast",
  reduce = "early reduce", gather = "early reduce", gatherv = "early reduce", scan = "early scan", exscan = "early scan",
}

---@class pmlua.analysis.Wait
---@field kind "late sender"|"late receiver"|"barrier"|"n to n"|"late broadcast"|"early reduce"|"early scan"|"OpenMP imbalance"
---  |"OpenMP barrier"
---@field region string the call that waited
---@field path string the calls around it and itself, from the outermost on, as main/solve/MPI_Recv
---@field process integer of the trace's processes
---@field rank integer?
---@field location integer of the trace's locations
---@field for_process integer that it waited for
---@field for_rank integer?
---@field for_location integer
---@field for_path string the call by which the late one ended the waiting, and the calls around it
---@field causes { path: string, wait_s: number }[] what the late one was in meanwhile, longest first: they add up to wait_s,
---  where the trace has the late one's past
---@field waits integer
---@field wait_s number

--- The path of time in no recorded call.
M.OUTSIDE = "(no recorded call)"

--- The names of a call path.
---@param node table of a call
---@return string path
function M.path_of(node)
  local names = {}
  if not node.parent then return M.OUTSIDE end
  while node.parent do
    table.insert(names, 1, node.region)
    node = node.parent
  end
  return table.concat(names, "/")
end

--- Sums of waits: a function that takes each of them. Of one that lies partly in a window, that part counts.
local function adding(sums, past, window)
  return function(kind, call, other, wait_s)
    local from_s, to_s, inside = call.enter, other.enter, 1
    if window then
      from_s, to_s = math.max(from_s, window[1]), math.min(to_s, window[2])
      inside = (to_s - from_s) / (other.enter - call.enter)
      if inside <= 0 then return end
      wait_s = wait_s * inside
    end
    local key = ("%s %d %d %d %d"):format(kind, call.node.id, call.location, other.node.id, other.location)
    local sum = sums[key]
    if not sum then
      sum = { kind = kind, region = call.region, path = M.path_of(call.node), process = call.process, rank = call.rank,
        location = call.location, for_process = other.process, for_rank = other.rank, for_location = other.location,
        for_path = M.path_of(other.node), waits = 0, wait_s = 0.0, causes = {} }
      sums[key], sums[#sums + 1] = sum, sum
    end
    sum.waits, sum.wait_s = sum.waits + 1, sum.wait_s + wait_s
    local function caused(node, seconds) sum.causes[node] = (sum.causes[node] or 0.0) + seconds end
    if call.met_past and call.met_past[other.location] then
      for node, seconds in pairs(call.met_past[other.location]) do caused(node, seconds * inside) end
    else
      local part = wait_s / (to_s - from_s) -- less than 1 where tasks were executed meanwhile
      past:between(other.location, from_s, to_s, function(node, seconds) caused(node, seconds * part) end)
    end
  end
end

local function list_causes(sum)
  local list = {}
  for node, seconds in pairs(sum.causes) do list[#list + 1] = { path = M.path_of(node), wait_s = seconds } end
  table.sort(list, function(a, b)
    if a.wait_s ~= b.wait_s then return a.wait_s > b.wait_s end
    return a.path < b.path
  end)
  sum.causes = list
end

--- @last: the call that ends the waiting, where it is not the one that began it.
local function tell(found, kind, call, other, wait_s, last)
  if wait_s > 0 then found(kind, call, other, wait_s, last or other) end
end

-- ---- messages ----

local function note_late_sender(call, other, wait_s)
  if wait_s > (call.late and call.late.wait_s or 0) then call.late = { other = other, wait_s = wait_s } end
end

local function late_receiver(found, send, receive)
  if receive.enter > send.enter and receive.enter < send.leave then
    tell(found, "late receiver", send, receive, receive.enter - send.enter)
  end
end

--- A send met its receive, which ended at @ended.
local function meet(found, send, receive, ended)
  local late = math.min(send.enter, ended) - receive.enter
  if receive.leave then
    tell(found, "late sender", receive, send, late)
  else note_late_sender(receive, send, late) end
  if send.leave then late_receiver(found, send, receive)
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

local function until_last(found, kind, calls)
  local last = calls[1]
  for _, call in ipairs(calls) do if call.enter > last.enter then last = call end end
  for _, call in ipairs(calls) do tell(found, kind, call, last, last.enter - call.enter) end
end

local function late_broadcast(found, kind, calls, root)
  for _, call in ipairs(calls) do
    if root and call ~= root then tell(found, kind, call, root, math.min(root.enter, call.ended) - call.enter) end
  end
end

local function early_reduce(found, kind, calls, root)
  local first, last
  for _, call in ipairs(calls) do
    if call ~= root and (not first or call.enter < first.enter) then first = call end
    if call ~= root and (not last or call.enter > last.enter) then last = call end
  end
  if root and first then tell(found, kind, root, first, first.enter - root.enter, last) end
end

--- A rank needs the data of those before it.
local function early_scan(found, kind, calls)
  local last
  table.sort(calls, function(a, b) return a.order < b.order end)
  for _, call in ipairs(calls) do
    if last then tell(found, kind, call, last, math.min(last.enter, call.ended) - call.enter) end
    if not last or call.enter > last.enter then last = call end
  end
end

local WAITS <const> = { barrier = until_last, ["n to n"] = until_last, ["late broadcast"] = late_broadcast,
  ["early reduce"] = early_reduce, ["early scan"] = early_scan }

--- All members of a communicator were in the operation.
local function all_met(found, instance)
  local kind = KIND[instance.operation]
  if not kind or instance.immediate then return end
  local root
  for _, call in ipairs(instance.calls) do if call.process == instance.root then root = call end end
  WAITS[kind](found, kind, instance.calls, root)
end

-- ---- events ----

--- Its members wait for their neighbours alone, which the trace does not name.
local function is_local(region) return region:find "^MPI_I?[Nn]eighbor_" ~= nil end

local function is_immediate(region)
  return region:find "^MPI_I%l" ~= nil or region:find "^MPI_Wait" ~= nil or region:find "^MPI_Test" ~= nil
end

local Walk = {}
Walk.__index = Walk

function Walk:enter(e)
  local stack = self.stacks[e.location]
  if not stack then
    stack = { since = e.time_s }
    self.stacks[e.location] = stack
  end
  local top = stack[#stack]
  if self.past then self:went_on(e, stack, top) end
  local call = { enter = e.time_s, region = e.region, number = e.number, location = e.location, process = e.process,
    rank = e.rank, met = {}, node = self:node(top and top.node or self.root, e), depth = #stack + 1 }
  stack[call.depth] = call
  if self.past and self.may_wait[e.number] then self.past:open(call) end
  if self.teams then self.teams:enter(call, self.stacks) end
end

--- The location was in its innermost call until now.
function Walk:went_on(e, stack, top)
  self.past:did(e.location, top and top.node or self.root, stack.since, e.time_s)
  stack.since = e.time_s
end

--- A call that sent, and returned before the trace has the receive: what its receiver did until it called to receive.
function Walk:keep_past_of_receivers(call)
  for process in pairs(call.sent or {}) do
    local location = self.main[process]
    local stack = self.stacks[location]
    local receive = stack and stack[#stack]
    if receive and receive.enter > call.enter then
      local past = {}
      self.past:between(location, call.enter, receive.enter, function(node, s) past[node] = (past[node] or 0.0) + s end)
      call.met_past = call.met_past or {}
      call.met_past[location] = past
    end
  end
end

--- Its waiting is known, unless others have not come to the same collective operation.
function Walk:end_waiting(call)
  self:keep_past_of_receivers(call)
  if not call.instance then self.past:close(call) end
end

--- The call path of a call in another.
function Walk:node(around, e)
  local node = around[e.number]
  if not node then
    self.nodes = self.nodes + 1
    node = { parent = around, region = e.region, id = self.nodes }
    around[e.number] = node
  end
  return node
end

function Walk:leave(e)
  local stack = self.stacks[e.location]
  if stack and self.past then self:went_on(e, stack, stack[#stack]) end
  local call = stack and table.remove(stack)
  if not call then return end
  call.leave = e.time_s
  local around = stack[#stack]
  if around then around.inside = (around.inside or 0.0) + e.time_s - call.enter end
  if call.late then tell(self.found, "late sender", call, call.late.other, call.late.wait_s) end
  for _, receive in ipairs(call.met) do late_receiver(self.found, call, receive) end
  if call.waits then self:end_waiting(call) end
end

function Walk:call_of(e)
  local stack = self.stacks[e.location]
  return stack and stack[#stack]
end

function Walk:send(e)
  local call = self:call_of(e)
  if not call or not e.to then return end
  local receive = other_end(self.channels, ("%d %d %d %d"):format(e.process, e.to, e.communicator, e.tag), true, call, e.time_s)
  if receive then return meet(self.found, call, receive.call, receive.time) end
  if not self.past then return end
  call.sent = call.sent or {}
  call.sent[e.to] = true
end

function Walk:receive(e)
  local call = self:call_of(e)
  if not call or not e.from then return end
  local send = other_end(self.channels, ("%d %d %d %d"):format(e.from, e.process, e.communicator, e.tag), false, call, e.time_s)
  if send then meet(self.found, send.call, call, e.time_s) end
end

function Walk:team_begin(e)
  local stack = self.stacks[e.location]
  if self.teams then self.teams:begin(e, stack and #stack or 0) end
end

function Walk:team_end(e)
  if self.teams then self.teams:finish(e) end
end

--- The place of a rank among those of a communicator.
function Walk:order(communicator, rank)
  local of = self.orders[communicator]
  if not of then
    of = {}
    self.orders[communicator] = of
    local groups = self.reader:groups()
    for _, c in ipairs(self.reader:communicators()) do
      local group = c.id == communicator and groups[c.group]
      for place, member in ipairs(group and group.members or {}) do of[member] = place end
    end
  end
  return of[rank] or rank
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
  if KIND[e.operation] == "early scan" then call.order = self:order(e.communicator, e.rank) end
  instance.root = instance.root or e.root
  instance.immediate = instance.immediate or is_immediate(call.region) or is_local(call.region)
    or e.operation ~= instance.operation
  instance.calls[#instance.calls + 1], call.instance = call, instance
  if #instance.calls < e.members then return end
  self.instances[key] = nil
  all_met(self.found, instance)
  for _, met in ipairs(instance.calls) do
    met.instance = nil
    if self.past and met.leave then self.past:close(met) end
  end
end

local function longer(a, b)
  if a.wait_s ~= b.wait_s then return a.wait_s > b.wait_s end
  if a.process ~= b.process then return a.process < b.process end
  if a.for_process ~= b.for_process then return a.for_process < b.for_process end
  if a.location ~= b.location then return a.location < b.location end
  return a.kind .. a.path .. a.for_path < b.kind .. b.path .. b.for_path
end

--- Regions whose calls may wait for others.
local function may_wait(reader)
  local of = {}
  for number, region in ipairs(reader:regions()) do
    of[number] = region.paradigm == "MPI" or region.name:find "^MPI_" ~= nil or imbalance.is_barrier(region)
  end
  return of
end

--- The first location of each process.
local function main_locations(reader)
  local of = {}
  for i, l in ipairs(reader:locations()) do of[l.process] = of[l.process] or i end
  return of
end

--- Each wait of a trace goes to a function, when it is known: its kind, the call that waited, the one that it waited for, how
--- long, and the call whose beginning ended it. A call has region, number, enter (seconds), location, process, rank and
--- node, whose names are path_of(node).
--- @forked gets each thread of an OpenMP team that another thread began: its location, when, and the other's location.
--- Reads all events in the order of time, some 150 ns each; memory for open calls, call paths, messages under way, and collective
--- operations and barriers that some have not reached; with a past also for call paths between open calls.
---@param reader pmlua.TraceReader
---@param found fun(kind: string, call: table, other: table, wait_s: number, last: table)
---@param forked? fun(location: integer, at_s: number, primary: integer)
---@param past? pmlua.analysis.Past gets what all locations do
---@return boolean? done
---@return pmlua.Failure? failure
function M.each(reader, found, forked, past)
  local teams = imbalance.watch(reader, found, forked or function() end)
  if reader:about().ranks == 0 and not teams then return true end
  local walk = setmetatable({ reader = reader, found = found, teams = teams, stacks = {}, channels = {}, counts = {},
    instances = {}, orders = {}, root = { id = 0 }, nodes = 0, past = past, may_wait = past and may_wait(reader),
    main = past and main_locations(reader) }, Walk)
  local done, err = reader:each(function(e) walk[e.kind](walk, e) end,
    { order = "time", where = { kinds = { "enter", "leave", "send", "receive", "collective", "team_begin", "team_end" } } })
  if not done then return nil, err end
  return true
end

--- The waits of a trace, longest first. All events are read, whatever the window: a message may begin before it.
---@param reader pmlua.TraceReader
---@param window? { [1]: number, [2]: number } seconds; of waits, the part in it counts
---@return pmlua.analysis.Wait[]? waits
---@return pmlua.Failure? failure
function M.of(reader, window)
  local sums, past = {}, pasts.new()
  local done, err = M.each(reader, adding(sums, past, window), nil, past)
  if not done then return nil, err end
  local list = table.move(sums, 1, #sums, 1, {})
  for _, sum in ipairs(list) do list_causes(sum) end
  table.sort(list, longer)
  return list
end

return M
