-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/job_spec.lua - tests of the exit status of pmlua record and of MPI jobs if not all results can be written: a trace is
-- in the way, the folder belongs to another job, the disk is full.

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

    once("prints the waits in the trace with the table, if any rank wrote the trace", function()
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

local function compile(name) return mpi_job.compile(name, "leave", folder, "-w") end

local function record_job(name, ranks, to, options)
  return mpi_job.record(name, ranks, compile(name), to, { options = options, limit_s = 120 })
end

--- The lines of pmlua in the output of mpirun.
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
  mpi_job.it_once("is refused to the next job, a line for each rank, and stays unchanged", function(name)
    local to = ("%s/twice-%s"):format(folder, name)
    assert.equal(0, select(2, record_job(name, 4, to)))
    local before = state(to)
    local out, code = record_job(name, 4, to)
    assert.equal(1, code)
    local lines = lines_of(out)
    assert(#lines >= 1 and #lines <= 4, out) -- mpirun may end ranks before they print
    for _, line in ipairs(lines) do
      assert.equal(("pmlua record: rank N of 4: %s already has results of a recording; remove them, or name another folder "
        .. "with -o"):format(to), line)
    end
    assert.equal(before, state(to))
  end)
end)

describe("mpirun -n K pmlua report", function()
  --- Its standard output, as rank 0 alone prints.
  local function report(name, processes, to)
    local out = shell.done(("%s -n %d %s/pmlua report %s"):format(mpi_job.RUN[name], processes, support.build, to), 120)
    return out
  end

  mpi_job.it_once("prints a recorded job once, for any K", function(name)
    local to = ("%s/many-%s"):format(folder, name)
    assert.equal(0, select(2, record_job(name, 2, to)))
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

local function can_mount()
  return select(2, sh(("mkdir -p %s/try && mount -t tmpfs -o size=64k tmpfs %s/try && umount %s/try"):format(folder, folder,
    folder))) == 0
end

--- A job of two ranks that exchange many messages, on a disk with the given size: the status, pmlua's messages, all output.
local function job(name, size)
  local disk, lines = ("%s/%s-%s"):format(folder, name, size), {}
  local pairs_of = mpi_job.compile(name, "many", folder, "-O2")
  assert.equal(0, select(2, sh(("mkdir %s && mount -t tmpfs -o size=%s tmpfs %s"):format(disk, size, disk))))
  local done, out, code = pcall(mpi_job.record, name, 2, pairs_of .. " 100000", disk .. "/o",
    { options = "--trace", environment = "PMLUA_MPI_TIMEOUT=3", limit_s = 100 })
  local report = sh(("%s/pmlua report %s/o"):format(support.build, disk), 60)
  sh("umount " .. disk)
  assert(done, out)
  for line in out:gmatch "[^\n]+" do
    if line:find "^pmlua " then lines[#lines + 1] = line end
  end
  assert(out:find("exchanged 100000\n", 1, true), out) -- the program itself runs to its end
  return code, lines, out, report
end

for name in pairs(mpi_job.RUN) do
  local because = mpi_job.missing(name) or not can_mount() and "only root can mount a small disk" or nil
  local function it_is(what, test) it(what, because and function() pending(because) end or test) end

  describe("a job of " .. name .. " on a disk without room", function()
    it_is("for its events ends, fails, and has a line for each rank and the table of all calls", function()
      local code, lines, out, report = job(name, "4m")
      assert(code ~= 0, out)
      local parts = 0
      for _, line in ipairs(lines) do
        parts = parts + (line:find "is recorded in part: its file could not grow: No space left on device" and 1 or 0)
      end
      assert.equal(2, parts, out)
      assert(#lines <= 4, out)
      assert(out:find("\nMPI_Send +200000 "), out)
      assert(report:find("\nMPI_Send +200000 "), report)
    end)

    if name ~= mpi_job.first then return end
    it_is("for the files of some ranks ends, and names these ranks", function()
      for _, size in ipairs { "20k", "100k" } do
        local code, lines, out = job(name, size)
        assert(code ~= 0, out)
        assert(#lines >= 1, out)
        assert(table.concat(lines, "\n"):find("No space left on device", 1, true), out)
      end
    end)
  end)
end
