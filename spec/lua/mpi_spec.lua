-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_spec.lua - tests of Open MPI and MPICH jobs under pmlua record: messages and communicators in their logs, against
-- the known behaviour of the programs.
-- Slow: some forty jobs.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local mpi = require "spec.lua.mpi_log"
local shell = require "spec.shell"
local sh = shell.sh

local NAMES = { "openmpi", "mpich" }
local RUN = mpi_job.RUN

local folder = support.folder()

local function compile(name, program, options, libraries)
  return mpi_job.compile(name, program, folder, options, libraries)
end

--- The logs of a job by rank, its exit status and what it printed.
local function run(name, ranks, command, options)
  local to = os.tmpname()
  os.remove(to)
  local out, code = mpi_job.record(name, ranks, command, to, { options = "--trace " .. (options or ""), limit_s = 120 })
  local logs = mpi.job(to)
  os.execute("rm -rf " .. to)
  return logs, code, out
end

local function record(name, ranks, command, options)
  local logs, code, out = run(name, ranks, command, options)
  assert.are.equal(0, code, out)
  return logs, out
end

--- Invariants of every job.
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
  local it_is = mpi_job.it_of(name)

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

    it_is("have the bytes of operations in place, to and from other ranks alone", function()
      local logs = record(name, 3, compile(name, "in_place"))
      check(logs, 3)
      local got = {}
      for _, list in pairs(mpi.collectives(logs)) do
        for _, one in ipairs(list) do got[one.operation] = one.sent end
      end
      -- as in other buffers, less a rank's own part; of Alltoallv r + i over all pairs of two ranks to 12
      for operation, bytes in pairs { gather = 32, gatherv = 32, scatter = 48, scatterv = 32, allgather = 96, allgatherv = 96,
        alltoall = 48, alltoallv = 96, alltoallw = 12, reduce_scatter = 96, reduce_scatter_block = 96 } do
        assert.are.same({ operation, bytes }, { operation, got[operation] })
      end
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

    it_is("have each kind of request, in each way of completion", function()
      local logs = record(name, 2, compile(name, "requests"))
      local n = {}
      for _, m in ipairs(check(logs, 2)) do
        assert.are.equal(m.tag, m.bytes)
        n[m.tag] = (n[m.tag] or 0) + 1
      end
      local planted = { [100] = 4, [101] = 3, [150] = 2, [151] = 2 }
      for _, range in ipairs { { 110, 112 }, { 120, 149 }, { 160, 164 }, { 170, 173 } } do
        for tag = range[1], range[2] do planted[tag] = 1 end
      end
      assert.are.same(planted, n)
      for rank = 0, 1 do
        assert.are.equal(1, #mpi.of(logs[rank], "cancelled"))
        local bytes = {}
        for i, e in ipairs(mpi.of(logs[rank], "rma")) do bytes[i] = ("%d to %d"):format(e.bytes, e.peer) end
        assert.are.same({ "4 to " .. 1 - rank, "4 to " .. 1 - rank, "4 to 0" }, bytes)
      end
    end)

    it_is("have the same communicators in all members, by their global ids", function()
      local logs = record(name, 2, compile(name, "requests"))
      local seen = {}
      for rank = 0, 1 do
        for number, c in pairs(logs[rank].communicators) do
          if number > 2 then seen[c.global] = (seen[c.global] or "") .. rank .. c.name .. (c.flags == 4 and " inter" or "") end
        end
      end
      local list = {}
      for _, text in pairs(seen) do list[#list + 1] = text end
      table.sort(list)
      assert.are.same({ "0 inter1 inter", "01", "01", "0duplicate1duplicate" }, list)
    end)

    it_is("have the messages of threads that use MPI at the same time", function()
      local logs, code = run(name, 2, compile(name, "threads"))
      if code == 77 then return pending("this MPI has no MPI_THREAD_MULTIPLE") end
      assert.are.equal(0, code)
      assert.are.equal(2 * 4 * 250 * 2, #check(logs, 2))
      assert.are.equal(3, logs[0].mpi.level)
    end)

    it_is("have functions with large counts, and persistent collective operations", function()
      local logs, code, out = run(name, 2, compile(name, "large"))
      if code == 77 then return pending("this MPI is older than version 4") end
      assert.are.equal(0, code, out)
      local n = {}
      for _, m in ipairs(check(logs, 2)) do
        assert.are.equal(m.tag, m.bytes)
        n[m.tag] = (n[m.tag] or 0) + 1
      end
      assert.are.same({ [10] = 2, [11] = 2, [12] = 1, [13] = 1, [14] = 4, [15] = 4, [16] = 4, [17] = 2 }, n)
      local got = {}
      for _, list in pairs(mpi.collectives(logs)) do
        for i, one in ipairs(list) do got[i] = ("%s %d of %d"):format(one.operation, one.sent, one.ranks) end
      end
      local turn = { "allreduce 16 of 2", "gather 10 of 2" }
      assert.are.same({ "bcast 60 of 2", "allgatherv 6 of 2", turn[1], turn[2], turn[1], turn[2], turn[1], turn[2] }, got)
    end)

    it_is("have operations between neighbours of each kind of topology, beside requests of files", function()
      local ranks = 4
      local logs = record(name, ranks, compile(name, "topology") .. " " .. folder .. "/file." .. name)
      assert.are.equal(ranks, #check(logs, ranks)) -- a ring of messages, completed with requests of a file
      -- Two neighbours in a ring of four, which moves 32 bytes each time; a line has three edges, both ways 24 bytes. A graph
      -- and a distributed graph have one neighbour each, 16 bytes. The copy of the line is a line.
      local moved, large = {}, logs[0].mpi.version:find "MPICH" and { "neighbor_alltoall", "neighbor_alltoall",
        "neighbor_allgather" } or {}
      local turn = { "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
        "neighbor_alltoallw", "neighbor_alltoall", table.unpack(large) }
      for _, list in pairs(mpi.collectives(logs)) do
        if list[1].operation ~= "barrier" then
          local got = {}
          for i, one in ipairs(list) do
            got[i] = one.operation
            assert.are.same({ ranks, list[1].sent }, { one.ranks, one.sent })
          end
          assert.are.same(turn, got)
          moved[#moved + 1] = list[1].sent
        end
      end
      table.sort(moved)
      assert.are.same({ 16, 16, 24, 24, 32 }, moved)
      local members = {}
      for _, log in pairs(logs) do
        for _, c in pairs(log.communicators) do
          if #c.ranks > 0 then members[#members + 1] = c.ranks end
        end
      end
      table.sort(members)
      local all = "0 1 2 3" -- five topologies and one communicator of a host
      assert.are.same({ all, all, all, all, all, all, "1 0" }, members)
    end)

    for _, unseen in ipairs { "", " unseen" } do
      it_is("attribute each message if handles are reused" .. (unseen ~= "" and ", and requests end unseen" or ""),
        function()
          local logs, code, out = run(name, 2, compile(name, "reuse") .. unseen)
          if code == 77 then return pending("this MPI gives no handle twice") end
          assert.are.equal(0, code, out)
          local n, left = {}, select(2, mpi.messages(logs))
          for _, m in ipairs(mpi.messages(logs)) do
            assert.are.same({ m.tag % 2, 1 - m.tag % 2, 4 * (m.tag % 7 + 1) }, { m.from, m.to, m.bytes }, m.tag)
            n[#n + 1] = m.tag
          end
          table.sort(n)
          assert.are.same({ 200, 0, 199 }, { #n, n[1], n[#n] })
          assert.are.equal(unseen == "" and 0 or 200, #left)
          for rank = 0, 1 do
            local posted
            for _, e in ipairs(logs[rank].events) do
              if e.what == "irecv" then posted = e.request end
              assert(e.what ~= "irecv complete" or e.request == posted, "another request than was completed")
            end
          end
        end)
    end

    for _, interface in ipairs { "mpif", "use_mpi", "use_mpi_f08" } do
      it_is("have the messages of a program that uses " .. interface, function()
        local to = ("%s/%s.%s"):format(folder, interface, name)
        local out, code = sh(("mpifort.%s -I spec/c/mpi -o %s spec/c/mpi/%s.f90"):format(name, to, interface))
        if code == 127 then return pending("mpifort." .. name .. " is not installed") end
        assert.are.equal(0, code, out)
        local logs = record(name, 2, to)
        local tags = {}
        for _, m in ipairs(check(logs, 2)) do
          assert.are.same({ 0, 1, 40 }, { m.from, m.to, m.bytes })
          tags[m.tag] = true
        end
        assert.are.same({ true, true, true, true }, tags)
        assert.are.same({ MPI_Init = 1, MPI_Comm_rank = 1, MPI_Recv = 2, MPI_Irecv = 2, MPI_Wait = 2, MPI_Allreduce = 1,
          MPI_Comm_dup = 1, MPI_Barrier = 1, MPI_Finalize = 1 }, mpi.calls(logs[1]))
        assert.are.equal(20, mpi.of(logs[1], "end")[1].sent)
      end)
    end

    it_is("have the messages of a plugin that brings MPI", function()
      local plugin = compile(name, "messages", "-shared -fPIC -Dmain=plugin_main")
      shell.done(("cc -o %s/late spec/c/mpi/late.c -ldl"):format(folder))
      assert.are.equal(2 * 10 + 1, #check(record(name, 2, folder .. "/late " .. plugin), 2))
    end)

    it_is("have the messages of pointers from dlsym, if requested", function()
      local logs = record(name, 2, compile(name, "pointers", "-D_GNU_SOURCE"), "--dlsym")
      local messages = check(logs, 2)
      assert.are.same({ 1, 10 }, { #messages, messages[1] and messages[1].bytes })
    end)

    it_is("have all messages for any choice of functions", function()
      local logs = record(name, 2, compile(name, "messages"), "--sym deflate")
      assert.are.equal(2 * 10 + 1, #check(logs, 2))
    end)

    for _, how in ipairs { "abort", "kill", "_exit", "exit" } do
      it_is("have all messages from before a rank ends by " .. how, function()
        local logs = run(name, 2, compile(name, "ends") .. " " .. how)
        assert.are.same({}, select(2, mpi.messages(logs)))
        assert.are.equal(1, #mpi.messages(logs))
        assert.are.equal(2, logs[1].size)
      end)
    end

    it_is("end if some ranks are not recorded, report that, and have the trace of the others", function()
      local program, to = compile(name, "messages"), folder .. "/mixed." .. name
      local out = shell.done(("PMLUA_MPI_TIMEOUT=2 %s -n 2 %s : -n 3 %s/pmlua record --quiet --trace -o %s -- %s"):format(
        RUN[name], program, support.build, to, program), 120)
      assert.is_truthy(out:find("some ranks of the job are not recorded", 1, true), out)
      local logs = mpi.job(to)
      assert.is_nil(logs[1])
      assert.are.equal("", mpi.requests(logs[4]))
      assert.is_truthy(out:find("2 of 5 ranks have no log: 0 to 1; the trace has them without events\n", 1, true), out)
      assert.are.equal(0, select(2, sh(("test -s %s/traces.otf2"):format(to))))
      if select(2, sh "command -v otf2-print") ~= 0 then return end
      local events = sh(("otf2-print %s/traces.otf2"):format(to))
      assert.are.equal(3, select(2, events:gsub('\nENTER +%d+ +%d+ +Region: "MPI_Finalize"', "")), events)
    end)

    it_is("compare clocks that differ, within the stated accuracy", function()
      local to = folder .. "/clocks." .. name
      local each = ("%s/pmlua record --quiet --trace -o %s -- %s"):format(support.build, to, compile(name, "messages"))
      shell.done(("%s -n 2 %s : -n 2 env PMLUA_CLOCK=monotonic %s"):format(RUN[name], each, each), 120)
      local logs = mpi.job(to)
      local function error_of(rank)
        return math.max(logs[rank].offsets[1].error_ns, logs[rank].offsets[2].error_ns)
      end
      local messages, left = mpi.messages(logs)
      assert.are.same({}, left)
      for _, m in ipairs(messages) do
        local early = m.sent - m.received
        assert(early <= error_of(m.from) + error_of(m.to) + 10, ("%d ns early from %d to %d"):format(early, m.from, m.to))
      end
      assert.are.equal(0, error_of(0))
      assert(error_of(3) < 1e9)
    end)

    it_is("have rank and size if only sections are kept", function()
      local to = folder .. "/report." .. name
      local program = compile(name, "sections", ("-Icore -L%s -Wl,-rpath,%s"):format(support.build, support.build), "-lpmlua")
      shell.done(("PMLUA_REPORT=%s %s -n 3 %s"):format(to, RUN[name], program), 120)
      for rank = 0, 2 do
        local log = assert(mpi.job(to)[rank])
        assert.are.same({ 3, rank, 3 }, { log.size, log.mpi.rank, log.mpi.size })
        assert.are.equal(2, #log.offsets)
        assert.are.equal(0, #log.events)
      end
    end)

    it_is("have no messages between MPI_Pcontrol(0) and MPI_Pcontrol(1)", function()
      local logs = record(name, 2, compile(name, "ends"))
      local tags = {}
      for _, m in ipairs(check(logs, 2)) do tags[m.tag] = true end
      assert.are.same({ [1] = true, [3] = true }, tags)
      assert.are.equal(2, mpi.calls(logs[0]).MPI_Send)
    end)
  end)
end

