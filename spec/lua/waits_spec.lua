-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/waits_spec.lua - waits between ranks that were planted, found in the trace: how long, where and for whom.

local helper = require "spec.lua.helper"
local mpi_job = require "spec.lua.mpi_job"
local sh = require("spec.shell").sh
local pml = require "pmlua"
local waits = require "pmlua.analysis.waits"

local folder

local function entered(text)
  local at = {}
  for rank, call, ns in text:gmatch "(%d) ([%l_]+) (%d+)" do
    at[call] = at[call] or {}
    at[call][tonumber(rank)] = tonumber(ns) / 1e9
  end
  return at
end

describe("waits of a job of MPI", function()
  setup(function() folder = select(1, sh "mktemp -d"):gsub("%s+$", "") end)
  teardown(function() os.execute("rm -rf " .. folder) end)

  mpi_job.it_of_each("are found, with who made whom wait", function(name)
    local to = folder .. "/" .. name
    local program = mpi_job.compile(name, "known_waits", folder)
    local out, code = mpi_job.record(name, 3, program, to, { options = "--trace", limit_s = 60 })
    assert.are.equal(0, code, out)
    local at = entered(out)
    local t <close> = assert(pml.trace.open(to .. "/traces.otf2"))
    local found = {}
    for _, w in ipairs(assert(waits.of(t))) do
      local key = ("%s %s %d %d"):format(w.kind, w.region, w.rank, w.for_rank)
      found[key] = w.wait_s
    end
    local function expect(key, wait_s)
      assert.is_true(wait_s > 0.02, key)
      assert.is_truthy(found[key], key)
      assert.is_true(math.abs(found[key] / wait_s - 1) < 0.02, ("%s: %g, not %g"):format(key, found[key], wait_s))
    end
    expect("late sender MPI_Recv 1 0", at.late_sender[0] - at.late_sender[1])
    expect("late receiver MPI_Ssend 0 2", at.late_receiver[2] - at.late_receiver[0])
    for _, rank in ipairs { 0, 1 } do expect(("late broadcast MPI_Bcast %d 2"):format(rank), at.bcast[2] - at.bcast[rank]) end
    expect("early reduce MPI_Reduce 0 1", at.reduce[1] - at.reduce[0])
    for _, rank in ipairs { 1, 2 } do
      expect(("n to n MPI_Allreduce %d 0"):format(rank), at.allreduce[0] - at.allreduce[rank])
    end
    expect("early scan MPI_Scan 2 1", at.scan[1] - at.scan[2])
    assert.is_nil(found["early scan MPI_Scan 0 1"], "rank 0 needs nobody's data")
    assert.is_true(found["barrier MPI_Barrier 2 1"] >= at.barrier[1] - at.barrier[2])
    assert.is_nil(found["late sender MPI_Recv 2 0"])
    local said, status = sh(("%s/pmlua trace --waits %s/traces.otf2"):format(helper.build, to))
    assert.are.equal(0, status, said)
    assert.is_truthy(said:find "\nlate sender +MPI_Recv +%(no recorded call%), [%d.]+ %% +1 +0 +1 ")
    local json
    json, status = sh(("%s/pmlua trace --waits --json %s/traces.otf2"):format(helper.build, to))
    assert.are.equal(0, status)
    assert.is_truthy(json:find('"kind": "late sender"', 1, true))
  end)

  it("are none in a trace without ranks", function()
    require "lfs".mkdir(folder .. "/one")
    local w = assert(pml.trace.create(folder .. "/one", { metrics = {} }))
    assert(w:close())
    local t <close> = assert(pml.trace.open(folder .. "/one/traces.otf2"))
    assert.are.same({}, waits.of(t))
  end)
end)
