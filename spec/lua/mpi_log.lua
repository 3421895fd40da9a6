-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_log.lua - a reader of a log's MPI data, written from docs/log.md.

local support = require "spec.core.support"

local M = {}

local WHAT = { "send", "isend", "isend complete", "irecv", "receive", "irecv complete", "tested", "cancelled", "begin",
  "end", "rma" }
local OPERATION = { [0] = "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
  "alltoall", "alltoallv", "alltoallw", "allreduce", "reduce", "reduce_scatter", "scan", "exscan", "reduce_scatter_block",
  "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
  "create", "destroy" }
-- Events whose first value has a communicator's number above a rank.
local WITH_PEER = { send = true, isend = true, receive = true, ["irecv complete"] = true, ["end"] = true, rma = true }

local function extents(text)
  local list, at = {}, 4096
  local left = 960
  while left > 0 do
    local kind, key, owner, from, bytes, committed, _, turn, origin = string.unpack("<I4I4I8I8I8I8I8I8I8", text, at + 1)
    if kind == 1 then
      at, left = from, 1024
    else
      if kind > 1 then
        list[#list + 1] = { kind = kind, key = key, owner = owner, from = from, bytes = bytes, committed = committed,
          turn = turn, origin = origin }
      end
      at, left = at + 64, left - 1
    end
  end
  return list
end

--- Tracks in the order of their events: events that were moved out of a track come before it.
local function tracks(all)
  local first, last, turns = {}, {}, {}
  for _, e in ipairs(all) do
    if e.kind == 8 and e.origin ~= 0 then turns[e.origin] = (turns[e.origin] or 0) + 1 end
  end
  for _, e in ipairs(all) do
    if e.kind == 8 and (e.origin ~= 0 or not turns[e.from]) then first[#first + 1] = e end
    if e.kind == 8 and e.origin == 0 and turns[e.from] == e.turn then last[#last + 1] = e end
  end
  return table.move(last, 1, #last, #first + 1, first)
end

local function texts(text, at, n)
  local list = {}
  for i = 1, n do list[i], at = string.unpack("z", text, at) end
  return list
end

local define = {
  [4] = function(log, text, at)
    local region = string.unpack("<I4", text, at)
    log.regions[region] = { name = texts(text, at + 8, 2)[1], file = texts(text, at + 8, 2)[2] }
  end,
  [9] = function(log, text, at)
    local c = {}
    local global, high
    c.number, c.flags, c.rank, c.size, c.parent, c.root_world, global, high = string.unpack("<I4I4i4i4I4i4I4I4", text, at)
    c.global = ("%d.%d"):format(high, global)
    c.name, c.ranks, c.remote = table.unpack(texts(text, at + 32, 3))
    log.communicators[c.number] = c
  end,
  [10] = function(log, text, at)
    local o = {}
    o.ticks, o.ns, o.error_ns = string.unpack("<I8i8d", text, at)
    log.offsets[#log.offsets + 1] = o
  end,
  [11] = function(log, text, at)
    log.mpi = {}
    log.mpi.rank, log.mpi.size, log.mpi.level = string.unpack("<i4i4i4", text, at)
    log.mpi.version = texts(text, at + 16, 1)[1]
  end,
}

local function definitions(log, text, e)
  local at, stop = e.from + 1, e.from + e.committed
  while at < stop do
    local what, bytes = string.unpack("<I4I4", text, at)
    if define[what] then define[what](log, text, at + 8) end
    at = at + bytes
  end
end

local function communication(ticks, low, values, n)
  values[n + 1] = nil -- where the next would begin
  local c = { kind = "communication", ticks = ticks, what = WHAT[low >> 24], values = values }
  local from = 1
  if WITH_PEER[c.what] then c.communicator, c.peer, from = values[1] >> 32, values[1] & 0xffffffff, 2 end
  if c.what == "end" then
    c.operation = OPERATION[low & 0xffff]
    c.sent, c.received, c.request = values[2], values[3], values[4]
  elseif c.what == "rma" then
    c.bytes, c.window = values[2], values[3]
    if low & 0xffff > 2 then c.what = "rma synchronisation" end
  elseif from == 2 then
    c.tag, c.bytes, c.request = values[2], values[3], values[4]
  else
    c.request = values[1]
  end
  return c
end

-- The values of a communication that has its call's time, in the form of a communication with a separate time.
local function of_call(low, first, more)
  if low >> 24 == 10 then return { first, more[1] or 0, more[2] or 0, 0 } end
  if #more == 0 then return { first } end
  return { (low & 0xffff) << 32 | more[1] & 0xffffffff, more[1] >> 32, first, more[2] }
end

-- Those that are complete when the call returns; the others are begun by it.
local AFTER = { ["isend complete"] = true, receive = true, ["irecv complete"] = true, tested = true }

local function track(log, text, e)
  local state = {} -- by thread: ticks of its last event, calls under way, communications that wait for the next event
  local function of(thread)
    state[thread] = state[thread] or { calls = {}, waiting = {} }
    return state[thread]
  end
  local function add(event) log.events[#log.events + 1] = event end
  local function follow(s, event) -- a leave or any other event with a time
    for _, c in ipairs(s.waiting) do c.ticks = event.ticks add(c) end
    s.waiting, s.ticks = {}, event.ticks
    if event.kind == "enter" then
      s.calls[#s.calls + 1] = false
    elseif event.kind == "leave" then
      local collective = table.remove(s.calls)
      if collective and not event.left then collective.ticks = event.ticks add(collective) end
    end
  end
  local function begin(s, c)
    c.ticks = s.ticks
    if c.what == "end" then
      add { kind = "communication", ticks = s.ticks, what = "begin", values = { 0 }, request = 0, thread = c.thread }
      s.calls[#s.calls] = c
    elseif AFTER[c.what] then
      s.waiting[#s.waiting + 1] = c
    else
      add(c)
    end
  end
  local at, stop = e.from + 64, e.from + e.bytes
  local thread = e.owner
  while at + 16 <= stop do
    local ticks, low, kind = string.unpack("<I8I4I4", text, at + 1)
    at = at + 16
    if kind == 0 then break end
    local event = { ticks = ticks }
    if kind > 0xff then -- a whole call
      local enter = { ticks = ticks, kind = "enter", region = log.regions[low], thread = thread }
      follow(of(thread), enter)
      add(enter)
      event = { ticks = ticks + (kind >> 8) - 1, kind = "leave", region = log.regions[low] }
    elseif kind == 1 or kind == 2 or kind == 5 then
      event.kind, event.region, event.left = kind == 1 and "enter" or "leave", log.regions[low], kind == 5
    elseif kind == 7 then
      local n = low >> 16 & 0xff
      event = communication(ticks, low, table.pack(string.unpack(("<" .. ("I8"):rep(n)), text, at + 1)), n)
      at = at + (n + 1) // 2 * 16
    elseif kind == 9 then
      local n = low >> 16 & 0xff
      local more = table.pack(string.unpack(("<" .. ("I8"):rep(n)), text, at + 1))
      more[n + 1] = nil
      local values = of_call(low, ticks, more)
      event = communication(nil, low, values, #values)
      event.thread = thread
      begin(of(thread), event)
      at, event = at + (n + 1) // 2 * 16, {}
    elseif kind == 4 then
      thread = low
    end
    event.thread = thread
    if event.kind then
      follow(of(thread), event)
      add(event)
    end
  end
end

--- A log: rank, size, regions, communicators, offsets, mpi, and events in the order of the tracks.
function M.read(path)
  local text = support.slurp(path)
  local log = { regions = {}, communicators = {}, offsets = {}, events = {} }
  log.rank, log.size = string.unpack("<i4i4", text, 25)
  log.started_ns, log.started_ticks, log.ticks_per_second = string.unpack("<I8I8d", text, 41)
  local all = extents(text)
  for _, e in ipairs(all) do if e.kind == 2 then definitions(log, text, e) end end
  for _, e in ipairs(tracks(all)) do track(log, text, e) end
  return log
end

--- The logs of a job below @folder, by rank.
function M.job(folder)
  local logs = {}
  local pipe <close> = io.popen("find " .. support.quote(folder) .. " -name '*.pmlog'")
  for path in pipe:lines() do
    local log = M.read(path)
    if log.mpi then logs[log.rank] = log end
  end
  return logs
end

-- ---- what belongs together ----

--- Lists of the world ranks in each communicator, by the communicator's global id: one list for each group, from index 0.
local function groups(logs)
  local of = {}
  local function add(global, text)
    local list, n = {}, 0
    for rank in text:gmatch "%d+" do list[n], n = math.tointeger(rank), n + 1 end
    if n > 0 then of[global] = of[global] or {} table.insert(of[global], list) end
  end
  for rank, log in pairs(logs) do
    for _, c in pairs(log.communicators) do
      if c.flags == 2 then add(c.global, tostring(rank)) end
      if #c.ranks > 0 and not of[c.global] then
        add(c.global, c.ranks)
        add(c.global, c.remote)
      end
    end
  end
  local world = {}
  for rank in pairs(logs) do world[rank] = rank end
  of["0.0"] = { world }
  return of
end

local function has(list, rank)
  for _, r in pairs(list) do if r == rank then return true end end
end

--- The rank in the world of @peer, which @rank names in the communicator.
local function world_rank(group, rank, peer)
  local other = #group == 2 and (has(group[1], rank) and group[2] or group[1]) or group[1]
  return other[peer]
end

--- Time of rank 0 in ns, from the log's own offsets: between two of them in proportion.
function M.time(log, ticks)
  local ns = log.started_ns + math.floor((ticks - log.started_ticks) * 1e9 / log.ticks_per_second + 0.5)
  local first, last = log.offsets[1], log.offsets[#log.offsets]
  if last.ticks == first.ticks then return ns + first.ns end
  return ns + first.ns + math.floor((last.ns - first.ns) * ((ticks - first.ticks) / (last.ticks - first.ticks)) + 0.5)
end

--- Every message: { from, to, tag, bytes, sent, received }, with ranks in the world and times of rank 0; `left` has all sends and
--- receives without a partner, as text. Messages from one sender to one receiver with the same tag and communicator keep their
--- order.
function M.messages(logs)
  local of, lanes, left, list = groups(logs), {}, {}, {}
  local function add(side, log, e, from, to, order)
    local key = ("%s %s>%s tag %s"):format(log.communicators[e.communicator].global, from, to, e.tag)
    lanes[key] = lanes[key] or { sends = {}, receives = {}, from = from, to = to, tag = e.tag }
    table.insert(lanes[key][side], { bytes = e.bytes, time = M.time(log, e.ticks), order = order })
  end
  for rank, log in pairs(logs) do
    local posted = {}
    for i, e in ipairs(log.events) do
      local group = e.peer and of[log.communicators[e.communicator].global]
      local peer = group and world_rank(group, rank, e.peer)
      if e.what == "irecv" then posted[e.request] = i end
      if e.what == "send" or e.what == "isend" then add("sends", log, e, rank, peer, i) end
      if e.what == "receive" then add("receives", log, e, peer, rank, i) end
      if e.what == "irecv complete" then add("receives", log, e, peer, rank, posted[e.request]) end
    end
  end
  for key, lane in pairs(lanes) do
    table.sort(lane.receives, function(a, b) return a.order < b.order end)
    for i = 1, math.max(#lane.sends, #lane.receives) do
      local s, r = lane.sends[i], lane.receives[i]
      if s and r and s.bytes == r.bytes then
        list[#list + 1] = { from = lane.from, to = lane.to, tag = lane.tag, bytes = s.bytes, sent = s.time, received = r.time }
      else
        left[#left + 1] = key .. (s and " sent " .. s.bytes or "") .. (r and " received " .. r.bytes or "")
      end
    end
  end
  return list, left
end

--- Collective operations: lists of { operation, ranks, sent, received } by communicator, all members' together.
function M.collectives(logs)
  local lists = {}
  for _, log in pairs(logs) do
    local n = {}
    for _, e in ipairs(M.of(log, "end")) do
      if e.operation == "create" or e.operation == "destroy" then goto continue end -- they move nothing
      local global = log.communicators[e.communicator].global
      n[global] = (n[global] or 0) + 1
      local list = lists[global] or {}
      lists[global] = list
      local one = list[n[global]] or { operation = e.operation, ranks = 0, sent = 0, received = 0, mixed = false }
      list[n[global]] = one
      one.mixed = one.mixed or one.operation ~= e.operation
      one.ranks, one.sent, one.received = one.ranks + 1, one.sent + e.sent, one.received + e.received
      ::continue::
    end
  end
  return lists
end

--- Faults of requests: a request never ends, ends twice, or was not begun; "" if there is no fault.
function M.requests(log)
  local begun, wrong = {}, {}
  for _, e in ipairs(log.events) do
    local id = e.request
    if id and id > 0 then
      if e.what == "isend" or e.what == "irecv" or e.what == "begin" then
        if begun[id] then wrong[#wrong + 1] = id .. " is begun twice" end
        begun[id] = e.what
      elseif not begun[id] then
        wrong[#wrong + 1] = id .. " is not begun: " .. e.what
      elseif e.what ~= "tested" then
        begun[id] = nil
      end
    end
  end
  for id, what in pairs(begun) do wrong[#wrong + 1] = id .. " does not end: " .. what end
  return table.concat(wrong, ", ")
end

--- Communications outside of a call of MPI; "" if none are.
function M.outside(log)
  local depth, wrong = {}, {}
  for _, e in ipairs(log.events) do
    local d = depth[e.thread] or 0
    local mpi = e.region and e.region.name:find "^MPI_" ~= nil and e.region.file == ""
    if mpi then depth[e.thread] = d + (e.kind == "enter" and 1 or -1) end
    if e.kind == "communication" and d == 0 then wrong[#wrong + 1] = e.what end
  end
  return table.concat(wrong, ", ")
end

--- How often each function of MPI was called.
function M.calls(log)
  local n = {}
  for _, e in ipairs(log.events) do
    if e.kind == "enter" and e.region.name:find "^MPI_" then n[e.region.name] = (n[e.region.name] or 0) + 1 end
  end
  return n
end

--- Communications of a kind.
function M.of(log, what)
  local list = {}
  for _, e in ipairs(log.events) do if e.what == what then list[#list + 1] = e end end
  return list
end

return M
