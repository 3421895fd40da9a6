/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/fields.c - tables made from structs, and structs filled from tables of options, by descriptions of members.
 */
#include "fields.h"

#include "argument.h"
#include "pml.h"

#include <string.h>

static const size_t bytes_of[] = {
    [FIELD_BOOL] = sizeof(bool),
    [FIELD_INT32] = sizeof(int32_t),
    [FIELD_UINT32] = sizeof(uint32_t),
    [FIELD_INT64] = sizeof(int64_t),
    [FIELD_UINT64] = sizeof(uint64_t),
    [FIELD_DOUBLE] = sizeof(double),
    [FIELD_TEXT] = sizeof(char *),
    [FIELD_FILLED] = sizeof(char *),
    [FIELD_PLACE] = sizeof(size_t),
    [FIELD_NATURAL] = sizeof(int64_t),
    [FIELD_BIT] = sizeof(unsigned),
    [FIELD_PLUS_1] = sizeof(int),
    [FIELD_CHARS] = 0,
    [FIELD_WRITTEN] = 0,
    [FIELD_VALUE] = 0,
};

union member {
  bool flag;
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
  double real;
  const char *text;
};

/* Push the member at @at; false: it is not set. Counts are 64 bits wide, and so are Lua's integers. */
static bool push_member(lua_State *L, enum field_kind kind, const char *at) {
  union member m = {.u64 = 0};
  memcpy(&m, at, bytes_of[kind]);
  switch (kind) {
  case FIELD_BOOL:
    lua_pushboolean(L, m.flag);
    return true;
  case FIELD_INT32:
    lua_pushinteger(L, m.i32);
    return true;
  case FIELD_DOUBLE:
    lua_pushnumber(L, m.real);
    return true;
  case FIELD_WRITTEN:
    if (at[0] == '\0') return false;
    lua_pushstring(L, at);
    return true;
  case FIELD_CHARS:
    lua_pushstring(L, at);
    return true;
  case FIELD_VALUE:
    return lutil_pushvalue(L, (const struct pml_value *)(const void *)at) == 1;
  case FIELD_TEXT:
  case FIELD_FILLED:
    if (m.text == NULL || (kind == FIELD_FILLED && m.text[0] == '\0')) return false;
    lua_pushstring(L, m.text);
    return true;
  case FIELD_PLACE:
    lua_pushinteger(L, m.i64 + 1);
    if (m.u64 != SIZE_MAX) return true;
    lua_pop(L, 1);
    return false;
  case FIELD_NATURAL:
    if (m.i64 < 0) return false;
    break;
  default:
    break;
  }
  lua_pushinteger(L, m.i64); /* the other half of one of 32 bits is zero */
  return true;
}

void field_set(lua_State *L, const struct field *f, const void *from) {
  for (; f->name != NULL; f++)
    if (push_member(L, f->kind, (const char *)from + f->at)) lua_setfield(L, -2, f->name);
}

int field_push(lua_State *L, const struct field *f, const void *from) {
  int n = 0;
  while (f[n].name != NULL) n++;
  lua_createtable(L, 0, n);
  field_set(L, f, from);
  return 1;
}

int field_list(lua_State *L, const struct field *f, const void *from, size_t n, size_t size) {
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (size_t i = 0; i < n; i++) {
    field_push(L, f, (const char *)from + i * size);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void field_values(lua_State *L, const char *key, enum field_kind kind, const void *from, size_t n) {
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (size_t i = 0; i < n; i++) {
    if (!push_member(L, kind, (const char *)from + i * bytes_of[kind])) lua_pushboolean(L, 0);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

void field_each(lua_State *L, const char *key, size_t n, void (*push)(lua_State *L, const void *of, size_t i),
                const void *of) {
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (size_t i = 0; i < n; i++) {
    push(L, of, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

void lutil_setint(lua_State *L, const char *key, uint64_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

void lutil_setnum(lua_State *L, const char *key, double v) {
  lua_pushnumber(L, v);
  lua_setfield(L, -2, key);
}

void lutil_setstr(lua_State *L, const char *key, const char *v) {
  if (v == NULL) return;
  lua_pushstring(L, v);
  lua_setfield(L, -2, key);
}

void lutil_setbool(lua_State *L, const char *key, int v) {
  lua_pushboolean(L, v);
  lua_setfield(L, -2, key);
}

void lutil_setreading(lua_State *L, const struct pml_reading *r) {
  static const struct field fields[] = FIELDS(struct pml_reading, raw, enabled_ns, running_ns);
  field_set(L, fields, r);
  lutil_setnum(L, "scaled", pml_reading_scaled(r));
}

void field_set_region(lua_State *L, uint32_t region) {
  struct pml_region_info info = {.name = "?"};
  (void)pml_region_describe(region, &info);
  lutil_setstr(L, "name", info.name);
  lutil_setstr(L, "file", info.file);
  lutil_setstr(L, "kind", pml__region_kind(region));
}

void lutil_setbits(lua_State *L, const char *key, uint64_t bits, bool real) {
  lutil_pushbits(L, bits, real);
  lua_setfield(L, -2, key);
}

int lutil_pushint(lua_State *L, uint64_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  return 1;
}

int lutil_pushnum(lua_State *L, double v) {
  lua_pushnumber(L, v);
  return 1;
}

int lutil_pushbool(lua_State *L, int v) {
  lua_pushboolean(L, v);
  return 1;
}

int lutil_pushstr(lua_State *L, const char *v) {
  lua_pushstring(L, v);
  return 1;
}

int lutil_pushbits(lua_State *L, uint64_t bits, bool real) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return real ? lutil_pushnum(L, d) : lutil_pushint(L, bits);
}

int lutil_pushvalue(lua_State *L, const struct pml_value *v) {
  return v->type == PML_TYPE_DOUBLE ? lutil_pushnum(L, v->d) : lutil_pushint(L, (uint64_t)v->i);
}

/* ---- options ---- */

static double number_option(lua_State *L, int arg, const char *name) {
  if (lutil_field(L, arg, name) != LUA_TNUMBER) luaL_argerror(L, arg, lua_pushfstring(L, "%s must be a number", name));
  double v = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

static void read_option(lua_State *L, int arg, const struct option *o, char *at) {
  union member m = {.u64 = 0};
  switch (o->kind) {
  case FIELD_BOOL:
    m.flag = lutil_flag(L, arg, o->name) != 0;
    break;
  case FIELD_BIT:
    memcpy(&m, at, sizeof m.u32);
    if (lutil_flag(L, arg, o->name)) m.u32 |= (uint32_t)o->max;
    break;
  case FIELD_TEXT:
    m.text = lutil_stringfield(L, arg, o->name, NULL);
    break;
  case FIELD_DOUBLE:
    m.real = number_option(L, arg, o->name);
    break;
  default:
    m.i64 = lutil_intfield(L, arg, o->name, 0, o->min, o->max) + (o->kind == FIELD_PLUS_1);
  }
  memcpy(at, &m, bytes_of[o->kind]);
}

void option_read(lua_State *L, int arg, const struct option *known, void *into) {
  const char *name[32] = {NULL};
  if (lua_isnoneornil(L, arg)) return;
  for (size_t i = 0; known[i].name != NULL; i++) name[i] = known[i].name;
  lutil_options(L, arg, name);
  for (const struct option *o = known; o->name != NULL; o++) {
    int type = lutil_field(L, arg, o->name);
    lua_pop(L, 1);
    if (type != LUA_TNIL && o->kind != FIELD_UNREAD) read_option(L, arg, o, (char *)into + o->at);
  }
}
