-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/watchpoint_spec.lua - the experiment, run for real by its command.

local tables = require "spec.scripts.tables"
local support = require "spec.core.support"

describe("scripts/watchpoint.lua --quick", function()
  local text, dir, rows, lanes, why
  setup(function()
    text, dir, rows = tables.measure("watchpoint")
    lanes = tables.read(dir .. "/accesses.dat")
    for _, r in ipairs(rows) do
      if r.watched == "yes" and r.status ~= "ok" then why = r.status end
    end
  end)

  --- it(), or pending if watchpoints are not available.
  local watch_it = support.it_unless(function() return why end)

  --- Accesses of a loop to a symbol, thread by thread.
  local function accesses(loop, symbol)
    local list = {}
    for _, r in ipairs(lanes) do
      if r.loop == loop and r.symbol == symbol then list[#list + 1] = r.accesses end
    end
    return list
  end

  it("ends well, with a picture and a row for each loop, watched and not", function()
    assert.equal(6, #rows)
    assert.is_true(tables.drawn(dir), text)
    for _, r in ipairs(rows) do
      if r.watched == "no" then assert.is_true(r.status == "ok" and r.median > 0, r.loop) end
    end
  end)

  watch_it("sees the imbalance of 22 chunks on 4 threads, call by call", function()
    local six, five = 6 * 506, 5 * 506
    assert.same({ six, six, five, five }, accesses("chunks", "matmul_sub"))
    assert.same({ six, six, five, five }, accesses("chunks", "matvec_sub"))
  end)

  watch_it("sees every write under both schedules", function()
    assert.same({ 5000, 5000 }, accesses("static", "d_var"))
    local sum = 0
    for _, n in ipairs(accesses("dynamic", "d_var")) do sum = sum + n end
    assert.equal(10000, sum)
  end)

  watch_it("sees that a static schedule divides the values, and that each thread goes upwards", function()
    local last = {}
    for _, r in ipairs(tables.read(dir .. "/content.dat")) do
      local key = r.loop .. r.thread
      assert.is_true(r.value > (last[key] or -1), key) -- chunks are given out in order, too
      last[key] = r.value
    end
    for _, r in ipairs(lanes) do
      if r.loop == "static" then assert.same({ 2500 * r.thread, 2500 * r.thread + 2499.5 }, { r.least, r.most }) end
    end
  end)

  watch_it("leaves a trace of each", function()
    if not tables.shell("command -v otf2-print"):find "otf2" then return pending "otf2-print is not installed" end
    local counts = { ["static-d_var"] = 10000, ["dynamic-d_var"] = 10000, ["chunks-matmul_sub"] = 11132 }
    for name, n in pairs(counts) do
      local count = tables.shell(("otf2-print %s/%s/traces.otf2 | grep -c ^METRIC"):format(dir, name))
      assert.equal(n, tonumber(count), name)
    end
  end)
end)
