/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_lua.h - a Lua state for targets: pmlua's modules, and the lines that run seen by libFuzzer.
 *
 * Lua's own lines are no edges of the program: a hook counts them in the section that libFuzzer reads beside its own
 * counters, so that an input that reaches a new line of a Lua parser is kept.
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

/* Run @code, which leaves one value; it is trusted not to fail. */
static inline void fuzz_code(lua_State *L, const char *code) {
  if (luaL_loadstring(L, code) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK) return;
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  abort();
}

/* Call what is below @nargs arguments; an error is a broken promise. */
static inline void fuzz_call(lua_State *L, int nargs, int nresults) {
  if (lua_pcall(L, nargs, nresults, 0) == LUA_OK) return;
  fprintf(stderr, "raised: %s\n", luaL_tolstring(L, -1, NULL));
  abort();
}

/* What the function that @check returns gives for the bytes, a number; @check runs once. */
static inline lua_Integer fuzz_bytes(const char *check, const uint8_t *data, size_t size) {
  static lua_State *L;
  if (L == NULL) {
    L = fuzz_lua();
    fuzz_code(L, check);
  }
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)data, size);
  fuzz_call(L, 1, 1);
  lua_Integer got = lua_tointeger(L, -1);
  lua_settop(L, 1);
  return got;
}

#endif
