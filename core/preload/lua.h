/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/lua.h - Lua's C interface, version 5.4, as libpmlua-lua.so uses it. The functions are found in the
 * running program. Internal.
 */
#ifndef PRELOAD_LUA_H
#define PRELOAD_LUA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lua_State lua_State;
typedef struct lua_Debug {
  int event;
  const char *name, *namewhat, *what, *source;
  size_t srclen;
  int currentline, linedefined, lastlinedefined;
  unsigned char nups, nparams;
  char isvararg, istailcall;
  unsigned short ftransfer, ntransfer;
  char short_src[60];
  struct CallInfo *i_ci;
} lua_Debug;
typedef void (*lua_Hook)(lua_State *L, lua_Debug *ar);
typedef int (*lua_CFunction)(lua_State *L);
enum { LUA_CALL = 0, LUA_RETURN = 1, LUA_TAIL_CALL = 4, LUA_EVENTS = 1 << LUA_CALL | 1 << LUA_RETURN };
enum { LUA_REGISTRY = -1000000 - 1000, LUA_UPVALUE = LUA_REGISTRY - 1, LUA_TABLE = 5, LUA_THREAD = 8, LUA_ALL = -1 };

#define LUA_FUNCTIONS(X)                                                                                               \
  X(lua_newstate, lua_State *, (void *, void *, unsigned))                                                             \
  X(lua_newthread, lua_State *, (lua_State *))                                                                         \
  X(lua_sethook, void, (lua_State *, lua_Hook, int, int))                                                              \
  X(lua_gethook, lua_Hook, (lua_State *))                                                                              \
  X(lua_gethookmask, int, (lua_State *))                                                                               \
  X(lua_gethookcount, int, (lua_State *))                                                                              \
  X(lua_getstack, int, (lua_State *, int, lua_Debug *))                                                                \
  X(lua_getinfo, int, (lua_State *, const char *, lua_Debug *))                                                        \
  X(lua_getlocal, const char *, (lua_State *, const lua_Debug *, int))                                                 \
  X(lua_getupvalue, const char *, (lua_State *, int, int))                                                             \
  X(lua_topointer, const void *, (lua_State *, int))                                                                   \
  X(lua_gettop, int, (lua_State *))                                                                                    \
  X(lua_settop, void, (lua_State *, int))                                                                              \
  X(lua_type, int, (lua_State *, int))                                                                                 \
  X(lua_rotate, void, (lua_State *, int, int))                                                                         \
  X(lua_pushnil, void, (lua_State *))                                                                                  \
  X(lua_pushvalue, void, (lua_State *, int))                                                                           \
  X(lua_pushcclosure, void, (lua_State *, lua_CFunction, int))                                                         \
  X(lua_getfield, int, (lua_State *, int, const char *))                                                               \
  X(lua_setfield, void, (lua_State *, int, const char *))                                                              \
  X(lua_next, int, (lua_State *, int))                                                                                 \
  X(lua_rawequal, int, (lua_State *, int, int))                                                                        \
  X(lua_tothread, lua_State *, (lua_State *, int))                                                                     \
  X(lua_tolstring, const char *, (lua_State *, int, size_t *))                                                         \
  X(lua_callk, void, (lua_State *, int, int, intptr_t, void *))

#define LUA_MEMBER(name, result, arguments) result(*name) arguments;
struct lua {
  LUA_FUNCTIONS(LUA_MEMBER)
};
#undef LUA_MEMBER

/* The program's; complete before a state is watched. */
extern struct lua pml__lua;

/* pml__lua_event - a function of @L is called or returns. pml__lua_name - name
 * the function of @ar, with its fields of "S", as "module.function (file:line)"; NULL: no coroutine resumed @L. */
void pml__lua_event(lua_State *L, lua_Debug *ar);
void pml__lua_name(lua_State *L, lua_State *resumer, lua_Debug *ar, char *to, size_t bytes);

#endif
