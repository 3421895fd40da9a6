-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/outliers_spec.lua - tests of pmlua report --outliers and its analysis: planted causes in traces that are written here.

local support = require "spec.core.support"
local outliers = require "pmlua.analysis.outliers"
local pml = require "pmlua"

local REQUESTS <const>, SLOW <const> = 400, 20 -- every twentieth is slow
-- Where noise hits: as often as ordinary calls spend their time there.
local NOISE <const> = { "parse", "work", "answer", "work", "request", "answer", "parse", "work", "answer", "work" }

--- A trace of requests of 100 to 104 us that call parse, work and answer; a slow one takes 1 ms longer. The fields of @plant
--- change the contents of a request, the number of requests, and which of them are slow.
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
  local function request(i, slow, part)
    if plant.around then
      at = at + 1000
      faults = faults + 7
    end
    local rows = plant.rows and slow and 1000 + i % 3 or 10 + i % 3
    main:metric({ rows, faults }, at)
    part("parse", 20 + i * 7 % 5)
    for _ = 1, slow and plant.calls and 50 or 1 do part("work", plant.calls and 20 or 40) end
    if plant.lock then call(main, "lock", slow and 1000 or 1) end
    if plant.nested then call(main, "request", 1) end
    main:metric({ rows + 2, faults }, at)
    part("answer", 30)
    faults = faults + (slow and plant.faults and 100 or 1)
    main:metric({ false, faults }, at)
  end
  for i = 1, plant.requests or REQUESTS do
    local slow, began = i % (plant.one_in or SLOW) == 0, at
    local noise = slow and plant.noise and NOISE[i // SLOW % 10 + 1]
    local function part(name, us) call(main, name, us + (noise == name and 1000 or 0)) end
    local extra = slow and (noise == "request" or plant.self or plant.rows or plant.faults or plant.beside)
    if plant.around then main:metric({ false, faults }, at) end
    main:enter(region "request", at)
    request(i, slow, part)
    at = at + (extra and 1010000 or 10000)
    if not plant.around then main:metric({ false, faults }, at) end
    main:leave(region "request", at)
    if plant.around then main:metric({ false, faults }, at) end
    if plant.beside then
      local now = at
      at = began - 4000 -- between two requests
      if slow then call(other, "update", 904) end
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
      assert.is_nil(found.unknown)
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
    first = found_in({ beside = true }).causes[1]
    assert.equal(0.0, first.ordinary)
    assert.is_near(1, first.slow, 1e-9)
    first = found_in({ faults = true }).causes[1]
    assert.same({ 1, 100 }, { first.ordinary, first.slow })
    -- values before the enter and behind the leave, at the same times
    first = found_in({ faults = true, around = true }).causes[1]
    assert.same({ 8, 107 }, { first.ordinary, first.slow })
    -- two values of each request, the second 2 above the first; i % 3 is 1, 2, 0, ... without each twentieth
    first = found_in({ rows = true }).causes[1]
    local sums, n = { [true] = 0, [false] = 0 }, { [true] = 0, [false] = 0 }
    for i = 1, REQUESTS do
      local slow = i % SLOW == 0
      sums[slow], n[slow] = sums[slow] + i % 3 + 1, n[slow] + 1
    end
    assert.is_near(10 + sums[false] / n[false], first.ordinary, 1e-9)
    assert.is_near(1000 + sums[true] / n[true], first.slow, 1e-9)
  end)

  it("has the times of the calls, and says where the slow ones were longer", function()
    local found = found_in { lock = true }
    -- 101 to 105 us with the lock; slow ones take 101 - 1 + 1000 us, since their i * 7 % 5 is 0
    assert.is_near(103e-6, found.median_s, 1e-9)
    assert.is_near(104.25e-6 + 3 * 2.25e-6, found.fence_s, 1e-9) -- by interpolated quartiles, 102 and 104.25 us
    assert.is_near(997e-6, found.extra_s, 1e-9)
    assert.same({ { region = "lock", slow_calls = 20 } }, found.where)
    -- all of 20 slow calls in a function with 1 of some 103 us, corrected for 12 comparisons
    local sum = 0
    for i = 1, REQUESTS do sum = sum + (i % SLOW > 0 and 101 + i * 7 % 5 or 0) end
    assert.is_near(1, found.causes[1].p / (12 * (380 / sum) ^ 20), 1e-6)
    -- 2 metrics, calls of 4 functions, times of 5, first call of the thread
    assert.equal(12, found.features)
  end)

  it("orders causes by their kind, then by the number of slow calls that they explain", function()
    local function kinds(plant)
      local list = {}
      for i, cause in ipairs(found_in(plant).causes) do list[i] = cause.kind .. " " .. cause.name end
      return list
    end
    assert.same({ "argument rows", "time lock", "event faults", "self request" },
      kinds { rows = true, lock = true, faults = true })
    assert.same({ "time lock", "calls work" }, kinds { calls = true, lock = true })
  end)

  it("compares outermost calls, with those inside", function()
    local found = found_in { nested = true, lock = true }
    assert.same({ REQUESTS, SLOW }, { found.calls, found.slow })
    assert.equal("lock", found.causes[1].name)
    assert.equal(13, found.features) -- calls of request, too
  end)

  it("compares at most the 1,000 slowest calls and 2,000 others at equal distances", function()
    local found = found_in { lock = true, requests = 21000, one_in = 20 }
    assert.same({ 1050, { slow = 1000, ordinary = 2000 } }, { found.slow, found.compared })
    assert.same({ slow = 20, ordinary = 380 }, found_in({ lock = true }).compared)
  end)

  it("needs three slow calls", function()
    assert.equal("lock", found_in({ lock = true, requests = 13, one_in = 4 }).causes[1].name)
    local found = found_in { lock = true, requests = 40 }
    assert.same({ {}, "only 2 of 40 calls are slow; at least 3 are needed" }, { found.causes, found.unknown })
  end)

  it("names nothing if each function has its share of the extra time, and nothing among equal calls", function()
    local found = found_in { noise = true }
    assert.same({ REQUESTS // SLOW, {} }, { found.slow, found.causes })
    assert.matches("^no call, argument, event or other thread", found.unknown)
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
    assert.equal("the trace has no section or function reqest; did you mean request?", (select(2, outliers.of(reader, "reqest"))))
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
