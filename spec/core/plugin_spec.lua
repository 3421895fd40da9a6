-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/plugin_spec.lua - tests of pml.plugin: metric plugins used from Lua and written in Lua.

local support = require "spec.core.support"
local core = support.core
local pml = core and require "pmlua"
local folder = support.build .. "/spec/plugins"

--- it(), or pending where the specs' plugins are not built.
local function it(name, f)
  if support.exists(folder .. "/libsteps.so") then return support.it(name, f) end
  return pending(name .. ": make specs builds the plugins") -- luacheck: ignore 113
end

local function load(name, ...)
  return assert(pml.plugin.load { name = name, path = folder, metrics = { ... } })
end

describe("A metric plugin", function()
  after_each(support.cleanup)

  it("is loaded, listed and read beside other events", function()
    local p = load("steps", "all")
    local set <close> = assert(pml.eventset { "plugin::steps::steps", "clock::ns", "plugin::steps::halves",
      "plugin::steps::debts", "plugin::steps::ones" })
    set:start()
    set:read()
    local steps, _, halves, debts, ones = set:read()
    assert.same({ 2, 1.0, "float", -4, 2 }, { steps, halves, math.type(halves), debts, ones })
    assert.equal("accumulated_last", set:event(5).mode) -- the sum of a relative metric
    set:start()
    set:stop()
    steps, _, _, debts, ones = set:read() -- a stopped set calls no plugin
    assert.same({ 1, -6, 1 }, { steps, debts, ones })
    local e = set:event(3)
    assert.same({ "accumulated_last", 10, -3, "s", "float" }, { e.mode, e.base, e.exponent, e.unit, e.type })
    local info = p:info()
    assert.same({ "steps", "strictly_sync", "thread", "running", 4 },
      { info.name, info.sync, info.scope, info.state, #info.metrics })
    assert.equal("plugin::steps::debts", info.metrics[3].event)
    assert.same({ 2, 10, 1024.0 }, { info.metrics[3].base, info.metrics[3].exponent, info.metrics[3].scale })
    assert.equal("EEXIST", select(3, pml.plugin.load { name = "steps", path = folder }))
    set:start()
    local sums = set:accum()
    set:accum(sums)
    assert.equal(1.0, sums[3])
    set:read()
    local last = set:read()
    assert.is_true(last > 1 and p:stop() and p:stop())
    assert.equal(last, (set:read()))
    assert.matches("ended", set:event(1).why)
    assert.equal("ended", p:info().state)
    assert.equal("ECLOSED", select(3, pml.eventset { "plugin::steps::steps" }))
  end)

  it("that cannot be loaded is refused with a reason", function()
    local none, message, code = pml.plugin.load { name = "nosuch", path = folder }
    assert.same({ nil, "ENOENT" }, { none, code })
    assert.matches("libnosuch%.so", message)
    assert.matches("failed with 42", select(2, pml.plugin.load { name = "bad_failing", path = folder, metrics = { "m" } }))
    assert.matches("no loaded plugin has", select(2, pml.eventset { "plugin::nosuch::m" }))
    assert.equal("ENOENT", select(3, pml.plugin.find "nosuch"))
    assert.has_error(function() pml.plugin.load { nam = "x" } end)
    assert.has_error(function() pml.plugin.load { name = "x", metrics = { 1 } } end)
  end)

  it("gives its series as tables and in traces", function()
    local p = load("series_async", "ticks", "wave", "huge")
    assert.is_true(p:start())
    core.sys.sleep(0.2)
    assert.equal("EMODE", select(3, p:collect()))
    assert.is_true(p:stop())
    local ticks, wave, huge = table.unpack(p:series())
    assert.same({ 2.0 ^ 64, "unsigned" }, { huge.value[1], huge.type }) -- the nearest float
    assert.is_true(#ticks.ns > 3 and #ticks.ns == #ticks.value)
    assert.same({ 1, 2, 3 }, { table.unpack(ticks.value, 1, 3) })
    assert.is_true(ticks.ns[1] < ticks.ns[2])
    assert.same({ 0.25, "absolute_next", "float", 0.01, "V" }, { wave.value[2], wave.mode, wave.type, wave.scale, wave.unit })
    local dir = support.folder()
    local trace = assert(pml.trace.create(dir, {}))
    assert.equal(#ticks.value + #wave.value + #huge.value, trace:plugin(p))
    assert.is_true(trace:close())
    support.done(support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/traces.otf2"):format(dir)))
    local _, definitions = support.shell(("otf2-print -G %s/traces.otf2"):format(dir))
    assert.matches("series_async::wave.-Mode: ABSOLUTE_NEXT, Value Type: DOUBLE, Base: DECIMAL, Exponent: %-2, Unit: \"V\"",
      definitions)
    local _, events = support.shell(("otf2-print %s/traces.otf2"):format(dir))
    assert.matches('"plugin::series_async::huge" <%d+>; UINT64; 18446744073709551615', events)
  end)

  it("named by the environment is in the list of events, and its failures are reported once", function()
    local run = ("LD_LIBRARY_PATH=%s SCOREP_METRIC_PLUGINS=steps,bad_failing SCOREP_METRIC_STEPS=debts %s/pmlua events plugin::")
    local out, err = support.done(support.shell(run:format(folder, support.build)))
    assert.matches("plugin::steps::debts +counted down %[2%^10 B; absolute_point, strictly_sync, per thread%]", out)
    assert.matches("unavailable: plugin bad_failing: initialize failed with 42", out)
    assert.matches("^pmlua: plugin bad_failing: [^\n]*\n$", err)
  end)

  it("that measures asynchronously accompanies an experiment", function()
    local dir = support.folder()
    local script = support.spit(dir .. "/plug.lua", [[
      local pml = require "pmlua"
      return pml.experiment { name = "plug", factors = { n = { 1, 2 } }, repeats = 20, unit = "#",
        trace_events = { "plugin::steps::halves" },
        measure = function(_, p) local t = pml.clock.ns() + 1000000 while pml.clock.ns() < t do end return p.n end }]])
    local run = "LD_LIBRARY_PATH=%s SCOREP_METRIC_PLUGINS=steps,series_event,series_async,process SCOREP_METRIC_STEPS=all "
      .. "SCOREP_METRIC_SERIES_EVENT=wave SCOREP_METRIC_SERIES_ASYNC=ticks SCOREP_METRIC_PROCESS=resident "
      .. "SCOREP_METRIC_PROCESS_EVERY=5ms %s/pmlua %s --no-plot -o %s"
    local status, out, err = support.shell(run:format(folder, support.build, script, dir))
    assert.equal(0, status, out .. err)
    local t = assert(require("pmlua.internal.dat").read(dir .. "/plug/latest/plugins.dat"))
    local seen, most = {}, 0
    for _, row in ipairs(t.rows) do
      if row then seen[row.event] = (seen[row.event] or 0) + 1 end
      if row and row.event == "plugin::process::resident" then most = math.max(most, row.value) end
    end
    assert.is_true(seen["plugin::series_event::wave"] > 3 and seen["plugin::series_async::ticks"] > 3 and most > 1 << 20)
    local _, definitions = support.shell(("otf2-print -G %s/plug/latest/traces.otf2"):format(dir))
    assert.matches("plugin::steps::halves.-Mode: ACCUMULATED_LAST, Value Type: DOUBLE", definitions)
    assert.matches("plugin::series_async::ticks.-Type: METRIC", definitions)
  end)
end)

describe("A plugin in Lua", function()
  after_each(support.cleanup)

  it("is read together with events", function()
    local step = 3
    local n = 0
    local y_is = { name = "y", type = "integer", mode = "relative_last" }
    local p = assert(pml.plugin.define { name = "lua_read", events = { "x", y_is },
      read = function(name)
        n = n + 1
        if name == "x" then return n > 1 and n / 2 or nil end
        return step
      end })
    local set <close> = assert(pml.eventset { "plugin::lua_read::x", "plugin::lua_read::y" })
    set:start()
    local x, y = set:read()
    local more_x, more_y = set:read()
    assert.same({ 3, 6, "integer" }, { y, more_y, math.type(y) })
    assert.is_true(more_x > x)
    assert.equal(0, n) -- the function changes its own copy of n
    p:stop()
    assert.equal(more_x, (set:read()))
  end)

  it("has no value in Lua and no record in a trace before its first value, which may be -1", function()
    local p = assert(pml.plugin.define { name = "lua_lacking", events = {
      { name = "whole", type = "integer", mode = "absolute_point" }, { name = "real", type = "float", mode = "absolute_point" } },
      every = "1ms", collect = function() return {} end })
    local names = { "plugin::lua_lacking::whole", "plugin::lua_lacking::real", "page-faults" }
    local set <close> = assert(pml.eventset(names))
    set:start()
    local whole, real, faults = set:read()
    assert.is_nil(whole)
    assert.is_nil(real)
    assert.equal("integer", math.type(faults))
    if not os.execute("command -v otf2-print >/dev/null") then
      return pending "otf2-print is not installed" -- luacheck: ignore 113
    end
    local dir = support.folder()
    local t = assert(pml.trace.create(dir, { metrics = { { name = "n" },
      { name = "whole", mode = "absolute" }, { name = "real", mode = "absolute", type = "float" } } }))
    local l = assert(t:location("main"))
    local region = pml.region.intern("region")
    l:enter(region, pml.clock.ticks())
    assert(l:metric({ 7, whole or false, real or false }, pml.clock.ticks()))
    assert(l:metric({ 8, -1, 0.5 }, pml.clock.ticks()))
    l:leave(region, pml.clock.ticks())
    assert.has_error(function() l:metric({ false, 1, 1.0 }, pml.clock.ticks()) end) -- an accumulating metric always has a value
    assert(t:close())
    local f <close> = assert(io.popen("otf2-print " .. dir .. "/traces.otf2 2>&1"))
    local records, text = {}, f:read "a"
    assert.falsy(text:find("warning", 1, true), text)
    for values in text:gmatch "METRIC[^\n]*Values?: ([^\n]*)" do records[#records + 1] = values end
    assert.same({ '("n" <0>; INT64; 7)', '("whole" <1>; INT64; -1)', '("real" <2>; DOUBLE; 0.5)', '("n" <0>; INT64; 8)' },
      records)
    p:close()
  end)

  it("measures asynchronously, on a separate thread", function()
    local dir = support.folder()
    local file = support.spit(dir .. "/host.lua", [[
      local n = 0
      return { every = "1ms",
        events = { { name = "n", type = "integer", mode = "accumulated_start" }, { name = "odd", unit = "W" } },
        collect = function() n = n + 1 return { n = n, odd = n % 2 == 1 and n + 0.5 or nil } end }]])
    local p = assert(pml.plugin.define { name = "lua_collect", file = file })
    local set <close> = assert(pml.eventset { "plugin::lua_collect::n" })
    assert.is_truthy(support.eventually(function() return set:read() > 5 end))
    assert.is_true(p:stop())
    local n, odd = table.unpack(p:series())
    assert.same({ 1, 2, 3 }, { table.unpack(n.value, 1, 3) })
    assert.same({ 1.5, 3.5 }, { table.unpack(odd.value, 1, 2) })
    assert.is_true(n.ns[1] <= odd.ns[1] and n.ns[2] < odd.ns[2])
  end)

  it("that raises an error, or gives values of unknown events, is dropped and named, and the run continues", function()
    local script = support.folder() .. "/bad.lua"
    for definition, why in pairs {
      ['{ name = "bad", events = { "x" }, read = function() error("no value today") end }'] =
        "^pmlua: plugin bad: x: [^\n]*no value today; the plugin is dropped\n$",
      ['{ name = "bad", every = "1ms", events = { "x" }, collect = function() return { x = 1, y = 2 } end }'] =
        "^pmlua: plugin bad: x: collect returned a value for 'y', which is not one of its events; the plugin is dropped\n$",
    } do
      support.spit(script, ([[
        local pml = require "pmlua"
        local p = assert(pml.plugin.define %s)
        local set, left = assert(pml.eventset { "plugin::bad::x", "clock::ns" }), 1000
        repeat set:read() pml.sys.sleep(0.01) left = left - 1
        until p:info().state == "dropped" or left == 0
        print(select("#", set:read()), p:info().state)]]):format(definition))
      local out, err = support.done(support.pmlua(script))
      assert.equal("2\tdropped\n", out)
      assert.matches(why, err)
    end
  end)

  it("is refused if its definition is invalid, at the defining line", function()
    local define = pml.plugin.define
    local events, f = { "x" }, function() return 1 end
    for _, wrong in ipairs { {}, { read = f, collect = f }, { collect = f }, { collect = f, every = "often" },
      { read = f, reed = f }, { events = { "x", {} }, read = f }, { read = f, scope = "thread" } } do
      wrong.name, wrong.events = "a", wrong.events or events
      assert.has_error(function() define(wrong) end)
    end
    local _, said = pcall(function() define { name = "a", events = { { name = "x", mode = "often" } }, read = f } end)
    assert.matches("plugin_spec.lua:%d+: plugin.define: option 'mode' cannot be 'often'; choose accumulated_start, ", said)
    assert.equal("ESCRIPT", select(3, define { name = "a", code = "return 1 +" }))
    assert.equal("ESCRIPT", select(3, define { name = "a", file = "/nowhere.lua" }))
    assert.equal("EINVAL", select(3, define { name = "a b", events = events, read = f }))
    assert.equal("EINVAL", select(3, define { name = "a", events = { "x", "x" }, read = f }))
  end)
end)
