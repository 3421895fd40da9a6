/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/function_copy.c - copies of functions between Lua states. */
#include "function_copy.h"

#include "live/limit.h"

#include "pml.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

struct code {
  char *bytes;
  size_t n;
};

static int write_code(lua_State *L, const void *part, size_t n, void *arg) {
  struct code *c = arg;
  char *more = realloc(c->bytes, c->n + n);
  (void)L;
  if (more == NULL) return 1;
  memcpy(more + c->n, part, n);
  c->bytes = more;
  c->n += n;
  return 0;
}

bool function_copy_is_alone(lua_State *l, int at, char misuse[256]) {
  static const char c_function[] = "a function in C cannot be called at each event";
  const char *name;
  if (lua_iscfunction(l, at)) {
    memcpy(misuse, c_function, sizeof c_function);
    return false;
  }
  for (int i = 1; (name = lua_getupvalue(l, at, i)) != NULL; i++) {
    lua_pop(l, 1);
    if (strcmp(name, "_ENV") == 0) continue;
    (void)lua_pushfstring(l,
                          "functions called at each event run in a separate state, without '%s' of the script: a "
                          "global there may take its place",
                          name);
    strncpy(misuse, lua_tostring(l, -1), 255);
    lua_pop(l, 1);
    return false;
  }
  return true;
}

static int load_code(lua_State *L) {
  const struct code *c = lua_touserdata(L, 1);
  if (luaL_loadbufferx(L, c->bytes, c->n, "=function", "b") != LUA_OK) return lua_error(L);
  lua_pushinteger(L, luaL_ref(L, LUA_REGISTRYINDEX));
  return 1;
}

int function_copy(lua_State *to, lua_State *l, int at, int *ref) {
  struct code c = {0};
  lua_pushvalue(l, at);
  int failed = lua_dump(l, write_code, &c, 0);
  lua_pop(l, 1);
  if (failed == 0) {
    lua_pushcfunction(to, load_code);
    lua_pushlightuserdata(to, &c);
    failed = lua_pcall(to, 1, 1, 0);
    if (failed == LUA_OK) *ref = (int)lua_tointeger(to, -1);
    lua_settop(to, 0);
  }
  free(c.bytes);
  return failed == 0 ? 0 : pml_fail(-ENOMEM, "no memory for a Lua function");
}

bool function_copy_plain(lua_State *to, lua_State *from, int at) {
  size_t n;
  int type = lua_type(from, at);
  const char *text = type == LUA_TSTRING ? lua_tolstring(from, at, &n) : NULL;
  if (text != NULL)
    lua_pushlstring(to, text, n);
  else if (type == LUA_TBOOLEAN)
    lua_pushboolean(to, lua_toboolean(from, at));
  else if (type == LUA_TNUMBER && lua_isinteger(from, at))
    lua_pushinteger(to, lua_tointeger(from, at));
  else if (type == LUA_TNUMBER)
    lua_pushnumber(to, lua_tonumber(from, at));
  return text != NULL || type == LUA_TBOOLEAN || type == LUA_TNUMBER;
}

/* describe(region) -> name, file, line; nil: no such region. */
static int l_describe(lua_State *L) {
  struct pml_region_info info;
  if (pml_region_describe((pml_region_t)luaL_checkinteger(L, 1), &info) < 0) return 0;
  lua_pushstring(L, info.name);
  lua_pushstring(L, info.file);
  lua_pushinteger(L, info.line);
  return 3;
}

static int open_libraries(lua_State *L) {
  luaL_openlibs(L);
  lua_register(L, "describe", l_describe);
  return 0;
}

lua_State *function_copy_state(struct limit *account) {
  lua_State *L = account != NULL ? lua_newstate(limit_share, account) : luaL_newstate();
  if (L == NULL) return NULL;
  lua_pushcfunction(L, open_libraries);
  if (lua_pcall(L, 0, 0, 0) == LUA_OK) return L;
  lua_close(L);
  return NULL;
}
