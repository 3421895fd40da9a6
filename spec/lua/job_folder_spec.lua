-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/job_folder_spec.lua - folders that have results already, and reports by more processes than there were ranks.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()

local function compile(name) return mpi_job.compile(name, "leave", folder, "-w") end

local function record(name, ranks, to, options)
  return mpi_job.record(name, ranks, compile(name), to, { options = options, limit_s = 120 })
end

--- Lines of pmlua among those of mpirun.
local function lines_of(out)
  local list = {}
  for line in out:gmatch "[^\n]+" do
    if line:find "^pmlua " then list[#list + 1] = line:gsub("rank %d of", "rank N of") end
  end
  return list
end

--- All files of a folder with their contents.
local function state(dir) return (sh(("cd %s && find . -type f | sort | xargs md5sum"):format(dir))) end

describe("a folder with results of a job", function()
  mpi_job.it_once("is refused to the next job, a line for each rank, and stays as it is", function(name)
    local to = ("%s/twice-%s"):format(folder, name)
    assert.equal(0, select(2, record(name, 4, to)))
    local before = state(to)
    local out, code = record(name, 4, to)
    assert.equal(1, code)
    local lines = lines_of(out)
    assert(#lines >= 1 and #lines <= 4, out) -- mpirun may end ranks before they print
    for _, line in ipairs(lines) do
      assert.equal(("pmlua record: rank N of 4: %s already has results of a recording; remove them, or name another folder "
        .. "with -o"):format(to), line)
    end
    assert.equal(before, state(to))
  end)

  mpi_job.it_once("has a trace of another run: that is not written over", function(name)
    local to = ("%s/trace-%s"):format(folder, name)
    assert.equal(0, select(2, sh(("mkdir %s && echo mine > %s/traces.otf2"):format(to, to))))
    local out, code = record(name, 2, to, "--trace")
    assert.equal(1, code)
    for _, line in ipairs(lines_of(out)) do
      assert(line:find(("rank N of 2: %s already has results"):format(to), 1, true), line)
    end
    assert.equal("traces.otf2\n", (sh("ls -A " .. to)))
    assert.equal("mine\n", support.slurp(to .. "/traces.otf2"))
  end)
end)

describe("mpirun -n K pmlua report", function()
  --- Its standard output, as rank 0 alone prints.
  local function report(name, processes, to)
    local out = shell.done(("%s -n %d %s/pmlua report %s"):format(mpi_job.RUN[name], processes, support.build, to), 120)
    return out
  end

  mpi_job.it_once("prints a recorded job once, whatever K", function(name)
    local to = ("%s/many-%s"):format(folder, name)
    assert.equal(0, select(2, record(name, 2, to)))
    assert.equal(mpi_job.report(to), report(name, 5, to))
    assert.equal("job.pmlsum\npaths.json\n", (sh("ls -A " .. to)))
  end)

  mpi_job.it_once("prints sections once, also with more processes than logs", function(name)
    local to = ("%s/few-%s"):format(folder, name)
    assert.equal(0, select(2, sh(("mkdir %s && %s/spec/logs %s 3 2 2"):format(to, support.build, to))))
    local before = (sh("ls -A " .. to))
    assert.equal(mpi_job.report(to), report(name, 6, to))
    assert.equal(before, (sh("ls -A " .. to)))
  end)
end)
