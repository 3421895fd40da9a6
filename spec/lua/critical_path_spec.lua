-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/critical_path_spec.lua - the critical path of a job that sleeps in turn: what holds whatever else the machine does.
-- The path of planted times is in wait_states_spec.lua.

local support = require "spec.core.support"
local critical_path = require "pmlua.analysis.critical_path"
local waits = require "pmlua.analysis.waits"
local mpi_job = require "spec.lua.mpi_job"
local pml = require "pmlua"
local sh = require("spec.shell").sh

local folder = support.folder()

describe("the critical path of a job of MPI", function()
  mpi_job.it_once("goes through the ranks that others waited for", function(name)
    local to = folder .. "/" .. name
    local program = mpi_job.compile(name, "known_path", folder)
    mpi_job.traced(name, 3, program, to)
    local t <close> = assert(pml.trace.open(to .. "/traces.otf2"))
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

    -- windows that cover the run: what lies in each adds up to the whole, of waits, causes and the path
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

    local function trace(options)
      local printed, status = sh(("%s/pmlua trace %s %s/traces.otf2"):format(support.build, options, to))
      assert.are.equal(0, status, printed)
      return printed
    end
    local text = trace "--critical-path"
    assert.is_truthy(text:find("\nCritical path, [%d.]+ m?s of the whole run; it goes over to another rank .- %d+ times\n"), text)
    assert.matches("\nIts.-parts, in the order of time\n", text)
    assert.matches("of the path %([%d.]+ %%%) is in calls whose waiting is not known: [^\n]*MPI_Init", text)
    local read = require "pmlua.json".decode(trace "--critical-path --json").critical_path
    assert.is_true(math.abs(read.length_s / path.length_s - 1) < 1e-9)
    assert.are.equal(#path.parts, #read.parts)
    local csv = trace "--csv --table critical-path"
    assert.is_true(math.abs(tonumber(csv:match "\n%(no recorded call%),([^,]+),") / sleep.path_s - 1) < 1e-9, csv)
  end)

  it("is empty without ranks", function()
    require "lfs".mkdir(folder .. "/one")
    local w = assert(pml.trace.create(folder .. "/one", { metrics = {} }))
    assert(w:close())
    local t <close> = assert(pml.trace.open(folder .. "/one/traces.otf2"))
    assert.are.same({ length_s = 0.0, regions = {}, paths = {}, ranks = {}, parts = {}, waits = 0, unknown_s = 0.0 },
      critical_path.of(t))
    local text, status = sh(("%s/pmlua trace --critical-path %s/one/traces.otf2"):format(support.build, folder))
    assert.are.equal(1, status, text)
    assert.is_truthy(text:find("no location is defined", 1, true), text)
  end)
end)
