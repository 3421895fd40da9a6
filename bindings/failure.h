/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/failure.h - failures as Lua values. */
#ifndef FAILURE_H
#define FAILURE_H

#include <lua.h>
#include <stdbool.h>

/*
 * A failure is a table with code ("EACCES"), place ("counter.open"), text and, if there is something to do about it,
 * remedy. Its string is "place: code: text; remedy", or "text; remedy" without a place. Where a string is expected, by
 * .., # and the methods of strings, it stands for that. is(NAME) compares its code; sentence() is "text; remedy".
 */

/* failure_push - push one; @remedy may be NULL, and @place, too, if the text names the place. */
void failure_push(lua_State *L, const char *place, const char *code, const char *text, const char *remedy);

/* failure_test - whether the value at @idx is one. */
bool failure_test(lua_State *L, int idx);

/* failure_sentence - a function for Lua: the sentence of a failure, without place and code; of another value, its
 * string. */
int failure_sentence(lua_State *L);

/* failure_message - a message handler: any error object as a string. */
int failure_message(lua_State *L);

#endif
