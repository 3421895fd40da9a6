/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/failure.h - failures as Lua values. */
#ifndef FAILURE_H
#define FAILURE_H

#include <lua.h>
#include <stdbool.h>

/*
 * A failure is a table with code ("EACCES"), place ("counter.open"), text and, if there is a remedy, remedy. Its string
 * is "place: code: text; remedy", or "text; remedy" without a place; .., # and string methods convert it to this
 * string. is(NAME) compares its code; sentence() is "text; remedy".
 */

/* failure_push - push a failure; @remedy may be NULL, and @place as well if the text names the place. */
void failure_push(lua_State *L, const char *place, const char *code, const char *text, const char *remedy);

/* failure_test - whether the value at @idx is a failure. */
bool failure_test(lua_State *L, int idx);

/* failure_sentence - a function for Lua: a failure's sentence, without place and code; any other value's string. */
int failure_sentence(lua_State *L);

/* failure_message - a message handler: any error object as a string. */
int failure_message(lua_State *L);

#endif
