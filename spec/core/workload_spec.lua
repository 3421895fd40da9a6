-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/workload_spec.lua - pml.workload from Lua, with the bare loop.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local path = support.build .. "/workloads/loop.so"

local function load()
  return assert(core.workload.load(path))
end

--- As many series as the workload has sites.
local function series(w, n)
  local list = {}
  for i = 1, #w.sites do list[i] = assert(core.samples.new(n)) end
  return list
end

describe("A workload", function()
  after_each(support.cleanup)

  it("has a description", function()
    local w <close> = load()
    assert.equal("loop", w.name)
    assert.is_true(#w.help > 0 and #w.sites > 0)
    for _, o in ipairs(w.options) do assert.is_true(#o.name > 0 and o.default ~= nil) end
  end)

  it("runs every operation and leaves a sample for each hit", function()
    local w <close> = load()
    local set <close> = assert(core.eventset.open { "task-clock" })
    for _, operation in ipairs(core.workload.operations) do
      local list = series(w, 100)
      local r = assert(w:run { operation = operation, set = set, samples = list })
      assert.is_true(#list[1] > 0, operation)
      assert.is_table(r.results)
      assert.equal(1, #r.values)
    end
  end)

  it("needs a set for all but the empty operation", function()
    local w <close> = load()
    assert(w:run { operation = "empty", samples = series(w, 10) })
    assert.error_matches(function() w:run { operation = "read", samples = series(w, 10) } end, "needs a set")
  end)

  it("takes only its own options, in their type", function()
    local w <close> = load()
    local function run(options)
      return function() w:run { operation = "empty", samples = series(w, 10), options = options } end
    end
    assert.error_matches(run { nonsense = 1 }, "unknown option 'nonsense'")
    assert.error_matches(run { [w.options[1].name] = {} }, "must be a")
    assert.error_matches(run { [w.options[1].name] = 0 / 0 }, "not finite")
  end)

  it("needs an open series for each site", function()
    local w <close> = load()
    assert.error_matches(function() w:run { operation = "empty", samples = {} } end, "one for each site")
    local list = series(w, 10)
    list[1]:close()
    assert.error_matches(function() w:run { operation = "empty", samples = list } end, "samples: the handle is closed")
  end)

  it("is refused if the file is missing or has no workload", function()
    assert.equal("ENOENT", select(3, core.workload.load("/nowhere/x.so")))
    local other = support.spit(support.folder() .. "/x.so", "not an object")
    assert.equal("EFORMAT", select(3, core.workload.load(other)))
    local _, err, code = core.workload.load(support.build .. "/libpmlua.so")
    assert.equal("EFORMAT", code)
    assert.matches("has no pml_workload", err)
  end)

  it("does not run after its close", function()
    local w = load()
    w:close()
    assert.error_matches(function() w:run {} end, "workload: the handle is closed")
  end)
end)
