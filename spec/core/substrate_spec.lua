-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/substrate_spec.lua - pml.substrate: functions that take events, plugins, and the list of all.

local support = require "spec.core.support"
local it = support.it
local core = support.core
local pml = require "pmlua"

local path = core.sys.realpath(support.build .. "/spec/plugins")

local function raise(label, times)
  for _ = 1, times or 1 do
    pml.section.start(label)
    pml.section.stop(label)
  end
end

local function has_writer() return path and support.exists(path .. "/libscorep_substrate_writer.so") end

describe("A substrate in Lua", function()
  it("gets enters and leaves in batches, with region, time and thread", function()
    local got = {}
    local function keep(what)
      return function(region, ns, thread) got[#got + 1] = { what, region, ns, thread } end
    end
    local s <close> = assert(pml.substrate { enter = keep "enter", leave = keep "leave" })
    local before = pml.clock.ns()
    raise "batched"
    assert.same(0, #got)
    assert.same(2, s:drain())
    assert.same({ "enter", "leave" }, { got[1][1], got[2][1] })
    assert.same("batched", pml.region.describe(got[1][2]).name)
    assert.is_true(before <= got[1][3] and got[1][3] <= got[2][3] and got[2][3] <= pml.clock.ns())
    assert.is_true(got[1][4] > 0)
  end)

  it("gets the end of each drain, and of the last one at its close", function()
    local flushed, entered = {}, 0
    local s = assert(pml.substrate { enter = function() entered = entered + 1 end,
      flush = function(n) flushed[#flushed + 1] = n end })
    raise("flushed", 3)
    s:drain()
    raise "flushed"
    s:close()
    s:close()
    raise "flushed"
    assert.same({ 6, 2 }, flushed)
    assert.same(4, entered)
    assert.has_error(function() s:drain() end, "substrate: closed")
  end)

  it("accepts more than a batch", function()
    local n = 0
    local s <close> = assert(pml.substrate { leave = function() n = n + 1 end, records = 1 << 16 })
    raise("many", 10000)
    assert.same(20000, s:drain())
    assert.same(10000, n)
    assert.same(0, s:stats().dropped)
  end)

  it("loses only the event whose function raised an error", function()
    local n = 0
    local s <close> = assert(pml.substrate { enter = function()
      n = n + 1
      if n == 2 then error "no more" end
    end })
    raise("raising", 4)
    assert.has_error(function() s:drain() end)
    s:drain()
    assert.same(4, n)
  end)

  it("gets the values of events", function()
    local values
    local section = assert(pml.section.define { label = "valued", events = { "clock::ns" } })
    local s <close> = assert(pml.substrate { leave = function(_, _, _, v) values = v end })
    section:start()
    section:stop()
    s:drain()
    assert.is_true(values["clock::ns"] >= 0)
  end)

  it("reports errors in its options", function()
    for text, options in pairs {
      ["substrate: enter, leave or metric is missing"] = { flush = print },
      ["substrate: unknown option 'entre'; did you mean enter?"] = { entre = print },
      ["substrate: option 'enter' must be a function"] = { enter = 1 },
      ["substrate: a synchronous substrate has no buffers"] = { enter = print, synchronous = true, records = 10 },
    } do
      assert.has_error(function() pml.substrate(options) end, text)
    end
    assert.has_error(function() pml.substrate(1) end,
      "substrate: must be a table with functions enter, leave or metric")
  end)
end)

describe("A synchronous substrate", function()
  it("calls its functions at each event, and returns their results", function()
    local s <close> = assert(pml.substrate { synchronous = true,
      enter = function(region) count = (count or 0) + 1; last = describe(region) end, -- luacheck: ignore
      flush = function() return count, last, { 1.5, x = { true } } end }) -- luacheck: ignore
    raise("at once", 5)
    assert.same({ events = 5, late = 0 }, s:stats())
    local n, name, t = s:drain()
    assert.same({ 5, "at once", { 1.5, x = { true } } }, { n, name, t })
    assert.is_nil(count) -- luacheck: ignore
  end)

  it("gets the same events and values as one with buffers", function()
    local library = assert(core.sde.library "SUBSTRATE")
    local counter, recorder = assert(library:counter "N"), assert(library:recorder("R", { type = "double" }))
    local names = { "sde:::SUBSTRATE::N", "sde:::SUBSTRATE::R:MAX" }
    recorder:push(0.5) -- the type of an event without a value is not known
    local section = assert(pml.section.define { label = "both", events = names })
    local batched = {}
    local function keep(...) batched[#batched + 1] = { ... } end
    local buffers <close> = assert(pml.substrate { enter = keep, leave = keep })
    local s <close> = assert(pml.substrate { synchronous = true,
      enter = function(...) entered = { ... } end, leave = function(...) left = { ... } end, -- luacheck: ignore
      flush = function() return entered, left end }) -- luacheck: ignore
    counter:add(7)
    section:start()
    counter:add(41)
    recorder:push(2.5)
    section:stop()
    buffers:drain()
    local entered, left = s:drain()
    assert.same(batched, { entered, left })
    assert.same({ [names[1]] = 7, [names[2]] = 0.5 }, entered[4])
    assert.same({ [names[1]] = 48, [names[2]] = 2.5 }, left[4])
    assert.equal("integer", math.type(left[4][names[1]]))
  end)

  it("refuses functions that use values of the script", function()
    local mine = 0
    assert.has_error(function()
      pml.substrate { synchronous = true, enter = function() mine = mine + 1 end }
    end, "substrate: functions called at each event run in a separate state, without 'mine' of the script: a global there "
      .. "may take its place")
    assert.has_error(function() pml.substrate { synchronous = true, enter = print } end,
      "substrate: a function in C cannot be called at each event")
  end)

  it("stops calling a function that raised an error, and reports the error", function()
    local s = assert(pml.substrate { synchronous = true, enter = function() error "enough" end,
      flush = function() return 1 end })
    raise("enough", 3)
    assert.same(1, s:stats().events)
    assert.matches("enough", s:stats().error)
    assert.has_error(function() s:drain() end)
    assert.has_error(function() s:close() end)
    s:close()
  end)
end)

describe("A substrate plugin", function()
  it("gets the events of sections and ends at its close", function()
    if not has_writer() then pending "the specs' plugins are not built: make specs" return end
    local dir = os.tmpname()
    os.remove(dir)
    local p = assert(pml.substrate.load("writer", { path = path, directory = dir }))
    raise "written"
    assert.same(1, p:stats().threads)
    assert.is_false(p:stats().dropped)
    p:record(false)
    raise "unwritten"
    p:record(true)
    p:close()
    local f <close> = assert(io.open(dir .. "/writer.txt"))
    local text = f:read "a"
    assert.matches("0 enter written 0\n0 leave written 0\n", text, 1, true)
    assert.matches("0 unrecorded unwritten 0\n", text, 1, true)
    assert.matches("finalize\n$", text)
    local said = table.concat(pml.substrate.lines(), "\n")
    assert.matches("substrate plugin writer: pmlua never raises these of its events: MPI_SEND, IO_SEEK", said, 1, true)
    os.execute(("rm -r '%s'"):format(dir))
  end)

  it("from the environment gets a script's events, and ends with it", function()
    if not has_writer() then pending "the specs' plugins are not built: make specs" return end
    local dir, said = os.tmpname(), os.tmpname()
    os.remove(dir)
    local script = "local s = require [[pmlua]].section; s.start [[here]]; s.stop [[here]]"
    assert(os.execute(("cd '%s' && SCOREP_SUBSTRATE_PLUGINS=no_such:writer SCOREP_SUBSTRATE_PLUGINS_SEP=: " ..
      "SCOREP_EXPERIMENT_DIRECTORY='%s' LD_LIBRARY_PATH='%s' '%s/pmlua' -e '%s' 2>'%s'")
      :format(os.getenv "PWD", dir, path, support.build, script, said)))
    assert.matches("0 enter here 0\n0 leave here 0\n.*finalize\n$", support.slurp(dir .. "/writer.txt"))
    local lines = support.slurp(said)
    assert.matches("pmlua: substrate.load: ENOENT: substrate plugin no_such:", lines, 1, true)
    assert.matches("pmlua: substrate plugin writer: pmlua never raises these of its events: MPI_SEND, IO_SEEK\n", lines, 1, true)
    os.execute(("rm -r '%s' '%s'"):format(dir, said))
  end)
end)

describe("The list of substrates", function()
  it("has profiles, traces, buffers and functions", function()
    local function names()
      local all = {}
      for _, s in ipairs(pml.substrate.list()) do all[#all + 1] = s.name end
      return all
    end
    local before = #names()
    local profile <close> = assert(pml.profile.open())
    local s <close> = assert(pml.substrate { enter = function() end })
    local each <close> = assert(pml.substrate { synchronous = true, leave = function() end })
    local all = names()
    assert.same({ "profile", "buffer", "lua" }, { table.unpack(all, before + 1) })
    local last = pml.substrate.list()[#all]
    assert.same({ name = "lua", enter = false, leave = true, metric = false, plain = false }, last)
    assert.is_true(pml.substrate.list()[before + 1].plain)
    profile:close()
    assert.is_true(s ~= nil and each ~= nil)
    assert.same(before + 2, #names())
  end)
end)
