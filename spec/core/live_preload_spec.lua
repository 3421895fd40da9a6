-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/live_preload_spec.lua - a program that was never changed is asked, because libpmlua-live.so was preloaded.
--
-- The programs are compiled here. Each says what it sees of itself in a line, and ends when its input does.

local support = require "spec.core.support"
local core = support.core

local PROLOGUE = [[
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#pragma weak papi_sde_init
#pragma weak papi_sde_register_counter
void *papi_sde_init(const char *);
int papi_sde_register_counter(void *, const char *, int, int, void *);
static long long x = 42;
static void tell(void) { if (papi_sde_init) papi_sde_register_counter(papi_sde_init("APP"), "X", 16, 0, &x); }
static int maps(const char *what) { char l[512]; int n = 0; FILE *f = fopen("/proc/self/maps", "r");
  while (fgets(l, sizeof l, f)) n += strstr(l, what) != 0; fclose(f); return n > 0; }
static int waits(void) { fflush(stdout); return getchar() != EOF; }
]]
local PLAIN = [[
int main(void) { int before = maps("-embed"); tell(); printf("%d%d\n", before, maps("-embed")); return waits(); }]]
local SILENT = [[int main(void) { printf("%d%d\n", maps("liblua"), maps("embed")); return waits(); }]]
local FORKING = [[
int main(void) { tell(); int pid = fork(); alarm(100); if (!pid) pause(); printf("%d\n", pid); return waits(); }]]
-- An incompatible Lua of the program: a call of it by mistake ends the program.
local OTHER = [[
#define F(n) void n(void) { _exit(99); }
F(lua_newstate) F(luaL_newstate) F(lua_close) F(luaL_openlibs) F(lua_pcallk) F(lua_callk) F(lua_settop)
F(lua_gettop) F(lua_pushcclosure) F(lua_pushstring) F(lua_getfield) F(lua_setfield) F(luaL_setfuncs)
F(lua_createtable) F(lua_sethook) F(lua_newuserdatauv) F(luaL_checklstring) F(lua_getallocf)
int main(void) { tell(); printf("own\n"); return waits(); }]]
-- The same Lua as ours, used by itself.
local USER = [[
void *luaL_newstate(void); void lua_close(void *); void lua_pushinteger(void *, long long);
long long lua_tointegerx(void *, int, int *);
int main(void) { void *L = luaL_newstate(); lua_pushinteger(L, 7); tell();
  printf("%lld\n", lua_tointegerx(L, -1, 0)); lua_close(L); return waits(); }]]

describe("A program with libpmlua-live.so preloaded", function()
  local dir
  before_each(function() dir = support.folder() end)
  after_each(support.cleanup)

  --- The program, which runs, and what it said; nil: it cannot be compiled.
  local function run(source, flags)
    support.spit(dir .. "/app.c", PROLOGUE .. source)
    support.spit(dir .. "/said", "")
    if support.shell_in(dir, "${CC:-cc} -rdynamic app.c -o app " .. (flags or "")) ~= 0 then return end
    local program = io.popen(("cd %s && XDG_RUNTIME_DIR=%s LD_PRELOAD=%s/preload/libpmlua-live.so exec ./app >said 2>&1"):format(
      dir, dir, support.build), "w")
    return program, support.eventually(function() return support.slurp(dir .. "/said"):match "(.*)\n" end)
  end

  --- The sockets of @n programs, each of which has the counter.
  local function sockets(n)
    local list = support.eventually(function()
      local found, all = {}, io.popen(("ls -d %s/pmlua/* 2>/dev/null"):format(dir))
      for path in all:lines() do found[#found + 1] = path end
      all:close()
      return #found >= n and found
    end)
    for _, path in ipairs(list or {}) do
      local link <close> = support.eventually(function() return (core.link.connect(path)) end)
      assert.equal("42", (link:ask("eval", "pml.sde.find('APP::X'):read()", 60)))
    end
    return list
  end

  local function it(name, f)
    if support.sanitized then return pending(name .. ": a sanitized library cannot be preloaded into a program that is not") end
    return support.it(name, f)
  end

  for what, case in pairs {
    ["without libsde"] = { PLAIN, "", "01" }, ["linked with another libsde"] = { PLAIN, "-Wl,--no-as-needed -lsde", "01" },
    ["with another Lua"] = { OTHER, "", "own" }, ["with the same Lua"] = { USER, "-llua5.4", "7" },
  } do
    it(("%s is asked, and runs and ends as it would"):format(what), function()
      local program, said = run(case[1], case[2])
      if not program then return pending("a program " .. what .. " cannot be built here") end
      assert.equal(case[3], said)
      local list = sockets(1)
      assert.same({ 1, true }, { #list, (program:close()) })
      assert.is_nil(os.execute("test -e " .. list[1]))
    end)
  end

  it("that registers nothing does not load Lua, and is not served", function()
    local program, said = run(SILENT)
    assert.same({ "00", 0 }, { said, #sockets(0) })
    program:close()
  end)

  it("that forks is served with its child", function()
    local program, child = run(FORKING)
    assert.equal(2, #sockets(2))
    os.execute("kill -KILL " .. child)
    program:close()
  end)
end)
