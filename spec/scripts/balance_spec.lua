-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/balance_spec.lua - the experiment, run for real by its command.

local tables = require "spec.scripts.tables"
local folder = require "spec.core.cpus_folder"

describe("scripts/balance.lua --quick", function()
  local text, dir, rows, effect, course
  setup(function()
    text, dir, rows = tables.measure("balance")
    effect, course = tables.read(dir .. "/effect.dat"), tables.read(dir .. "/course.dat")
  end)

  local function row_of(delta, noise)
    for _, r in ipairs(effect) do
      if r.delta == delta and r.noise == noise then return r end
    end
  end

  it("ends well, with a picture and a row for each cell", function()
    assert.equal(6 + 18 + 2, #rows)
    assert.equal(18, #effect)
    assert.is_true(tables.drawn(dir), text)
  end)

  it("saves energy under each noise, and loses little time under little noise", function()
    for _, r in ipairs(effect) do assert.is_true(r.after < r.before and r.saved > 0, r.delta .. " " .. r.noise) end
    assert.is_true(row_of(10, 0).saved > 15 and row_of(10, 0).lost < 3)
    assert.is_true(row_of(10, 2).saved > 15 and row_of(10, 2).lost < 3)
  end)

  it("is less stable with a smaller delta: under noise it loses more time", function()
    for _, noise in ipairs { 10, 20 } do
      assert.is_true(row_of(3, noise).lost > row_of(10, noise).lost)
      assert.is_true(row_of(10, noise).lost > row_of(20, noise).lost)
    end
  end)

  it("settles without noise: no frequency changes before the load does", function()
    local last = {}
    for _, r in ipairs(course) do
      if r.delta == 10 and r.noise == 0 and r.iteration > 30 and r.iteration <= 60 then
        assert.equal(last[r.rank] or r.frequency, r.frequency)
        last[r.rank] = r.frequency
      end
    end
    assert.equal(8, #last)
    assert.equal(3, last[1])
    for rank = 2, 8 do assert.is_true(last[rank] <= last[rank - 1]) end
    assert.is_true(last[8] < 2)
  end)

  it("gives the reference frequency to the rank with the largest load after the reversal", function()
    for _, r in ipairs(course) do
      if r.delta == 10 and r.noise == 0 and r.iteration == 100 then
        if r.rank == 8 then assert.equal(3, r.frequency) end
        if r.rank == 1 then assert.is_true(r.frequency < 2) end
      end
    end
  end)

  it("measures the shares of real threads", function()
    local shares = tables.read(dir .. "/shares.dat")
    assert.is_true(#shares >= 2)
    for _, r in ipairs(shares) do
      assert.equal(100, r.repetitions)
      assert.is_true(r.computing >= 0 and r.computing <= 100 and r.decided >= 0.1)
    end
  end)
end)

describe("scripts/balance.lua", function()
  it("sets the files of a root if that is permitted, and restores them", function()
    local out, cpus = tables.folder(), folder.new(2)
    local text = tables.shell(("%s --allow-tuning scripts/balance.lua --quick --iterations 100 --root %s -o %s 2>&1")
      :format(tables.pmlua, cpus.root, out))
    local rows = tables.read(out .. "/balance/latest/data.dat")
    for _, r in ipairs(rows) do assert.equal("ok", r.status, text) end
    for _, r in ipairs(tables.read(out .. "/balance/latest/shares.dat")) do
      assert.is_true(r.decided <= 3.5 and r.decided >= 0.8)
    end
    assert.is_true(cpus:is_back(2))
    cpus:remove()
  end)
end)
