-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/ring_spec.lua - the experiment, run for real by its command, with each MPI that is installed.

local tables = require "spec.scripts.tables"
local mpi = require "programs.mpi"

for _, name in ipairs { "openmpi", "mpich" } do
  local job, missing = mpi.new { mpi = name }
  if job then job:close() end

  describe("scripts/ring.lua --quick with " .. name, function()
    local text, dir, rows
    setup(function()
      if not job then return end
      text, dir, rows = tables.measure("ring", "--mpi " .. name)
    end)

    local function it_is(what, test) it(what, job and test or function() pending(missing) end) end

    it_is("measures each size in pairs and around, and draws them", function()
      local seen = {}
      for _, r in ipairs(rows) do
        assert.is_true(r.status == "ok" and r.samples == 5 and r.median > 0, text)
        assert.is_true(math.abs(r.bandwidth * r.median / r.bytes - 1) < 1e-9)
        seen[#seen + 1] = r.between .. " " .. r.bytes
      end
      assert.same({ "pairs 8", "pairs 4096", "pairs 262144", "around 8", "around 4096", "around 262144" }, seen)
      assert.is_true(tables.drawn(dir), text)
      local f <close> = io.open(dir .. "/plot.svg")
      if f then -- two ranks have one value, whose square is dark
        assert.equal(4, select(2, f:read("a"):gsub('fill="rgb%(255,255,255%)" font%-family', "")))
      end
    end)

    it_is("has the pair in both directions, and as a matrix", function()
      local list = tables.read(dir .. "/pairs.dat")
      assert.equal(2 * 3, #list)
      for i = 1, #list, 2 do
        local forth, back = list[i], list[i + 1]
        assert.same({ 0, 1, 1, 0 }, { forth.from, forth.to, back.from, back.to })
        assert.equal(forth.time, back.time)
      end
      for _, r in ipairs(rows) do
        if r.between == "pairs" then assert.equal(r.fastest, r.slowest) else assert.is_nil(r.fastest) end
      end
      assert.matches("Time of a message of 8 bytes %[us%]\nrank +0 +1\n +0 +%- +[%d.]+\n +1 +[%d.]+ +%-", text)
    end)

    it_is("names the MPI and the hosts of the ranks", function()
      local said = tables.read(dir .. "/job.dat")[1]
      assert.same({ job.title, 2, job.cpus, 2 / job.cpus }, { (said.mpi:gsub("_", " ")), said.ranks, said.cpus, said.per_cpu })
      local places = tables.read(dir .. "/places.dat")
      assert.equal(2, #places)
      assert.equal(places[1].host, places[2].host)
    end)
  end)
end
