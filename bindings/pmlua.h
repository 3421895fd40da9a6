/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/pmlua.h - pmlua inside an application's own Lua 5.4 state. */
#ifndef PMLUA_H
#define PMLUA_H

#include "base/pml_api.h"

#include <lua.h>

PML_BEGIN_DECLS

/*
 * luaopen_pmlua_core - push the table of all C modules (clock, event, counter, ...), as require "pmlua.core" gives it.
 *
 * An application that links the module makes it known with
 *
 *     luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
 *     lua_pushcfunction(L, luaopen_pmlua_core);
 *     lua_setfield(L, -2, "pmlua.core");
 *
 * and puts pmlua's Lua folder on package.path; scripts then say require "pmlua". Raises if PMLUA_CLOCK names no clock.
 */
PML_API int luaopen_pmlua_core(lua_State *L);

PML_END_DECLS

#endif
