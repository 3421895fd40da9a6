/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live_hold.c - cancellation points of a session's thread: inside Lua only.
 *
 * One instruction of Lua, or one call of its libraries, may take any time: sorting, patterns, rehashing, the collector.
 * These hold no lock and change only the state. So a thread that runs untrusted code may be cancelled at any point in
 * them (live_worker.c), and its state is abandoned. All C functions that are not Lua's delay the
 * cancellation: every function that the state can find gets a wrapper, unless it is listed here.
 */
#include "handle.h"
#include "live/live.h"

#include "base/pml_cancel.h"
#include "pml.h"

#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <string.h>

static _Thread_local bool cancellable; /* set on threads of sessions */

void live__hold_thread(void) {
  int was;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
  (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
  cancellable = true;
}

/* The function is the upvalue. */
static int l_held(lua_State *L) {
  int cancel = pml__cancel_hold_open();
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  pml__cancel_again(cancel);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/* Libraries that work on Lua's memory alone, and functions in them that do not: these may allocate, or take a lock. */
static const char *const pure[] = {LUA_STRLIBNAME,  LUA_TABLIBNAME, LUA_MATHLIBNAME,
                                   LUA_UTF8LIBNAME, LUA_COLIBNAME,  LUA_GNAME};
static const char *const impure[] = {"format", "print", "require", "dofile", "loadfile", "warn"};

static bool is_among(const char *name, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* The functions in C of the table on top; in a pure library those alone that are not. Pops it. */
static void hold_table(lua_State *L, bool is_pure) {
  for (lua_pushnil(L); lua_next(L, -2) != 0;) { /* the table, a key, its value */
    bool named = lua_type(L, -2) == LUA_TSTRING;
    bool skip = is_pure && !(named && is_among(lua_tostring(L, -2), impure, sizeof impure / sizeof impure[0]));
    if (skip || !lua_iscfunction(L, -1) || lua_tocfunction(L, -1) == l_held) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_pushcclosure(L, l_held, 1);
    lua_rawset(L, -4);
  }
  lua_pop(L, 1);
}

/* The tables in the table on top, which stays. */
static void hold_tables_in(lua_State *L) {
  for (lua_pushnil(L); lua_next(L, -2) != 0;) {
    if (lua_istable(L, -1))
      hold_table(L, false);
    else
      lua_pop(L, 1);
  }
}

/* The metatable on top, and the methods behind its __index. Pops it. */
static void hold_metatable(lua_State *L) {
  lua_pushliteral(L, "__index");
  lua_rawget(L, -2);
  if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1) != NULL) lua_remove(L, -2);
  if (lua_istable(L, -1) && !lua_rawequal(L, -1, -2))
    hold_table(L, false);
  else
    lua_pop(L, 1);
  hold_table(L, false);
}

int live__hold_functions(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "pmlua.core");
  lua_call(L, 1, 1);
  hold_tables_in(L);
  lua_pop(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  for (lua_pushnil(L); lua_next(L, -2) != 0;) {
    if (lua_type(L, -2) == LUA_TSTRING && lua_istable(L, -1))
      hold_table(L, is_among(lua_tostring(L, -2), pure, sizeof pure / sizeof pure[0]));
    else
      lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, lutil_metatables);
  lua_call(L, 0, 1);
  for (lua_pushnil(L); lua_next(L, -2) != 0;) hold_metatable(L);
  return 0;
}

static int all(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  return lua_gettop(L);
}

int live__interruptible(lua_State *L) {
  int was = PTHREAD_CANCEL_DISABLE, ignored, n = lua_gettop(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  if (!cancellable) { /* where it may be suspended */
    lua_callk(L, n - 1, LUA_MULTRET, 0, all);
    return lua_gettop(L);
  }
  (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was);
  int status = lua_pcall(L, n - 1, LUA_MULTRET, 0);
  (void)pthread_setcancelstate(was, &ignored);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}
