-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/openmp_cost_spec.lua - instructions of a parallel loop with pmlua and with a tool that does nothing.

local support = require "spec.core.support"
local openmp = require "spec.lua.openmp"
local quote = support.quote

-- All callbacks that pmlua may ask for.
local empty = [[
#include <omp-tools.h>
static void nothing(void) {}
static int start(ompt_function_lookup_t lookup, int device, ompt_data_t *tool) {
  static const ompt_callbacks_t event[] = {
      ompt_callback_parallel_begin, ompt_callback_parallel_end, ompt_callback_implicit_task, ompt_callback_work,
      ompt_callback_masked, ompt_callback_sync_region, ompt_callback_sync_region_wait, ompt_callback_mutex_acquire,
      ompt_callback_mutex_acquired, ompt_callback_mutex_released, ompt_callback_task_create, ompt_callback_task_schedule};
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  for (unsigned i = 0; i < sizeof event / sizeof event[0]; i++) set(event[i], nothing);
  return 1;
}
static void end(ompt_data_t *tool) {}
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
  static ompt_start_tool_result_t tool = {start, end, {0}};
  return &tool;
}
]]

-- One thread, as others would spin for as long as the machine likes.
local loops = [[
#include <stdlib.h>
int main(int n, char **arg) {
  for (int i = 0; i < atoi(arg[1]); i++) {
#pragma omp parallel for num_threads(1)
    for (int j = 0; j < 8; j++) {
      volatile int x = j;
      (void)x;
    }
  }
  return 0;
}
]]

describe("a parallel loop with libomp", function()
  local dir, program

  --- Instructions of each of the later loops.
  local function each(environment)
    local function all(n)
      local folder = ("%s/recorded-%d"):format(dir, n)
      local line = "mkdir -p %s; rm -f %s/*; %s PMLUA_CLOCK=counter "
        .. "valgrind --tool=callgrind --callgrind-out-file=/dev/null %s %d"
      local _, err = support.done(support.shell_in(dir, line:format(folder, folder, environment:gsub("FOLDER", folder), program,
        n)))
      return tonumber(err:match "Collected : (%d+)")
    end
    return (all(2200) - all(200)) / 2000
  end

  it("takes at most twice the instructions as with an empty tool, whose share is at least a third", function()
    local lacks = openmp.lacks "libomp" or (support.shell "command -v valgrind" ~= 0 and "valgrind is not installed" or nil)
    if lacks then return pending(lacks) end
    dir = support.folder()
    support.spit(dir .. "/empty.c", empty)
    support.done(support.shell(("cd %s && clang-14 -O2 -w -shared -fPIC empty.c -o empty.so"):format(quote(dir))))
    program = openmp.compile("libomp", dir, loops)
    local none = each("OMP_TOOL=disabled")
    local idle = each("OMP_TOOL_LIBRARIES=" .. dir .. "/empty.so")
    local preload = ("LD_BIND_NOW=1 LD_PRELOAD=%s/preload/libpmlua-record.so PMLUA_RECORD_DIR=FOLDER "):format(support.build)
    local profile, trace = each(preload), each(preload .. "PMLUA_RECORD_TRACE=1")
    assert.truthy(idle > none and profile > idle and trace > profile, ("%g %g %g %g"):format(none, idle, profile, trace))
    assert.truthy(trace <= 2 * idle, ("an empty tool: %g, profile: %g, trace: %g"):format(idle, profile, trace))
    assert.truthy(profile - none <= 2.4 * (idle - none), ("beyond %g: an empty tool: %g, profile: %g"):format(none,
      idle - none, profile - none))
  end)
end)
