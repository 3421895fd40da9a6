-- spec/lua/reading_spec.lua - tests of readings: the values of events and recorders, as the live service of this process gives
-- them.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local app, link, reading, lib

setup(function()
  if support.missing then return end
  reading = require "pmlua.internal.live.reading"
  local directory = require "pmlua.internal.live.directory"
  assert(core.live.start { name = "reading" })
  app = assert(directory.find(("%d"):format(core.sys.pid())))
  link = assert(directory.connect(app))
  lib = assert(core.sde.library "READ")
end)
teardown(function()
  if not link then return end
  link:close()
  core.live.stop()
end)

--- Rows by the names of the events, and as a list.
local function read(...)
  local answer = assert(reading.new({ ... }):ask(app, link, 60))
  local byname = {}
  for _, row in ipairs(answer.rows) do byname[row.name:match "^sde:::[^:]+::(.*)$"] = row end
  return byname, answer.rows
end

local function series(name, first)
  return reading.series(app, link, { name = name, type = "int64" }, first, 60)
end

describe("A reading", function()
  it("has counters, series with their quantiles, groups and sets by glob", function()
    lib:counter("n"):add(42)
    assert(lib:describe("n", "how many"))
    local r = lib:recorder("r", { type = "double" })
    for i = 1, 5 do r:push(i / 2) end
    lib:set("s"):insert("a", 1)
    lib:group("g", "sum", "n")
    local rows = read "READ::*"
    assert.same({ 42, "created", "how many", true }, { rows.n.value, rows.n.kind, rows.n.description, rows.n.writable })
    assert.same({ 5, "recorder" }, { rows.r.value, rows.r.kind })
    assert.same({ count = 5, dropped = 0, nans = 0, error = 0, min = 0.5, q1 = 1, median = 1.5, q3 = 2, max = 2.5 },
      rows.r.recorder)
    assert.same({ 1, 42 }, { rows.s.value, rows.g.value })
    assert.is_nil(rows["r:MED"])
    assert.same({ 1.5 }, { read("sde:::READ::?:MED")["r:MED"].value })
    assert.is_nil(next((read "READ::x*")))
  end)

  it("has whole numbers exactly, and the reason for a missing value", function()
    lib:counter("max"):add(math.maxinteger)
    assert.equal(math.maxinteger, read("READ::max").max.value)
    local held <close> = core.sde.find "READ::later"
    assert.same({ nil, "placeholder" }, { read("READ::later").later.value, read("READ::later").later.kind })
    assert.matches("registered", read("READ::later").later.reason)
    assert.equal(-1, held:read())
    local r = lib:recorder("inf", { type = "double" })
    assert.same({ nil, "it has no value" }, { read("READ::inf:MAX")["inf:MAX"].value, read("READ::inf:MAX")["inf:MAX"].reason })
    r:push(1 / 0)
    assert.same({ nil, "the value is infinite" }, { read("READ::inf:MAX")["inf:MAX"].value,
      read("READ::inf:MAX")["inf:MAX"].reason })
  end)

  it("has the values of a series from a place on", function()
    local r = lib:recorder("series", { type = "int64" })
    for i = 1, 70000 do r:push(i) end
    local values = series("READ::series", 3)
    assert.same({ 3, 65536 }, { values[1], #values })
    values = series("sde:::READ::series", 65539)
    assert.same({ 65539, 70000, 70000 - 65538 }, { values[1], values[#values], #values })
    assert.same({}, series("READ::series", 70001))
    lib:counter "nocounter"
    for name, why in pairs { ["READ::nocounter"] = "READ::nocounter is not a recorder", ["READ::none"] = "no event is called" } do
      local none, err = series(name, 1)
      assert.is_nil(none)
      assert.matches(why, tostring(err), 1, true)
    end
    local failed, err = series("READ::series", 0)
    assert.is_nil(failed)
    assert.matches("FIRST LIB::RECORDER", tostring(err), 1, true)
  end)

  it("applies a name without a library to each library, also a pattern", function()
    core.sde.library("READ2"):counter("twin"):add(2)
    lib:counter("twin"):add(1)
    local function values(...)
      local list, _, rows = {}, read(...)
      for i, row in ipairs(rows) do list[i] = ("%s %d"):format(row.name, row.value) end
      table.sort(list)
      return list
    end
    local both = { "sde:::READ2::twin 2", "sde:::READ::twin 1" }
    assert.same(both, values "twin")
    assert.same(both, values "tw?n")
    assert.same({ both[2] }, values("READ::twin", "sde:::READ::twin"))
    assert.same({}, values "win")
    local many = {}
    for i = 1, 1001 do many[i] = "READ::n" end
    assert.matches("at most 1000 patterns", tostring(select(2, reading.new(many):ask(app, link, 60))))
  end)

  it("has many events, each once and in order, and their names again after a change", function()
    local many = core.sde.library "MANY"
    for i = 1, 4500 do many:counter("m" .. i):add(i) end
    local r = reading.new { "MANY::*" }
    local function check(first)
      local rows = assert(r:ask(app, link, 60)).rows
      assert.equal(4501 - first, #rows)
      for i, row in ipairs(rows) do assert.equal(i + first - 1, row.value) end
    end
    check(1)
    check(1)
    many:unregister "m1"
    check(2)
    assert.equal("sde:::MANY::m44", read("MANY::m44").m44.name)
    many:shutdown()
    assert.same({}, r:ask(app, link, 60).rows)
  end)

  it("is not held up by a glob of many stars", function()
    lib:counter(("a"):rep(200))
    assert.is_nil(next((read("READ::" .. ("*a"):rep(100) .. "b"))))
  end)

  it("refuses bytes that are no answer", function()
    for _, bytes in ipairs { "", "x", ("x"):rep(100), link:ask("values", "0", 60):sub(1, -2) } do
      assert.is_nil((reading.new():take(bytes)))
    end
  end)
end)
