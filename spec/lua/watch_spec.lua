-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/watch_spec.lua - tests of watch rules: when they run, their view of the program, their failures; of the conversion of
-- a function to source text; and of rules that act on a busy script.

local support = require "spec.core.support"
local core = support.core
local source = require "pmlua.internal.live.source"

-- Fresh rules for each test, because the module keeps them.
local function fresh_rules()
  package.loaded["pmlua.internal.live.rules"] = nil
  local rules = require "pmlua.internal.live.rules"
  package.loaded["pmlua.internal.live.rules"] = nil
  return rules
end

local names = 0
local function library()
  names = names + 1
  local name = "WATCH" .. names
  return assert(core.sde.library(name)), name .. "::"
end

-- Rules print to stderr, which busted shows; keep their lines instead.
local function listening(f)
  local said, say = {}, core.live.say
  core.live.say = function(text) said[#said + 1] = text end
  local good, err = pcall(f, said)
  core.live.say = say
  if not good then error(err, 0) end
end

describe("A watch rule", function()
  local rules
  before_each(function() rules = fresh_rules() end)

  it("runs when it is due, and reports the time of its next run", function()
    local lib, name = library()
    local steps, seen = lib:counter "steps", {}
    rules.add(name .. "steps", "100ms", function(value) seen[#seen + 1] = value end)
    assert.is_true(math.abs(rules.tick(10) - 0.1) < 1e-9)
    steps:add(5)
    assert.is_true(math.abs(rules.tick(10.05) - 0.05) < 1e-9)
    rules.tick(10.1)
    assert.same({ 0, 5 }, seen)
    rules.tick(99) -- missed calls are not made up for
    rules.tick(99.05)
    assert.same({ 0, 5, 5 }, seen)
  end)

  it("accepts periods in numbers and words, and refuses others", function()
    local _, name = library()
    for every, s in pairs { [0.5] = 0.5, ["100ms"] = 0.1, ["2m"] = 120, ["1.5 s"] = 1.5, ["1h"] = 3600, ["3"] = 3 } do
      rules.add(name .. "x", every, print)
      assert.is_true(math.abs(rules.list()[#rules.list()].every_s - s) < 1e-12, tostring(every))
    end
    for _, every in ipairs { 0, -1, 0 / 0, 1e300, "1 parsec", "", "1e", {}, "0.1ms", true } do
      assert.has_error(function() rules.add(name .. "x", every, print) end)
    end
    assert.has_error(function() rules.add("nothing", 1, print) end)
    assert.has_error(function() rules.add(name .. "x", 1, "print") end)
    assert.has_error(function() rules.add(name .. "x", 1, print, { kep = 1 }) end)
    assert.has_error(function() rules.add(name .. "x", 1, print, { keep = 0 }) end)
  end)

  it("waits for an event that does not exist yet, and again for a removed one", function()
    local lib, name = library()
    local seen = {}
    local watch = rules.add(name .. "later", 1, function(value) seen[#seen + 1] = value end)
    rules.tick(1)
    assert.equal(0, watch:fired())
    lib:counter("later"):add(7)
    rules.tick(2)
    lib:unregister "later"
    rules.tick(3)
    lib:counter("later"):add(8)
    rules.tick(4)
    assert.same({ 7, 8 }, seen)
    assert.same({ 2, 8 }, { watch:fired(), watch:last() })
  end)

  it("sees the samples of a counter, the newest thousand or the requested number", function()
    local lib, name = library()
    local steps = lib:counter "steps"
    local got = {}
    rules.add(name .. "steps", 1, function(value, series)
      got = { value = value, n = #series, first = series[1], last = series[#series], none = series[#series + 1],
              slope = series:slope(), slope2 = series:slope(2), pair = series:last(2), since = series.time[1],
              times = #series.time }
    end, { keep = 3 })
    for t = 1, 5 do
      steps:add(t)
      rules.tick(t)
    end
    assert.same({ value = 15, n = 3, first = 6, last = 15, slope = 4.5, slope2 = 5.0, pair = { 10, 15 }, since = 3,
                  times = 3 }, got)
  end)

  it("sees the elements of a recorder, each of the new ones once", function()
    local lib, name = library()
    local r = lib:recorder "residual"
    local got, news
    rules.add(name .. "residual", 1, function(value, series)
      got = { value = value, n = #series, first = series[1], slope = series:slope(3), resets = series.resets }
      news = series:new()
    end)
    rules.tick(1)
    assert.is_nil(got) -- it is empty
    for i = 1, 5 do r:push(10 * i) end
    rules.tick(2)
    assert.same({ value = 50.0, n = 5, first = 10.0, slope = 10.0, resets = 0 }, got)
    assert.same({ 10.0, 20.0, 30.0, 40.0, 50.0 }, news)
    r:push(60)
    rules.tick(3)
    assert.same({ 60.0 }, news)
    rules.tick(4)
    assert.same({}, news)
  end)

  it("notices that a recorder began again, at any number of elements", function()
    local lib, name = library()
    local r = lib:recorder "residual"
    local news, resets
    rules.add(name .. "residual", 1, function(_, series) news, resets = series:new(), series.resets end)
    for _ = 1, 3 do r:push(1) end
    rules.tick(1)
    r:reset()
    for _ = 1, 4 do r:push(1) end
    rules.tick(2)
    assert.same({ 4, 1 }, { #news, resets })
    lib:unregister "residual"
    lib:recorder("residual"):push(5)
    rules.tick(3)
    assert.same({ { 5.0 }, 2 }, { news, resets })
  end)

  it("reports invisible values: a sketch has no elements", function()
    listening(function(said)
      local lib, name = library()
      lib:recorder("sketch", { keep = "sketch" }):push(1)
      rules.add(name .. "sketch", 1, function() end, { name = "mine" })
      rules.tick(1)
      assert.matches("rule mine: .*sketch", said[1])
    end)
  end)

  it("cancels itself by returning false, and others are not disturbed", function()
    local lib, name = library()
    lib:counter "steps"
    local other = 0
    local watch = rules.add(name .. "steps", 1, function() return false end)
    rules.add(name .. "steps", 1, function() other = other + 1 end)
    rules.tick(1)
    rules.tick(2)
    assert.same({ 1, 2 }, { watch:fired(), other })
    assert.is_false(watch:cancel())
    assert.equal("cancelled", rules.list()[2].error)
  end)

  it("that fails is reported once, with its line, and continues; after ten times in a row it is cancelled", function()
    listening(function(said)
      local lib, name = library()
      local steps = lib:counter "steps"
      local watch = rules.add(name .. "steps", 1, function(value) if value > 0 then error("too many") end end)
      rules.tick(1)
      steps:add(1)
      for t = 2, 6 do rules.tick(t) end
      assert.equal(1, #said)
      assert.matches("^rule .*watch_spec.lua:%d+: .*watch_spec.lua:%d+: too many$", said[1])
      steps:reset()
      rules.tick(7) -- a good one in between
      steps:add(1)
      for t = 8, 40 do rules.tick(t) end
      assert.equal(2, #said)
      assert.matches("cancelled: it failed 10 times in a row", said[2])
      assert.equal(2 + 5 + 10, watch:fired())
      assert.matches("too many", watch:error())
      assert.is_nil(rules.tick(41))
    end)
  end)

  it("whose callback of the application hangs or fails is distinguished from one without a value", function()
    listening(function(said)
      local _, name = library()
      local watch = rules.add(name .. "none:MED", 1, function() end)
      rules.tick(1)
      assert.same({ 0, 0 }, { watch:fired(), #said })
    end)
  end)
end)

describe("A function as source text", function()
  local function sent(f) return assert(load(source.of(f), "=sent", "t"))() end

  it("takes its upvalues along and returns nothing", function()
    local n, text = 3, "a\0\n'"
    local add = function(x) n = n + x return n, text end
    local there = sent(add)
    n = 100
    assert.same({ 7, "a\0\n'" }, { there(4) })
    assert.equal(8, (there(1)))
    assert.equal(100, n)
  end)

  it("keeps numbers unchanged", function()
    for _, v in ipairs { 1, 1.0, math.mininteger, math.huge, -math.huge, -0.0, 2 ^ 53 + 1, 0.1 } do
      local got = sent(function() return v end)()
      assert.equal(math.type(v), math.type(got))
      assert.equal(("%a"):format(v), ("%a"):format(got))
    end
    local nan = 0 / 0
    assert.is_true(sent(function() return nan ~= nan end)())
  end)

  it("finds modules and their functions in its new state", function()
    local pml, format, sde, median = require "pmlua", string.format, require "pmlua.sde", require "pmlua.stats".median
    local there = { sent(function() return pml, format, sde, median, print end)() }
    for i, v in ipairs { pml, format, sde, median, print } do assert.is_true(rawequal(v, there[i]), tostring(i)) end
  end)

  it("is refused with the name of a value that cannot move", function()
    local file, options, lfs_dir, other = io.stderr, { deep = 1 }, require "lfs".dir, function() end
    for says, f in pairs {
      ["upvalue 'file' is a userdata"] = function() return file end,
      ["upvalue 'options' is a table"] = function() return options end,
      ["upvalue 'lfs_dir' is a function"] = function() return lfs_dir end,
      ["upvalue 'other' is a function"] = function() return other end,
    } do
      local good, err = pcall(source.of, f)
      assert.is_false(good)
      assert.equal(says .. ": a function that runs in a separate state gets copies of numbers, strings and booleans", err)
    end
    assert.matches("^a C function cannot", select(2, pcall(source.of, print)))
  end)
end)

describe("pml.sde.watch in a script", function()
  local function script(text)
    local path = support.folder() .. "/watch.lua"
    support.spit(path, "local pml = require 'pmlua'\n" .. text)
    return support.pmlua(support.quote(path))
  end

  it("acts while the script is busy, and reports its work afterwards", function()
    local status, out, err = script [[
      local lib = pml.sde.library "BUSY"
      local steps, stop, limit = lib:counter "steps", lib:counter "stop", 50
      local watch = pml.sde.watch("BUSY::steps", "1ms", function(value, series)
        if value >= limit then
          print("enough: " .. #series)
          return pml.sde.find "BUSY::stop":write(1) and false
        end
      end)
      local until_ns = pml.clock.ns() + 60e9
      while stop:read() == 0 and pml.clock.ns() < until_ns do steps:add(1) pml.sys.sleep(0.0005) end
      while not watch:error() and pml.clock.ns() < until_ns do pml.sys.sleep(0.001) end
      print(stop:read(), watch:last() >= limit, watch:fired() > 0, watch:error(), pml.live.path())]]
    assert.equal(0, status, err)
    assert.matches("^1\ttrue\ttrue\tcancelled\tnil\t", out)
    assert.matches("pmlua: enough: %d+\n", err)
  end)

  it("stops the run like an interrupt", function()
    local status, out, err = script [[
      pml.sys.on_interrupt()
      pml.sde.library("STOP"):counter("n"):add(1)
      pml.sde.watch("STOP::n", "1ms", function(value) pml.live.stop_run("n is " .. value) end)
      local until_ns = pml.clock.ns() + 60e9
      while not pml.sys.interrupted() and pml.clock.ns() < until_ns do pml.sys.sleep(0.001) end
      print(pml.sys.interrupted())]]
    assert.equal(0, status, err)
    assert.matches("^true\n", out)
    assert.matches("pmlua: the run is stopped: n is 1\n", err)
  end)

  it("names the line of a rule that runs forever, and stops it, while others continue", function()
    local status, out, err = script [[
      local lib = pml.sde.library "LOOP"
      local good = lib:counter "good"
      pml.sde.watch("LOOP::good", "1ms", function() while true do end end)
      local watch = pml.sde.watch("LOOP::good", "1ms", function() pml.sde.find "LOOP::good":write(1) end)
      local until_ns = pml.clock.ns() + 60e9
      while good:read() == 0 and pml.clock.ns() < until_ns do pml.sys.sleep(0.001) end
      while watch:fired() == 0 and pml.clock.ns() < until_ns do pml.sys.sleep(0.01) end
      print(good:read(), watch:cancel())]]
    assert.equal(0, status, err)
    assert.equal("1\ttrue\n", out)
    assert.matches("watch.lua:4: it exceeded the time or the memory of a rule", err)
  end)

  it("refuses at its own line values that cannot move to another state or are no watch", function()
    local _, _, err = script [[local f = io.stderr
      pml.sde.watch("X::x", 1, function() f:write "x" end)]]
    assert.matches("watch.lua:3: upvalue 'f' is a userdata", err)
    _, _, err = script [[pml.sde.watch("X::x", "soon", function() end)]]
    assert.matches("watch.lua:2: every is \"soon\"", err)
  end)

  it("has the globals of the state where it runs, not the script's", function()
    local _, _, err = script [[mine = 1
      pml.sde.library("G"):counter "x"
      local watch = pml.sde.watch("G::x", "1ms", function()
        print(mine, _G == _ENV, pml == _G.pml, math.max(1, 2))
        return false
      end)
      local until_ns = pml.clock.ns() + 60e9
      while watch:fired() == 0 and pml.clock.ns() < until_ns do pml.sys.sleep(0.01) end
      pml.live.stop()]]
    assert.equal("pmlua: nil\ttrue\ttrue\t2\n", err)
  end)
end)
