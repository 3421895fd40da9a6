-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_lua_spec.lua - tests of recording the functions of Lua programs, against their own counts.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local lists = require "pmlua.internal.lists"

local at = recording.place()

--- Each function counts its calls and its resumptions after a yield; the program prints them as NAME<TAB>COUNT.
local program = [[
local zlib = require "zlib"
local helper = require "helper"
counts = {}
function count(name) counts[name] = (counts[name] or 0) + 1 end
local function step(i)
  count "step"
  if i % 7 == 0 then error("seventh") end
  return zlib.crc32()("seventh")
end
function run(n)
  count "run"
  for i = 1, n do pcall(step, i) end
end
local function deep(n)
  count "deep"
  return n == 0 and 0 or 1 + deep(n - 1)
end
local function last(n)
  count "last"
  return n
end
local function tail(n)
  count "tail"
  if n > 0 then return tail(n - 1) end
  return last(n)
end
local function numbers(n)
  count "numbers"
  for i = 1, n do
    coroutine.yield(i)
    count "numbers"
  end
end
local function outer(n)
  count "outer"
  for i in coroutine.wrap(numbers), n do
    coroutine.yield(i)
    count "outer"
  end
end
run(70)
deep(5000)
tail(1000)
for i in coroutine.wrap(outer), 6 do last(i) end
for i = 1, 300 do -- most stay suspended, and are collected
  local co = coroutine.create(numbers)
  coroutine.resume(co, 3)
  if i % 3 == 0 then coroutine.resume(co) end
end
collectgarbage()
local failed = coroutine.create(step)
assert(not coroutine.resume(failed, 7))
helper.work(9)
local calls, lines = 0, 0
debug.sethook(function() lines = lines + 1 end, "l")
last(1)
assert(select(2, debug.gethook()) == "l")
debug.sethook()
assert(debug.gethook() == nil)
local co = coroutine.create(function() last(2) coroutine.yield() last(3) end)
debug.sethook(co, function() calls = calls + 1 end, "c")
coroutine.resume(co)
coroutine.resume(co)
run(7)
print(("hooks %d %d"):format(lines, calls))
for name, n in pairs(counts) do print(name .. "\t" .. n) end
]]

--- States of four threads, hooks of the host, errors that end in it, and coroutines that it resumes.
local host = [[
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
static const char text[] = "function f(n)\n if n == 0 then error('x') end\n return n\nend\n"
  "function g(n)\n for i = 0, n do pcall(f, i) end\nend\n"
  "function h()\n for i = 1, 5 do f(i) coroutine.yield(i) end\nend\n";
static void count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  ++**(int **)lua_getextraspace(L);
}
static void call(lua_State *L, const char *name, int n) {
  lua_getglobal(L, name);
  lua_pushinteger(L, n);
  (void)lua_pcall(L, 1, 0, 0);
  lua_settop(L, 0);
}
static void *work(void *arg) {
  lua_State *L = luaL_newstate(), *co;
  int n, hits = 0;
  *(int **)lua_getextraspace(L) = &hits;
  luaL_openlibs(L);
  if (luaL_loadbuffer(L, text, sizeof text - 1, "@some/host.lua") != LUA_OK || lua_pcall(L, 0, 0, 0) != LUA_OK) return NULL;
  for (int i = 0; i < 10; i++) call(L, "g", 10);
  for (int i = 0; i < 10; i++) call(L, "f", 0);
  lua_sethook(L, count, LUA_MASKCALL, 0);
  if (lua_gethook(L) != count || lua_gethookmask(L) != LUA_MASKCALL) puts("wrong hook");
  call(L, "f", 1);
  lua_sethook(L, NULL, 0, 0);
  if (lua_gethook(L) != NULL || lua_gethookmask(L) != 0 || hits != 1) puts("wrong hook after");
  co = lua_newthread(L);
  lua_getglobal(co, "h");
  while (lua_resume(co, L, 0, &n) == LUA_YIELD) lua_pop(co, n);
  lua_close(L);
  return arg;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  puts("done");
  return 0;
}
]]

--- Calls of functions of Lua by their names, such as "app.step".
local function calls_of(functions)
  local calls = {}
  for _, f in ipairs(functions) do
    if f.library == "Lua" then
      local name = f.name:match "^(.*) %b()$"
      calls[name] = (calls[name] or 0) + f.calls
    end
  end
  return calls
end

--- All paths of calls, as a line each of names.
local function paths_of(all)
  local open, lines = {}, {}
  for _, path in ipairs(all.processes[1].paths) do
    open[path.depth + 1] = path.name:match "^[^ ]*"
    lines[#lines + 1] = table.concat(open, " ", 1, path.depth + 1) .. "\n"
  end
  return table.concat(lines)
end

describe("pmlua record --lua", function()
  teardown(support.cleanup)
  support.spit(at.dir .. "/app.lua", program)
  support.spit(at.dir .. "/helper.lua",
    "local M = {}\nfunction M.work(n)\n  count 'work'\n  if n > 0 then M.work(n - 1) end\nend\nreturn M\n")

  for _, interpreter in ipairs { "lua5.4", recording.command } do
    support.with(interpreter)("counts functions as the program does: " .. interpreter:match "[^/]*$", function()
      local _, all, status, said, out = at.recorded("-o " .. interpreter:gsub("%W", "_") .. " --lua --lib 'libz*' -- "
        .. interpreter .. " app.lua")
      assert.equal(0, status, said)
      assert.truthy(out:find("hooks 6 6\n", 1, true), out)
      local truth, calls, found = {}, calls_of(all.functions), {}
      for name, n in out:gmatch "(%w+)\t(%d+)" do truth[name] = tonumber(n) end
      assert.same({ 78, 5001, 1001, 300 + 100 + 7 }, { truth.step, truth.deep, truth.tail, truth.numbers })
      for name in pairs(truth) do found[name] = calls[name == "work" and "helper.work" or "app." .. name] end
      assert.same(truth, found)
      assert.equal(1, calls["app.<chunk>"])
      local paths = paths_of(all)
      assert.truthy(paths:find("app.<chunk>" .. (" app.deep"):rep(5001) .. " app.count\n", 1, true))
      assert.truthy(paths:find("app.<chunk> app.outer app.numbers app.count\n", 1, true))
      assert.truthy(paths:find("app.<chunk> app.run app.step crc32_z\n", 1, true))
    end)
  end

  it("records the states of a program that links Lua's library, and keeps its hooks", function()
    support.compile(at.dir, { ["host.c"] = host },
      "gcc -O1 $(pkg-config --cflags lua5.4) host.c -o host $(pkg-config --libs lua5.4) -lpthread")
    local _, all, status, said, out = at.recorded("-o host-calls --lua --lib 'none*' -- ./host")
    assert.equal(0, status, said)
    assert.equal("done\n", out)
    local calls = calls_of(all.functions)
    assert.same({ 4 * (110 + 10 + 1 + 5), 4 * 10, 4 }, { calls["host.f"], calls["host.g"], calls["host.h"] })
  end)

  it("takes the kind of a region from its adapter, in every verb", function()
    support.compile(at.dir, { ["odd.c"] = "int odd(int x) { return 3 * x; }\n", ["uses.c"] = [[
#include "pml.h"
int odd(int x);
int main(void) {
  struct pml_section *work;
  pml_section_define("work", NULL, &work);
  for (int i = 0; i < 9; i++) { pml_section_start(work); odd(i); pml_section_stop(work); }
}
]] }, ("gcc -shared -fPIC -Wl,-soname,odd.plugin odd.c -o odd.plugin && gcc -I%s/core uses.c -o uses ./odd.plugin -L%s -lpmlua "
      .. "-Wl,-rpath,%s:'$ORIGIN'"):format(support.root, support.build, support.build))
    local _, all, status, said = at.recorded("-o odd --trace --lib odd.plugin -- ./uses")
    assert.equal(0, status, said)
    local kinds = {}
    for _, f in ipairs(all.functions) do kinds[f.name] = f.kind end
    assert.same({ work = "section", odd = "library" }, kinds)
    local function regions(of)
      return (support.done(support.pmlua(("trace %s/odd/traces.otf2 --csv --kind %s"):format(at.dir, of))):gsub(",[^\n]*", ""))
    end
    assert.equal("region\nodd\n", regions "library")
    assert.equal("region\nwork\n", regions "section")
    local flame = support.done(support.pmlua(("flame %s/odd/traces.otf2 --kind library"):format(at.dir)))
    assert.truthy(flame:find("odd", 1, true) and not flame:find("work", 1, true))
    support.done(support.shell_in(at.dir, "PMLUA_REPORT=sums ./uses"))
    assert.matches("\nwork ", support.done(support.pmlua(("report %s/sums --kind section,kokkos"):format(at.dir))))
    local _, _, none = support.pmlua(("report %s/sums --kind kokkos"):format(at.dir))
    assert.matches("%-%-kind: no section is of kind kokkos\n", none)
  end)

  it("reports each call's kind, and only calls of the chosen kinds", function()
    local _, all, status, said = at.recorded("-o kinds --lua --lib 'libz*' -- lua5.4 app.lua")
    assert.equal(0, status, said)
    local kinds, own = {}, {}
    for _, f in ipairs(all.functions) do
      kinds[f.library], own[f.kind] = f.kind, (own[f.kind] or 0) + f.exclusive_ns
    end
    assert.same({ Lua = "lua", ["libz.so.1"] = "library" }, kinds)
    for chosen, library in pairs { lua = "Lua", library = "libz.so.1", ["lua,library"] = "Lua" } do
      local some = require "pmlua.json".decode(support.done(support.pmlua(("record --finish %s/kinds --json --kind %s")
        :format(at.dir, chosen))))
      local time = 0
      for _, f in ipairs(some.functions) do time = time + f.exclusive_ns end
      assert.equal(chosen ~= "lua,library", lists.all(some.functions, function(f) return f.library == library end))
      local expected = chosen == "library" and own.library or own.lua + own.library -- Lua's functions call all others
      assert.truthy(math.abs(time - expected) <= 1e-9 * expected)
    end
    local _, _, wrong = support.pmlua(("record --finish %s/kinds --kind lua,pyhton"):format(at.dir))
    assert.truthy(wrong:find("no call is of kind pyhton; the kinds are library, lua\n", 1, true), wrong)
    assert.equal(1, (support.pmlua(("flame %s/kinds --kind pyhton"):format(at.dir))))
    local _, picture = support.pmlua(("flame %s/kinds --kind library"):format(at.dir))
    assert.truthy(picture:find("crc32_z", 1, true) and not picture:find("app.run", 1, true))
  end)

  it("leaves LUA_INIT and the choice of functions to the user", function()
    local _, all, status, said, out = at.recorded("-o chosen --lua --func '*.deep *' --lib 'none*' -- lua5.4 app.lua",
      "LUA_INIT='io.write \"own\\n\"'")
    assert.equal(0, status, said)
    assert.truthy(out:find("^own\n"))
    assert.same({ ["app.deep"] = 5001 }, calls_of(all.functions))
  end)
end)
