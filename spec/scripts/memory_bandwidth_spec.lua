-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/memory_bandwidth_spec.lua - the experiment, run for real by its command.

local tables = require "spec.scripts.tables"
local laboratory = require "memory_bandwidth.lab"
local pml = require "pmlua"

local MIB = 2

describe("scripts/memory_bandwidth.lua --quick", function()
  it("has a row for each number of threads and each mix, with rates of bytes over time, and a picture", function()
    local text, status, dir = tables.run("memory_bandwidth", "--megabytes " .. MIB)
    assert.equal(0, status, text)
    assert.is_true(tables.drawn(dir), text)
    local rows = tables.read(dir .. "/data.dat")
    assert.equal(5 * #laboratory.threads(#pml.sys.affinity()), #rows)
    for _, r in ipairs(rows) do
      assert.same({ "ok", 5 }, { r.status, r.samples })
      local bytes = r.threads * (MIB << 20)
      assert.near(bytes / r.median, r.gbytes, 1e-6 * r.gbytes)
      assert.near(bytes / r.min, r.best, 1e-6 * r.best)
      assert.is_true(r.best < 2000 * r.threads) -- no load or store takes less than a cycle of 16 bytes
    end
  end)

  it("uses all cpus and the powers of two below", function()
    assert.same({ 1 }, laboratory.threads(1))
    assert.same({ 1, 2, 3 }, laboratory.threads(3))
    assert.same({ 1, 2, 4, 8 }, laboratory.threads(8))
  end)
end)
