-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/counted_spec.lua - the experiment, run by its command; and its reasons, from invented counts.

local tables = require "spec.scripts.tables"
local counters = require "counted.counters"
local kernels = require "counted.kernels"
local reasons = require "counted.reasons"

describe("scripts/counted.lua --quick", function()
  local text, status, dir, by, absent, nobody

  setup(function()
    text, status, dir = tables.run("counted")
    by, absent, nobody = {}, {}, text:match "no counter is available; [^\n]*"
    if status ~= 0 then return end
    for _, r in ipairs(tables.read(dir .. "/counts.dat")) do
      by[r.counter] = by[r.counter] or {}
      by[r.counter][r.kernel] = r
    end
    for _, r in ipairs(tables.read(dir .. "/absent.dat")) do
      for who in r.counter:gmatch "%a+" do absent[who] = r.reason:gsub("_", " ") end
    end
  end)

  --- it(), or pending if no counter is available, or one of these is not.
  local function count_it(who, name, f)
    it(name, function()
      if nobody then return pending(nobody) end
      assert.equal(0, status, text)
      for counter in who:gmatch "%a+" do
        if absent[counter] then return pending(counter .. ": " .. absent[counter]) end
      end
      f()
    end)
  end

  count_it("", "ends well, with a picture, and each counter counts or says why not", function()
    assert.is_true(tables.drawn(dir), text)
    for _, counter in ipairs(counters.ORDER) do
      assert.is_true((by[counter] ~= nil) ~= (absent[counter] ~= nil), counter)
      for _, kernel in ipairs(kernels.names) do
        assert.truthy(absent[counter] or by[counter][kernel].operations or counter == "hardware", kernel)
      end
    end
  end)

  count_it("source", "counts at source what was counted by hand, exactly", function()
    for name, hand in pairs(by.hand) do
      for _, q in ipairs { "flops", "loaded", "stored", "loads", "stores" } do
        assert.is_number(hand[q], name .. " " .. q)
        assert.equal(hand[q], by.source[name][q], name .. " " .. q)
      end
    end
  end)

  count_it("final", "counts the same flops at final", function()
    for name, hand in pairs(by.hand) do
      assert.is_number(hand.flops, name)
      assert.equal(hand.flops, by.final[name].flops, name)
    end
  end)

  count_it("final", "sees that a sum stays in a register", function()
    assert.equal(8, by.final.sum.stored)
    assert.equal(8 * 100 + 8, by.final.sum.loaded)
  end)

  count_it("final simulation", "simulates the loads and stores that the compiler left", function()
    for _, name in ipairs { "add", "mult", "sqrt", "divide", "scale", "sum" } do
      for _, q in ipairs { "loads", "stores" } do
        assert.is_true(math.abs(by.simulation[name][q] - by.final[name][q]) <= 2, name .. " " .. q)
      end
    end
  end)

  count_it("", "counts the same in each call, wherever counts are exact", function()
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      if r.counter ~= "hardware" then
        assert.is_number(r.min, r.kernel .. " " .. r.counter)
        assert.equal(r.min, r.max, r.kernel .. " " .. r.counter)
      end
    end
  end)

  count_it("source final simulation", "has a reason for each difference, and none where there is none", function()
    local why = {}
    for _, r in ipairs(tables.read(dir .. "/reasons.dat")) do
      why[r.kernel .. r.counter .. r.quantity] = r.short
      if r.counter ~= "hardware" then assert.not_equal("unexplained", r.short, r.kernel .. " " .. r.quantity .. r.figure) end
    end
    for _, name in ipairs(kernels.names) do
      for _, q in ipairs { "loads", "stores", "operations" } do
        local memcpy = by.final[name].loads == 0 and name == "copy"
        if by.final[name][q] ~= by.source[name][q] and not memcpy then assert.truthy(why[name .. "final" .. q], name .. q) end
        if by.simulation[name][q] ~= by.final[name][q] then assert.truthy(why[name .. "simulation" .. q], name .. q) end
      end
    end
  end)
end)

describe("reasons of differences", function()
  --- Counts that are 0 except for those given.
  local function counts(given) return setmetatable(given, { __index = function() return 0 end }) end

  local function shorts(c)
    local out = {}
    for _, r in ipairs(reasons.of(c)) do out[#out + 1] = ("%s %s: %s %s"):format(r.counter, r.quantity, r.short, r.figure) end
    table.sort(out)
    return out
  end

  it("do not exist if nothing differs", function()
    local same = { loads = 10, loaded = 80, flops = 5 }
    assert.same({}, shorts { source = counts(same), final = counts(same) })
  end)

  it("come from the cells: vectors, registers, calls of the library", function()
    assert.same({ "final loads: vectors 25 of 25 take up to 32 bytes", "final operations: loads and stores -75" }, shorts {
      source = counts { loads = 100, loaded = 800, operations = 100 },
      final = counts { loads = 25, loaded = 800, load_vector_32 = 25, operations = 25 },
    })
    assert.same({ "final loads: registers 99", "final operations: loads and stores -99" }, shorts {
      source = counts { loads = 100, loaded = 800, operations = 100 }, final = counts { loads = 1, loaded = 8, operations = 1 },
    })
    assert.same({ "final operations: loads and stores -100", "final stores: memset 800 bytes by memset" }, shorts {
      source = counts { stores = 100, stored = 800, operations = 100 },
      final = counts { stored = 800, set = 1, set_bytes = 800 },
    })
  end)

  it("distinguish reads of an fma's vector by element from spills", function()
    local final = counts { loads = 100, fp_fma_double_256 = 50, operations = 1000 }
    local function simulated(loads, stores) return { loads = loads, stores = stores, operations = 850 } end
    local function of_loads(c)
      local out = {}
      for _, s in ipairs(shorts(c)) do out[#out + 1] = s:match "^simulation loads: (.*)" end
      return out
    end
    assert.same({ "fma by element 150 more" }, of_loads { final = final, simulation = simulated(250, 0) })
    assert.same({ "once 3" }, of_loads { final = final, simulation = simulated(103, 0) })
    assert.same({ "fma by element 150 more", "spills 50" }, of_loads { final = final, simulation = simulated(300, 40) })
  end)

  it("cover the differences, and are reported as missing if no rule holds", function()
    assert.same({ "final flops: other flops +3", "simulation loads: joined 2" }, shorts {
      source = counts { flops = 1, loads = 7 }, final = counts { flops = 4, loads = 7 },
      simulation = { loads = 5, stores = 0, operations = 0 },
    })
    assert.same({ "final operations: unexplained +9" },
      shorts { source = counts { operations = 1 }, final = counts { operations = 10 } })
  end)
end)
