-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/job_full_spec.lua - jobs whose disk is full while ranks record, reduce and write the archive.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local sh = require("spec.shell").sh

local folder = support.folder()

local function can_mount()
  return select(2, sh(("mkdir -p %s/try && mount -t tmpfs -o size=64k tmpfs %s/try && umount %s/try"):format(folder, folder,
    folder))) == 0
end

--- A job of two ranks that exchange many messages, on a disk of this size: its status, what pmlua said, and all output.
local function job(name, size)
  local disk, lines = ("%s/%s-%s"):format(folder, name, size), {}
  local pairs_of = mpi_job.compile(name, "many", folder, "-O2")
  assert.equal(0, select(2, sh(("mkdir %s && mount -t tmpfs -o size=%s tmpfs %s"):format(disk, size, disk))))
  local done, out, code = pcall(mpi_job.record, name, 2, pairs_of .. " 100000", disk .. "/o",
    { options = "--trace", environment = "PMLUA_MPI_TIMEOUT=3", limit_s = 100 })
  local report = sh(("%s/pmlua report %s/o"):format(support.build, disk), 60)
  sh("umount " .. disk)
  assert(done, out)
  for line in out:gmatch "[^\n]+" do
    if line:find "^pmlua " then lines[#lines + 1] = line end
  end
  assert(out:find("exchanged 100000\n", 1, true), out) -- the program itself goes on
  return code, lines, out, report
end

for name in pairs(mpi_job.RUN) do
  local because = mpi_job.missing(name) or not can_mount() and "only root can mount a small disk" or nil
  local function it_is(what, test) it(what, because and function() pending(because) end or test) end

  describe("a job of " .. name .. " on a disk without room", function()
    it_is("for its events ends, fails, and has a line for each rank and the table of all calls", function()
      local code, lines, out, report = job(name, "4m")
      assert(code ~= 0, out)
      local parts = 0
      for _, line in ipairs(lines) do
        parts = parts + (line:find "is recorded in part: its file could not grow: No space left on device" and 1 or 0)
      end
      assert.equal(2, parts, out)
      assert(#lines <= 4, out)
      assert(out:find("\nMPI_Send +200000 "), out)
      assert(report:find("\nMPI_Send +200000 "), report)
    end)

    if name ~= mpi_job.first then return end
    it_is("for the files of some ranks ends, and names these ranks", function()
      for _, size in ipairs { "20k", "100k" } do
        local code, lines, out = job(name, size)
        assert(code ~= 0, out)
        assert(#lines >= 1, out)
        assert(table.concat(lines, "\n"):find("No space left on device", 1, true), out)
      end
    end)
  end)
end
