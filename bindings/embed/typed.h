/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/typed.h - values of typed calls between C and Lua: formats, conversion. */
#ifndef TYPED_H
#define TYPED_H

#include "pmlua.h"

#include <lua.h>
#include <stdbool.h>

#define TYPED_MAX 16

struct typed { /* a format */
  char in[TYPED_MAX + 1], out[TYPED_MAX + 1];
};

/* typed_parse - 0, or -EINVAL with a sentence. */
int typed_parse(struct typed *t, const char *format);

bool typed_has_string(char letter);

/* typed_push - push a value; typed_get - the value at @idx, which errors name by @name, @what and @number; strings are
 * on the stack from then on. May raise. */
void typed_push(lua_State *L, char letter, const struct pmlua_value *v);
void typed_get(lua_State *L, int idx, char letter, struct pmlua_value *v, const char *name, const char *what,
               int number);

#endif
