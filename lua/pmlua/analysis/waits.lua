-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/waits.lua - wait states: how long MPI ranks and OpenMP threads waited, in which call and for whom.
--
-- Try:  local t = assert(pml.trace.open "out/traces.otf2"); for _, w in ipairs(assert(require("pmlua.analysis.waits").of(t))) do
--         print(w.kind, w.path, w.rank, w.for_rank, w.wait_s) end
--
-- The definitions are from Scalasca: M. Geimer, F. Wolf, B. J. N. Wylie, E. Abraham, D. Becker, B. Mohr, The Scalasca
-- Performance Toolset Architecture (2010), and its list of performance properties.
--
--   late sender     from entering the call that receives to entering the call that sends
--   late receiver   from entering a send, or the call that completes an immediate one, to entering the call that receives or
--                   posts the receive, if the former had not returned by then
--   barrier         from entering a barrier until the last rank enters
--   n to n          the same for operations in which each rank needs all others' data
--   late broadcast  from entering an operation in which all need the root's data until the root enters
--   early reduce    at the root of an operation that needs all others' data, until the first of these enters
--   early scan      from entering a scan until the last of the preceding ranks enters
--   creation        from entering a call that makes a communicator or a window until the last member enters
--   fence           the same for MPI_Win_fence
--   late post       from entering MPI_Win_start until the target enters MPI_Win_post
--   late complete   from entering MPI_Win_wait until the origin enters MPI_Win_complete
--   lock contention from entering a call that needs the lock of a window until the rank that holds it enters MPI_Win_unlock
--
-- A wait ends at the latest with its call. A call that completes several messages waits once, for the longest of them.
-- MPI_Probe waits for the sender of the message that its thread receives next. An immediate collective operation waits in the
-- call that completes it, until others begin it; operations of a communicator are expected to complete in order. Waits of
-- neighbourhood and file operations are not supported: the result of each() shows in which regions waits were looked for.
-- Waits of threads at OpenMP barriers come from pmlua.analysis.imbalance.
--
-- The cause of a wait is the late rank or thread, the call by which it ended the wait, and its activity meanwhile, by call
-- path. That is one step back: if the late one waited itself, its call path shows this, and the critical path continues there.

local imbalance = require "pmlua.analysis.imbalance"
local locks = require "pmlua.analysis.locks"
local pasts = require "pmlua.analysis.past"

local M = {}

local KIND <const> = {
  barrier = "barrier", allgather = "n to n", allgatherv = "n to n", alltoall = "n to n", alltoallv = "n to n",
  alltoallw = "n to n", allreduce = "n to n", reduce_scatter = "n to n", reduce_scatter_block = "n to n",
  bcast = "late broadcast", scatter = "late broadcast", scatterv = "late broadcast",
  reduce = "early reduce", gather = "early reduce", gatherv = "early reduce", scan = "early scan", exscan = "early scan",
  create_handle = "creation", create_handle_and_allocate = "creation", destroy_handle = "barrier",
  destroy_handle_and_deallocate = "barrier",
}

---@class pmlua.analysis.Wait
---@field kind "late sender"|"late receiver"|"barrier"|"n to n"|"late broadcast"|"early reduce"|"early scan"|"creation"|"fence"
---  |"late post"|"late complete"|"lock contention"|"OpenMP imbalance"|"OpenMP barrier"
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

local function longer(a, b)
  if a.wait_s ~= b.wait_s then return a.wait_s > b.wait_s end
  if a.process ~= b.process then return a.process < b.process end
  if a.for_process ~= b.for_process then return a.for_process < b.for_process end
  if a.location ~= b.location then return a.location < b.location end
  return a.kind .. a.path .. a.for_path < b.kind .. b.path .. b.for_path
end

local function list_causes(sum)
  local list = {}
  for node, seconds in pairs(sum.causes) do list[#list + 1] = { path = M.path_of(node), wait_s = seconds } end
  table.sort(list, require "pmlua.internal.order".by("-wait_s", "path"))
  sum.causes = list
end

--- Keeps the longer half of the sums; the others are given away, or what they come to is counted.
local function drop_shorter(sums)
  table.sort(sums.list, longer)
  local half, kept, dropped = #sums.list // 2, {}, sums.dropped
  local shorter = table.move(sums.list, half + 1, #sums.list, 1, {})
  sums.list = table.move(sums.list, 1, half, 1, {})
  for _, sum in ipairs(sums.list) do kept[sum] = true end
  for key, sum in pairs(sums.by) do if not kept[sum] then sums.by[key] = nil end end
  if not sums.given then dropped.most_s = dropped.most_s + shorter[1].wait_s end
  for _, sum in ipairs(shorter) do
    if sums.given then
      list_causes(sum)
      sums.given(sum)
    else
      dropped.waits, dropped.wait_s = dropped.waits + sum.waits, dropped.wait_s + sum.wait_s
    end
  end
end

--- The sum of a wait's kind, call paths and locations.
local function sum_of(sums, kind, call, other)
  local key = ("%s %d %d %d %d"):format(kind, call.node.id, call.location, other.node.id, other.location)
  local sum = sums.by[key]
  if sum then return sum end
  if #sums.list >= sums.most then drop_shorter(sums) end
  sum = { kind = kind, region = call.region, path = M.path_of(call.node), process = call.process, rank = call.rank,
    location = call.location, for_process = other.process, for_rank = other.rank, for_location = other.location,
    for_path = M.path_of(other.node), waits = 0, wait_s = 0.0, causes = {} }
  sums.by[key], sums.list[#sums.list + 1] = sum, sum
  return sum
end

--- Add the late location's activity to the causes of a sum of waits, and to the causes of all waits for that location.
local function add_cause(sums, sum, node, seconds)
  local id = ("%d %d"):format(sum.for_location, node.id or 0)
  local late = sums.late[id]
  if not late then
    late = { cause = M.path_of(node), process = sum.for_process, location = sum.for_location, wait_s = 0.0 }
    sums.late[id], sums.late[#sums.late + 1] = late, late
  end
  late.wait_s = late.wait_s + seconds
  sum.causes[node] = (sum.causes[node] or 0.0) + seconds
end

--- A function that sums waits. If a wait lies partly in the window, only that part counts.
local function adding(sums, past, window)
  return function(kind, call, other, wait_s)
    local from_s, to_s = call.enter, other.enter
    if window then
      from_s, to_s = math.max(from_s, window[1]), math.min(to_s, window[2])
      local inside = (to_s - from_s) / (other.enter - call.enter)
      if inside <= 0 then return end
      wait_s = wait_s * inside
    end
    local sum = sum_of(sums, kind, call, other)
    sum.waits, sum.wait_s, sums.wait_s = sum.waits + 1, sum.wait_s + wait_s, sums.wait_s + wait_s
    local met = call.met_past and call.met_past[other.location]
    -- less than 1 for the second of two receivers, and where tasks were executed meanwhile
    local part = wait_s / (met and other.enter - call.enter or to_s - from_s)
    local function add(node, seconds) add_cause(sums, sum, node, seconds * part) end
    if met then for _, node in ipairs(met) do add(node, met[node]) end
    else past:between(other.location, from_s, to_s, add) end
  end
end

--- Causes of all waits, longest first: paths of one name are one.
local function list_late(sums)
  local by, list = {}, {}
  for _, late in ipairs(sums.late) do
    local key = ("%d %s"):format(late.location, late.cause)
    if by[key] then by[key].wait_s = by[key].wait_s + late.wait_s
    else by[key], list[#list + 1] = late, late end
  end
  table.sort(list, require "pmlua.internal.order".by("-wait_s", "location", "cause"))
  return list
end

--- @last: the call that ends the waiting, where it is not the one that began it.
local function tell(found, kind, call, other, wait_s, last)
  if wait_s > 0 then found(kind, call, other, wait_s, last or other) end
end

-- ---- messages ----

--- The longest counts when the call ends.
local function note_late(call, kind, other, wait_s)
  if wait_s > (call.late and call.late.wait_s or 0) then call.late = { kind = kind, other = other, wait_s = wait_s } end
end

--- @call: a send that blocks, or the call that completed an immediate one; of several receives it waited for the last.
local function late_receiver(found, call, posted)
  if posted.enter >= call.leave then return end
  local wait_s = posted.enter - call.enter - (call.receiver_s or 0.0)
  tell(found, "late receiver", call, posted, wait_s)
  if wait_s > 0 then call.receiver_s = posted.enter - call.enter end
end

--- @waiter: the call in which the sender waits, perhaps not yet over; nil: an immediate send is not complete.
local function sender_waits(found, waiter, posted)
  if not waiter then return end
  if waiter.leave then late_receiver(found, waiter, posted)
  else waiter.met[#waiter.met + 1] = posted end
end

--- A send met its receive: each is { call, time, posted, waiter }.
local function meet(found, send, receive)
  note_late(receive.call, "late sender", send.call, math.min(send.call.enter, receive.time) - receive.call.enter)
  if receive.call.leave then
    tell(found, "late sender", receive.call, send.call, math.min(send.call.enter, receive.time) - receive.call.enter)
  end
  send.posted = receive.posted
  sender_waits(found, send.waiter, receive.posted)
end

--- The other end of a message, if it was there before: messages of a channel arrive in their order.
local function other_end(channels, key, is_send, own)
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
  queue[queue.last] = own
  return nil
end

-- ---- collective operations ----

-- Members of an operation: { call = in which it waits, came = by which it takes part, ended }: two calls where it is immediate.

local function wait_for(found, kind, member, other, last)
  tell(found, kind, member.call, other.came, math.min(other.came.enter, member.ended) - member.call.enter, last and last.came)
end

local function until_last(found, kind, members)
  local last = members[1]
  for _, m in ipairs(members) do if m.came.enter > last.came.enter then last = m end end
  for _, m in ipairs(members) do if m ~= last then wait_for(found, kind, m, last) end end
end

local function late_broadcast(found, kind, members, root)
  for _, m in ipairs(members) do
    if root and m ~= root then wait_for(found, kind, m, root) end
  end
end

local function early_reduce(found, kind, members, root)
  local first, last
  for _, m in ipairs(members) do
    if m ~= root and (not first or m.came.enter < first.came.enter) then first = m end
    if m ~= root and (not last or m.came.enter > last.came.enter) then last = m end
  end
  if root and first then wait_for(found, kind, root, first, last) end
end

--- A rank needs the data of those before it.
local function early_scan(found, kind, members)
  local last
  table.sort(members, function(a, b) return a.order < b.order end)
  for _, m in ipairs(members) do
    if last then wait_for(found, kind, m, last) end
    if not last or m.came.enter > last.came.enter then last = m end
  end
end

local WAITS <const> = { barrier = until_last, ["n to n"] = until_last, ["late broadcast"] = late_broadcast, creation = until_last,
  fence = until_last, ["early reduce"] = early_reduce, ["early scan"] = early_scan }

--- All members of a communicator were in the operation.
local function all_met(found, instance)
  local kind = instance.window and "fence" or KIND[instance.operation]
  if not kind or instance.unknown then return end
  local root
  for _, m in ipairs(instance.members) do if m.call.process == instance.root then root = m end end
  WAITS[kind](found, kind, instance.members, root)
end

-- ---- events ----

--- Its members wait for their neighbours alone, which the trace does not name.
local function is_local(region) return region:find "^MPI_I?[Nn]eighbor_" ~= nil end

local function is_immediate(region)
  return region:find "^MPI_I%l" ~= nil and not region:find "^MPI_Intercomm" or region:find "^MPI_Wait" ~= nil
    or region:find "^MPI_Test" ~= nil
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
  if stack.probed then self:forget_probe(stack, 1) end
  if self.past and self.may_wait[e.number] then self.past:open(call) end
  if self.teams then self.teams:enter(call, self.stacks) end
end

--- The location was in its innermost call until now.
function Walk:went_on(e, stack, top)
  self.past:did(e.location, top and top.node or self.root, stack.since, e.time_s)
  stack.since = e.time_s
end

--- Store, for a call that sent and returned before the trace has the receive, the receiver's activity until its receive call.
function Walk:keep_past_of_receivers(call)
  for process in pairs(call.sent or {}) do
    local location = self.main[process]
    local stack = self.stacks[location]
    local receive = stack and stack[#stack]
    if receive and receive.enter > call.enter then
      local past = {}
      call.met_past = call.met_past or {}
      call.met_past[location] = past
      self.past:between(location, call.enter, receive.enter, function(node, s)
        past[#past + 1] = not past[node] and node or nil
        past[node] = (past[node] or 0.0) + s
      end)
    end
  end
end

--- Its waiting is known, unless others have not come to the same collective operation, or a probed message not received.
function Walk:end_waiting(call)
  self:keep_past_of_receivers(call)
  if not call.pending then self.past:close(call) end
end

--- One less of what a call's waiting depends on.
function Walk:settle(call)
  call.pending = call.pending > 1 and call.pending - 1 or nil
  if self.past and call.leave and not call.pending then self.past:close(call) end
end

local PROBED <const> = 64 -- calls after a probe, in which its message is received

function Walk:forget_probe(stack, calls)
  stack.probe_calls = stack.probe_calls - calls
  if stack.probe_calls > 0 then return end
  self:settle(stack.probed)
  stack.probed = nil
end

local function is_probe(region) return region == "MPI_Probe" or region == "MPI_Mprobe" end

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
  if call.late then tell(self.found, call.late.kind, call, call.late.other, call.late.wait_s) end
  local last = call.met[1]
  for _, met in ipairs(call.met) do if met.enter >= last.enter then last = met end end
  if last then late_receiver(self.found, call, last) end
  if self.locks:leave(call) then self.looked[call.number] = true end
  if is_probe(call.region) then
    if stack.probed then self:forget_probe(stack, PROBED) end
    stack.probed, stack.probe_calls, call.pending = call, PROBED, (call.pending or 0) + 1
  end
  if call.waits then self:end_waiting(call) end
end

function Walk:call_of(e)
  local stack = self.stacks[e.location]
  return stack and stack[#stack]
end

local function channel(e, from, to) return ("%d %d %d %d"):format(from, to, e.communicator, e.tag) end

--- Query the receiver's activity once its receive is known.
local function expect_receiver(call, process)
  call.sent = call.sent or {}
  call.sent[process] = true
end

function Walk:send(e)
  local call = self:call_of(e)
  if not call or not e.to then return end
  local own = { call = call, to = e.to, waiter = not e.request and call or nil }
  self.looked[call.number] = true
  if e.request then self.sends[e.request] = own end
  local receive = other_end(self.channels, channel(e, e.process, e.to), true, own)
  if receive then return meet(self.found, own, receive) end
  if self.past and own.waiter then expect_receiver(call, e.to) end
end

--- The probe before a receive waited for the same sender.
function Walk:receive_probed(location, send)
  local stack = self.stacks[location]
  local probe = stack.probed
  if not probe then return end
  self.looked[probe.number] = true
  if send and send.call.enter < probe.leave then
    tell(self.found, "late sender", probe, send.call, send.call.enter - probe.enter)
  end
  self:forget_probe(stack, PROBED)
end

function Walk:receive(e)
  local call = self:call_of(e)
  if not call or not e.from then return end
  local own = { call = call, time = e.time_s, posted = e.request and self.posted[e.request] or call }
  self.looked[call.number] = true
  if e.request then self.posted[e.request] = nil end
  local send = other_end(self.channels, channel(e, e.from, e.process), false, own)
  self:receive_probed(e.location, send)
  if send then meet(self.found, send, own) end
end

--- Handle an event of a request without a message: its start, or the completion of an immediate send.
function Walk:request(e)
  local call = self:call_of(e)
  if not call then return end
  if e.what == "receive posted" then self.posted[e.request] = call
  elseif e.what == "collective begun" then self.begun[e.request] = call end
  local send = e.what == "send complete" and self.sends[e.request]
  if not send then return end
  self.looked[call.number] = true
  self.sends[e.request] = nil
  if call == send.call then return end -- complete as soon as it began: it waited for nobody
  send.waiter = call
  if send.posted then sender_waits(self.found, call, send.posted)
  elseif self.past then expect_receiver(call, send.to) end
end

--- Handle a notification between processes of a window, which ends a wait.
function Walk:notify(e)
  local call = self:call_of(e)
  if not call or not e.process_there then return end
  local from, to = e.process, e.process_there
  if not e.out then from, to = to, from end
  self.looked[call.number] = true
  local out = other_end(self.channels, ("window %d %d %d"):format(e.window, from, to), e.out, { call = call, time = e.time_s })
  if not out or e.out then return end
  local kind = call.region:find "^MPI_Win_[wt]" and "late complete" or "late post"
  note_late(call, kind, out.call, math.min(out.call.enter, e.time_s) - call.enter)
end

function Walk:lock(e)
  local call = self:call_of(e)
  if call and e.window then self.locks:event(e, call) end
end

function Walk:team_begin(e)
  local stack = self.stacks[e.location]
  if self.teams then self.teams:begin(e, stack and #stack or 0) end
end

function Walk:team_end(e)
  if self.teams then self.teams:finish(e) end
end

--- The index of a rank within a communicator.
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

--- The operation that a member takes part in: as many on its communicator or window, or with requests, are before it.
function Walk:instance(e)
  local what = e.window and ("window %d"):format(e.window) or ("%d %s"):format(e.communicator, e.request and "request" or "")
  local own = ("%s of %d"):format(what, e.location)
  local number = (self.counts[own] or 0) + 1
  self.counts[own] = number
  local key = ("%s %d"):format(what, number)
  local instance = self.instances[key]
  if not instance then
    instance = { operation = e.operation, members = {}, key = key, window = e.window }
    self.instances[key] = instance
  end
  instance.root = instance.root or e.root
  return instance
end

function Walk:collective(e)
  local call = self:call_of(e)
  if not call or e.members < 2 then return end
  local instance, came = self:instance(e), call
  if e.request then came, self.begun[e.request] = self.begun[e.request], nil end
  instance.unknown = instance.unknown or not came or is_local(call.region) or came and is_local(came.region)
    or not e.request and is_immediate(call.region) or e.operation ~= instance.operation
  self.looked[call.number] = self.looked[call.number] or not instance.unknown
  call.pending = (call.pending or 0) + 1
  local member = { call = call, came = came or call, ended = e.time_s }
  if KIND[e.operation] == "early scan" then member.order = self:order(e.communicator, e.rank) end
  instance.members[#instance.members + 1] = member
  if #instance.members < e.members then return end
  self.instances[instance.key] = nil
  all_met(self.found, instance)
  for _, m in ipairs(instance.members) do self:settle(m.call) end
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

--- Call @found for each wait of a trace when it is known: its kind, the waiting call, the call that it waited for, its
--- length, and the call whose start ended it. A call has region, number, enter (seconds), location, process, rank and
--- node, whose names are path_of(node).
--- Call @forked for each thread of an OpenMP team that another thread forked: its location, the time, and the other's location.
--- Reads all events in the order of time, about 150 ns each; needs memory for open calls, call paths, messages in flight, and
--- collective operations and barriers that some have not reached; with a past also for call paths between open calls.
---@param found fun(kind: string, call: table, other: table, wait_s: number, last: table)
---@param forked? fun(location: integer, at_s: number, primary: integer)
---@param past? pmlua.analysis.Past gets what all locations do
---@return table<integer, boolean>? looked numbers of regions of MPI in which waits were looked for
---@return pmlua.Failure? failure
function M.each(reader, found, forked, past)
  local teams = imbalance.watch(reader, found, forked or function() end)
  if reader:about().ranks == 0 and not teams then return {} end
  local walk = setmetatable({ reader = reader, found = found, teams = teams, stacks = {}, channels = {}, counts = {},
    instances = {}, orders = {}, sends = {}, posted = {}, begun = {}, looked = {}, root = { id = 0 },
    nodes = 0, past = past, may_wait = past and may_wait(reader),
    main = past and main_locations(reader) }, Walk)
  walk.locks = locks.new(found, walk.stacks, function(call) walk:settle(call) end)
  local done, err = reader:each(function(e) walk[e.kind](walk, e) end,
    { order = "time", where = { kinds = { "enter", "leave", "send", "receive", "collective", "team_begin", "team_end", "request",
      "notify", "lock" } } })
  if not done then return nil, err end
  return walk.looked
end

---@class pmlua.analysis.WaitSums
---@field wait_s number of all waits
---@field dropped { waits: integer, wait_s: number, most_s: number } sums that are not in the list; the sums in it, and each of
---  those, may be short by most_s
---@field late { cause: string, process: integer, location: integer, wait_s: number }[] what those who were late were in, of all
---  waits, longest first

--- The waits of a trace, longest first. All events are read even with a window, because a message may begin before it. Needs the
--- memory of each(), 1 KB for each of at most @most pairs of locations and call paths, and 200 bytes per call path and location.
---@param window? { [1]: number, [2]: number } seconds; of waits, the part in it counts
---@param most? integer sums at once, 2 or more; of more the shorter half is dropped. nil: all are kept
---@param given? fun(sum: pmlua.analysis.Wait) gets what would be dropped: several sums of the same waits add up
---@return pmlua.analysis.Wait[]? waits, pmlua.analysis.WaitSums|pmlua.Failure sums or why not
function M.of(reader, window, most, given)
  local past = pasts.new()
  local sums = { by = {}, list = {}, late = {}, wait_s = 0.0, most = most or math.huge, given = given,
    dropped = { waits = 0, wait_s = 0.0, most_s = 0.0 } }
  local done, err = M.each(reader, adding(sums, past, window), nil, past)
  if not done then return nil, err end
  for _, sum in ipairs(sums.list) do list_causes(sum) end
  table.sort(sums.list, longer)
  return sums.list, { wait_s = sums.wait_s, dropped = sums.dropped, late = list_late(sums) }
end

return M
