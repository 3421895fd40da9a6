/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_lua.h - a Lua state for targets, with pmlua's modules and with coverage of Lua lines for libFuzzer.
 *
 * libFuzzer does not see lines of Lua as edges of the program. A hook counts them in the section that libFuzzer reads
 * beside its own counters, so that an input that reaches a new line of a Lua parser is kept.
 */
#ifndef FUZZ_LUA_H
#define FUZZ_LUA_H

#include "fuzz.h"
#include "pmlua.h"

#include <lauxlib.h>
#include <lualib.h>

#define FUZZ_LINES 4096
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t fuzz__line[FUZZ_LINES];

static inline void fuzz__hook(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "Sl", ar);
  size_t h = (size_t)ar->currentline;
  for (const char *s = ar->short_src; *s != '\0'; s++) h = h * 31 + (uint8_t)*s;
  uint8_t *count = &fuzz__line[h % FUZZ_LINES];
  if (*count < UINT8_MAX) ++*count;
}

/* A state whose require finds the modules of this tree (the target runs in its top folder). */
static inline lua_State *fuzz_lua(void) {
  lua_State *L = luaL_newstate();
  if (L == NULL) abort();
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_pmlua_core);
  lua_setfield(L, -2, "pmlua.core");
  lua_pop(L, 1);
  if (luaL_dostring(L, "package.path = 'lua/?.lua;lua/?/init.lua;' .. package.path") != LUA_OK) abort();
  lua_sethook(L, fuzz__hook, LUA_MASKLINE, 0);
  return L;
}

/* Call the function below its @nargs arguments; an error is a broken promise. */
static inline void fuzz_call(lua_State *L, int nargs, int nresults) {
  if (lua_pcall(L, nargs, nresults, 0) == LUA_OK) return;
  fprintf(stderr, "raised: %s\n", luaL_tolstring(L, -1, NULL));
  abort();
}

/* A state whose first value is the check @name of checks.lua, and its second, for the next call, once more. */
static inline lua_State *fuzz_check(const char *name) {
  static lua_State *L;
  if (L == NULL) {
    L = fuzz_lua();
    if (luaL_loadfile(L, "spec/fuzz/checks.lua") != LUA_OK) abort();
    fuzz_call(L, 0, 1);
    lua_getfield(L, -1, name);
    fuzz_call(L, 0, 1);
    lua_replace(L, 1);
  }
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  return L;
}

/* Whether the check, called with the @nargs values on top, says that the input has reached the place of a bug. */
static inline bool fuzz_reaches(lua_State *L, int nargs) {
  fuzz_call(L, nargs, 1);
  return lua_toboolean(L, -1);
}

#endif
