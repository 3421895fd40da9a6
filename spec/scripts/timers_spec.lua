-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/timers_spec.lua - the experiment, run for real by its command.

local tables = require "spec.scripts.tables"
local clocks = require "timers.clocks"

describe("scripts/timers.lua --quick", function()
  local text, dir, rows
  setup(function() text, dir, rows = tables.measure("timers") end)

  it("ends well, with a picture and a row for every clock", function()
    assert.equal(#clocks.names, #rows)
    assert.is_true(tables.drawn(dir), text)
  end)

  it("has samples of each, or a reason", function()
    for _, r in ipairs(rows) do
      if r.status == "ok" then
        assert.is_true(r.samples == 400 and r.min > 0, r.clock)
        assert.is_true(r.reads > 0 and r.claimed > 0 and r.still >= 0 and r.still <= 100, r.clock)
        assert.is_true(not r.resolution or r.resolution <= r.longest, r.clock)
        assert.is_true((r.back == 0) == (r.worst_back == 0), r.clock)
      else
        assert.truthy(#r.status > 5 and r.samples == 0, r.clock)
      end
    end
  end)

  it("sees no monotonic clock go back", function()
    for _, r in ipairs(rows) do
      if r.status == "ok" and r.clock:find "^MONOTONIC" then
        assert.equal(0, r.back, r.clock)
        assert.equal(0, r.across_back, r.clock)
      end
    end
  end)

  it("compares cpus except for a thread's own time, and Lua's clocks", function()
    local f = assert(io.popen "nproc")
    local several = f:read "n" > 1
    f:close()
    for _, r in ipairs(rows) do
      if r.status == "ok" and r.clock:find "^lua:" then
        assert.is_nil(r.across_reads)
      elseif r.status == "ok" then
        assert.equal(several and r.clock ~= "THREAD_CPUTIME_ID", r.across_reads > 0, r.clock)
      end
    end
  end)

  it("leaves the first readings and the lengths of the steps", function()
    local at, share = {}, {}
    for _, s in ipairs(tables.read(dir .. "/stairs.dat")) do
      assert.is_true(s.at >= (at[s.clock] or 0), s.clock)
      at[s.clock] = s.at
    end
    local long = {}
    for _, j in ipairs(tables.read(dir .. "/jitter.dat")) do
      assert.is_true(j.share < (share[j.clock] or 2) and j.step >= (long[j.clock] or 0), j.clock)
      share[j.clock], long[j.clock] = j.share, j.step
    end
    for _, r in ipairs(rows) do
      if r.status == "ok" then assert.truthy(at[r.clock] and share[r.clock] == 0, r.clock) end
    end
  end)
end)
