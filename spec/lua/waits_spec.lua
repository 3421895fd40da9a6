-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/waits_spec.lua - tests of waits and the critical path in jobs whose ranks sleep in turn: properties of the trace that
-- hold at any load of the machine. Tests with planted times are in wait_states_spec.lua.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local recorded = require "spec.lua.recorded"
local shell = require "spec.shell"
local pml = require "pmlua"
local waits = require "pmlua.analysis.waits"
local critical_path = require "pmlua.analysis.critical_path"
local folder = support.folder()

--- The trace of a job of a program of spec/c/mpi, and its folder.
local function traced(name, ranks, program)
  local to = ("%s/%s.%s"):format(folder, program, name)
  mpi_job.traced(name, ranks, mpi_job.compile(name, program, folder), to .. ".traces")
  return assert(pml.trace.open(to .. ".traces/traces.otf2")), to .. ".traces"
end

--- How long each kind of wait lasts, by "KIND REGION RANK FOR".
local function found_in(t)
  local found = {}
  for _, w in ipairs(assert(waits.of(t))) do
    local key = ("%s %s %d %d"):format(w.kind, w.region, w.rank, w.for_rank)
    found[key] = (found[key] or 0) + w.wait_s
  end
  return found
end

describe("waits of a job of MPI", function()
  mpi_job.it_once("are found, with their causes", function(name)
    local t <close>, to = traced(name, 3, "known_waits")
    local of, first = recorded.calls(t)
    local found, expected = found_in(t), {}
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
    local waited = ("%s/pmlua trace --waits %s/traces.otf2"):format(support.build, to)
    assert.matches("\nlate sender +MPI_Recv +%(no recorded call%), [%d.]+ %% +1 +0 +1 ", shell.done(waited))
    assert.matches('"kind": "late sender"', shell.done(waited .. " --json"), 1, true)
  end)

  mpi_job.it_of_each("are found between the sides of an inter-communicator", function(name)
    local t <close> = traced(name, 4, "inter_waits")
    local of, first = recorded.calls(t)
    local found = found_in(t)
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
end)

describe("the critical path of a job of MPI", function()
  mpi_job.it_once("leads through the ranks that others waited for", function(name)
    local t <close>, to = traced(name, 3, "known_path")
    local path = assert(critical_path.of(t))
    local sleep
    for _, r in ipairs(path.regions) do
      if not r.number then sleep = r end -- the sleeps are in no recorded call
    end
    assert.is_true(sleep.path_s > 0 and sleep.path_s <= sleep.all_s + 1e-6)
    for _, r in ipairs(path.regions) do assert.is_true(r.path_s <= r.all_s + 1e-6, r.region .. " has more than all its time") end
    local sum, before = 0, nil
    for _, p in ipairs(path.parts) do
      sum = sum + p.to_s - p.from_s
      assert.is_true(not before or math.abs(p.from_s - before) < 1e-9, "parts follow each other without a gap")
      before = p.to_s
    end
    assert.is_true(math.abs(sum - path.length_s) < 1e-9)
    local regions, ranks = 0, 0
    for _, r in ipairs(path.regions) do regions = regions + r.path_s end
    for _, r in ipairs(path.ranks) do ranks = ranks + r.path_s end
    assert.is_true(math.abs(regions - path.length_s) < 1e-6, ("%g s in regions of %g"):format(regions, path.length_s))
    assert.is_true(math.abs(ranks - path.length_s) < 1e-6)
    assert.is_true(path.waits >= 1)

    -- the windows cover the run: their waits, causes and path add up to the whole
    local function of_window(window)
      local waited, caused, on_path = 0, 0, 0
      for _, w in ipairs(assert(waits.of(t, window))) do
        waited = waited + w.wait_s
        for _, c in ipairs(w.causes) do caused = caused + c.wait_s end
      end
      local p = assert(critical_path.of(t, window))
      for _, r in ipairs(p.regions) do on_path = on_path + r.path_s end
      return { waited, caused, on_path, p.length_s }
    end
    local whole, total = of_window(nil), { 0, 0, 0, 0 }
    local from = path.parts[1].from_s
    for i = 0, 6 do
      local least, most = i == 0 and 0 or from + path.length_s * i / 7, i == 6 and math.huge or from + path.length_s * (i + 1) / 7
      local part = of_window { least, most }
      assert.is_true(part[4] <= path.length_s / 7 + 1e-6 or i == 0 or i == 6)
      for k, v in ipairs(part) do total[k] = total[k] + v end
    end
    for k, v in ipairs(whole) do
      assert.is_true(math.abs(total[k] - v) < 1e-6, ("%d: %g s in windows, %g in all"):format(k, total[k], v))
    end
    assert.is_true(whole[1] > 0.05)

    local function trace(options) return shell.done(("%s/pmlua trace %s %s/traces.otf2"):format(support.build, options, to)) end
    local text = trace "--critical-path"
    assert.is_truthy(text:find("\nCritical path, [%d.]+ m?s of the whole run; it goes over to another rank .- %d+ times\n"), text)
    assert.matches("\nIts.-parts, in the order of time\n", text)
    assert.matches("of the path %([%d.]+ %%%) is in calls whose waiting is unknown: [^\n]*MPI_Init", text)
    local read = require "pmlua.json".decode(trace "--critical-path --json").critical_path
    assert.is_true(math.abs(read.length_s / path.length_s - 1) < 1e-9)
    assert.equal(#path.parts, #read.parts)
    local csv = trace "--csv --table critical-path"
    assert.is_true(math.abs(tonumber(csv:match "\n%(no recorded call%),([^,]+),") / sleep.path_s - 1) < 1e-9, csv)
  end)

  it("is empty without ranks, and without waits", function()
    require "lfs".mkdir(folder .. "/one")
    local w = assert(pml.trace.create(folder .. "/one", { metrics = {} }))
    assert(w:close())
    local t <close> = assert(pml.trace.open(folder .. "/one/traces.otf2"))
    assert.same({}, waits.of(t))
    assert.same({ length_s = 0.0, regions = {}, paths = {}, ranks = {}, parts = {}, waits = 0, unknown_s = 0.0 },
      critical_path.of(t))
    local text, status = shell.sh(("%s/pmlua trace --critical-path %s/one/traces.otf2"):format(support.build, folder))
    assert.equal(1, status, text)
    assert.is_truthy(text:find("no location is defined", 1, true), text)
  end)
end)
