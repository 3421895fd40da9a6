-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/kernel_sweep_spec.lua - tests of the experiment kernel_sweep, run by its command, and of the caches that it finds.

local tables = require "spec.scripts.tables"
local caches = require "kernels.caches"
local flops = require "kernels.flops"

local build = os.getenv "PMLUA_BUILD" or "build"

-- Operations per element, and elements moved, by the source.
local formula = {
  add = { 1, 3 }, mult = { 1, 3 }, fma = { 2, 3 }, divide = { 1, 3 }, sqrt = { 1, 2 }, mix = { 5, 3 },
}

describe("scripts/kernel_sweep.lua --quick", function()
  local text, status, dir
  setup(function() text, status, dir = tables.run("kernel_sweep") end)

  it("ends well, with a picture and its tables", function()
    assert.equal(0, status, text)
    for _, words in ipairs { "Table 1. Plateaus", "Table 2. Steps", "Table 3. Operations counted by the PMU" } do
      assert.truthy(text:find(words, 1, true), words)
    end
    assert.is_true(tables.drawn(dir), text)
  end)

  it("has samples in every cell, or a reason", function()
    local rows = tables.read(dir .. "/data.dat")
    assert.is_true(#rows >= 6 * 2 * 2 * 20)
    for _, r in ipairs(rows) do
      if r.status == "ok" then assert.equal(2, r.samples) else assert.truthy(#r.status > 5 and r.samples == 0) end
    end
  end)

  it("counts operations and bytes by the formulas", function()
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      if r.status == "ok" then
        assert.equal(formula[r.kernel][1] * r.n, r.flops)
        assert.equal(formula[r.kernel][2] * r.n * (r.precision == "double" and 8 or 4), r.bytes)
      end
    end
  end)

  it("subtracts the overhead openly: there is no rate for times below it", function()
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      if r.status == "ok" then
        assert.is_true(math.abs(r.net - (r.median - r.overhead)) <= 1e-6 * r.median)
        assert.equal(r.net >= r.overhead and "ok" or r.net > 0 and "hides" or "nothing left", r.subtraction)
        if r.net > 0 then
          assert.is_true(math.abs(r.gflops * r.net - r.flops) <= 1e-6 * r.flops)
        else
          assert.is_nil(r.gflops)
        end
      end
    end
  end)

  it("has a row for each curve in the tables, and each operation count has a value or a reason", function()
    local curves = {}
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      local curve = r.kernel .. r.precision .. r.build
      curves[curve] = curves[curve] or r.status == "ok"
    end
    local count = 0
    for _ in pairs(curves) do count = count + 1 end
    assert.equal(count, #tables.read(dir .. "/plateaus.dat"))
    local counted = tables.read(dir .. "/workload.dat")
    assert.equal(count, #counted)
    for _, r in ipairs(counted) do
      if curves[r.kernel .. r.precision .. r.build] then assert.equal(1000 * formula[r.kernel][1], r.user) end
      if r.state == "ok" then assert.is_true(r.ratio >= 0) else assert.truthy(r.system == nil and #r.state > 5) end
    end
    assert.is_true(#tables.read(dir .. "/caches.dat") >= 2)
  end)

  it("has the operations by the compiler, which equal the source's, and the bytes that it moves", function()
    if not io.open(build .. "/workloads/counted/kernels_final.so") then
      pending("the kernels that count are not built: that needs clang-14 and llvm-14-dev")
      return
    end
    for _, r in ipairs(tables.read(dir .. "/workload.dat")) do
      if r.user then
        local what = r.kernel .. r.precision .. r.build
        assert.same({ r.user, r.user, 1, 1 }, { r.source, r.final, r.source_ratio, r.final_ratio }, what)
        -- beside the vectors there is the scalar d, which each call reads, also those for no element
        assert.is_true(r.final_bytes >= r.bytes and r.final_bytes < r.bytes + 100, what)
        assert.is_true(r.source_bytes >= r.bytes and r.source_bytes < r.bytes + 100, what)
      end
    end
  end)
end)

describe("scripts/kernel_sweep.lua", function()
  it("counts operations by the given events", function()
    -- every event counts something per call: here the task's clock replaces operations, twice
    local text, status, dir = tables.run("kernel_sweep", "--no-plot --kernels add --precisions double "
      .. "--builds scalar --longest 3 --flop-events task-clock*2,task-clock")
    assert.equal(0, status, text)
    local rows = tables.read(dir .. "/workload.dat")
    assert.equal(1, #rows)
    assert.equal("ok", rows[1].state)
    assert.is_true(rows[1].system > 0 and math.abs(rows[1].ratio - rows[1].system / 1000) < 1e-9)
    assert.truthy(text:find("system / user", 1, true) or text:find("ratio", 1, true))
  end)
end)

describe("the caches of a core", function()
  local levels = {
    { name = "L1", set = 16 << 10 }, { name = "L2", set = 512 << 10 }, { name = "memory", set = 64 << 20 },
  }

  it("place vectors in a level, but not between two levels", function()
    assert.equal("L1", caches.level_of(levels, 8 << 10))
    assert.equal("L2", caches.level_of(levels, 256 << 10))
    assert.equal("memory", caches.level_of(levels, 64 << 20))
    assert.is_nil(caches.level_of(levels, 32 << 10))
    assert.is_nil(caches.level_of(levels, 4 << 20))
  end)

  it("belong to this machine, or are marked as assumed, and end with memory", function()
    local here = caches.levels(1)
    assert.equal("memory", here[#here].name)
    for i, l in ipairs(here) do
      assert.truthy(l.source == "sysfs" or l.source:find "assumed")
      assert.is_true(l.set > 0 and (i == 1 or l.set > here[i - 1].set))
    end
  end)
end)

describe("events for operations", function()
  it("are names with weights", function()
    assert.same({ { "a:u", 8 }, { "cpu/event=1,umask=2/", 1 }, { "b", 0.5 } }, flops.parse "a:u*8,cpu/event=1,umask=2/,b*0.5")
    assert.is_nil(flops.parse "a,,b")
  end)
end)
