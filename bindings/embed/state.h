/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/state.h - a Lua state with pmlua and limits. */
#ifndef STATE_H
#define STATE_H

#include "live/limit.h"

struct state { /* stays where it is while it is open */
  lua_State *L;
  struct limit limit;
};

/*
 * state_open - standard libraries, pmlua.core preloaded, pmlua's Lua folder first on package.path.
 * @lua_dir: that folder; NULL: it is looked for (locate.h).
 * @memory_bytes: all that the state may ever have; 0: any amount. @abandonable: see limit_abandonable().
 * Returns 0, -ENOENT (no Lua folder), -ENOMEM, PML_ELIMIT, PML_ESCRIPT (PMLUA_CLOCK names no clock).
 */
int state_open(struct state *s, const char *lua_dir, size_t memory_bytes, bool abandonable);
/*
 * state_config - @from, whose first field is its size, into @to of @known bytes: fields that it lacks are zero.
 * -EINVAL for a size of 0, -E2BIG if @from has set a field beyond @to.
 */
int state_config(void *to, size_t known, const void *from);

/* state_module - push the module @name, also where the globals are a sandbox's. May raise. */
void state_module(lua_State *L, const char *name);
/* state_sandbox - a function for lua_pcall(): the globals of pmlua.internal.live.sandbox replace
 * the state's globals. */
int state_sandbox(lua_State *L);
void state_close(struct state *s); /* NULL or not open: nothing happens */

/* state_copy - the string at @idx in memory of malloc(), *n its length if @n is not NULL. Raises for want of memory. */
char *state_copy(lua_State *L, int idx, size_t *n);

/*
 * state_libraries - the standard libraries, pmlua.core preloaded, and modules from trusted folders only
 * (pmlua.internal.search):
 * @lua_dir first, then what is absolute. @foreign: a user's script may require modules in C from relative folders.
 * @searcher: one of package.searchers that comes first, with @lua_dir as its upvalue; NULL: none.
 * In a set-uid program the environment is not looked at, also by os.getenv. May raise.
 */
void state_libraries(lua_State *L, const char *lua_dir, bool foreign, lua_CFunction searcher);
/* state_core - what luaopen_pmlua_core() does, for a state of ours. */
int state_core(lua_State *L);
/* own_lua_check - raise where @L is a state of another Lua than that inside libpmlua-embed; there alone. */
void own_lua_check(lua_State *L) __attribute__((weak));
/* state_addpath - a folder whose modules the user's script may require, after the trusted ones. May raise. */
void state_addpath(lua_State *L, const char *dir);

#endif
