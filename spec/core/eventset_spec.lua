-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/eventset_spec.lua - tests of pml.eventset.

local permission = require "spec.permission"
local support = require "spec.core.support"
local it = support.it
local core = support.core

local names = { "task-clock", "clock::ns", "page-faults" }

--- The names of the events in a set.
local function called()
  return { permission.name(names[1]), names[2], permission.name(names[3]) }
end

describe("An event set", function()
  it("mixes sources and reads them in the order of the names", function()
    local s <close> = assert(core.eventset.open(names))
    assert.equal(3, #s)
    local task, ns, faults = s:start():read()
    assert.same({ "integer", "integer", "integer" }, { math.type(task), math.type(ns), math.type(faults) })
    assert.is_true(ns > 0)
    for i, name in ipairs(called()) do assert.equal(name, s:event(i).name) end
  end)

  it("can also be opened by calling the module", function()
    local s <close> = assert(core.eventset { "clock::ns" })
    assert.matches("^eventset %(0x", tostring(s))
    local t <close> = assert(core.eventset({ "task-clock" }, { no_page = true }))
    assert.equal("read", t:event(1).path)
    assert.is_string(t:event(1).why)
  end)

  it("does not count while stopped, until it is started again", function()
    local s <close> = assert(core.eventset.open(names))
    s:start()
    local stopped = table.pack(s:stop())
    assert.same(stopped, table.pack(s:read()))
    s:start()
    assert.is_true(select(2, s:read()) > 0)
  end)

  it("counts from now after a reset", function()
    local s <close> = assert(core.eventset.open { "clock::ns" })
    core.sys.sleep(0.002)
    s:stop()
    s:reset()
    assert.equal(0, (s:read()))
  end)

  it("puts a time stamp before the values", function()
    local s <close> = assert(core.eventset.open(names))
    local before = core.clock.ticks()
    local r = table.pack(s:read_ts())
    assert.equal(4, r.n)
    assert.is_true(before <= r[1] and r[1] <= core.clock.ticks())
  end)

  it("adds counts into a table, which it makes if necessary", function()
    local s <close> = assert(core.eventset.open { "clock::ns" })
    local sums = s:accum()
    local first = sums[1]
    assert.equal(sums, s:accum(sums))
    assert.is_true(sums[1] > first)
    assert.same({ 1 << 62 }, { (s:accum { 1 << 62 }[1] >> 62) << 62 })
    assert.error_matches(function() s:accum { "x" } end, "sum 1 is a string")
  end)

  it("gives a reader that reads the same counts and keeps the set alive", function()
    local reader
    do
      local s = assert(core.eventset.open(names))
      reader = s:reader()
    end
    collectgarbage()
    collectgarbage()
    local a, b = table.pack(reader()), table.pack(reader("arguments", "do not matter"))
    assert.same({ 3, 3 }, { a.n, b.n })
    assert.is_true(b[2] > a[2])
  end)

  it("closes its readers when it is closed", function()
    local s = assert(core.eventset.open(names))
    local reader = s:reader()
    s:close()
    assert.error_matches(function() local _ = reader() end, "eventset: the handle is closed")
  end)

  it("holds up to 128 events, and pushes all of them", function()
    local many = {}
    for i = 1, 128 do many[i] = "clock::ticks" end
    local s <close> = assert(core.eventset.open(many))
    assert.equal(128, select("#", s:read()))
    assert.equal(128, select("#", s:reader()()))
    many[129] = "clock::ticks"
    assert.error_matches(function() core.eventset.open(many) end, "1 to 128 names")
  end)

  it("gives raw counts with the times that scaling needs", function()
    local s <close> = assert(core.eventset.open(names))
    local expected = called()
    for i, r in ipairs(s:readings()) do
      assert.equal(expected[i], r.name)
      assert.is_true(r.enabled_ns >= r.running_ns)
    end
    assert.equal(1, #s:parts(1))
  end)

  it("counts a cpu at once, also if a thread's events wait for its program", function()
    local set, err, code = core.eventset.open({ "cpu-clock" }, { pid = -1, cpu = 0, on_exec = true })
    if not set and (code == "EPARANOID" or code == "ECAP") then return pending(tostring(err)) end
    assert.truthy(set, tostring(err))
    local waiting <close> = assert(core.eventset.open({ "page-faults:u" }, { on_exec = true }))
    core.sys.sleep(0.02)
    assert.is_true(set:read() > 0)
    assert.equal(0, (waiting:read()))
    set:close()
  end)

  it("names what did not open", function()
    local s, err, code = core.eventset.open { "clock::ns", "nonsense" }
    assert.is_nil(s)
    assert.equal("ENOEVENT", code)
    assert.matches("^eventset%.open: ENOEVENT: .*nonsense", err)
  end)

  it("is closed at the end of its scope, also after an error", function()
    local kept
    pcall(function()
      local s <close> = assert(core.eventset.open(names))
      kept = s
      error "out"
    end)
    assert.equal("eventset (closed)", tostring(kept))
  end)
end)
