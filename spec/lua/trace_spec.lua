-- SPDX-License-Identifier: BSD-3-Clause

local support = require "spec.core.support"
local permission = require "spec.permission"
local pml = require "pmlua"
local trace = require "pmlua.trace"

local function sequence(phases, first, last)
  local out = {}
  for i, e in ipairs(trace.sequence(phases, first, last)) do out[i] = table.concat(e, " ") end
  return out
end

local function p(region, enter, leave)
  return { region = region, enter = enter, leave = leave }
end

describe("trace", function()
  it("nests what lies inside, the longer of two that begin together outside", function()
    assert.same({ "enter 1 10", "enter 2 10", "leave 2 20", "enter 3 25", "leave 3 30", "leave 1 40" },
      sequence({ p(2, 10, 20), p(1, 10, 40), p(3, 25, 30) }, 0, 99))
  end)

  it("cuts phases at the end of their outer phase, and drops phases of other cells", function()
    assert.same({ "enter 1 10", "enter 2 15", "leave 2 20", "leave 1 20" }, sequence({ p(1, 10, 20), p(2, 15, 30) }, 0, 99))
    assert.same({}, sequence({ p(1, 5, 20), p(2, 50, 120), p(3, 30, 20) }, 10, 99))
  end)

  it("is balanced for any phases", function()
    local random = require "pmlua.internal.rng" (5)
    for _ = 1, 200 do
      local phases = {}
      for i = 1, 20 do
        local enter = random(100)
        phases[i] = p(i, enter, enter + random(30))
      end
      local open, now = {}, 0
      for _, e in ipairs(trace.sequence(phases, 0, 1000)) do
        assert.is_true(e[3] >= now)
        now = e[3]
        if e[1] == "enter" then open[#open + 1] = e[2] else assert.equal(table.remove(open), e[2]) end
      end
      assert.equal(0, #open)
    end
  end)

  it("writes an archive that otf2-print reads: a region per cell, phases, metrics", function()
    if not os.execute("command -v otf2-print >/dev/null") then return pending "otf2-print is not installed" end
    local dir, clock = support.folder(), support.core.clock
    local t, err = trace.follow(support.core, dir, { "task-clock" })
    assert.is_truthy(t, err)
    local phase = support.core.region.intern("panel")
    for _ = 1, 2 do
      t:enter("read 4", "script.lua", 7)
      local enter = clock.ticks()
      t:leave(100, { { region = phase, enter = enter, leave = clock.ticks() } })
    end
    assert.is_true(t:close())
    assert.is_true(t:close())
    local out = support.done(support.shell("otf2-print " .. dir .. "/traces.otf2"))
    assert.equal(4, select(2, out:gsub("\nENTER", "")))
    assert.equal(4, select(2, out:gsub("\nLEAVE", "")))
    assert.matches(('ENTER[^\n]*"read 4"[^\n]*\nMETRIC[^\n]*"samples"[^\n]*"%s"[^\n]*\nENTER[^\n]*"panel"'):format(
      permission.pattern "task-clock"), out)
  end)

  it("reports why no trace was written, and the missing events", function()
    local t, err = trace.follow(support.core, "/nonexistent")
    assert.is_nil(t)
    assert.truthy(tostring(err):find "^trace%.create: E%u+: ")
    t, err = trace.follow(support.core, support.folder(), { "no-such-event" })
    assert.is_truthy(t)
    assert.matches("no%-such%-event", err)
    t:close()
  end)

  it("has functions of C++ by the names of their source", function()
    local mangled = "_ZN6solver4stepEid"
    if pml.region.demangle(mangled) == mangled then return pending "libstdc++ is not installed" end
    local folder = support.folder()
    do
      local t <close> = assert(pml.trace.create(folder))
      local location = assert(t:location "main")
      for _, name in ipairs { mangled, "_Zero" } do
        local region = assert(pml.region.intern(name))
        location:enter(region)
        location:leave(region)
      end
    end
    local reader <close> = assert(pml.trace.open(folder .. "/traces.otf2"))
    local names = {}
    for _, r in ipairs((assert(reader:group()))) do names[r.region] = r.calls end
    assert.same({ ["solver::step(int, double)"] = 1, _Zero = 1 }, names)
    local _, text = support.pmlua(("trace %s/traces.otf2 --where 'solver::*'"):format(folder))
    assert.matches("\nsolver::step%(int, double%) +user +1 ", text)
  end)
end)
