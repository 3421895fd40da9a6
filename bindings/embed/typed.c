/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/typed.c - values of typed calls between C and Lua: formats, conversion. */
#include "embed/typed.h"

#include "embed/state.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

int typed_parse(struct typed *t, const char *format) {
  const char *end = format != NULL ? strchr(format, '>') : NULL;
  memset(t, 0, sizeof *t);
  if (format == NULL) return pml_fail(-EINVAL, "no format was given");
  size_t n = end != NULL ? (size_t)(end - format) : strlen(format), m = end != NULL ? strlen(end + 1) : 0;
  if (n > TYPED_MAX || m > TYPED_MAX)
    return pml_fail(-EINVAL, "format \"%.40s\": more than %d arguments or results", format, TYPED_MAX);
  memcpy(t->in, format, n);
  if (m > 0) memcpy(t->out, end + 1, m);
  if (strspn(t->in, "idbszj") != n || strspn(t->out, "idbszj") != m)
    return pml_fail(-EINVAL, "format \"%.40s\": arguments and results, with > between, are i, d, b, s, z or j", format);
  return 0;
}

bool typed_has_string(char letter) {
  return strchr("szj", letter) != NULL;
}

/* Between the value on top and its JSON text; with the reader in Lua, as a state may have no modules in C. */
static void to_json(lua_State *L) {
  state_module(L, "pmlua.json");
  lua_getfield(L, -1, "line");
  lua_replace(L, -2);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

static void from_json(lua_State *L) {
  state_module(L, "pmlua.internal.readjson");
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

void typed_push(lua_State *L, char letter, const struct pmlua_value *v) {
  luaL_checkstack(L, LUA_MINSTACK, "too many values");
  switch (letter) {
  case 'i':
    lua_pushinteger(L, v->i);
    break;
  case 'd':
    lua_pushnumber(L, v->d);
    break;
  case 'b':
    lua_pushboolean(L, v->b);
    break;
  case 'z':
    lua_pushlstring(L, v->n > 0 ? v->s : "", v->n);
    break;
  default:
    lua_pushstring(L, v->s);
    if (letter == 'j' && v->s != NULL) from_json(L);
  }
}

static int wrong(lua_State *L, int idx, const char *expected, const char *name, const char *what, int number) {
  return luaL_error(L, "%s: %s %d: %s expected, got %s", name, what, number, expected, luaL_typename(L, idx));
}

static void get_string(lua_State *L, int idx, struct pmlua_value *v, const char *name, const char *what, int number) {
  if (!lua_isstring(L, idx)) wrong(L, idx, "string", name, what, number);
  v->s = lua_tolstring(L, idx, &v->n);
}

void typed_get(lua_State *L, int idx, char letter, struct pmlua_value *v, const char *name, const char *what,
               int number) {
  int is = 1;
  *v = (struct pmlua_value){.n = 0};
  switch (letter) {
  case 'i':
    v->i = lua_tointegerx(L, idx, &is);
    if (!is) wrong(L, idx, "integer", name, what, number);
    break;
  case 'd':
    v->d = lua_tonumberx(L, idx, &is);
    if (!is) wrong(L, idx, "number", name, what, number);
    break;
  case 'b':
    v->b = lua_toboolean(L, idx);
    break;
  case 's':
    if (lua_isnil(L, idx)) break;
    get_string(L, idx, v, name, what, number);
    if (strlen(v->s) != v->n) luaL_error(L, "%s: %s %d: the string contains a zero byte", name, what, number);
    break;
  case 'z':
    get_string(L, idx, v, name, what, number);
    break;
  default:
    luaL_checkstack(L, LUA_MINSTACK, "too many values");
    lua_pushvalue(L, idx);
    to_json(L);
    v->s = lua_tolstring(L, -1, &v->n);
  }
}
