-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/section_spec.lua - pml.section and pml.profile from Lua, and sections in a trace.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local function row(label, options)
  for _, r in ipairs(assert(core.section.report(options))) do
    if r.label == label then return r end
  end
end

local function spin(ns)
  local till = core.clock.ns() + ns
  while core.clock.ns() < till do end
end

describe("A section", function()
  before_each(function() core.section.reset() end)

  it("counts its calls, their times and their workload", function()
    local s = assert(core.section.define { label = "lua solver", exclusive = true })
    for _ = 1, 3 do
      assert.is_true(s:start())
      spin(100000)
      assert.is_true(s:stop { operations = 1000, iterations = 10 })
    end
    local r = row "lua solver"
    assert.same({ 3, 3000.0, 30, 0, 1, true, "calculation" },
      { r.count, r.operations, r.iterations, r.running, r.threads, r.exclusive, r.type })
    assert.is_true(r.total_ns >= 3e5 and r.self_ns == r.total_ns and r.min_ns >= 1e5 and r.max_ns <= r.total_ns)
    assert.is_true(r.min_ns <= r.mean_ns and r.mean_ns <= r.max_ns and r.stddev_ns <= r.max_ns)
    assert.is_nil(r.misuse)
    core.section.reset()
    assert.is_nil(row "lua solver")
  end)

  it("ends with the block that entered it, also after an error", function()
    local s = assert(core.section.define { label = "lua scope", type = "communication" })
    do
      local call <close> = s:enter()
      assert.equal(1, row("lua scope").running)
      assert.is_true(call:stop { bytes = 4096 })
    end
    assert.has_error(function()
      local _ <close> = s:enter()
      error "in the section"
    end)
    local r = row "lua scope"
    assert.same({ 2, 0, 4096.0 }, { r.count, r.running, r.bytes })
    assert.is_nil(r.misuse)
  end)

  it("is the same for the same label", function()
    assert.is_true(core.section.start "lua label")
    assert.is_true(core.section.stop("lua label", { operations = 7 }))
    local s = assert(core.section.define { label = "lua label" })
    s:start()
    s:stop()
    assert.same({ 2, 7.0 }, { row("lua label").count, row("lua label").operations })
    local none, message, code = core.section.define { label = "lua label", exclusive = true }
    assert.is_nil(none)
    assert.equal("EINVAL", code)
    assert.matches("lua label", message)
  end)

  it("reports misuse by name", function()
    local a, b = core.section.define { label = "lua A" }, core.section.define { label = "lua B" }
    local ok, message, code = a:stop()
    assert.is_nil(ok)
    assert.equal("EINVAL", code)
    assert.matches("lua A was stopped without a start", message)
    a:start()
    b:start()
    assert.is_true(a:stop())
    assert.is_true(b:stop())
    assert.is_nil(b:start() and b:stop { operations = -1 } or nil)
    assert.same({ unmatched = 1, crossed = 1 }, row("lua A").misuse)
    assert.same({ work = 1 }, row("lua B").misuse)
    assert.equal(2, row("lua B").count)
  end)

  it("has events and quantiles if its definition requests them", function()
    local lib = assert(core.sde.library "LUASECTION")
    local n = assert(lib:counter "N")
    local s = assert(core.section.define { label = "lua events", events = { "sde:::LUASECTION::N", "clock::ns" },
      record = true })
    for i = 1, 5 do
      s:start()
      n:add(i)
      s:stop()
      n:add(100)
    end
    local r = row "lua events"
    assert.equal(15, r.events["sde:::LUASECTION::N"])
    assert.is_true(r.events["clock::ns"] >= r.total_ns)
    assert.is_true(math.abs(s:quantile(100) - r.max_ns) < 1 and s:quantile(0) <= s:quantile(50))
    assert.same({ "sde:::LUASECTION::N", "clock::ns" }, s:info().events)
    assert.equal("all", s:info().record)
    assert.equal("ENOEVENT", select(3, core.section.define { label = "lua bad", events = { "no-such-event" } }))
    assert.has_error(function() core.section.define { label = "x", event = {} } end)
    assert.has_error(function() core.section.define {} end)
  end)

  it("does nothing while sections are off", function()
    core.section.enable(false)
    assert.is_true(core.section.start "lua off")
    assert.is_true(core.section.stop "lua off")
    core.section.enable(true)
    assert.is_nil(row "lua off")
    core.section.start "lua off"
    core.section.stop "lua off"
    assert.equal(1, row("lua off", { threads = true }).count)
    assert.is_true(row("lua off", { threads = true }).thread > 0)
  end)
end)

describe("A process's sections", function()
  after_each(support.cleanup)

  it("form a log, which can be read back", function()
    core.section.reset()
    local s = assert(core.section.define { label = "lua file", exclusive = true })
    assert.is_true(core.section.timeline(100))
    for _ = 1, 4 do
      s:start()
      s:stop { operations = 2.5 }
    end
    assert.is_true(core.section.timeline(0))
    local path = support.folder() .. "/f"
    assert.is_true(core.section.write(path))
    local process = assert(require "pmlua.sections".read(path))
    assert.same({ core.sys.pid(), "lua file", true }, { process.pid, process.sections[1].label, process.sections[1].exclusive })
    local r, told = process.sections[1].rows[1], row "lua file"
    assert.same({ 4, 10, 4, 0, told.total_ns, told.stddev_ns }, { r.count, r.work, r.iterations, r.running, r.total_ns,
      r.stddev_ns })
    assert.same({ 1, 8, 0 }, { #process.timeline, #process.timeline[1].events, process.timeline[1].dropped })
    local function of(bytes) return assert(require "pmlua.sections".read(support.spit(path, bytes))) end
    local without = of(core.section.snapshot())
    assert.same({ 0, 4 }, { #without.timeline, without.sections[1].rows[1].count })
    assert.equal(1, #of(core.section.snapshot { timeline = true }).timeline)
    assert.equal("ENOENT", select(3, core.section.write(path .. ".no/f")))
  end)
end)

describe("A profile", function()
  it("gives the paths to each section", function()
    local p <close> = assert(core.profile.open())
    local outer, inner = core.section.define { label = "P" }, core.section.define { label = "Q" }
    for _ = 1, 2 do
      local _ <close> = outer:enter()
      for _ = 1, 3 do
        local _ <close> = inner:enter()
      end
    end
    inner:start()
    inner:stop()
    local seen = {}
    for _, n in ipairs(p:nodes()) do
      seen[#seen + 1] = ("%d %s %d"):format(n.depth, n.name, n.count)
      assert.is_true(n.exclusive_ns <= n.inclusive_ns and n.min_ns <= n.max_ns)
    end
    assert.same({ "0 P 2", "1 Q 6", "0 Q 1" }, seen)
    assert.same({ threads = 1, events = 9, unmatched = 0, dropped = 0, abandoned = 0 }, p:stats())
    p:close()
    assert.has_error(function() p:nodes() end)
  end)
end)

describe("A trace", function()
  after_each(support.cleanup)

  it("records sections while it is attached, with the values of their events", function()
    local dir = support.folder()
    local lib = assert(core.sde.library "LUATRACE")
    local n = assert(lib:counter "N")
    local s = assert(core.section.define { label = "traced with values", events = { "sde:::LUATRACE::N" } })
    local plain = assert(core.section.define { label = "traced" })
    local t = assert(core.trace.create(dir, { metrics = { { name = "sde:::LUATRACE::N", unit = "#" } } }))
    assert.is_true(t:attach())
    s:start()
    plain:start()
    n:add(4242)
    plain:stop()
    s:stop()
    assert.equal(0, t:detach())
    plain:start()
    plain:stop()
    assert.same({ written = 6, dropped = 0, lifted = 0, unmatched = 0 }, t:stats())
    assert.is_true(t:close())
    local status, out = support.shell("otf2-print " .. dir .. "/traces.otf2")
    if status ~= 0 or out == "" then return pending "otf2-print is not installed" end
    local order = {}
    for kind, text in out:gmatch "\n(%u+)%s+%d+%s+%d+%s+([^\n]*)" do
      order[#order + 1] = kind .. " " .. (text:match 'Region: "([^"]*)"' or text:match "INT64; (%d+)" or "")
    end
    assert.same({ "ENTER traced with values", "METRIC 0", "ENTER traced", "LEAVE traced", "METRIC 4242",
      "LEAVE traced with values" }, order)
  end)
end)
