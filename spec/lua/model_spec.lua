-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/model_spec.lua - tests of pml.model: it finds planted growth, calls noise constant, and refuses unsuitable data.

require "spec.core.support"
local pml = require "pmlua"
local rng = require "pmlua.internal.rng"
local stats = require "pmlua.stats"

local SIZES <const> = { 1, 2, 4, 8, 16, 32 }

local function points(f, sizes)
  local list = {}
  for i, n in ipairs(sizes or SIZES) do list[i] = { n, f(n) } end
  return list
end

local function grid(f)
  local list = {}
  for _, n in ipairs { 2, 4, 8, 16, 32 } do
    for m = 1, 5 do list[#list + 1] = { n, m, f(n, m) } end
  end
  return list
end

local function normal(seed)
  local random = rng(seed)
  return function() return stats.normal_quantile((random(1 << 30) - 0.5) / (1 << 30)) end
end

describe("pml.model.fit", function()
  it("finds the growth of exact values", function()
    for text, f in pairs {
      ["3 + 2 n^1.5"] = function(n) return 3 + 2 * n ^ 1.5 end,
      ["5 + 1 n log2(n)"] = function(n) return 5 + n * math.log(n, 2) end,
      ["4 + 1 n^2"] = function(n) return 4 + n * n end,
      ["7 + 3 n"] = function(n) return 7 + 3 * n end,
      ["1 + 6 n^-1"] = function(n) return 1 + 6 / n end,
      ["9 - 6 n^-1"] = function(n) return 9 - 6 / n end,
      ["2 + 4 n^0.5 log2(n)^2"] = function(n) return 2 + 4 * n ^ 0.5 * math.log(n, 2) ^ 2 end,
      ["12"] = function() return 12 end,
    } do
      local model = assert(pml.model.fit(points(f)))
      assert.equal(text, tostring(model))
      assert.is_true(math.abs(f(100) - model:predict(100)) < 1e-6 * f(100), text)
      assert.is_true(#model.terms == 0 and model.predicts == 0 or model.predicts > 1 - 1e-12, text)
    end
  end)

  it("finds the power of growth without a logarithm, to 0.05", function()
    for i = -40, 60, 3 do
      local c = i / 20
      local model = assert(pml.model.fit(points(function(n) return 10 * n ^ c + 1 end, { 2, 4, 8, 16, 32, 64, 128 })))
      assert.equal(0, model.terms[1].log[1])
      assert.is_true(math.abs(model.terms[1].power[1] - c) <= 0.05 + 1e-9, ("%g: %s"):format(c, tostring(model)))
    end
  end)

  it("finds the terms of two factors, alone, added and multiplied", function()
    for text, f in pairs {
      ["5 + 2 n m^2"] = function(n, m) return 5 + 2 * n * m ^ 2 end,
      ["5 + 2 n^1.5 + 3 m^2"] = function(n, m) return 5 + 2 * n ^ 1.5 + 3 * m ^ 2 end,
      ["5 + 2 n^1.5"] = function(n) return 5 + 2 * n ^ 1.5 end,
      ["1 + 2 m"] = function(_, m) return 1 + 2 * m end,
      ["8"] = function() return 8 end,
    } do
      local model = assert(pml.model.fit(grid(f)))
      assert.equal(text, tostring(model))
      assert.is_true(math.abs(f(50, 7) - model:predict { 50, 7 }) < 1e-6 * f(50, 7))
    end
  end)

  it("finds noise constant, and growth in noise", function()
    local grown = 0
    for seed = 1, 40 do
      local noise = normal(seed)
      local model = assert(pml.model.fit(points(function() return 100 + 3 * noise() end)))
      if model:growth() ~= "constant" then grown = grown + 1 end
      local function measured(n) return 100 + n ^ 2 * (1 + 0.01 * noise()) end
      model = assert(pml.model.fit(points(measured, { 4, 8, 12, 16, 24, 32, 48 })))
      local value = model:predict(40)
      assert.is_true(math.abs(value - 1700) < 170, tostring(model))
    end
    assert.is_true(grown <= 3, grown .. " of 40")
  end)

  it("has intervals that hold new measurements at the stated rate", function()
    local inside = 0
    for seed = 1, 100 do
      local noise = normal(1000 + seed)
      local function measured(n) return 50 + 10 * n + 4 * noise() end
      local model = assert(pml.model.fit(points(measured, { 1, 2, 4, 6, 8, 10, 12, 14, 16 })))
      local _, low, high = model:predict(9)
      for _ = 1, 2 do
        local new = measured(9)
        if low <= new and new <= high then inside = inside + 1 end
      end
    end
    assert.is_true(inside >= 182 and inside < 200, inside .. " of 200")
  end)

  it("accepts an experiment's run, by factor, column and place", function()
    local rows = {}
    for _, n in ipairs(SIZES) do
      rows[#rows + 1] = { size = n, way = "a", median = 2 * n, flops = n ^ 2 }
      rows[#rows + 1] = { size = n, way = "b", median = 3 * n }
    end
    local run = { data = { rows = rows }, meta = { factors = { { name = "size" }, { name = "way" } } } }
    assert.equal("0 + 3 size", (tostring(pml.model.fit(run, { factors = { "size" }, where = { way = "b" } })):gsub("^%S+", "0")))
    local model = assert(pml.model.fit(run, { factors = { "size" }, value = "flops", where = { way = "a" } }))
    assert.equal("size^2", model:growth())
    local _, err = pml.model.fit(run, { factors = { "size" } })
    assert.matches("factor way also varies; name one of its values in where", tostring(err), 1, true)
    assert.has_error(function() pml.model.fit(run) end)
  end)

  it("refuses in one line data that have no model", function()
    local function same(n) return n end
    for _, case in ipairs {
      { points(same, { 1, 2, 4 }), "3 values of n are too few for a model; measure at least 5" },
      { {}, "0 values of n are too few" }, { points(same, { 10, 12, 14, 16, 18 }), "n from 10 to 18 is too little range" },
      { points(function() return 1 / 0 end), "point 1: its value is inf" },
      { points(function() return -1 end), "point 1: its value is -1; it must be finite and not negative" },
      { points(same, { 0, 1, 2, 4, 8 }), "point 1: n is 0; it must be positive" },
      { { { 1 } }, "point 1: its value is nil" },
      { { table.unpack(grid(same), 1, 24) }, "1 of 25 combinations of n and m are missing; measure them" },
    } do
      local model, err = pml.model.fit(case[1])
      assert.is_nil(model)
      assert.is_truthy(tostring(err):find(case[2], 1, true), tostring(err))
    end
  end)
end)
