/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/state.c - a Lua state with pmlua and limits. */
#include "embed/state.h"

#include "base/pml_error.h"
#include "embed/locate.h"
#include "pmlua.h"

#include <dlfcn.h>
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

void state_module(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, name) == LUA_TNIL) {
    lua_getglobal(L, "require");
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    lua_replace(L, -2);
  }
  lua_remove(L, -2);
}

/* pmlua.internal.search's function of this name. */
static void pushsearch(lua_State *L, const char *function) {
  state_module(L, "pmlua.internal.search");
  lua_getfield(L, -1, function);
  lua_remove(L, -2);
}

void state_addpath(lua_State *L, const char *dir) {
  pushsearch(L, "add");
  lua_pushstring(L, dir);
  lua_call(L, 1, 0);
}

static void trust(lua_State *L, const char *lua_dir, bool foreign) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "path");
  const char *old = lua_tostring(L, -1);
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", lua_dir, lua_dir, old != NULL ? old : "");
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
  pushsearch(L, "trust");
  lua_pushboolean(L, foreign);
  lua_pushliteral(L, LUA_CPATH_DEFAULT);
  lua_call(L, 2, 0);
}

/* Insert the first of package.searchers after the preload searcher; its upvalue is @lua_dir. */
static void setsearcher(lua_State *L, const char *lua_dir, lua_CFunction searcher) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {
    lua_geti(L, -1, i);
    lua_seti(L, -2, i + 1);
  }
  lua_pushstring(L, lua_dir);
  lua_pushcclosure(L, searcher, 1);
  lua_seti(L, -2, 2);
  lua_pop(L, 2);
}

static int l_no_variable(lua_State *L) {
  lua_pushnil(L);
  return 1;
}

static void preload(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, state_core);
  lua_setfield(L, -2, "pmlua.core");
  lua_pop(L, 1);
}

void state_libraries(lua_State *L, const char *lua_dir, bool foreign, lua_CFunction searcher) {
  bool secure = getauxval(AT_SECURE) != 0;
  lua_pushboolean(L, secure); /* LUA_PATH and LUA_CPATH are left alone then */
  lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  luaL_openlibs(L);
  if (secure) {
    lua_getglobal(L, LUA_OSLIBNAME);
    lua_pushcfunction(L, l_no_variable);
    lua_setfield(L, -2, "getenv");
    lua_pop(L, 1);
  }
  preload(L);
  if (searcher != NULL) setsearcher(L, lua_dir, searcher);
  trust(L, lua_dir, foreign);
}

static int furnish(lua_State *L) {
  state_libraries(L, lua_touserdata(L, 1), false, NULL);
  limit_guard(L);
  return 0;
}

/* Loaded modules keep the earlier globals. */
int state_sandbox(lua_State *L) {
  state_module(L, "pmlua.json"); /* for typed calls */
  state_module(L, "pmlua.internal.readjson");
  state_module(L, "pmlua.internal.live.sandbox");
  lua_getfield(L, -1, "install");
  lua_call(L, 0, 1);
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  return 0;
}

int state_config(void *to, size_t known, const void *from) {
  size_t size;
  memcpy(&size, from, sizeof size);
  if (size < sizeof size) return pml_fail(-EINVAL, "the configuration has no size; set its first field to its sizeof");
  for (size_t i = known; i < size; i++)
    if (((const char *)from)[i] != 0)
      return pml_fail(-E2BIG, "the configuration has a field that pmlua %s does not support; install a newer pmlua",
                      PML_VERSION);
  memset(to, 0, known);
  memcpy(to, from, size < known ? size : known);
  return 0;
}

/* Without a built-in Lua (own_lua.c), the names of its functions refer to the first Lua in the process. */
static int check_lua(void) {
  Dl_info lua, release;
  if (dladdr((void *)(uintptr_t)lua_newstate, &lua) == 0 || dladdr(lua_ident, &release) == 0) return 0;
  if (lua.dli_fbase == release.dli_fbase && strstr(lua_ident, LUA_RELEASE) != NULL) return 0;
  return pml_fail(-ENOTSUP, "another Lua is in this process (%.200s), and this pmlua was built without its own",
                  lua.dli_fname);
}

/* The application called Lua without lua_pcall(); Lua ends the process. */
static int panic(lua_State *L) {
  const char *why = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is no string";
  fprintf(stderr,
          "pmlua: error in an unprotected call on pmlua_state(): %.200s; use lua_pcall() or pmlua_run_string()\n", why);
  return 0;
}

int state_open(struct state *s, const char *lua_dir, size_t memory_bytes, bool abandonable) {
  char found[LOCATE_MAX];
  memset(s, 0, sizeof *s);
  int err = check_lua();
  if (err == 0) err = lua_dir == NULL ? locate_lua(found) : locate_given(lua_dir);
  if (err < 0) return err;
  s->limit.cap = memory_bytes;
  if (abandonable) limit_abandonable(&s->limit);
  s->L = lua_newstate(limit_alloc, &s->limit);
  if (s->L == NULL) return pml_fail(-ENOMEM, "out of memory for a Lua state");
  lua_atpanic(s->L, panic);
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
