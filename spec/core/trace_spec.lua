-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/trace_spec.lua - pml.trace and pml.region from Lua.

local support = require "spec.core.support"
local it = support.it
local core = support.core

describe("A trace", function()
  after_each(support.cleanup)

  it("holds the regions and metrics that were recorded", function()
    local dir = support.folder()
    local t = assert(core.trace.create(dir, { metrics = { { name = "count", unit = "#", mode = "absolute" } } }))
    local main = assert(t:location("main"))
    local region = core.region.intern("a phase", "x.lua", 7)
    assert.is_true(main:enter(region))
    assert.is_true(main:metric { 42 })
    assert.is_true(main:leave(region))
    assert.same({ dropped = 0, lifted = 0, unmatched = 0, written = 3 }, t:stats())
    assert.is_true(t:close())
    assert.is_true(t:close())
    local _, out = support.shell("otf2-print " .. dir .. "/traces.otf2")
    if out == "" then return pending("otf2-print is not installed") end
    assert.matches("ENTER.*\"a phase\".*METRIC.*LEAVE", out)
  end)

  it("refuses a leave without its enter and counts it", function()
    local t <close> = assert(core.trace.create(support.folder()))
    local main = assert(t:location("main"))
    assert.equal("EINVAL", select(3, main:leave(core.region.intern("r"))))
    assert.equal(1, t:stats().unmatched)
  end)

  it("does not overwrite another one, and needs a folder", function()
    local dir = support.folder()
    assert(core.trace.create(dir)):close()
    assert.equal("EEXIST", select(3, core.trace.create(dir)))
    assert.equal("ENOENT", select(3, core.trace.create(dir .. "/nowhere")))
  end)

  it("closes its locations when it is closed", function()
    local t = assert(core.trace.create(support.folder()))
    local main = assert(t:location("main"))
    t:close()
    assert.error_matches(function() main:enter(core.region.intern("r")) end, "location: its trace is closed")
  end)

  it("lives as long as a location of it", function()
    local main = assert(core.trace.create(support.folder())):location("main")
    collectgarbage()
    collectgarbage()
    assert.is_true(main:enter(core.region.intern("r")))
    main = nil -- luacheck: ignore 311
    collectgarbage() -- closes the trace while its folder is there
    collectgarbage()
  end)

  it("accepts only regions that exist, and as many values as metrics", function()
    local t <close> = assert(core.trace.create(support.folder(), { metrics = { { name = "a" }, { name = "b" } } }))
    local main = assert(t:location("main"))
    assert.error_matches(function() main:enter(1 << 31) end, "no such region")
    assert.error_matches(function() main:metric { 1 } end, "2 value")
    assert.error_matches(function() core.trace.create("x", { metrics = { { nam = "a" } } }) end, "unknown option 'nam'")
  end)
end)

describe("A region", function()
  it("has one id for one name, file and line", function()
    local a = core.region.intern("spec", "f", 1)
    assert.equal(a, core.region.intern("spec", "f", 1))
    assert.is_true(a ~= core.region.intern("spec", "f", 2))
    assert.same({ name = "spec", file = "f", line = 1 }, core.region.describe(a))
    assert.is_true(core.region.count() >= 2)
    assert.equal("ENOENT", select(3, core.region.describe(core.region.count() + 1)))
    assert.equal("EINVAL", select(3, core.region.intern("")))
  end)
end)
