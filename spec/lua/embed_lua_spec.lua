-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/embed_lua_spec.lua - tests of applications that embed another Lua, of any version, shared or static, beside pmlua's.

local support = require "spec.core.support"
local quote = support.quote

local PROGRAM = support.C .. [[
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pml.h>
extern int pmlua_open(void **, const void *), pmlua_live_start(const void *), pmlua_live_stop(void);
extern int pmlua_run_string(void *, const char *, const char *, const void *, char **);
extern int luaopen_pmlua_core(lua_State *L);
static long long steps = 7;
static void run(void *p, const char *code) {
  char *r = NULL;
  int e = pmlua_run_string(p, "spec", code, NULL, &r);
  printf("%s\n", e < 0 ? pml_error_detail(e) : r);
  free(r);
}
int main(int argc, char **argv) {
  struct pml_sde_library *library;
  void *p;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  (void)luaL_dostring(L, "t = {} for i = 1, 100 do t[i] = ('x'):rep(i) end print(#t)");
  lua_pushcfunction(L, luaopen_pmlua_core); /* the application's state: shared where it is of the same release */
  int shared = lua_pcall(L, 0, 1, 0);
  printf("%s\n", shared == 0 && lua_istable(L, -1) ? "shared" : lua_tostring(L, -1));
  if (pmlua_open(&p, NULL) < 0) return 1;
  run(p, "return _VERSION, require 'pmlua'.stats.median { 1, 2, 3 }");
  run(p, "return type(require 'lfs'.attributes('/', 'mode'))");
  run(p, "return select('#', pcall(error, 'x'))");
  pml_sde_library(&library, "OTHER");
  pml_sde_register(library, "steps", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_INT64, &steps);
  if (pmlua_live_start(NULL) < 0) return 1;
  fflush(stdout);
  char command[4096];
  snprintf(command, sizeof command, "%s query %d '*steps' --csv | cut -d, -f4,5", argv[argc - 1], (int)getpid());
  int status = system(command);
  (void)luaL_dostring(L, "for i = 1, 100 do t[i] = t[i] .. 'y' end print(#t[100])");
  lua_close(L);
  return status != 0 || pmlua_live_stop() < 0;
}
]]

-- name, pkg-config's, static libraries
local luas = { { "Lua 5.1", "lua5.1", "liblua5.1.a" }, { "Lua 5.3", "lua5.3", "liblua5.3.a" },
  { "LuaJIT", "luajit", "libluajit-5.1.a" }, { "Lua 5.4", "lua5.4", "liblua5.4.a" } }

describe("An application that embeds", function()
  for _, lua in ipairs(luas) do
    for _, how in ipairs { "shared", "static" } do
      local name = ("%s (%s) has it beside pmlua's"):format(lua[1], how)
      it(name, function()
        local missing, flags = support.shell("pkg-config --cflags --libs --static " .. lua[2])
        if missing ~= 0 then return pending(lua[2] .. " is not installed") end
        if support.sanitized then return pending "the program is not sanitized" end
        if (select(2, support.shell("readelf -d " .. quote(support.build .. "/libpmlua-embed.so")))):find "liblua" then
          return pending "pmlua is built without a static library of Lua"
        end
        local dir = support.folder()
        support.spit(dir .. "/app.c", PROGRAM)
        local library = flags:match "%-l(%S*lua%S*)"
        if how == "static" then
          local _, folder = support.shell("pkg-config --variable=libdir " .. lua[2])
          local archive = (folder:match "%S+" or "") .. "/" .. lua[3]
          if not os.execute("test -e " .. quote(archive)) then return pending(archive .. " is not installed") end
          flags = flags:gsub("%-l" .. library:gsub("%p", "%%%0"), "-Wl,-E " .. archive)
        end
        local pwd, build = quote(os.getenv "PWD"), quote(support.build)
        support.done(support.shell_in(dir, ("gcc app.c -I%s/core -I%s/bindings %s -L%s -lpmlua-embed -lpmlua "
          .. "-Wl,-rpath,%s %s -lm -ldl -o app"):format(pwd, pwd, flags:gsub("\n", " "), build, build, flags:gsub("\n", " "))))
        local status, out, err = support.shell_in(dir, ("XDG_RUNTIME_DIR=%s ./app %s/pmlua"):format(quote(dir), build))
        assert.equal("", err)
        local first, shared, rest = out:match "^([^\n]*)\n([^\n]*)\n(.*)$"
        assert.same({ 0, "100" }, { status, first }, out)
        if lua[1] == "Lua 5.4" then assert.equal("shared", shared)
        else assert.matches("^pmlua%.core works on Lua 5%.4%.%d only, and this is another Lua", shared) end
        assert.equal("Lua 5.4\t2\nstring\n2\nname,value\nsde:::OTHER::steps,7\n101\n", rest)
      end)
    end
  end
end)

local THROWING = [[
#include <pml.h>
#include <pmlua.h>
#include <lua.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
static int bad(lua_State *) { throw std::runtime_error("from C++"); }
static int odd(lua_State *) { throw 7; }
static int64_t bad_function(void *, const double *, size_t) { throw std::runtime_error("from a function"); }
static int64_t good_function(void *, const double *v, size_t) { return (int64_t)v[0]; }
int main(int, char **argv) {
  pmlua *p;
  char *r = nullptr;
  pmlua_limits limits{};
  limits.instructions = 100000;
  if (pmlua_open(&p, nullptr) < 0) return 1;
  lua_register(pmlua_state(p), "bad", bad);
  lua_register(pmlua_state(p), "odd", odd);
  const char *codes[] = {"bad()", "return pcall(bad)", "odd()", "coroutine.wrap(function() bad() end)()",
    "local x <close> = setmetatable({}, {__close = function() end}) bad()", "('x'):gsub('.', bad)",
    "keep = (keep or 0) + 1 bad()",
    "setmetatable({}, {__gc = function() end}) collectgarbage() bad()", "return keep", "while true do end", "return 1, 0.5"};
  for (int round = 0; round < 200; round++)
    for (const char *code : codes) {
      int e = pmlua_run_string(p, "spec", code, &limits, &r);
      if (round == 199) printf("%d %s\n", e, e < 0 ? pml_error_detail(e) : r);
      free(r);
    }
  printf("top %d, uncaught %d\n", lua_gettop(pmlua_state(p)), std::uncaught_exceptions());
  pmlua_close(p);
  pmlua_live_function("bad", bad_function, nullptr);
  pmlua_live_function("good", good_function, nullptr);
  if (pmlua_live_start(nullptr) < 0) return 1;
  fflush(stdout);
  char command[4096];
  snprintf(command, sizeof command,
    "printf 'pml.live.call(\"bad\")\\npml.live.call(\"good\", 5)\\n' | %s attach -q app", argv[1]);
  return system(command) != 0 || pmlua_live_stop() < 0;
}
]]

describe("A C++ exception in a function of the application", function()
  it("is an error code, and the state and the service continue", function()
    if support.sanitized then return pending "the program is not sanitized" end
    if not support.has "g++" then return pending "there is no g++" end
    local dir, pwd, build = support.folder(), quote(os.getenv "PWD"), quote(support.build)
    support.spit(dir .. "/app.cpp", THROWING)
    support.done(support.shell_in(dir, ("g++ -std=c++17 app.cpp -I%s/core -I%s/bindings $(pkg-config --cflags lua5.4) "
      .. "-L%s -lpmlua-embed -lpmlua -Wl,-rpath,%s -llua5.4 -o app"):format(pwd, pwd, build, build)))
    local status, out, err = support.shell_in(dir, ("XDG_RUNTIME_DIR=%s ./app %s/pmlua"):format(quote(dir), build))
    local left = "-4110 a C++ exception left a function of the application: "
    assert.equal((left .. "from C++\n"):rep(2) .. left .. "not a std::exception\n" .. (left .. "from C++\n"):rep(5) .. "0 200\n"
      .. "-4111 stopped: the code ran longer than it may (100000 Lua instructions)\n0 1\t0.5\ntop 0, uncaught 0\n"
      .. "nil\tlive.call: ESCRIPT: a C++ exception left the function bad: from a function\tESCRIPT\n5\n", out)
    assert.same({ 0, "" }, { status, err })
  end)
end)

local CXX = [==[
#include <pml.h>
#include <pmlua.hpp>
#include <cerrno>
#include <iostream>
static int plain(int a, const std::string &b) { return a + static_cast<int>(b.size()); }
template <class F> static void fails(F f) {
  try {
    f();
    std::cout << "no exception\n";
  } catch (const pml::error &e) {
    std::cout << e.code() << " " << e.what() << "\n";
  }
}
int main() {
  pmlua_config config{};
  config.sandbox = 1;
  pml::state lua(config);
  lua.function("half", [](double x) { return x / 2; });
  lua.function("app.plain", plain);
  lua.function("both", [](std::string_view s, bool b, int64_t i) { return std::make_tuple(std::string(s) + "!", !b, i + 1); });
  lua.function("fails", [](double) -> double { throw std::runtime_error("from C++"); });
  lua.function("codes", []() { pml::check(pml_fail(-ENOENT, "no such thing; give another")); });
  lua.function("odd", []() { throw 7; });
  lua.function("twice", [](const pml::json &j) { return pml::json{"[" + j.text + ", " + j.text + "]"}; });
  for (const char *code : {"return half(5), app.plain(1, 'abc'), both('x', true, 41)", "return pcall(fails, 1)",
                           "return pcall(codes)", "return pcall(odd)", "return twice({ a = 1 })[2].a", "return os.exit"})
    std::cout << lua.run("t", code) << "\n";
  lua.run("t", "function f(n, s, b) return n / 2, s .. s, not b end function g(t) return t end function h() fails(2) end");
  auto [n, s, b] = lua.call<std::tuple<double, std::string, bool>>("f", 5, "ab", true);
  std::cout << n << s << b << lua.call<pml::json>("g", pml::json{"{\"x\": [1, 2]}"}).text << "\n";
  std::cout << lua.call<std::string>("g", std::string("x\0y", 3)).size() << "\n";
  fails([&] { lua.call("h"); });
  fails([&] { lua.call<int>("g", "text"); });
  fails([&] { lua.run("t", "local x <const> = 1 x = 2"); });
  fails([&] { pml::state none(pmlua_config{0, "/nowhere", 0, 0, 0}); });
}
]==]

describe("pmlua.hpp", function()
  for _, compiler in ipairs { "g++", "clang++" } do
    it("compiles with " .. compiler .. " without warnings, and makes exceptions of codes and codes of exceptions", function()
      if support.sanitized then return pending "the program is not sanitized" end
      if not support.has(compiler) then return pending("there is no " .. compiler) end
      local dir, pwd, build = support.folder(), quote(os.getenv "PWD"), quote(support.build)
      support.spit(dir .. "/app.cpp", CXX)
      local made, _, why = support.shell_in(dir, ("%s -std=c++17 -Wall -Wextra -Wconversion -Wpedantic -Werror app.cpp -I%s/core "
        .. "-I%s/bindings -L%s -lpmlua-embed -lpmlua -Wl,-rpath,%s -o app"):format(compiler, pwd, pwd, build, build))
      assert.equal(0, made, why)
      local status, out, err = support.shell_in(dir, "./app")
      assert.same({ 0, "" }, { status, err })
      assert.equal([[
2.5	4	x!	false	42
false	fails: from C++
false	codes: no such thing; give another
false	odd: C++ exception: not a std::exception
1
nil
2.5abab0{"x": [1, 2]}
3
-4110 t:1: fails: from C++
-4110 g: result 1: integer expected, got string
-4110 t:1: attempt to assign to const variable 'x'
]], out:gsub("%-2 [^\n]*nowhere[^\n]*\n$", ""), out)
    end)
  end
end)

local PAGE = support.C .. [[
#include <pml.h>
#include <pmlua.h>
#include <signal.h>
#include <sys/wait.h>
int main(void) {
  char url[128], command[800];
  pid_t child = 0;
  int err = pmlua_live_page(url, sizeof url, &child);
  printf("%d\n", err == PML_ECLOSED);
  struct pmlua_live_config live = {.size = sizeof live, .page_every_s = 0.25};
  if (pmlua_live_start_with(&live) < 0) return 1;
  err = pmlua_live_page(url, sizeof url, &child);
  char *token = strchr(url, '#');
  if (err < 0 || token == NULL) return printf("%s\n", pml_error_detail(err)), 1;
  *token++ = '\0';
  fflush(stdout);
  snprintf(command, sizeof command, "tr '\\0' ' ' </proc/%d/cmdline | grep -o 'every.*'; "
    "curl -s %s | head -1; curl -s -H 'Authorization: Bearer %s' %sdata | grep -c '\"pid\": %d'; "
    "curl -s -o /dev/null -w '%%{http_code}\\n' %sdata", (int)child, url, token, url, (int)getpid(), url);
  if (system(command) != 0) return 1;
  kill(child, SIGTERM);
  printf("%d\n", waitpid(child, NULL, 0) == child);
  return pmlua_live_stop() < 0;
}
]]

describe("pmlua_live_page", function()
  it("gives an application its page for a browser, which asks for the token", function()
    if support.sanitized then return pending "the program is not sanitized" end
    if not support.has "curl" then return pending "there is no curl" end
    local dir, pwd, build = support.folder(), quote(os.getenv "PWD"), quote(support.build)
    support.spit(dir .. "/app.c", PAGE)
    local made, _, why = support.shell_in(dir, ("gcc app.c -I%s/core -I%s/bindings -L%s -lpmlua-embed -lpmlua "
      .. "-Wl,-rpath,%s -o app"):format(pwd, pwd, build, build))
    assert.equal(0, made, why)
    local status, out, err = support.shell_in(dir, ("XDG_RUNTIME_DIR=%s ./app"):format(quote(dir)))
    assert.same({ 0, "1\nevery 250ms \n<!DOCTYPE html>\n1\n401\n1\n", "" }, { status, out, err })
  end)
end)
