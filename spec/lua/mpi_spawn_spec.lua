-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_spawn_spec.lua - tests of a job that starts another job by MPI_Comm_spawn: the program behaves as without pmlua,
-- and no job has messages, members or sums of the other.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()
local RANKS <const>, STARTED <const> = 2, 3

local function run(name, command, limit_s)
  local out, code = sh(command, limit_s or 120)
  assert(code ~= 124, "the job hangs: " .. out)
  if code == 77 or out:find("this MPI starts no jobs", 1, true) then -- the status of the launcher varies in this case
    return nil, pending("MPI_Comm_spawn does not work in this " .. name)
  end
  assert.are.equal(0, code, out)
  return out
end

--- The number of lines of otf2-print for an archive that match @what, by the partner in the line.
local function partners(archive, what)
  local n = {}
  for line in sh("otf2-print " .. archive .. " 2>&1"):gmatch "[^\n]+" do
    local other = line:match("^" .. what .. " .-: %d+ %(\"(.-)\"")
    if other then
      other = other:gsub("thread %d+", "own")
      n[other] = (n[other] or 0) + 1
    end
  end
  return n
end

local function valid(archive)
  if select(2, sh "/usr/bin/python3 -c 'import _otf2'") ~= 0 then return pending "python3-otf2 is not installed" end
  shell.done("/usr/bin/python3 spec/otf2_validate.py " .. archive)
end

describe("a job that MPI_Comm_spawn started", function()
  mpi_job.it_of_each("has nothing to do with the trace of the job that started it", function(name)
    local program, to = mpi_job.compile(name, "spawn", folder), folder .. "/one." .. name
    local out = run(name, ("%s -n %d %s/pmlua record --quiet --trace -o %s -- %s"):format(mpi_job.RUN[name], RANKS,
      support.build, to, program))
    if not out then return end
    -- 1 and 1 on the first communicator; of the ring of five each end of a message between the jobs
    assert.is_truthy(out:find("4 messages are to or from ranks of another job", 1, true), out)
    assert.is_truthy(out:find("the program started another job by MPI_Comm_spawn", 1, true), out)
    assert.is_nil(out:find("one side is not recorded", 1, true), out)
    valid(to .. "/traces.otf2")
    if select(2, sh "command -v otf2-print") ~= 0 then return end
    assert.are.same({ own = 5, ["another job"] = 2 }, partners(to .. "/traces.otf2", "MPI_SEND"))
    assert.are.same({ own = 5, ["another job"] = 2 }, partners(to .. "/traces.otf2", "MPI_RECV"))
  end)

  mpi_job.it_of_each("is another job in an archive of both", function(name)
    local program, to = mpi_job.compile(name, "spawn", folder), folder .. "/both." .. name
    local out = run(name, ("%s/pmlua record --quiet --trace --sym 'MPI_*' -o %s -- %s -n %d %s"):format(support.build, to,
      mpi_job.RUN[name], RANKS, program))
    if not out then return end
    assert.is_truthy(out:find("8 messages are to or from ranks of another job", 1, true), out)
    valid(to .. "/traces.otf2")
    local text, files = sh(("ls %s"):format(to)), {}
    for size in sh(("for f in %s/job*.pmlsum; do %s/pmlua report $f; done"):format(to, support.build)):gmatch "(%d+) ranks on" do
      files[#files + 1] = tonumber(size)
    end
    table.sort(files)
    assert.are.same({ RANKS, STARTED }, files, text)
    assert.is_truthy(mpi_job.report(to .. "/job.pmlsum"):find(RANKS .. " ranks on", 1, true))
  end)
end)

describe("two jobs that meet by MPI_Comm_accept and MPI_Comm_connect", function()
  mpi_job.it_of "openmpi" ("have an archive each, in which messages between them have no partner", function()
    if select(2, sh "command -v ompi-server") ~= 0 then return pending "ompi-server is not installed" end
    local program, dir = mpi_job.compile("openmpi", "connect", folder), folder .. "/connect"
    local job = ("%s --ompi-server file:%s/uri -n 2 %s/pmlua record --quiet --trace -o %s/%%s -- %s %%s %s/port "
      .. "> %s/%%s.out 2>&1"):format(mpi_job.RUN.openmpi, dir, support.build, dir, program, dir, dir)
    local out, code = sh(([[mkdir %s && cd %s
      timeout 60 ompi-server --no-daemonize -r uri & server=$!
      while [ ! -s uri ]; do sleep 0.05; done
      %s & accepts=$!
      %s; connected=$?
      wait $accepts; accepted=$?
      kill $server
      echo "$accepted $connected"]]):format(dir, dir, job:format("accept", "accept", "accept"),
      job:format("connect", "connect", "connect")), 60)
    assert.are.same({ "0 0", 0 }, { out:match "%d+ %d+", code }, out)
    for _, name in ipairs { "accept", "connect" } do
      assert.matches("4 messages are to or from ranks of another job", support.slurp(("%s/%s.out"):format(dir, name)))
      valid(("%s/%s/traces.otf2"):format(dir, name))
      assert.are.same({ own = 2, ["another job"] = 2 }, partners(("%s/%s/traces.otf2"):format(dir, name), "MPI_SEND"))
      assert.is_truthy(mpi_job.report(("%s/%s"):format(dir, name)):find("2 ranks on", 1, true))
    end
  end)
end)

