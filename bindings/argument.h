/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/argument.h - arguments and options of functions: types, ranges, misspelt names. */
#ifndef ARGUMENT_H
#define ARGUMENT_H

#include <lauxlib.h>

/* Arguments. A range that is broken raises with the range; a string must not contain a zero byte. */
lua_Integer lutil_int(lua_State *L, int arg, lua_Integer min, lua_Integer max);
lua_Integer lutil_optint(lua_State *L, int arg, lua_Integer def, lua_Integer min, lua_Integer max);
const char *lutil_string(lua_State *L, int arg);
const char *lutil_element(lua_State *L, int arg); /* a string on top of the stack, which argument @arg contains */
const char *lutil_optstring(lua_State *L, int arg, const char *def);

/*
 * Options: a table at @arg, or nothing. They are read raw, so that no metamethod runs between a check and its use.
 * lutil_options raises for a key that is not in @known (NULL-terminated): a misspelt option is never ignored.
 */
void lutil_options(lua_State *L, int arg, const char *const *known);
int lutil_field(lua_State *L, int arg, const char *key); /* push t[key] or nil; returns its type */
int lutil_flag(lua_State *L, int arg, const char *key);
lua_Integer lutil_intfield(lua_State *L, int arg, const char *key, lua_Integer def, lua_Integer min, lua_Integer max);
const char *lutil_stringfield(lua_State *L, int arg, const char *key, const char *def); /* stays on the stack */
/* lutil_choice - the index in @names, which ends with NULL, of the option @key; @def without it. */
int lutil_choice(lua_State *L, int arg, const char *key, const char *const *names, int def);

/* lutil_names - the strings of the array at @arg, pushed so that they stay alive, and their number (1 to @max). */
size_t lutil_names(lua_State *L, int arg, const char **names, size_t max);

/* lutil_form - how the option "form" wants rows: csv, json, jsonl or sql (enum pml__cells_form). */
int lutil_form(lua_State *L, int arg);

/*
 * A misspelt name raises an error with suggestions. lutil_unknown - "WHAT has no KEY; nearest: a, b", for the key on
 * top; the table at @known has the names as keys. lutil_strict - reading a missing key of the table on top raises it.
 */
int lutil_unknown(lua_State *L, const char *what, int known);
void lutil_strict(lua_State *L, const char *what);

#endif
