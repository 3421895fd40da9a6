-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/openmp_substrate_spec.lua - tests of substrate plugins in an OpenMP program: they get its teams, tasks and locks.

local support = require "spec.core.support"
local openmp = require "spec.lua.openmp"

-- 5 regions of 3 threads, each with 7 tasks and with a lock that every thread takes twice.
local program = [[
#include <omp.h>
static int sum, locked;
int main(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(3)
    {
#pragma omp single nowait
      for (int j = 0; j < 7; j++) {
#pragma omp task
        {
#pragma omp atomic
          sum++;
        }
      }
      for (int j = 0; j < 2; j++) {
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
      }
    }
  }
  omp_destroy_lock(&lock);
  return sum != 5 * 7 || locked != 5 * 6;
}
]]

--- The plugin's counts, by name.
local function counted(folder)
  local found = {}
  for entry in require("lfs").dir(folder) do
    local f = io.open(("%s/%s/openmp.txt"):format(folder, entry))
    for name, n in (f and f:read "a" or ""):gmatch "([%w_]+) (%d+)" do found[name] = tonumber(n) end
    if f then f:close() end
  end
  return found
end

for _, runtime in ipairs { "libomp", "libgomp" } do
  describe("a substrate plugin in a program with " .. runtime, function()
    it("counts its teams, tasks and locks, which agree with each other", function()
      local lacks = openmp.lacks(runtime)
      if lacks then return pending(lacks) end
      local dir = support.folder()
      local _, folder, err = openmp.record(dir, openmp.compile(runtime, dir, program), "--substrate openmp",
        "LD_LIBRARY_PATH=" .. support.build .. "/spec/plugins")
      local n = counted(folder)
      assert.same(35, n.task_switch and math.min(n.task_switch, 35), err)
      n.task_switch = nil
      assert.same({ fork = 5, asked = 15, join = 5, teams = 5, team_begin = 15, team_end = 15, task_create = 35,
        task_begin = 35, task_end = 35, acquire = 30, release = 30, regions = 1, unfit = 0 }, n)
    end)
  end)
end
