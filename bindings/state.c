/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/state.c - a Lua state with pmlua in it and limits around it. */
#include "state.h"

#include "base/pml_error.h"
#include "locate.h"
#include "pmlua.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

void state_addpath(lua_State *L, const char *dir) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "path");
  const char *old = lua_tostring(L, -1);
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", dir, dir, old != NULL ? old : "");
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

void state_preload(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_pmlua_core);
  lua_setfield(L, -2, "pmlua.core");
  lua_pop(L, 1);
}

static int furnish(lua_State *L) {
  const char *dir = lua_touserdata(L, 1);
  luaL_openlibs(L);
  limit_guard(L);
  state_preload(L);
  state_addpath(L, dir);
  return 0;
}

int state_open(struct state *s, const char *lua_dir, size_t memory_bytes) {
  char found[LOCATE_MAX];
  memset(s, 0, sizeof *s);
  int err = lua_dir == NULL ? locate_lua(found) : locate_given(lua_dir);
  if (err < 0) return err;
  s->limit.cap = memory_bytes;
  s->L = lua_newstate(limit_alloc, &s->limit);
  if (s->L == NULL) return pml_fail(-ENOMEM, "out of memory for a Lua state");
  lua_pushcfunction(s->L, furnish);
  lua_pushlightuserdata(s->L, (void *)(uintptr_t)(lua_dir != NULL ? lua_dir : found));
  err = limit_call(s->L, 1, 0, 0);
  if (err < 0) state_close(s);
  return err;
}

void state_close(struct state *s) {
  if (s == NULL || s->L == NULL) return;
  lua_close(s->L);
  s->L = NULL;
}

char *state_copy(lua_State *L, int idx, size_t *n) {
  size_t length;
  const char *text = lua_tolstring(L, idx, &length);
  char *copy = malloc(length + 1);
  if (copy == NULL) {
    luaL_error(L, "out of memory for a text of %d bytes", (int)length);
    return NULL; /* not reached, as luaL_error does not return */
  }
  memcpy(copy, text, length + 1);
  if (n != NULL) *n = length;
  return copy;
}
