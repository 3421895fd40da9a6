/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/ltally.h - compact lists of numbers, and frequency tables of their values. */
#ifndef LTALLY_H
#define LTALLY_H

#include "module.h"
#include "shared.h"

/* ltally_open - the metatable of packed lists, and tally() and merge_tallies() as fields of the table on top. */
void ltally_open(lua_State *L);

/* For the value at @idx: whether it is a list (a table or packed), its length, and its number @i, pushed. */
int ltally_is_list(lua_State *L, int idx);
lua_Integer ltally_length(lua_State *L, int idx);
void ltally_get(lua_State *L, int idx, lua_Integer i);

#endif
