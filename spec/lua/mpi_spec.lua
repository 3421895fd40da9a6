-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_spec.lua - jobs of Open MPI and MPICH under pmlua record: what their logs have of messages and
-- communicators, against what the programs are known to do.

local helper = require "spec.lua.helper"
local mpi = require "spec.lua.mpi_log"
local sh = require("spec.shell").sh

local NAMES = { "openmpi", "mpich" }
local RUN = { openmpi = "mpirun.openmpi --allow-run-as-root --oversubscribe", mpich = "mpirun.mpich" }

local folder = helper.folder()

--- Why an MPI cannot be asked here, or nil.
local function missing(name)
  if select(2, sh("command -v mpicc." .. name)) ~= 0 then return "mpicc." .. name .. " is not installed" end
  local shim = ("%s/preload/libpmlua-mpi-%s.so"):format(helper.build, name)
  if select(2, sh("test -e " .. shim)) ~= 0 then return shim .. " is not built" end
end

local function compile(name, program, more)
  local to = ("%s/%s.%s"):format(folder, program, name)
  local out, code = sh(("mpicc.%s -o %s spec/c/mpi/%s.c %s"):format(name, to, program, more or ""))
  assert.are.equal(0, code, out)
  return to
end

--- The logs of a job by rank; what the job printed.
local function record(name, ranks, command, options)
  local to = os.tmpname()
  os.remove(to)
  local out, code = sh(("%s -n %d %s/pmlua record --quiet --trace %s -o %s -- %s"):format(RUN[name], ranks, helper.build,
    options or "", to, command), 120)
  assert.are.equal(0, code, out)
  local logs = mpi.job(to)
  os.execute("rm -rf " .. to)
  return logs, out
end

--- What must hold of each job.
local function check(logs, ranks)
  for rank = 0, ranks - 1 do
    local log = assert(logs[rank], "rank " .. rank .. " has no log")
    assert.are.equal(ranks, log.size)
    assert.are.equal("", mpi.requests(log))
    assert.are.equal("", mpi.outside(log))
  end
  local messages, left = mpi.messages(logs)
  assert.are.same({}, left)
  for _, m in ipairs(messages) do
    assert(m.received >= m.sent, ("a message from %d to %d arrives %d ns early"):format(m.from, m.to, m.sent - m.received))
  end
  for _, list in pairs(mpi.collectives(logs)) do
    for _, one in ipairs(list) do
      assert(not one.mixed)
      assert.are.equal(one.sent, one.received, one.operation)
    end
  end
  return messages
end

for _, name in ipairs(NAMES) do
  local because = missing(name)
  local function it_is(what, test)
    it(what, because and function() pending(because) end or test)
  end

  describe("recorded jobs of " .. name, function()
    it_is("have each message with its bytes, tag and partners", function()
      local ranks = 4
      local logs = record(name, ranks, compile(name, "messages"))
      local messages = check(logs, ranks)
      local ring, star = 0, {}
      for _, m in ipairs(messages) do
        if m.tag == 7 then
          ring = ring + 1
          assert.are.equal((m.from + 1) % ranks, m.to)
          assert.are.equal(400, m.bytes)
        else
          star[m.to] = m.bytes
          assert.are.same({ 0, m.to }, { m.from, m.tag })
        end
      end
      assert.are.equal(10 * ranks, ring)
      assert.are.same({ 1000, 2000, 3000 }, star)
    end)

    it_is("have each collective operation with its bytes, and communicators with their members", function()
      local ranks = 6
      local logs = record(name, ranks, compile(name, "messages"))
      check(logs, ranks)
      local lists, n = mpi.collectives(logs), 0
      for global, list in pairs(lists) do
        n = n + 1
        local got = {}
        for i, one in ipairs(list) do
          assert.are.equal(3, one.ranks, global)
          got[i] = one.operation .. " " .. one.sent
        end
        -- 3 ranks: counts 1, 2, 3 add up to 6; of Alltoallv r + i over all pairs to 18
        assert.are.same({ "barrier 0", "bcast 120", "gather 48", "gatherv 48", "scatter 72", "scatterv 48",
          "allgather 144", "allgatherv 144", "alltoall 72", "alltoallv 144", "alltoallw 18", "allreduce 96",
          "allreduce 96", "reduce 64", "reduce_scatter 144", "scan 96", "exscan 48", "reduce_scatter_block 144",
          "allgather 144" }, got)
      end
      assert.are.equal(2, n)
      local names, members = {}, {}
      for _, c in pairs(logs[3].communicators) do names[c.number] = c.name end
      for _, log in pairs(logs) do
        for _, c in pairs(log.communicators) do
          if #c.ranks > 0 then members[c.global] = c.ranks end
        end
      end
      assert.are.same({ "MPI_COMM_WORLD", "MPI_COMM_SELF", "" }, names)
      assert.are.same({ ["0.2"] = "0 2 4", ["1.2"] = "1 3 5" }, members)
    end)

    it_is("have every function of MPI as a region, once a call", function()
      local logs = record(name, 2, compile(name, "messages"))
      local calls = mpi.calls(logs[1])
      calls.MPI_Test = nil -- as often as it took
      assert.are.same({ MPI_Init = 1, MPI_Comm_rank = 2, MPI_Comm_size = 2, MPI_Irecv = 10, MPI_Isend = 10, MPI_Wait = 2,
        MPI_Waitall = 1, MPI_Recv = 1, MPI_Comm_split = 1, MPI_Barrier = 1, MPI_Bcast = 1, MPI_Gather = 1, MPI_Gatherv = 1,
        MPI_Scatter = 1, MPI_Scatterv = 1, MPI_Allgather = 1, MPI_Allgatherv = 1, MPI_Alltoall = 1, MPI_Alltoallv = 1,
        MPI_Alltoallw = 1, MPI_Allreduce = 2, MPI_Reduce = 1, MPI_Reduce_scatter = 1, MPI_Scan = 1, MPI_Exscan = 1,
        MPI_Reduce_scatter_block = 1, MPI_Iallgather = 1, MPI_Comm_free = 1, MPI_Finalize = 1 }, calls)
    end)
  end)
end

teardown(helper.clean)
