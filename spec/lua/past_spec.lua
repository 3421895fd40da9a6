-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/past_spec.lua - tests of the recent past of ranks: equal to the full history, in bounded memory.

require "spec.core.support"
local pasts = require "pmlua.analysis.past"

describe("the past of ranks", function()
  --- Three ranks wait and work at random. Calls `ask` during waits that have not ended, with the past, and the full list of
  --- pieces to compare.
  local function play(seed, steps, ask)
    math.randomseed(seed)
    local past, all, since, open, now = pasts.new(), { {}, {}, {} }, { 0, 0, 0 }, {}, 0
    for _ = 1, steps do
      now = now + math.random(0, 5)
      local rank = math.random(3)
      local piece = { path = math.random(4), from = since[rank], to = now }
      past:did(rank, piece.path, piece.from, piece.to)
      table.insert(all[rank], piece)
      since[rank] = now
      if not open[rank] then
        open[rank] = { enter = now }
        past:open(open[rank])
      elseif math.random(40) == 1 then
        past:close(open[rank])
        open[rank] = nil
      end
      local late = math.random(3)
      if open[rank] and math.random(10) == 1 then ask(past, all[late], late, open[rank].enter, since[late]) end
    end
    return past
  end

  local function exact(pieces, from, to)
    local sums = {}
    for _, p in ipairs(pieces) do
      local seconds = math.min(p.to, to) - math.max(p.from, from)
      if seconds > 0 then sums[p.path] = (sums[p.path] or 0) + seconds end
    end
    return sums
  end

  it("is exact from the beginning of each open wait", function()
    local asked = 0
    for seed = 1, 5 do
      play(seed, 4000, function(past, pieces, late, from, to)
        local sums, known = {}, exact(pieces, from, to)
        past:between(late, from, to, function(path, s) sums[path] = (sums[path] or 0) + s end)
        for path = 1, 4 do
          assert.is_true(math.abs((sums[path] or 0) - (known[path] or 0)) < 1e-6, ("path %d, seed %d"):format(path, seed))
        end
        asked = asked + 1
      end)
    end
    assert.is_true(asked > 1000)
  end)

  it("is kept in bounded memory while a rank waits forever", function()
    local past, one = pasts.new(), { enter = 0 }
    past:open(one)
    for i = 1, 100000 do past:did(2, i % 7, i, i + 1) end
    assert.is_true(#past.of[2] <= 512)
    local sum = 0
    past:between(2, 0, 100001, function(_, s) sum = sum + s end)
    assert.are.equal(100000, math.floor(sum + 0.5))
    past:close(one)
    past:did(2, 1, 100001, 100002)
    assert.is_nil(past.of[2], "nobody waits")
  end)

  it("forgets ended calls behind an open one", function()
    local past = pasts.new()
    past:open { enter = 0 }
    for i = 1, 10000 do
      local call = { enter = i }
      past:open(call)
      past:close(call)
    end
    assert.is_true(past.last - past.first < 300)
  end)
end)
