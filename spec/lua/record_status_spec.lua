-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_status_spec.lua - the exit status of pmlua record: the program's, unless a result could not be written; and
-- a job's table, which waits for the trace.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()

local function fresh(name)
  local to = ("%s/%s"):format(folder, name)
  assert.equal(0, select(2, sh(("rm -rf %s && mkdir %s"):format(to, to))))
  return to
end

local function record(options, command)
  local out, code = sh(("%s/pmlua record -q %s -- %s"):format(support.build, options, command), 120)
  return code, out
end

describe("pmlua record", function()
  it("returns the program's exit status", function()
    for _, status in ipairs { 0, 3 } do
      assert.equal(status, (record("-o " .. fresh "plain" .. "/new", ("sh -c 'exit %d'"):format(status))))
    end
  end)

  it("returns 1 if the program succeeds and the trace cannot be written", function()
    for status, expected in pairs { [0] = 1, [3] = 3 } do
      local to = fresh "trace"
      support.spit(to .. "/traces", "in the way")
      local code, out = record("--trace --not none -o " .. to, ("sh -c 'exit %d'"):format(status))
      assert.equal(expected, code, out)
      assert(out:find("traces", 1, true), out)
      assert.equal("in the way", support.slurp(to .. "/traces"))
    end
  end)

  it("returns 1 if a picture of the flow cannot be written", function()
    support.spit(folder .. "/once.c", "int once(int n) { return n; }\n")
    support.spit(folder .. "/main.c", "int once(int n);\nint main(void) { return once(0); }\n")
    local compile = "cd %s && gcc -shared -fPIC once.c -o libonce.so && gcc main.c -L. -lonce -Wl,-rpath,%s -o main"
    assert.equal(0, select(2, sh(compile:format(folder, folder))))
    local code, out = record(("-o %s/new --flow=/nowhere/flow.json"):format(fresh "flow"), folder .. "/main")
    assert.equal(1, code, out)
    assert(out:find("--flow: ", 1, true), out)
  end)
end)

for name in pairs(mpi_job.RUN) do
  local it_is, once = mpi_job.it_of(name), mpi_job.it_once_of(name)

  describe("pmlua record of a job of " .. name, function()
    it_is("fails if the trace cannot be written, and prints the table", function()
      local to = fresh("job-" .. name)
      support.spit(to .. "/traces", "in the way")
      local out, code = mpi_job.record(name, 3, mpi_job.compile(name, "leave", folder, "-w"), to,
        { options = "--trace", limit_s = 120 })
      assert(code ~= 0, out)
      assert(out:find("pmlua record: [^\n]*traces"), out)
      assert(out:find("\nTime in MPI, of a rank\n", 1, true), out)
    end)

    once("prints the waits in the trace with the table, whichever rank wrote the trace", function()
      local waits = mpi_job.compile(name, "waits", folder, "-w")
      for i = 1, 4 do
        local to = ("%s/waits-%s-%d"):format(folder, name, i)
        local out = mpi_job.traced(name, 4, waits, to)
        assert(out:find("\nWaiting for others, by rank\n", 1, true), out)
        assert(out:find(mpi_job.report(to), 1, true), out)
      end
    end)

    once("prints the table and a line if another process writes the trace", function()
      if select(2, sh "command -v flock") ~= 0 then return pending "flock is not installed (util-linux)" end
      local to = fresh("held-" .. name)
      local line = "PMLUA_MPI_TIMEOUT=3 flock %s/.making-traces %s -n 2 %s/pmlua record -q --trace -o %s -- %s 2>&1"
      local out, code = sh(line:format(
        to, mpi_job.RUN[name], support.build, to, mpi_job.compile(name, "leave", folder, "-w")), 60)
      assert(code ~= 0, out)
      assert(out:find("another process is writing this trace", 1, true), out)
      assert(out:find("\nTime in MPI, of a rank\n", 1, true), out)
    end)
  end)
end
