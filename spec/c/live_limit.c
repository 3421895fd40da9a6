/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_limit.c - code in Lua cannot get beyond its instructions or its memory in any known way. */
#include "check.h"
#include "live/limit.h"
#include "pmlua.h"

#include <lauxlib.h>

static const struct pmlua_limits tight = {.instructions = 300000, .memory_bytes = 8u << 20};

struct attempt {
  const char *what, *code;
};

/* Each would run forever, or take all memory. */
static const struct attempt endless[] = {
    {"a loop", "while true do end"},
    {"a loop inside pcall", "while true do pcall(function() while true do end end) end"},
    {"a recursion of pcall", "local function f() pcall(f) f() end f()"},
    {"a message handler that loops",
     "xpcall(function() while true do end end, function() while true do end end) while true do end"},
    {"a message handler of a message handler",
     "local function h() xpcall(error, h) while true do end end xpcall(error, h) while true do end"},
    {"a loop in a coroutine", "coroutine.wrap(function() while true do end end)()"},
    {"a loop in a resumed coroutine, again and again",
     "while true do local co = coroutine.create(function() while true do end end) coroutine.resume(co) end"},
    {"coroutines that each run a little", "while true do coroutine.wrap(function() for _ = 1, 60 do end end)() end"},
    {"a tree of coroutines that each run a little",
     "local function grow(n) for _ = 1, 8 do coroutine.wrap(function() if n > 0 then grow(n - 1) end end)() end end "
     "grow(60)"},
    {"a __close that loops", "local x <close> = setmetatable({}, {__close = function() while true do end end}) "
                             "while true do end"},
    {"a __close that loops in a coroutine that was stopped",
     "local loop = {__close = function() while true do end end} while true do pcall(coroutine.wrap(function() "
     "local x <close> = setmetatable({}, loop) while true do end end)) end"},
    {"a __close in a coroutine that is closed by hand",
     "local loop = {__close = function() while true do end end} "
     "co = coroutine.create(function() local x <close> = setmetatable({}, loop) while true do end end) "
     "coroutine.resume(co) coroutine.close(co) while true do end"},
    {"a __close below a pattern's replacement",
     "local loop = {__close = function() while true do end end} pcall(coroutine.wrap(function() "
     "local x <close> = setmetatable({}, loop) string.gsub('x', '.', function() while true do end end) end)) "
     "while true do end"},
    {"an error object whose text loops", "error(setmetatable({}, {__tostring = function() while true do end end}))"},
    {"a result whose text loops", "return setmetatable({}, {__tostring = function() while true do end end})"},
    {"a sort that never ends",
     "local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t, function(a, b) return a > b end) end"},
    {"calls of C functions alone", "string.gsub(('x'):rep(1 << 20), '.', string.upper)"},
    {"the end of the hook", "pcall(debug.sethook) while true do end"},
    {"a hook of its own", "pcall(debug.sethook, print, 'c') pcall(debug.sethook, coroutine.running(), print, 'c') "
                          "while true do end"},
    {"a table that grows", "local t = {} while true do t[#t + 1] = {} end"},
    {"a string that doubles", "local s = 'x' while true do s = s .. s end"},
    {"a string that doubles inside pcall", "local s = 'x' while true do pcall(function() s = s .. s end) end"},
    {"one string of a gigabyte, again and again", "while true do pcall(string.rep, 'x', 1 << 30) end"},
    {"coroutines that are kept", "local t = {} while true do t[#t + 1] = coroutine.create(print) end"},
    {"a buffer of table.concat", "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(1 << 10) end "
                                 "while true do t[#t + 1] = table.concat(t) end"},
    {"one string of a gigabyte that is given up", "for _ = 1, 5 do pcall(string.rep, 'x', 1 << 30) end return 1"},
    {"one string of a gigabyte, and then nothing", "return pcall(string.rep, 'x', 1 << 30)"},
    {"long strings in a table", "local t = {} while true do t[#t + 1] = ('x'):rep(100000) end"},
    {"long strings in a table inside pcall",
     "return pcall(function() local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end end)"},
    {"goto", "::top:: pcall(error) goto top"},
};

static void stopped(struct pmlua *p, const struct attempt *a) {
  char *results;
  int err = pmlua_run_string(p, "attempt", a->code, &tight, &results);
  const char *why = pml_error_detail(err);
  CHECK(err == PML_ELIMIT && results == NULL, "%s is stopped: %s", a->what, why);
  free(results);
  int again = pmlua_run_string(p, "after", "collectgarbage() return 6 * 7", &tight, &results);
  if (again < 0 || strcmp(results, "42") != 0) CHECK(false, "and the state lives on: %s", pml_error_detail(again));
  free(results);
}

/* A coroutine that the limit stopped has its hooks off: nothing of it may run in a later call. */
static void leftovers(struct pmlua *p) {
  static const char left[] =
      "local loop = {__close = function() reached = true while true do end end} "
      "co = coroutine.create(function() local x <close> = setmetatable({}, loop) while true do end end) "
      "return coroutine.resume(co)";
  char *results = NULL;
  CHECK(pmlua_run_string(p, "left", left, &tight, NULL) == PML_ELIMIT, "a coroutine is stopped and kept");
  int err = pmlua_run_string(p, "left", "return coroutine.close(co), reached", &tight, &results);
  CHECK(err == 0 && strcmp(results, "false\tnil") == 0, "its __close does not run, when it is closed later: %s",
        err == 0 ? results : pml_error_detail(err));
  free(results);
  err = pmlua_run_string(p, "left", "return coroutine.resume(co)", &tight, &results);
  CHECK(err == 0 && strncmp(results, "false", 5) == 0, "and it cannot be resumed");
  free(results);
}

static void unharmed(struct pmlua *p) {
  static const struct attempt good[] = {
      {"a, b, nil", "local f = coroutine.wrap(function(a) local b = coroutine.yield(a) return b, nil end) "
                    "local a = f('a') local b, c = f('b') return a .. ', ' .. b .. ', ' .. tostring(c)"},
      {"dead coroutine", "local f = coroutine.wrap(function() end) f() "
                         "return (select(2, pcall(f)):gsub('.*(dead coroutine)', '%1'))"},
      {"closed", "local s = 'open' local f = coroutine.wrap(function() "
                 "local x <close> = setmetatable({}, {__close = function() s = 'closed' end}) error 'x' end) "
                 "pcall(f) return s"},
      {"x", "local f = coroutine.wrap(function() error 'x' end) return (select(2, pcall(f)):gsub("
            "'^unharmed:1: ', ''))"},
      {"true true", "local s = false local co = coroutine.create(function() "
                    "local x <close> = setmetatable({}, {__close = function() s = true end}) coroutine.yield() end) "
                    "coroutine.resume(co) local ok = coroutine.close(co) return tostring(ok) .. ' ' .. tostring(s)"},
      {"table", "local co = coroutine.wrap(function() error {} end) return type(select(2, pcall(co)))"},
      {"3", "local n = 0 for v in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do n = v end "
            "return n"},
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char *results;
    int err = pmlua_run_string(p, "unharmed", good[i].code, &tight, &results);
    CHECK(err == 0 && strcmp(results, good[i].what) == 0, "coroutines work under limits: %s",
          err == 0 ? results : pml_error_detail(err));
    free(results);
  }
  char *results = NULL;
  int err = pmlua_run_string(p, "free",
                             "local n = 0 debug.sethook(function() n = n + 1 end, 'c') print() "
                             "debug.sethook() return n > 0",
                             NULL, &results);
  CHECK(err == 0 && strcmp(results, "true") == 0, "a script without limits may use the hook");
  free(results);
}

static struct pmlua *outer;
static int inner_err;
static int nested(lua_State *L) {
  const struct pmlua_limits generous = {.instructions = 1u << 30};
  inner_err = pmlua_run_string(outer, "inner", luaL_checkstring(L, 1), &generous, NULL);
  return 0;
}

static void nesting(struct pmlua *p) {
  outer = p;
  lua_register(pmlua_state(p), "nested", nested);
  int err = pmlua_run_string(p, "outer", "nested 'while true do end' while true do end", &tight, NULL);
  CHECK(inner_err == PML_ELIMIT && err == PML_ELIMIT, "a run inside a run has what that has left");
  err = pmlua_run_string(p, "outer", "nested 'x = 1' return x", &tight, NULL);
  CHECK(inner_err == 0 && err == 0, "and both end well when that is enough");
  err = pmlua_run_string(p, "outer", "nested 'error \"inside\"'", &tight, NULL);
  CHECK(inner_err == PML_ESCRIPT && err == 0, "an error inside stays inside");
}

static void no_folder(void) {
  struct pmlua *p;
  const struct pmlua_options nowhere = {.lua_dir = "/nonexistent"};
  int err = pmlua_open(&p, &nowhere);
  CHECK(err == -ENOENT && p == NULL && strstr(pml_error_detail(err), "/nonexistent") != NULL,
        "a folder that is not there is refused: %s", pml_error_detail(err));
}

int main(void) {
  struct pmlua *p;
  alarm(100); /* a script that is not stopped would hang */
  if (!CHECK(pmlua_open(&p, NULL) == 0, "a state opens: %s", pml_error_detail(0))) return check_done();
  for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) stopped(p, &endless[i]);
  leftovers(p);
  unharmed(p);
  nesting(p);
  pmlua_close(p);
  no_folder();
  const struct pmlua_options small = {.memory_bytes = 10000}, some = {.memory_bytes = 2u << 20};
  int err = pmlua_open(&p, &small);
  CHECK(err < 0 && p == NULL, "a state that may have 10 kB does not open: %s", pml_error_detail(err));
  CHECK(pmlua_open(&p, &some) == 0, "one of 2 MB does");
  err = pmlua_run_string(p, "bomb", "local t = {} while true do t[#t + 1] = {} end", NULL, NULL);
  CHECK(err == PML_ELIMIT, "and is stopped there without other limits: %s", pml_error_detail(err));
  pmlua_close(p);
  return check_done();
}
