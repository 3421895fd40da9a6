-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/order_spec.lua - what a verb prints does not depend on the order of pairs(), which differs between processes: each
-- command that measures nothing is repeated, and prints the same.

local mpi_job = require "spec.lua.mpi_job"
local recorded = require "spec.lua.recorded"
local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local shell = require "spec.shell"

local REPEATS = 4
local folder = support.folder()

local function repeats(commands)
  for _, command in ipairs(commands) do
    local text = ("cd %s && %s/pmlua %s 2>&1"):format(folder, support.build, command)
    local first, code = shell.sh(text, 120)
    assert.is_true(#first > 0 and code < 124, command .. ": " .. first)
    for _ = 2, REPEATS do assert.are.equal(first, (shell.sh(text, 120)), command) end
  end
end

describe("The order of the output is the same each time for", function()
  it("plans and lists", function()
    local pmus = { "skx", "zen3", "arm_n1", "generic" }
    for _, pmu in ipairs(pmus) do
      local groups = pmu == "generic" and "CYCLE FLOPS" or "CACHE CYCLE VECTOR"
      repeats { ("choose --pmu %s --smt on --watchdog on %s"):format(pmu, groups),
        ("choose --pmu %s --smt on --watchdog on --json %s"):format(pmu, groups), ("choose --pmu %s --list"):format(pmu) }
    end
    repeats { "events 'perf::*'", "help api", "completion bash", "watchpoint --help" }
  end)

  it("summaries and exports of a trace", function()
    local calls = {}
    for i = 1, 40 do
      local thread, region, at = "thread " .. i % 4, "region " .. i % 7, 100 * i
      calls[#calls + 1] = { thread, "+", region, at }
      calls[#calls + 1] = { thread, "-", region, at + 50 }
    end
    local path = recorded.planted(folder .. "/planted", calls, recorded.us, { { name = "work", unit = "W" } })
    repeats { "trace " .. path, "trace --json --waits --critical-path " .. path, "trace --plot profile=a.svg " .. path,
      "export --to csv " .. path, "export --to speedscope " .. path, "export --to folded " .. path,
      "flame " .. path .. " --out flame.svg && cat flame.svg", "compare " .. path .. " " .. path }
  end)

  it("reports of recorded calls", function()
    local at = recording.place()
    at.recorded("-o " .. folder .. "/recorded --trace -- ./calls crc32:3 adler32:4 zlibVersion:2 thread:5")
    repeats { "report recorded --json", "export recorded --to csv --table functions",
      "export recorded --to csv --table calls", "trace --show recorded" }
  end)

  mpi_job.it_once("reports of an MPI job", function(name)
    local program = mpi_job.compile(name, "waits", folder)
    mpi_job.record(name, 3, program, folder .. "/job", { options = "--trace" })
    repeats { "report job", "report job --json", "report job --csv", "trace job/traces.otf2 --json --waits --critical-path",
      "trace job/traces.otf2 --waits --critical-path",
      "trace --csv --table causes job/traces.otf2", "export job --to csv --table totals" }
  end)

  it("the first of several mistakes", function()
    support.spit(folder .. "/wrong.lua", [[
      local pml = require "pmlua"
      return pml.experiment { name = "wrong", measure = function() return 1 end, unit = 2, factors = 3, plot = 4,
        repeats = "five" }
    ]])
    repeats { "wrong.lua" }
  end)
end)
