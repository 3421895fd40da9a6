-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/openmp_mpi_spec.lua - ranks of MPI with teams of OpenMP, recorded together.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local openmp = require "spec.lua.openmp"
local quote = support.quote

local program = [[
#include <mpi.h>
int main(int n, char **arg) {
  int level, rank, sum = 0;
  MPI_Init_thread(&n, &arg, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp master
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return sum != 1;
}
]]

local compilers = { libomp = "clang-14", libgomp = "gcc" }

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

describe("pmlua record of two ranks", function()
  for runtime, cc in pairs(compilers) do
    local what = ("has the threads of each rank's teams, and traces of both that readers accept, with %s"):format(runtime)
    mpi_job.it_once(what, function(name)
      local lacks = openmp.lacks(runtime)
      if lacks then return pending(lacks) end
      local dir = support.folder()
      support.spit(dir .. "/ranks.c", program)
      support.done(support.shell(("cd %s && OMPI_CC=%s MPICH_CC=%s mpicc.%s -g -O1 -fopenmp ranks.c -o ranks"):format(
        quote(dir), cc, cc, name)))
      mpi_job.traced(name, 2, dir .. "/ranks", dir .. "/recorded")
      local _, logs = support.shell(("find %s/recorded -name '*.pmlog'"):format(quote(dir)))
      local by_name = openmp.constructs { openmp = require "pmlua.internal.record.openmp".read(lines_of(logs)) }
      local parallel = by_name["omp parallel @ranks.c:7"]
      assert.same({ 2, 6 }, { parallel.threads, parallel.calls })
      assert.same({ 6, 6 }, openmp.calls_by_thread(parallel))
      local _, text = support.pmlua(("report %s/recorded"):format(dir))
      assert.truthy(text:find "\nomp parallel @ranks.c:7 +2 +6 ", text)
      local _, traces = support.shell(("find %s/recorded -name traces.otf2"):format(quote(dir)))
      assert.truthy(#lines_of(traces) >= 1)
      for _, trace in ipairs(lines_of(traces)) do
        support.done(support.shell("/usr/bin/python3 spec/otf2_validate.py " .. quote(trace)))
      end
    end)
  end
end)
