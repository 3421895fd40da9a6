/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/instrument/instrument.c - pmlua.instrument: instrumentation of an LLVM bitcode file.
 *
 * A separate module, because it needs LLVM, which the others do not.
 */
#include "instrument/instrument.h"

#include <lauxlib.h>
#include <lua.h>

#define EXPORT __attribute__((visibility("default")))

/* Appends to the table on the top of the stack. */
static void take_uncounted(void *user, const char *where, const char *function, unsigned places, const char *what) {
  lua_State *L = user;
  lua_createtable(L, 0, 4);
  lua_pushstring(L, where);
  lua_setfield(L, -2, "where");
  lua_pushstring(L, function);
  lua_setfield(L, -2, "fn");
  lua_pushinteger(L, places);
  lua_setfield(L, -2, "places");
  lua_pushstring(L, what);
  lua_setfield(L, -2, "what");
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/*
 * file(bitcode, output, name, final, lines, optimised) - a list of uncounted code: { where, fn, places, what };
 * nil and the reason. final: the code is counted as the optimiser left it; lines: also count accessed cache lines.
 * optimised: the compiler will optimise the module afterwards, so inlining is done here.
 */
static int l_file(lua_State *L) {
  const char *in = luaL_checkstring(L, 1), *out = luaL_checkstring(L, 2);
  struct pml_instrument o = {.name = luaL_checkstring(L, 3),
                             .final = lua_toboolean(L, 4),
                             .lines = lua_toboolean(L, 5),
                             .optimised = lua_toboolean(L, 6),
                             .uncounted = take_uncounted,
                             .user = L};
  luaL_checkstack(L, 8, "no memory for the list of uncounted code");
  lua_newtable(L);
  if (pml_instrument_file(&o, in, out) == 0) return 1;
  lua_pushnil(L);
  lua_pushstring(L, o.error);
  return 2;
}

static int l_llvm(lua_State *L) {
  lua_pushstring(L, pml_instrument_llvm());
  return 1;
}

EXPORT int luaopen_pmlua_instrument(lua_State *L);
EXPORT int luaopen_pmlua_instrument(lua_State *L) {
  static const luaL_Reg functions[] = {{"file", l_file}, {"llvm", l_llvm}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
