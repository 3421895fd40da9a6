-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/waits_spec.lua - waits between ranks that were planted, found in the trace: how long, where and for whom. How long is
-- arithmetic on the times of the recorded calls, whatever else the machine does.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local recorded = require "spec.lua.recorded"
local sh = require("spec.shell").sh
local pml = require "pmlua"
local waits = require "pmlua.analysis.waits"

local folder = support.folder()

describe("waits of a job of MPI", function()
  mpi_job.it_once("are found, with who made whom wait", function(name)
    local to = folder .. "/" .. name
    local program = mpi_job.compile(name, "known_waits", folder)
    mpi_job.traced(name, 3, program, to)
    local t <close> = assert(pml.trace.open(to .. "/traces.otf2"))
    local of, first = recorded.calls(t)
    local found, expected = {}, {}
    for _, w in ipairs(assert(waits.of(t))) do
      local key = ("%s %s %d %d"):format(w.kind, w.region, w.rank, w.for_rank)
      found[key] = (found[key] or 0) + w.wait_s
    end
    local function call(rank, region, n) return of[first[rank]][region][n or 1] end
    --- @waiter waits in a call until @other enters one, or its own call is over.
    local function expect(kind, waiter, region, other, until_region, n)
      local own = call(waiter, region, n)
      local wait_s = math.min(call(other, until_region, n).enter, own.leave) - own.enter
      local key = ("%s %s %d %d"):format(kind, region, waiter, other)
      expected[key] = (expected[key] or 0) + math.max(wait_s, 0)
    end
    --- All wait for the last of them.
    local function expect_last(kind, region, n)
      local last = 0
      for rank = 1, 2 do if call(rank, region, n).enter > call(last, region, n).enter then last = rank end end
      for rank = 0, 2 do if rank ~= last then expect(kind, rank, region, last, region, n) end end
    end
    expect("late sender", 1, "MPI_Recv", 0, "MPI_Send")
    expect("late receiver", 0, "MPI_Ssend", 2, "MPI_Recv")
    for _, rank in ipairs { 0, 1 } do expect("late broadcast", rank, "MPI_Bcast", 2, "MPI_Bcast") end
    local early = call(1, "MPI_Reduce").enter < call(2, "MPI_Reduce").enter and 1 or 2
    expect("early reduce", 0, "MPI_Reduce", early, "MPI_Reduce")
    expect_last("n to n", "MPI_Allreduce")
    for n = 1, #of[first[0]].MPI_Barrier do expect_last("barrier", "MPI_Barrier", n) end
    for key, wait_s in pairs(expected) do recorded.same(found[key] or 0, wait_s, key) end
    assert.is_nil(found["late sender MPI_Recv 2 0"])
    for key in pairs(found) do assert.is_truthy(expected[key] or key:find "^early scan MPI_Scan [12]", key) end
    local said, status = sh(("%s/pmlua trace --waits %s/traces.otf2"):format(support.build, to))
    assert.are.equal(0, status, said)
    assert.is_truthy(said:find "\nlate sender +MPI_Recv +%(no recorded call%), [%d.]+ %% +1 +0 +1 ")
    local json
    json, status = sh(("%s/pmlua trace --waits --json %s/traces.otf2"):format(support.build, to))
    assert.are.equal(0, status)
    assert.is_truthy(json:find('"kind": "late sender"', 1, true))
  end)

  mpi_job.it_of_each("are found between the sides of an inter-communicator", function(name)
    local to = folder .. "/inter." .. name
    local program = mpi_job.compile(name, "inter_waits", folder)
    mpi_job.traced(name, 4, program, to)
    local t <close> = assert(pml.trace.open(to .. "/traces.otf2"))
    local of, first = recorded.calls(t)
    local found = {}
    for _, w in ipairs(assert(waits.of(t))) do
      local key = ("%s %s %d %d"):format(w.kind, w.region, w.rank, w.for_rank)
      found[key] = (found[key] or 0) + w.wait_s
    end
    local function call(rank, region, n) return of[first[rank]][region][n or 1] end
    recorded.same(found["late sender MPI_Recv 1 2"] or 0, call(2, "MPI_Send").enter - call(1, "MPI_Recv").enter, "late sender")
    local expected, own_side = {}, {}
    for n = 1, 3 do
      local last = 0
      for rank = 1, 3 do if call(rank, "MPI_Barrier", n).enter > call(last, "MPI_Barrier", n).enter then last = rank end end
      for rank = 0, 3 do
        local own, key = call(rank, "MPI_Barrier", n), ("barrier MPI_Barrier %d %d"):format(rank, last)
        local wait_s = math.min(call(last, "MPI_Barrier", n).enter, own.leave) - own.enter
        if rank ~= last then expected[key] = (expected[key] or 0) + math.max(wait_s, 0) end
        own_side[key] = own_side[key] or n == 3 and rank % 2 == last % 2 -- may leave before the others of its side enter
      end
    end
    for key, wait_s in pairs(expected) do
      if not own_side[key] then recorded.same(found[key] or 0, wait_s, key) end
    end
    for key in pairs(found) do
      assert.is_truthy(expected[key] or key == "late sender MPI_Recv 1 2" or key:find "^creation ", key)
    end
  end)

  it("are none in a trace without ranks", function()
    require "lfs".mkdir(folder .. "/one")
    local w = assert(pml.trace.create(folder .. "/one", { metrics = {} }))
    assert(w:close())
    local t <close> = assert(pml.trace.open(folder .. "/one/traces.otf2"))
    assert.are.same({}, waits.of(t))
  end)
end)
