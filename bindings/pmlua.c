/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/pmlua.c - the table of contents of pmlua.core. */
#include "pmlua.h"
#include "embed/locate.h"
#include "embed/state.h"
#include "module.h"

#include <stdlib.h>

/* Folders that ship with it are found from there. */
static void pushorigin(lua_State *L) {
  char path[PATH_MAX];
  locate_code(path);
  lua_pushstring(L, path);
}

int lutil_module(lua_State *L, const luaL_Reg *functions) {
  int n = 0;
  while (functions[n].name != NULL) n++;
  lua_createtable(L, 0, n);
  luaL_setfuncs(L, functions, 0);
  return 1;
}

/* Reading a missing key of the module on top raises an error, unless it has a metatable. */
static void strict(lua_State *L, const char *name) {
  if (lua_getmetatable(L, -1))
    lua_pop(L, 1);
  else
    lutil_strict(L, name);
}

int luaopen_pmlua_core(lua_State *L) {
  if (own_lua_check != NULL) own_lua_check(L);
  return state_core(L);
}

int state_core(lua_State *L) {
  /* Calibration takes up to 4 ms and is left to the first use of the clock; an invalid choice is refused here. */
  int err = secure_getenv("PMLUA_CLOCK") != NULL ? pml_clock_init() : 0;
  if (err < 0) {
    pml_pusherr(L, err, "pmlua.core");
    lua_pop(L, 1);
    return lua_error(L);
  }
  lua_newtable(L);
  lua_pushliteral(L, PML_VERSION);
  lua_setfield(L, -2, "version");
  pushorigin(L);
  lua_setfield(L, -2, "origin");
  lua_pushcfunction(L, lutil_metatables);
  lua_setfield(L, -2, "metatables");
#define MODULE(name)                                                                                                   \
  luaopen_pmlua_##name(L);                                                                                             \
  strict(L, "pml." #name);                                                                                             \
  lua_setfield(L, -2, #name);
  LUTIL_MODULES(MODULE)
#undef MODULE
  return 1;
}
