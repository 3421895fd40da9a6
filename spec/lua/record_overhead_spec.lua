-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_overhead_spec.lua - tests of pmlua record --overhead: a frequent function is dropped and named.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

--- Calls tiny() 10^7 times, from outer(), in threads if there are arguments.
local program = [[
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) static unsigned tiny(unsigned x) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; return x; }
__attribute__((noinline)) unsigned outer(unsigned x, int n) { for (int i = 0; i < n; i++) x = tiny(x); return x; }
__attribute__((noinline)) static unsigned heavy(unsigned x) { for (int i = 0; i < 2000; i++) x = x * 3 + 1; return x; }
static unsigned results[4];
static void *work(void *to) {
  unsigned x = 1;
  for (int i = 0; i < 250; i++) x = heavy(outer(x, 10000));
  *(unsigned *)to = x;
  return NULL;
}
int main(int argc, char **argv) {
  pthread_t t[4];
  (void)argv;
  for (int i = 0; i < 4 && argc > 1; i++) pthread_create(&t[i], NULL, work, &results[i]);
  for (int i = 0; i < 4 && argc > 1; i++) pthread_join(t[i], NULL);
  for (int i = 0; i < 4 && argc == 1; i++) work(&results[i]);
  printf("%u %u %u %u\n", results[0], results[1], results[2], results[3]);
  return 0;
}
]]

local library = "int tiny(int x) { return x + 1; }\n"
  .. "unsigned heavy(unsigned x) { for (volatile int i = 0; i < 2000; i++) x = x * 3 + 1; return x; }\n"
local more = "int tiny(int x);\nint again(int n) { int x = 0; for (int i = 0; i < n; i++) x = tiny(x); return x; }\n"
local caller = [[
#include <dlfcn.h>
#include <stdio.h>
int tiny(int x);
unsigned heavy(unsigned x);
int main(void) {
  int x = 0;
  for (int i = 0; i < 5000000; i++) x = tiny(x);
  for (unsigned i = 0; i < 1000; i++) heavy(i);
  int (*again)(int) = (int (*)(int))dlsym(dlopen("./more.so", RTLD_NOW), "again");
  printf("%d\n", x + again(1000));
  return 0;
}
]]

local script = [[
local function tiny(x) return x + 1 end
local function outer(n)
  local x = 0
  for _ = 1, n do x = tiny(x) end
  return x
end
local sum = 0
for _ = 1, 1000 do sum = sum + outer(2000) end
print(sum)
]]

local function by_name(all)
  local found = {}
  for _, f in ipairs(all.functions) do found[f.name:match "^[^ ]+"] = f end
  return found
end

local function dropped(all)
  local names = {}
  for _, f in ipairs(all.processes[1].dropped_functions) do names[#names + 1] = f.name:match "^[^ ]+" end
  return names
end

describe("pmlua record --overhead", function()
  teardown(support.cleanup)

  for how, command in pairs { patched = support.build .. "/pmlua cc --functions -- gcc -O2 hot.c -o patched -lpthread",
    reported = "gcc -O2 -finstrument-functions hot.c -o reported -lpthread" } do
    for name, arguments in pairs { ["one thread"] = "", ["four threads"] = " threads" } do
      it(("drops the frequent function of %s, %s"):format(name, how), function()
        support.compile(at.dir, { ["hot.c"] = program }, command)
        local plain = support.done(support.shell_in(at.dir, "./" .. how .. arguments))
        local _, all, status, said, out = at.recorded(("-o %s-%d --overhead 5%% --func '*' -- ./%s%s"):format(how, #arguments,
          how, arguments))
        assert.same({ 0, plain }, { status, out }, said)
        local found = by_name(all)
        assert.same({ "tiny" }, dropped(all))
        assert.matches("not recorded any more[^\n]*: tiny after " .. math.tointeger(found.tiny.calls) .. " calls\n", said)
        assert.truthy(found.tiny.calls >= 4096 and found.tiny.calls < 10000000)
        assert.same({ 1000, 1000, 1 }, { (found.outer or found["outer.constprop.0"]).calls, found.heavy.calls, found.main.calls })
      end)
    end
  end

  it("drops a frequent function of a library, also in a library that is opened later", function()
    support.compile(at.dir, { ["tiny.c"] = library, ["calls.c"] = caller, ["more.c"] = more },
      "gcc -O1 -fPIC -shared tiny.c -o libtiny.so && gcc -O1 -fPIC -shared more.c -o more.so -L. -ltiny && "
      .. "gcc -O1 calls.c -o calls -L. -ltiny -ldl -Wl,-rpath,$PWD")
    local _, all, status, said, out = at.recorded "-o in-library --overhead 5% -- ./calls"
    assert.same({ 0, "5001000\n" }, { status, out }, said)
    assert.same({ "tiny" }, dropped(all))
    local found = by_name(all)
    assert.truthy(found.tiny.calls >= 4096 and found.tiny.calls < 5000000)
    assert.same({ 1000, 0 }, { found.heavy.calls, found.tiny.unreturned })
  end)

  it("drops a frequent function of Lua", function()
    support.spit(at.dir .. "/hot.lua", script)
    local _, all, status, said, out = at.recorded("-o in-lua --overhead 5% --lua --lib 'none*' -- lua5.4 hot.lua")
    assert.same({ 0, "2000000\n" }, { status, out }, said)
    assert.same({ "hot.tiny" }, dropped(all))
    assert.same({ 1000, 1 }, { by_name(all)["hot.outer"].calls, by_name(all)["hot.<chunk>"].calls })
  end)

  it("drops nothing within the budget", function()
    support.compile(at.dir, { ["hot.c"] = program },
      support.build .. "/pmlua cc --functions -- gcc -O2 hot.c -o patched -lpthread")
    local _, all, status, said = at.recorded("-o within --overhead 90% --func heavy --func main -- ./patched")
    assert.equal(0, status, said)
    assert.same({}, dropped(all))
  end)
end)
