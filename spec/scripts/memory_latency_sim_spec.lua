-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/memory_latency_sim_spec.lua - the walk through a simulated cache: the knee is the cache's size.
--
-- Slow: it simulates 128 working sets.

package.path = "scripts/?.lua;spec/scripts/?.lua;" .. package.path
require "spec.core.support" -- finds pmlua
local knees = require "memory_latency.knees"
local tables = require "tables"

local HIT, MISS = 4, 14 -- cycles
local LOADS = 2048 -- of a sample, with --quick

describe("pmlua --sim scripts/memory_latency.lua", function()
  it("finds the size of the first level of the model, within 5 %", function()
    if not require("pmlua.internal.simulation.run").available() then return pending "valgrind is not installed" end
    local out = tables.temporary_folder()
    local text, status = tables.shell(("%s --sim scripts/memory_latency.lua --quick --iterations 40 --strides 64 --largest 1 "
      .. "--steps 16 --no-plot --out %s"):format(tables.pmlua, out))
    assert.equal(0, status, text)
    local points, size = {}, tonumber(text:match "D1=(%d+),")
    for _, r in ipairs(tables.read(out .. "/memory_latency/latest/data.dat")) do
      if r.pages == "small" and r.status == "ok" then
        points[#points + 1] = { r.bytes, HIT + (MISS - HIT) * r["sim::D1mr"] / LOADS }
      end
    end
    local knee = knees.find(points)[1]
    assert.near(1, knee.fits / size, 0.05)
    assert.near(1, knee.exceeds / size, 0.05)
    os.execute("rm -rf " .. out)
  end)
end)
