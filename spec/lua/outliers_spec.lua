-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/outliers_spec.lua - tests of pmlua report --outliers and its analysis: planted causes in traces that are written here.

local support = require "spec.core.support"
local outliers = require "pmlua.analysis.outliers"
local pml = require "pmlua"

local REQUESTS <const>, SLOW <const> = 400, 20 -- every twentieth is slow
-- Where noise hits: as often as ordinary calls spend their time there.
local NOISE <const> = { "parse", "work", "answer", "work", "request", "answer", "parse", "work", "answer", "work" }

--- A trace of requests of 100 us that call parse, work and answer; a slow one takes 1 ms longer. The fields of @plant change what
--- a request contains: i, whether it is slow, and the time of its next event.
local function trace_of(plant)
  local dir = support.folder()
  local t = assert(pml.trace.create(dir, { process = "server", began_ns = 0, metrics = {
    { name = "rows", mode = "absolute", type = "integer" }, { name = "faults", type = "integer" } } }))
  local main, other = assert(t:location "main"), assert(t:location "other")
  local at, faults, region = 0, 0, pml.region.intern
  local function call(on, name, us, inside)
    on:enter(region(name), at)
    if inside then inside() end
    at = at + 1000 * us
    on:leave(region(name), at)
  end
  for i = 1, REQUESTS do
    local slow, began = i % SLOW == 0, at
    local extra, noise = slow and 1000 or 0, slow and plant.noise and NOISE[i // SLOW % 10 + 1]
    local function part(name, us) call(main, name, us + (noise == name and 1000 or 0)) end
    call(main, "request", 10 + ((noise == "request" or plant.self or plant.rows or plant.faults or plant.beside) and extra or 0),
      function()
        main:metric({ plant.rows and extra + 10 + i % 3 or 10 + i % 3, faults }, at)
        part("parse", 20 + i * 7 % 5)
        for _ = 1, slow and plant.calls and 50 or 1 do part("work", plant.calls and 20 or 40) end
        if plant.lock then call(main, "lock", slow and 1000 or 1) end
        part("answer", 30)
        faults = faults + (slow and plant.faults and 100 or 0)
        main:metric({ false, faults }, at)
      end)
    if plant.beside then
      local now = at
      at = began
      if slow then call(other, "update", 900) end
      at = now
    end
    at = at + 5000
  end
  assert(t:close())
  return dir
end

local function found_in(plant)
  local reader <close> = assert(pml.trace.open(trace_of(plant)))
  return assert(outliers.of(reader, "request"))
end

describe("the analysis of slow calls", function()
  for kind, expected in pairs {
    rows = { plant = { rows = true }, "argument", "rows" }, faults = { plant = { faults = true }, "event", "faults" },
    calls = { plant = { calls = true }, "calls", "work" }, lock = { plant = { lock = true }, "time", "lock" },
    beside = { plant = { beside = true }, "beside", "update" }, self = { plant = { self = true }, "self", "request" },
  } do
    it("names first: " .. kind, function()
      local found = found_in(expected.plant)
      assert.same({ REQUESTS, REQUESTS // SLOW }, { found.calls, found.slow })
      local first = found.causes[1] or {}
      assert.same({ expected[1], expected[2] }, { first.kind, first.name })
      assert.equal(1, first.effect)
      if first.explains then assert.equal(found.slow, first.explains) end
      assert.is_true(first.p < 1e-6)
    end)
  end

  it("has the means of slow and other calls", function()
    local first = found_in({ calls = true }).causes[1]
    assert.same({ 1, 50 }, { first.ordinary, first.slow })
    first = found_in({ lock = true }).causes[1]
    assert.is_near(1e-6, first.ordinary, 1e-9)
    assert.is_near(1e-3, first.slow, 1e-9)
  end)

  it("names nothing if each function has its share of the extra time, and nothing among equal calls", function()
    local found = found_in { noise = true }
    assert.same({ REQUESTS // SLOW, {} }, { found.slow, found.causes })
    assert.same({ 0, {} }, { found_in({}).slow, found_in({}).causes })
  end)

  it("finds a first call of each thread", function()
    local dir, region = support.folder(), pml.region.intern
    local t = assert(pml.trace.create(dir, { process = "server", began_ns = 0 }))
    for thread = 1, 12 do
      local on, at = assert(t:location("thread " .. thread)), thread * 1000000000
      for i = 1, 20 do
        on:enter(region "request", at)
        on:leave(region "request", at + (i == 1 and 900000 or 100000 + i * 7 % 5))
        at = at + 1000000
      end
    end
    assert(t:close())
    local reader <close> = assert(pml.trace.open(dir))
    local first = assert(outliers.of(reader, "request")).causes[1]
    assert.same({ "first", 1.0, 0.0 }, { first.kind, first.slow, first.ordinary })
  end)

  it("says what is missing", function()
    local reader <close> = assert(pml.trace.open(trace_of {}))
    assert.matches("no call of lookup returned", (select(2, outliers.of(reader, "lookup"))))
  end)
end)

describe("pmlua report --outliers", function()
  it("prints a table, or JSON", function()
    local dir = trace_of { lock = true }
    local text = support.done(support.pmlua(("report %s --outliers request"):format(dir)))
    assert.matches("^request: 400 calls, median [%d.]+ µs; 20 took longer than ", text)
    assert.matches("\ntime in lock +1%.000 µs +1%.000 ms +20 of 20 +%+1%.00 ", text)
    local found = pml.json.decode((support.done(support.pmlua(("report %s --outliers request --json"):format(dir)))))
    assert.equal("lock", found.causes[1].name)
    text = support.done(support.pmlua(("report %s --outliers request"):format(trace_of {})))
    assert.matches("none took longer than .-\ncannot tell why: no call is far slower than the others\n", text)
  end)

  it("refuses what is no trace, and other tables", function()
    support.refuses(support.folder(), "report", {
      ["/ --outliers x"] = { 1, "no logs" }, ["a b --outliers x"] = { 2, "one trace" },
      ["a --outliers x --csv"] = { 2, "csv" },
    })
  end)
end)
