-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/past.lua - what each rank and thread did lately: as far back as another one may have waited for it.
--
-- Try:  local past = require("pmlua.analysis.past").new(); past:did(1, "solve", 0, 2.5)
--
-- Time in a call itself is a piece: its call path, from when to when. Pieces are kept that end after the oldest call
-- that may wait began and is still open. Where a location has many, those between two beginnings of such calls are added
-- up by call path: a question begins with one of them, so that nothing is lost, unless the call had ended before the question.
-- Memory: for locations, and for call paths between open calls; not for events.

local M = {}

local PIECES <const> = 256 -- pieces of a location before they are merged
local DONE <const> = 64 -- ended calls stored after an open call

---@class pmlua.analysis.Past
local Past = {}
Past.__index = Past

---@return pmlua.analysis.Past
function M.new() return setmetatable({ of = {}, calls = {}, first = 1, last = 0, done = 0 }, Past) end

--- A call that may wait begins, in the order of time.
---@param call { enter: number }
function Past:open(call)
  self.last = self.last + 1
  self.calls[self.last], call.waits = call, true
end

function Past:forget_done()
  local calls, n = {}, 0
  for i = self.first, self.last do
    if self.calls[i].waits then n = n + 1; calls[n] = self.calls[i] end
  end
  self.calls, self.first, self.last, self.done = calls, 1, n, 0
end

--- Mark a call as closed: its wait is not queried any more.
function Past:close(call)
  if not call.waits then return end
  call.waits, self.done = false, self.done + 1
  while self.first <= self.last and not self.calls[self.first].waits do
    self.calls[self.first], self.first, self.done = nil, self.first + 1, self.done - 1
  end
  if self.done > DONE and 2 * self.done > self.last - self.first then self:forget_done() end
end

--- Add up what lies between two beginnings of open calls.
local function add_up(self, pieces)
  local kept, n, place, next_one = {}, 0, {}, self.first
  for _, p in ipairs(pieces) do
    local begins_in = false
    while next_one <= self.last and self.calls[next_one].enter < p.to do
      local call = self.calls[next_one]
      if call.waits then place, begins_in = {}, call.enter > p.from end
      next_one = next_one + 1
    end
    local same = place[p.path]
    if same then
      same.to, same.seconds = p.to, same.seconds + p.seconds
    else
      n = n + 1
      kept[n] = p
      if not begins_in then place[p.path] = p end
    end
  end
  kept.most = math.max(PIECES, 2 * n)
  return kept
end

--- A location was in a call path, until now.
---@param path any of the call itself, not of those inside
function Past:did(location, path, from_s, to_s)
  local pieces = self.of[location]
  local oldest = self.calls[self.first]
  if not oldest then
    if pieces then self.of[location] = nil end
    return
  end
  if to_s <= from_s or to_s <= oldest.enter then return end
  if not pieces then
    pieces = { most = PIECES }
    self.of[location] = pieces
  end
  pieces[#pieces + 1] = { path = path, from = from_s, to = to_s, seconds = to_s - from_s }
  if #pieces < pieces.most then return end
  local late, n = { most = pieces.most }, 0
  for _, p in ipairs(pieces) do
    if p.to > oldest.enter then n = n + 1; late[n] = p end
  end
  self.of[location] = n < late.most // 2 and late or add_up(self, late)
end

--- The activity of a location between two times: f gets call paths, possibly repeatedly, and seconds.
---@param f fun(path: any, seconds: number)
function Past:between(location, from_s, to_s, f)
  local pieces = self.of[location] or {}
  for i = #pieces, 1, -1 do
    local p = pieces[i]
    local seconds = math.min(p.to, to_s) - math.max(p.from, from_s)
    if seconds > 0 then f(p.path, p.seconds * seconds / (p.to - p.from)) end
  end
end

return M
