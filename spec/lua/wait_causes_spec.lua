-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wait_causes_spec.lua - ranks of MPI with threads of OpenMP: who was late, by rank and thread, and what it was in.

local helper = require "spec.lua.helper"
local critical_path = require "pmlua.analysis.critical_path"
local mpi_job = require "spec.lua.mpi_job"
local openmp = require "spec.lua.openmp"
local pml = require "pmlua"
local sh = require("spec.shell").sh
local waits = require "pmlua.analysis.waits"

local compilers = { libomp = "clang-14", libgomp = "gcc" }

local function close_to(seconds, known, what)
  assert.is_true(math.abs(seconds / known - 1) < 0.02, ("%s: %g s, not %g"):format(what, seconds, known))
end

--- Times that the ranks print: seconds by rank and what they are.
local function printed(text)
  local of = {}
  for rank, what, ns in text:gmatch "(%d) (%w+) (%d+)\n" do
    of[tonumber(rank)] = of[tonumber(rank)] or {}
    of[tonumber(rank)][what] = tonumber(ns) / 1e9
  end
  return of
end

local function check_imbalance(list, t, known)
  local locations, found = t:locations(), 0
  for _, w in ipairs(list) do
    if w.kind == "OpenMP imbalance" and w.wait_s > 0.05 then
      found = found + 1
      local of = known[w.rank]
      assert.are.equal(w.rank, w.for_rank)
      assert.are_not.equal(w.location, w.for_location)
      assert.are.equal(w.process, locations[w.location].process)
      close_to(w.wait_s, math.abs(of.thread1 - of.thread0), "the threads of rank " .. w.rank)
      local primary = t:locations()[w.for_location - 1]
      assert.are.equal(of.thread0 > of.thread1, not primary or primary.process ~= w.process, "the late thread is named")
      close_to(w.causes[1].wait_s, w.wait_s, "what the late thread was in")
      assert.matches("omp implicit task @[^/]*$", w.causes[1].path)
    end
  end
  assert.are.equal(2, found, "both ranks have one")
end

local function check_message(list, known)
  for _, w in ipairs(list) do
    if w.kind == "late sender" and w.wait_s > 0.05 then
      assert.are.same({ 0, 1, "exchange/MPI_Recv", "exchange/MPI_Send" }, { w.rank, w.for_rank, w.path, w.for_path })
      close_to(w.wait_s, known[1].met - known[0].met, "the message")
      local sum, by = 0, {}
      for _, c in ipairs(w.causes) do
        sum = sum + c.wait_s
        by[c.path:match "^omp parallel.*/(omp implicit barrier)" or c.path] = c.wait_s
      end
      close_to(sum, w.wait_s, "all causes")
      local of = known[1]
      local barrier = by["omp implicit barrier"] -- from the end of the primary thread's work until it sends
      assert.is_true(barrier > (of.thread1 - of.thread0) * 0.98, "the primary thread's waiting for the other one")
      assert.is_true(barrier < (of.met - of.thread0) * 1.02, "and for nothing else")
      assert.is_true(by.prepare > 0.15 and by.prepare < of.prepared * 1.02, "the late rank's section")
      return
    end
  end
  error "no late sender"
end

local function check_path(t)
  local path = assert(critical_path.of(t))
  local sums, parts = { regions = 0, paths = 0 }, {}
  for name in pairs(sums) do
    for _, r in ipairs(path[name]) do sums[name] = sums[name] + r.path_s end
    assert.is_true(math.abs(sums[name] - path.length_s) < 1e-6, name)
  end
  for _, p in ipairs(path.paths) do
    assert.is_true(p.path_s < p.all_s + 1e-6, p.path .. ": no more than all of its time")
  end
  for _, p in ipairs(path.parts) do
    if p.after == "late sender" and p.rank == 0 then parts[#parts + 1] = p end
  end
  assert.are.equal(1, #parts, "the path comes to rank 0 by the message")
  assert.are.same({ "exchange/MPI_Recv", "exchange/MPI_Send" }, { parts[1].waited_in, parts[1].ended_by })
end

describe("causes of waits", function()
  teardown(helper.clean)
  for runtime, cc in pairs(compilers) do
    mpi_job.it_of_each(("and threads of %s are found to within 2 %%"):format(runtime), function(name)
      local lacks = openmp.lacks(runtime)
      if lacks then return pending(lacks) end
      local folder = helper.folder()
      local program = mpi_job.compile(name, "known_causes", folder, ("-fopenmp -g -Icore -L%s -Wl,-rpath,%s"):format(
        helper.build, helper.build), "-lpmlua", ("OMPI_CC=%s MPICH_CC=%s"):format(cc, cc))
      local out, code = mpi_job.record(name, 2, program, folder .. "/recorded", { options = "--trace", limit_s = 120,
        environment = "OMP_DYNAMIC=false" })
      assert.are.equal(0, code, out)
      local anchor = folder .. "/recorded/traces.otf2"
      local t <close> = assert(pml.trace.open(anchor))
      local list, known = assert(waits.of(t)), printed(out)
      check_imbalance(list, t, known)
      check_message(list, known)
      check_path(t)
      local text, status = sh(("%s/pmlua trace --waits %s"):format(helper.build, anchor))
      assert.are.equal(0, status, text)
      assert.matches("\nOpenMP imbalance +[^\n]* 1 +1 %([^\n]+%) +1 +2[%d.]+ ms\n", text)
      assert.matches("\nprepare +1 +1[%d.]+ ms +[%d.]+ %%\n", text)
      local csv = sh(("%s/pmlua trace --csv --table causes %s"):format(helper.build, anchor))
      assert.matches("^cause,for_rank,for_location,wait_s,kind,path,rank,location\n", csv)
      assert.matches("\nprepare,1,%d,0%.1%d+,late sender,exchange/MPI_Recv,0,%d\n", csv)
    end)
  end

  it("are exact in a trace that another tool wrote", function()
    local folder = helper.folder() .. "/ranks"
    local code, _, err = helper.shell("/usr/bin/python3 spec/otf2_ranks.py " .. folder)
    if code ~= 0 and err:find "No module named" then return pending "python3-otf2 is not installed" end
    assert.are.equal(0, code, err)
    local t <close> = assert(pml.trace.open(folder .. "/traces.otf2"))
    local list = assert(waits.of(t))
    assert.are.equal(1, #list)
    local w = list[1]
    assert.are.same({ "late sender", "main/MPI_Recv", 1, "main/MPI_Send", 0 }, { w.kind, w.path, w.rank, w.for_path, w.for_rank })
    local function ms(s) return math.floor(1e3 * s + 0.5) end
    assert.are.equal(90, ms(w.wait_s))
    assert.are.same({ "main/solve", 80, "main", 10 }, { w.causes[1].path, ms(w.causes[1].wait_s), w.causes[2].path,
      ms(w.causes[2].wait_s) })
    local path, parts = assert(critical_path.of(t)), {}
    for i, p in ipairs(path.parts) do parts[i] = ("%d %s %d-%d"):format(p.rank, p.path, ms(p.from_s), ms(p.to_s)) end
    assert.are.same({ "0 main/solve 0-100", "1 main 100-130" }, parts)
    assert.are.same({ "late sender", "main/MPI_Recv", "main/MPI_Send" },
      { path.parts[2].after, path.parts[2].waited_in, path.parts[2].ended_by })
    assert.are.same({ "main/solve", 89, 89 }, { path.paths[1].path, ms(path.paths[1].path_s), ms(path.paths[1].all_s) })
  end)
end)
