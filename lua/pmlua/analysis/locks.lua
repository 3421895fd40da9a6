-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/locks.lua - lock contention on RMA windows, a wait state of pmlua.analysis.waits.
--
-- Try:  pmlua trace out/traces.otf2 --waits
--
-- A rank has a lock from its request to its release. If two locks at one target overlap and one is exclusive, the later one
-- waits: in MPI_Win_lock, or, as libraries may ask for a lock only when it is used, in MPI_Win_flush or MPI_Win_unlock. Such a
-- call waited if an earlier holder began to release the lock during the call, and finished before the waiting rank released it.

local sorted = require "pmlua.internal.sorted"

local M = {}

---@class pmlua.analysis.Locks
local Locks = {}
Locks.__index = Locks

---@param found fun(kind: string, call: table, other: table, wait_s: number, last: table)
---@param stacks table<integer, table> open calls of each location
---@param settle fun(call: table) the waiting of a call is known
---@return pmlua.analysis.Locks
function M.new(found, stacks, settle)
  return setmetatable({ found = found, stacks = stacks, settle = settle, windows = {}, of = {}, epochs = 0 }, Locks)
end

local function earlier(a, b) return a.order < b.order end

local function conflict(a, b)
  return a.location ~= b.location and (a.exclusive or b.exclusive)
    and (not a.target or not b.target or a.target == b.target)
end

--- Whether another rank holds the lock during a call.
local function is_held(window, epoch, call)
  for other in pairs(window.open) do
    if other.acquired and other.acquired <= call.leave and conflict(other, epoch) then return true end
  end
end

--- Find the releases that began during a call: if a rank held the lock before the call, the last release ends the waiting.
function Locks:decide(window, epoch, call)
  local last, held
  for _, other in ipairs(window.released) do
    local release = other.release
    if conflict(other, epoch) and release.enter > call.enter and release.enter < call.leave then
      held = held or other.acquired <= call.enter
      if not last or release.enter > last.enter then last = release end
    end
  end
  if held then self.found("lock contention", call, last, last.enter - call.enter, last) end
  self.settle(call)
end

--- Decide about calls during which no other rank still holds the lock; @all: about all calls.
function Locks:decide_calls(window, epoch, all)
  local rest = {}
  for _, call in ipairs(epoch.calls) do
    if not all and is_held(window, epoch, call) then rest[#rest + 1] = call
    else self:decide(window, epoch, call) end
  end
  epoch.calls = rest
end

--- Forget releases that no open or undecided call can have waited for.
function Locks:forget(window)
  local oldest, recent = math.huge, {}
  for epoch in pairs(window.open) do
    local stack = self.stacks[epoch.location]
    local call = epoch.calls[1] or stack and stack[#stack]
    oldest = math.min(oldest, call and call.enter or math.huge)
  end
  for _, other in ipairs(window.released) do if other.release.enter > oldest then recent[#recent + 1] = other end end
  window.released = recent
end

function Locks:release(epoch, call)
  local window = self.windows[epoch.window]
  window.open[epoch], self.of[epoch.location][epoch.key] = nil, nil
  self:decide_calls(window, epoch, true)
  epoch.release, epoch.acquired = call, epoch.acquired or call.enter
  window.released[#window.released + 1] = epoch
  local waiting = {}
  for other in pairs(window.open) do
    if #other.calls > 0 and conflict(other, epoch) then waiting[#waiting + 1] = other end
  end
  table.sort(waiting, earlier)
  for _, other in ipairs(waiting) do self:decide_calls(window, other) end
  self:forget(window)
end

--- A lock record inside a call.
---@param e pmlua.TraceEvent
function Locks:event(e, call)
  local mine = self.of[e.location] or {}
  self.of[e.location] = mine
  local key = ("%d %d"):format(e.window or -1, e.process_there or -1)
  local epoch = mine[key]
  if not epoch and e.what ~= "released" then
    self.epochs = self.epochs + 1
    epoch = { order = self.epochs, key = key, window = e.window, target = e.process_there, exclusive = e.exclusive,
      location = e.location, calls = {} }
    local window = self.windows[e.window] or { open = {}, released = {} }
    mine[key], self.windows[e.window], window.open[epoch] = epoch, window, true
  end
  if not epoch then return end
  if e.what == "acquired" then epoch.acquired = e.time_s end
  call.locks = call.locks or {}
  call.locks[epoch] = e.what
end

--- A call returns.
---@return boolean? looked its waiting for locks is known
function Locks:leave(call)
  local locks = call.locks
  if not locks and call.region:find "^MPI_Win_flush" then
    local epoch, another = next(self.of[call.location] or {})
    if another and not next(self.of[call.location], epoch) then locks = { [another] = "flushed" } end
  end
  for epoch, what in sorted(locks or {}, earlier) do
    epoch.calls[#epoch.calls + 1] = call
    call.pending = (call.pending or 0) + 1
    if what == "released" then self:release(epoch, call) else self:decide_calls(self.windows[epoch.window], epoch) end
  end
  return locks ~= nil
end

return M
