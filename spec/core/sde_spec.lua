-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/sde_spec.lua - pml.sde from Lua.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local function library(name)
  return (assert(core.sde.library(name)))
end

describe("A library of software-defined events", function()
  it("has counters that count and are read by name", function()
    local lib = library "L1"
    local n = assert(lib:counter("N"))
    n:add()
    n:add(41)
    assert.equal(42, n:read())
    local e <close> = assert(core.sde.find("sde:::L1::N"))
    assert.equal(42, e:read())
    assert.is_true(e:write(7))
    assert.equal(7, n:read())
    n:reset()
    assert.equal(0, e:read())
    assert.is_true(lib:shutdown())
    assert.equal(-1, e:read())
    n:add(1) -- counts without a reader, and does not crash
    local again, message, code = lib:counter("N")
    assert.same({ nil, "ECLOSED" }, { again, code })
    assert.matches("shut down", message)
  end)

  it("refuses to write read-only counters and other events", function()
    local lib = library "L2"
    lib:counter("RO", { readonly = true })
    local r = lib:recorder("R")
    assert.equal("EACCES", select(3, core.sde.find("L2::RO"):write(1)))
    assert.equal("EMODE", select(3, core.sde.find("L2::R"):write(1)))
    assert.equal("EINVAL", select(3, lib:counter("R")))
    assert.has_error(function() lib:counter("X", { readonl = true }) end)
    r:close()
    assert.has_error(function() r:push(1) end)
    lib:shutdown()
  end)

  it("has recorders with their values and quantiles", function()
    local lib = library "L3"
    local r = assert(lib:recorder("R", { type = "double" }))
    for i = 10, 1, -1 do assert.is_true(r:push(i)) end
    assert.same({ 10, 10, 0, 0 }, { #r, r:count(), r:dropped(), r:nans() })
    assert.same({ 3.0, 6.0, 8.0 }, { r:quantile(25), r:quantile(50), r:quantile(75) })
    assert.same({ 9.0, 8.0 }, r:values(2, 2))
    assert.equal(10, #r:values())
    local e <close> = core.sde.find("L3::R:MAX")
    assert.same({ 10.0, "quantile", "double" }, { e:read(), e:info().kind, e:info().type })
    local same <close> = assert(e:open())
    same:push(11)
    assert.equal(11, #r)
    r:reset()
    assert.equal(0, #same)
    assert.equal("ENOENT", select(3, r:quantile(50)))
    local capped = lib:recorder("CAPPED", { type = "int64", cap = 3 })
    for i = 1, 5 do capped:push(i) end
    assert.same({ { 1, 2, 3 }, 2 }, { capped:values(), capped:dropped() })
    assert.has_error(function() capped:push(0.5) end)
    lib:shutdown()
  end)

  it("has groups, correct for negative values, and counting sets", function()
    local lib = library "L4"
    lib:counter("A"):add(-5)
    lib:counter("B"):add(-9)
    for _, op in ipairs { "sum", "max", "min" } do
      assert.is_true(lib:group(op, op, "A"))
      assert.is_true(lib:group(op, op, "B"))
    end
    local function read(name) return core.sde.find("L4::" .. name):read() end
    assert.same({ -14, -5, -9 }, { read "sum", read "max", read "min" })
    local s = assert(lib:set("S"))
    s:insert("x", 1)
    s:insert("x", 1)
    s:insert("a\0b")
    assert.equal(2, read "S")
    local seen = {}
    for _, e in ipairs(s:values()) do seen[e.element] = e.count end
    assert.same({ x = 2, ["a\0b"] = 1 }, seen)
    assert.is_true(s:remove("a\0b"))
    assert.equal("ENOENT", select(3, s:remove("a\0b")))
    lib:shutdown()
  end)

  it("is described, listed among all events, and parsed", function()
    local lib = library "L5"
    lib:counter("N")
    assert.is_true(lib:describe("N", "how many"))
    local found
    for _, e in ipairs(core.sde.list()) do if e.name == "sde:::L5::N" then found = e end end
    assert.same({ "L5", "N", "how many", "created", "int64", true, false },
      { found.library, found.event, found.description, found.kind, found.type, found.writable, found.instant })
    local rows = core.event.list("sde:::L5::*")
    assert.same({ "how many", "sde", true }, { rows[1].description, rows[1].source, rows[1].available })
    assert.equal("sde", core.event.parse("sde:::L5::N").kind)
    local waiting <close> = core.sde.find "L5::WAITING"
    assert.same({ -1, false }, { waiting:read(), core.event.list("sde:::L5::WAITING")[1].available })
    assert.equal("ENOEVENT", select(3, core.event.parse "sde:::"))
    local _, message, code = core.event.parse("sde:::L5:N")
    assert.equal("ENOEVENT", code)
    assert.matches("L5::N", message, 1, true)
    assert.is_true(lib:unregister("N"))
    assert.equal("EINVAL", select(3, lib:unregister("N")))
    lib:shutdown()
  end)
end)

describe("An event set with software-defined events", function()
  it("gives doubles as floats, counts from its own start, and adds events that are registered later", function()
    local lib = library "E1"
    local n, r = lib:counter("N"), lib:recorder("R")
    n:add(100)
    r:push(0.25)
    local s <close> = assert(core.eventset { "sde:::E1::N", "clock::ns", "sde:::E1::R:MED", "sde:::E1::LATER" })
    s:start()
    local other <close> = assert(core.eventset { "sde:::E1::N" })
    n:add(3)
    local a, ns, med, later = s:read()
    assert.same({ 3, "integer", 0.25, "float", -1 }, { a, math.type(ns), med, math.type(med), later })
    assert.matches("registered", s:event(4).why)
    assert.equal("float", s:event(3).type)
    lib:counter("LATER"):add(9)
    assert.equal(9, select(4, s:read()))
    other:start()
    n:add(1)
    assert.same({ 1, 4 }, { other:read(), (s:read()) })
    local sums = s:accum()
    n:add(6)
    s:accum(sums)
    assert.same({ 10, 0.25 }, { sums[1], sums[3] })
    assert.equal(0.25, s:readings()[3].raw)
    lib:shutdown()
  end)

  it("takes more than forty of them", function()
    local lib = library "E2"
    local names = {}
    for i = 1, 100 do
      lib:counter("C" .. i):add(i)
      names[i] = "sde:::E2::C" .. i
    end
    local s <close> = assert(core.eventset(names))
    s:start()
    for i = 1, 100 do lib:counter("C" .. i):add(i) end
    local values = { s:read() }
    for i = 1, 100 do assert.equal(i, values[i]) end
    lib:shutdown()
  end)
end)
