/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/function_copy.h - a script's functions in a separate Lua state, for events that arrive at any moment and on
 * any thread.
 *
 * So they share nothing with the script: they are copied, and have no upvalues.
 */
#ifndef FUNCTION_COPY_H
#define FUNCTION_COPY_H

#include <lua.h>
#include <stdbool.h>

/*
 * function_copy_state - Lua's libraries, and describe(region) -> name, file, line. NULL: no memory. lua_close() it.
 * @account: whose limit its memory counts against, and that outlives it; NULL: none.
 */
struct limit;
lua_State *function_copy_state(struct limit *account);

/* function_copy_is_alone - false: the function at @at of @l has what a copy would not; @misuse says it. */
bool function_copy_is_alone(lua_State *l, int at, char misuse[256]);

/* function_copy - the function at @at of @l, which is alone, to @to, where it is @ref of the registry. 0 or -ENOMEM. */
int function_copy(lua_State *to, lua_State *l, int at, int *ref);

/* function_copy_plain - push the boolean, number or string at @at of @from to @to; false: it is another value. */
bool function_copy_plain(lua_State *to, lua_State *from, int at);

#endif
