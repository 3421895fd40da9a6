-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/memory_latency_sim_spec.lua - the walk through simulated caches: the knees are the caches' sizes.
--
-- Slow: it simulates dozens of working sets, twice.

local tables = require "spec.scripts.tables"
local support = require "spec.core.support" -- finds pmlua

local LINE, PAGE_AND_LINE = 64, 4160

describe("scripts/memory_latency.lua in a simulation", function()
  local out = tables.folder()

  --- The knees of caches of these sizes: working sets by stride and cache; and what the run printed.
  local function knees(command, largest)
    local line = "%s scripts/memory_latency.lua --quick --largest %d -o %s"
    local text, status = tables.shell(line:format(command, largest, out))
    assert.equal(0, status, text)
    local dir, found = out .. "/memory_latency/latest", {}
    for _, row in ipairs(tables.read(dir .. "/knees.dat")) do
      local key = ("%s %d"):format(row.cache, row.stride)
      assert.is_nil(found[key])
      assert.near(0, row.before, 0.02)
      assert.near(1, row.after, 0.05)
      found[key] = row
    end
    assert.is_true(tables.drawn(dir), text)
    return found, text, dir
  end

  local function is_at(knee, bytes)
    assert.is_true(knee.fits <= bytes and knee.exceeds > bytes, ("%d to %d, not %d"):format(knee.fits, knee.exceeds, bytes))
    assert.is_true(knee.exceeds <= 1.05 * bytes and knee.fits >= 0.95 * bytes)
  end

  local simulates = require("pmlua.internal.simulation.run").available() and support.it
    or function(name) pending(name .. ": valgrind is not installed", function() end) end

  simulates("finds both caches of the model, by the lines that they hold", function()
    local found, text, dir = knees(tables.pmlua .. " --sim", 16)
    is_at(found["D1 64"], 32768)
    is_at(found["LL 64"], 8388608)
    is_at(found["D1 4160"], 32768 // LINE * PAGE_AND_LINE)
    assert.is_nil(found["LL 4160"])
    assert.truthy(text:find "64 +D1 +32 KiB")
    assert.is_nil(text:find("takes longer", 1, true)) -- times mean nothing
    local caches = tables.read(dir .. "/caches.dat")
    assert.same({ "D1", 32768, "simulation" }, { caches[1].level, caches[1].size, caches[1].source })
    for _, row in ipairs(tables.read(dir .. "/data.dat")) do
      assert.is_true(row.pages == "small" or row.samples == 0, row.status)
    end
  end)

  simulates("finds caches of other sizes", function()
    local found = knees(("%s stat --sim --D1 16384,4,64 --LL 1048576,8,64 -- %s"):format(tables.pmlua, tables.pmlua), 4)
    is_at(found["D1 64"], 16384)
    is_at(found["LL 64"], 1048576)
    is_at(found["D1 4160"], 16384 // LINE * PAGE_AND_LINE)
  end)
end)
