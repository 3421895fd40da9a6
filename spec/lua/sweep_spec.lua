-- SPDX-License-Identifier: BSD-3-Clause

require "spec.core.support"
local sweep = require "pmlua.internal.experiment.sweep"

local function labels(cells)
  local out = {}
  for i, c in ipairs(cells) do out[i] = c.label end
  return out
end

describe("sweep", function()
  it("makes every combination, the last factor fastest", function()
    local cells = assert(sweep.cells { { "path", { "page", "read" } }, { "events", { 1, 2 } } })
    assert.same({ "path=page events=1", "path=page events=2", "path=read events=1", "path=read events=2" }, labels(cells))
    assert.equal("page 1", cells[1].short)
    assert.equal(3, cells[3].index)
  end)

  it("orders factors of a plain table by name", function()
    local _, factors = sweep.cells { b = { 1 }, a = { "x" } }
    assert.equal("a", factors[1].name)
    assert.is_true(factors[1].text)
  end)

  it("has one cell without factors", function()
    assert.same({ "all" }, labels(sweep.cells {}))
  end)

  it("keeps an unmeasurable cell, with its reason, and drops an excluded one", function()
    local cells = sweep.cells({ n = { 1, 2, 3, 4 } }, function(p)
      if p.n == 2 then return "needs a PMU" end
      if p.n == 3 then return false end
      if p.n == 4 then return false, "too many" end
      return true
    end)
    assert.same({ "n=1", "n=2", "n=4" }, labels(cells))
    assert.equal("ok", cells[1].status)
    assert.equal("needs a PMU", cells[2].status)
    assert.equal("too many", cells[3].status)
  end)

  it("refuses factors that make no table", function()
    for _, case in ipairs {
      { 7, "a table expected" }, { { a = {} }, "array of values" }, { { a = { 1, "x" } }, "mixes" },
      { { a = { 1, 1 } }, "twice" }, { { a = { true } }, "boolean" }, { { ["a b"] = { 1 } }, "letters" },
      { { { "a", { 1 } }, { "a", { 2 } } }, "twice" }, { { a = { 0 / 0 } }, "finite" }, { { 1, 2 }, "has no name" },
      { { { 1, 2 } }, "letters" },
    } do
      local cells, err = sweep.cells(case[1])
      assert.is_nil(cells)
      assert.matches(case[2], err)
    end
  end)

  it("visits every cell once per round, in an order that the seed repeats", function()
    local plan = sweep.plan(20, 10, 1003, 42)
    assert.equal(10, #plan)
    local total, orders = 0, {}
    for _, round in ipairs(plan) do
      local seen = table.move(round.order, 1, #round.order, 1, {})
      orders[table.concat(seen, " ")] = true
      table.sort(seen)
      for i = 1, 20 do assert.equal(i, seen[i]) end
      total = total + round.n
    end
    assert.equal(1003, total)
    local distinct = 0
    for _ in pairs(orders) do distinct = distinct + 1 end
    assert.equal(10, distinct)
    assert.same(plan, sweep.plan(20, 10, 1003, 42))
    assert.is_not.same(plan, sweep.plan(20, 10, 1003, 43))
  end)

  it("makes no empty rounds", function()
    local plan = sweep.plan(2, 10, 3, 1)
    assert.equal(3, #plan)
    assert.equal(1, plan[3].n)
  end)

  it("shuffles without favour", function()
    local random, first = require "pmlua.internal.rng" (9), { 0, 0, 0, 0 }
    for _ = 1, 4000 do
      local v = sweep.shuffle({ 1, 2, 3, 4 }, random)[1]
      first[v] = first[v] + 1
    end
    for i = 1, 4 do assert.is_true(first[i] > 880 and first[i] < 1120, first[i]) end
  end)
end)
