-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/counter_spec.lua - pml.counter and pml.group from Lua.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local function work()
  local t = {}
  for i = 1, 100000 do t[i] = i end
  return #t
end

describe("A counter", function()
  it("counts this thread's work, with the times that scaling needs", function()
    local c <close> = assert(core.counter.open("task-clock"))
    local before = c:read()
    work()
    local raw, enabled, running = c:read()
    assert.is_true(raw > before and enabled >= running and running > 0)
  end)

  it("names the path of its reads, and the reason why it is not the page", function()
    local c <close> = assert(core.counter.open("page-faults", { no_page = true }))
    local path, why = c:path()
    assert.equal("read", path)
    assert.is_string(why)
  end)

  it("does not count before it is enabled", function()
    local c <close> = assert(core.counter.open("page-faults", { disabled = true }))
    work()
    assert.equal(0, (c:read()))
  end)

  it("of a process that is not there is refused", function()
    local c, err, code = core.counter.open("task-clock", { pid = 2 ^ 22 | 0 })
    assert.is_nil(c)
    assert.equal("ESRCH", code)
    assert.matches("^counter%.open: ESRCH: .*task%-clock", err)
  end)

  it("is not read after its close, which may be repeated", function()
    local c = assert(core.counter.open("task-clock"))
    c:close()
    c:close()
    assert.equal("counter (closed)", tostring(c))
    assert.error_matches(function() c:read() end, "counter: the handle is closed")
  end)

  it("takes no unknown option, and none out of range", function()
    assert.error_matches(function() core.counter.open("task-clock", { inhert = true }) end, "unknown option 'inhert'")
    assert.error_matches(function() core.counter.open("task-clock", { cpu = -1 }) end, "option 'cpu' must be an integer")
    assert.error_matches(function() core.counter.open("task-clock", { part = 2 }) end, "1 part")
  end)
end)

describe("A group", function()
  it("is read in one pass, in the order of its names", function()
    local g <close> = assert(core.group.open { "task-clock", "page-faults" })
    assert.equal(2, #g)
    local r, retries = g:read()
    assert.equal(0, retries)
    assert.is_true(r[1].raw > 0 and r[1].enabled_ns == r[2].enabled_ns)
    assert.equal(r[1].raw, math.tointeger(r[1].scaled))
  end)

  it("names the event that does not open", function()
    local g, err, code = core.group.open { "task-clock", "nonsense" }
    assert.is_nil(g)
    assert.equal("ENOEVENT", code)
    assert.matches("nonsense", err)
  end)
end)
