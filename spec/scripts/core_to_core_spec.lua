-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/core_to_core_spec.lua - the experiment, run for real by its command, on all cpus and on one.

local tables = require "spec.scripts.tables"
local laboratory = require "core_to_core.lab"
local pml = require "pmlua"

local allowed = pml.sys.affinity()

describe("Pairs of cpus", function()
  it("appear twice each, and a cpu with itself once", function()
    assert.same({ "0-1", "0-5", "1-5" }, laboratory.pairs { 0, 1, 5 })
    assert.same({ "3-3" }, laboratory.pairs { 3 })
    assert.equal(2016, #laboratory.pairs { table.unpack((function()
      local list = {}
      for i = 1, 64 do list[i] = i end
      return list
    end)()) })
    assert.same({ 12, 130 }, { laboratory.cpus "12-130" })
  end)
end)

describe("scripts/core_to_core.lua --quick", function()
  local text, dir, rows
  setup(function()
    if #allowed < 2 then return end
    text, dir, rows = tables.measure("core_to_core", ("--patience 60 --cpus %d,%d"):format(allowed[1], allowed[2]))
  end)

  it("measures the pair and draws it", function()
    if #allowed < 2 then return pending "this process has one cpu" end
    assert.equal(1, #rows)
    assert.same({ "ok", 20, allowed[1] .. "-" .. allowed[2] }, { rows[1].status, rows[1].samples, rows[1].pair })
    assert.is_true(rows[1].min > 0)
    assert.is_true(tables.drawn(dir), text)
  end)

  it("has the pair in both directions, and as a matrix", function()
    if #allowed < 2 then return pending "this process has one cpu" end
    local forth, back = table.unpack(tables.read(dir .. "/matrix.dat"))
    assert.same({ forth.to, forth.from, forth.latency }, { back.from, back.to, back.latency })
    assert.equal(rows[1].median, forth.latency)
    assert.same({ 1, rows[1].pair, rows[1].median }, (function(r) return { r.rank, r.pair, r.latency } end)(
      tables.read(dir .. "/order.dat")[1]))
    assert.matches("cache line from one cpu to another %[ns%]\ncpu", text)
  end)
end)

describe("scripts/core_to_core.lua", function()
  it("reports on one cpu that an exchange needs two", function()
    local text, _, dir = tables.run("core_to_core", "--cpus " .. allowed[1])
    assert.matches("one cpu: an exchange needs two", text)
    assert.equal("one cpu: an exchange needs two", tables.read(dir .. "/data.dat")[1].status)
  end)
end)
