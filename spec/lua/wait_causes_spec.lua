-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wait_causes_spec.lua - tests of the causes of waits in MPI jobs with OpenMP threads: the late rank and thread, and its
-- current region. Times are compared with the recorded events, never with another clock.

local support = require "spec.core.support"
local critical_path = require "pmlua.analysis.critical_path"
local mpi_job = require "spec.lua.mpi_job"
local openmp = require "spec.lua.openmp"
local recorded = require "spec.lua.recorded"
local pml = require "pmlua"
local sh = require("spec.shell").sh
local waits = require "pmlua.analysis.waits"

local compilers = { libomp = "clang-14", libgomp = "gcc" }

--- The calls of a location whose regions' names begin so.
local function calls_of(of, location, name)
  for region, calls in pairs(of[location]) do if region:sub(1, #name) == name then return calls end end
  return {}
end

local function check_message(list, of, first)
  for _, w in ipairs(list) do
    if w.kind == "late sender" then
      assert.are.same({ 0, 1, "exchange/MPI_Recv", "exchange/MPI_Send" }, { w.rank, w.for_rank, w.path, w.for_path })
      local from, to = of[first[0]].MPI_Recv[1].enter, of[first[1]].MPI_Send[1].enter
      recorded.same(w.wait_s, to - from, "the message")
      local sum, by = 0, {}
      for _, c in ipairs(w.causes) do
        sum = sum + c.wait_s
        local path = c.path:match "^omp parallel.*/(omp implicit barrier)" or c.path
        by[path] = (by[path] or 0) + c.wait_s
      end
      recorded.same(sum, w.wait_s, "all causes")
      local barrier, prepare = calls_of(of, first[1], "omp implicit barrier")[1], of[first[1]].prepare[1]
      recorded.same(by["omp implicit barrier"] or 0, recorded.overlap(barrier, from, to), "waiting for the other thread")
      assert.is_true((by.prepare or 0) <= recorded.overlap(prepare, from, to) + 1e-6, "the late rank's section")
      return
    end
  end
  error "no late sender"
end

local function check_path(t)
  local path = assert(critical_path.of(t))
  local sums, parts = { regions = 0, paths = 0 }, {}
  for name in pairs(sums) do
    for _, r in ipairs(path[name]) do
      assert.is_true(r.path_s > 0, name)
      sums[name] = sums[name] + r.path_s
    end
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

--- The text of the ranks of spec/otf2_ranks.py, whose times follow from the events there; a line ends at each semicolon.
local TEXT <const> = [[
2 ranks, 2 locations, 1 host, 130.0 ms, 14 events
events: 6 Enter, 6 Leave, 1 MpiRecv, 1 MpiSend
of the ranks' time 35.8 % is in MPI;
outside of it: average 83.50 ms, least 38.00 ms (rank 1), most 129.0 ms (rank 0);
load balance 0.647, communication efficiency 0.992

Regions, time of all processes
REGION    PARADIGM  CALLS  EXCLUSIVE   SHARE  INCLUSIVE       MIN       MAX  MAX/AVG  OF RANK
MPI_Recv  MPI           1   92.00 ms  36.8 %   92.00 ms  92.00 ms  92.00 ms    2.000        1
solve     compiler      1   89.00 ms  35.6 %   89.00 ms  89.00 ms  89.00 ms    2.000        0
main      user          2   68.00 ms  27.2 %   250.0 ms  120.0 ms  130.0 ms    1.118        1
MPI_Send  MPI           1   1.000 ms   0.4 %   1.000 ms  1.000 ms  1.000 ms    2.000        0
tick      compiler      1        0 s   0.0 %        0 s       0 s       0 s        -        -

Messages between ranks
FROM  TO  MESSAGES     DATA
   0   1         1  800.0 B

Waits of ranks and threads for each other, of the whole run
WAIT         IN             LATE ONE WAS IN     RANK  FOR RANK  TIMES      TIME
late sender  main/MPI_Recv  main/solve, 88.9 %     1         0      1  90.00 ms

Regions in which late ranks and threads were meanwhile
WAS IN      RANK  OTHERS WAITED   SHARE
main/solve     0       80.00 ms  88.9 %
main           0       10.00 ms  11.1 %

Critical path, 130.0 ms of the whole run;
it goes over to another rank or thread once
REGION    ON THE PATH   SHARE  OF ALL ITS TIME  MOST OF RANK
solve        89.00 ms  68.5 %          100.0 %             0
main         39.00 ms  30.0 %           57.4 %             1
MPI_Recv     2.000 ms   1.5 %            2.2 %             1

Critical path by call path
CALL PATH      ON THE PATH   SHARE  OF ALL ITS TIME  MOST OF RANK
main/solve        89.00 ms  68.5 %          100.0 %             0
main              39.00 ms  30.0 %           57.4 %             1
main/MPI_Recv     2.000 ms   1.5 %            2.2 %             1

Critical path by rank
RANK  ON THE PATH   SHARE
   0     100.0 ms  76.9 %
   1     30.00 ms  23.1 %

Its parts, in the order of time
MOSTLY IN   BEGAN AFTER                 RANK      FROM        TO      TIME   SHARE
main/solve  -                              0       0 s  100.0 ms  100.0 ms  76.9 %
main        late sender, main/MPI_Recv     1  100.0 ms  130.0 ms  30.00 ms  23.1 %
]]

describe("causes of waits", function()
  for runtime, cc in pairs(compilers) do
    mpi_job.it_once(("and threads of %s are those of the events"):format(runtime), function(name)
      local lacks = openmp.lacks(runtime)
      if lacks then return pending(lacks) end
      local folder = support.folder()
      local program = mpi_job.compile(name, "known_causes", folder, ("-fopenmp -g -Icore -L%s -Wl,-rpath,%s"):format(
        support.build, support.build), "-lpmlua", ("OMPI_CC=%s MPICH_CC=%s"):format(cc, cc))
      mpi_job.traced(name, 2, program, folder .. "/recorded", "OMP_DYNAMIC=false")
      local anchor = folder .. "/recorded/traces.otf2"
      local t <close> = assert(pml.trace.open(anchor))
      local list, of, first = assert(waits.of(t)), recorded.calls(t)
      check_message(list, of, first)
      check_path(t)
      local text, status = sh(("%s/pmlua trace --waits %s"):format(support.build, anchor))
      assert.are.equal(0, status, text)
      assert.matches("\nOpenMP imbalance +[^\n]* 1 +1 %([^\n]+%) +1 +[%d.]+ %S*s\n", text)
      assert.matches("\nprepare +1 +[%d.]+ %S*s +[%d.]+ %%\n", text)
      local csv = sh(("%s/pmlua trace --csv --table causes %s"):format(support.build, anchor))
      assert.matches("^cause,for_rank,for_location,wait_s,kind,path,rank,location\n", csv)
      assert.matches("\nprepare,1,%d,[%d.]+,late sender,exchange/MPI_Recv,0,%d\n", csv)
    end)
  end

  it("are exact in a trace that another tool wrote", function()
    local folder = support.folder() .. "/ranks"
    local code, _, err = support.shell("/usr/bin/python3 spec/otf2_ranks.py " .. folder)
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
    for _, p in ipairs(path.paths) do assert.is_true(p.path_s > 0, p.path) end
    for i, p in ipairs(path.parts) do parts[i] = ("%d %s %d-%d"):format(p.rank, p.path, ms(p.from_s), ms(p.to_s)) end
    assert.are.same({ "0 main/solve 0-100", "1 main 100-130" }, parts)
    assert.are.same({ "late sender", "main/MPI_Recv", "main/MPI_Send" },
      { path.parts[2].after, path.parts[2].waited_in, path.parts[2].ended_by })
    assert.are.same({ "main/solve", 89, 89 }, { path.paths[1].path, ms(path.paths[1].path_s), ms(path.paths[1].all_s) })
    local text = sh(("%s/pmlua trace --waits --critical-path %s/traces.otf2"):format(support.build, folder))
    assert.are.equal(TEXT, (text:gsub("; ", ";\n")))
  end)
end)
