-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_named_spec.lua - code that is not counted is named, however a process ends.

local helper = require "spec.lua.helper"
local countfile = require "pmlua.countfile"
local counting = require "spec.lua.counting"

local it, quote, shell = counting.it, helper.quote, helper.shell

local library = "double twice(double x) { return 2 * x; }\n"
local program = [[
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
double twice(double);
static volatile double x = 1;
int main(int argc, char **argv) {
  x = twice(x) + 1;
  if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  if (argc > 1 && strcmp(argv[1], "_exit") == 0) _exit(0);
  if (argc > 1 && strcmp(argv[1], "stay") == 0 && fork() == 0) { x = x + 1; close(0); close(1); close(2); sleep(20); }
  return 0;
}
]]

--- Compile a program and its library, each by its own command line.
local function build(cc_library, cc_program)
  local dir = helper.folder()
  helper.write(dir .. "/l.c", library)
  helper.write(dir .. "/p.c", program)
  local lines = "cd %s && %s -O1 -shared -fPIC l.c -o libtwice.so && %s -O1 p.c -L. -ltwice -Wl,-rpath,. -o program"
  local status, _, err = shell(lines:format(quote(dir), cc_library, cc_program))
  assert.same({ 0, "" }, { status, err })
  return dir
end

--- The notes of a run, and its flops.
local function run(dir, words)
  shell(("cd %s && PMLUA_COUNT=counts ./program %s"):format(quote(dir), words))
  local counts = assert(countfile.read_all(dir .. "/counts"))
  os.execute("rm -f " .. quote(dir) .. "/counts*")
  return counts.notes, counts.events.flop_count_I, counts.processes
end

describe("what is in no count is named", function()
  it("libraries that were compiled otherwise, where the program is killed or leaves by _exit, too", function()
    local dir = build("clang-14", counting.cc() .. " clang-14")
    for _, words in ipairs { "", "kill", "_exit" } do
      local notes, flops = run(dir, words)
      assert.equal(1, flops)
      assert.same({ "not counted: the work of libtwice.so, which was not compiled with counts" }, notes, words)
    end
  end)

  it("the program, where it is its library that counts", function()
    local notes, flops = run(build(counting.cc() .. " clang-14", "clang-14"), "kill")
    assert.equal(1, flops)
    assert.same({ "not counted: the work of program, which was not compiled with counts" }, notes)
  end)

  it("nothing, where all of it counts", function()
    local notes, flops = run(build(counting.cc() .. " clang-14", counting.cc() .. " clang-14"), "kill")
    assert.equal(2, flops)
    assert.same({}, notes)
  end)

  it("an event for pmlua record without a counter", function()
    local said = {}
    for i, cc in ipairs { "clang-14", counting.cc() .. " clang-14" } do
      local dir = build(cc, cc)
      local status, _, err = shell(("cd %s && %s record --event sde:::BYFL::flop_count_I -o out -- ./program")
        :format(quote(dir), quote(helper.build .. "/pmlua")))
      assert.equal(0, status)
      said[i] = err
    end
    assert.truthy(said[1]:find("pmlua record: sde:::BYFL::flop_count_I was not counted " ..
      "(what ran was not compiled by pmlua cc --count); 0 means unknown there\n", 1, true), said[1])
    assert.falsy(said[2]:find("was not counted", 1, true), said[2])
  end)

  it("a process that still ran", function()
    local notes, _, processes = run(build(counting.cc() .. " clang-14", counting.cc() .. " clang-14"), "stay")
    assert.same({ "1 process still ran when this was counted" }, notes)
    for _, p in ipairs(processes) do
      if not p.ended then os.execute(("kill %d"):format(p.pid)) end
    end
  end)

  it("a process of another host, which may have been killed or may run", function()
    local dir = build(counting.cc() .. " clang-14", counting.cc() .. " clang-14")
    shell(("cd %s && PMLUA_COUNT=counts ./program kill"):format(quote(dir)))
    assert.same({}, assert(countfile.read_all(dir .. "/counts")).notes)
    local f <close> = assert(io.open(dir .. "/counts", "r+b"))
    f:seek("set", 120) -- of a log's head: its host
    f:write "node7\0"
    f:flush()
    assert.same({ "1 process of another host did not exit, or still ran when this was counted" },
      assert(countfile.read_all(dir .. "/counts")).notes)
  end)
end)
