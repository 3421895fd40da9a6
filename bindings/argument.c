/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/argument.c - arguments and options of functions: types, ranges, misspelt names. */
#include "argument.h"

#include "base/text/pml_nearest.h"

#include <string.h>

static void rangeerror(lua_State *L, int arg, const char *what, lua_Integer min, lua_Integer max) {
  const char *msg =
      max == LUA_MAXINTEGER
          ? lua_pushfstring(L, "%smust be an integer not below %I", what, (LUAI_UACINT)min)
          : lua_pushfstring(L, "%smust be an integer from %I to %I", what, (LUAI_UACINT)min, (LUAI_UACINT)max);
  luaL_argerror(L, arg, msg);
}

lua_Integer lutil_int(lua_State *L, int arg, lua_Integer min, lua_Integer max) {
  lua_Integer v = luaL_checkinteger(L, arg);
  if (v < min || v > max) rangeerror(L, arg, "", min, max);
  return v;
}

lua_Integer lutil_optint(lua_State *L, int arg, lua_Integer def, lua_Integer min, lua_Integer max) {
  return lua_isnoneornil(L, arg) ? def : lutil_int(L, arg, min, max);
}

const char *lutil_string(lua_State *L, int arg) {
  size_t len;
  const char *s = luaL_checklstring(L, arg, &len);
  if (strlen(s) != len) luaL_argerror(L, arg, "the string contains a zero byte");
  return s;
}

const char *lutil_element(lua_State *L, int arg) {
  int good = lua_type(L, -1) == LUA_TSTRING && strlen(lua_tostring(L, -1)) == lua_rawlen(L, -1);
  luaL_argcheck(L, good, arg, "an element is not a string, or contains a zero byte");
  return lua_tostring(L, -1);
}

const char *lutil_optstring(lua_State *L, int arg, const char *def) {
  return lua_isnoneornil(L, arg) ? def : lutil_string(L, arg);
}

/* ---- misspelt names ---- */

#define NEAREST_TEXT_MAX (PML__NEAREST_MAX * (PML__NEAREST_NAME + 2) + 16)

/* "script.lua:3: " of the innermost Lua function: an index function may have asked for another one. */
static void push_place(lua_State *L) {
  lua_Debug at;
  for (int level = 1; lua_getstack(L, level, &at); level++) {
    lua_getinfo(L, "Sl", &at);
    if (at.currentline <= 0) continue;
    lua_pushfstring(L, "%s:%d: ", at.short_src, at.currentline);
    return;
  }
  lua_pushliteral(L, "");
}

int lutil_unknown(lua_State *L, const char *what, int known) {
  char text[NEAREST_TEXT_MAX];
  struct pml__nearest near = {.want = luaL_tolstring(L, -1, NULL)};
  known = lua_absindex(L, known);
  for (lua_pushnil(L); lua_next(L, known) != 0; lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING) pml__nearest_offer(&near, lua_tostring(L, -2));
  push_place(L);
  lua_pushfstring(L, "%s has no '%s'%s", what, near.want, pml__nearest_text(&near, text, sizeof text));
  lua_concat(L, 2);
  return lua_error(L);
}

static int m_index(lua_State *L) {
  lua_settop(L, 2);
  return lutil_unknown(L, lua_tostring(L, lua_upvalueindex(1)), 1);
}

void lutil_strict(lua_State *L, const char *what) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, what);
  lua_pushcclosure(L, m_index, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* ---- options ---- */

static int isknown(const char *key, const char *const *known) {
  for (; *known != NULL; known++)
    if (strcmp(key, *known) == 0) return 1;
  return 0;
}

/* The key is on top. */
static void unknown_option(lua_State *L, int arg, const char *const *known) {
  char text[NEAREST_TEXT_MAX];
  struct pml__nearest near = {.want = luaL_tolstring(L, -1, NULL)};
  for (; *known != NULL; known++) pml__nearest_offer(&near, *known);
  const char *nearest = pml__nearest_text(&near, text, sizeof text);
  luaL_argerror(L, arg, lua_pushfstring(L, "unknown option '%s'%s", near.want, nearest));
}

void lutil_options(lua_State *L, int arg, const char *const *known) {
  if (lua_isnoneornil(L, arg)) return;
  luaL_checktype(L, arg, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, arg) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING && isknown(lua_tostring(L, -2), known)) continue;
    lua_pop(L, 1);
    unknown_option(L, arg, known);
  }
}

int lutil_field(lua_State *L, int arg, const char *key) {
  arg = lua_absindex(L, arg);
  luaL_checkstack(L, 3, NULL);
  if (lua_type(L, arg) != LUA_TTABLE) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  lua_pushstring(L, key);
  return lua_rawget(L, arg);
}

int lutil_flag(lua_State *L, int arg, const char *key) {
  int type = lutil_field(L, arg, key), v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' must be true or false", key));
  return v;
}

lua_Integer lutil_intfield(lua_State *L, int arg, const char *key, lua_Integer def, lua_Integer min, lua_Integer max) {
  int ok = 0, type = lutil_field(L, arg, key);
  lua_Integer v = type == LUA_TNUMBER ? lua_tointegerx(L, -1, &ok) : def;
  lua_pop(L, 1);
  if (type == LUA_TNIL) return def;
  if (!ok || v < min || v > max) rangeerror(L, arg, lua_pushfstring(L, "option '%s' ", key), min, max);
  return v;
}

int lutil_form(lua_State *L, int arg) {
  static const char *const forms[] = {"csv", "json", "jsonl", "sql", NULL};
  (void)lutil_field(L, arg, "form");
  int form = luaL_checkoption(L, -1, "csv", forms);
  lua_pop(L, 1);
  return form;
}

const char *lutil_stringfield(lua_State *L, int arg, const char *key, const char *def) {
  size_t len;
  int type = lutil_field(L, arg, key);
  if (type == LUA_TNIL) return def;
  if (type != LUA_TSTRING) luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' must be a string", key));
  const char *s = lua_tolstring(L, -1, &len);
  if (strlen(s) != len) luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' contains a zero byte", key));
  return s;
}

int lutil_choice(lua_State *L, int arg, const char *key, const char *const *names, int def) {
  const char *name = lutil_stringfield(L, arg, key, names[def]);
  int i = 0;
  while (names[i] != NULL && strcmp(names[i], name) != 0) i++;
  if (names[i] != NULL) return i;
  luaL_checkstack(L, 4, NULL);
  lua_pushfstring(L, "option '%s' cannot be '%s'; choose %s", key, name, names[0]);
  for (i = 1; names[i] != NULL; i++) {
    lua_pushfstring(L, "%s%s", names[i + 1] != NULL ? ", " : " or ", names[i]);
    lua_concat(L, 2);
  }
  return luaL_argerror(L, arg, lua_tostring(L, -1));
}

size_t lutil_names(lua_State *L, int arg, const char **names, size_t max) {
  luaL_checktype(L, arg, LUA_TTABLE);
  size_t n = lua_rawlen(L, arg), len;
  if (n < 1 || n > max) luaL_argerror(L, arg, lua_pushfstring(L, "a list of 1 to %d names is needed", (int)max));
  luaL_checkstack(L, (int)n + LUA_MINSTACK, NULL);
  for (size_t i = 0; i < n; i++) {
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TSTRING)
      luaL_argerror(L, arg, lua_pushfstring(L, "name %d is a %s, not a string", (int)i + 1, luaL_typename(L, -1)));
    names[i] = lua_tolstring(L, -1, &len);
    if (strlen(names[i]) != len) luaL_argerror(L, arg, lua_pushfstring(L, "name %d contains a zero byte", (int)i + 1));
  }
  return n;
}
