/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/failure.c - failure values: fields, sentence, metatable. */
#include "failure.h"

#include "fields.h"

#include <lauxlib.h>

static const char class[] = "pml.failure"; /* also of modules that stand alone: the metatable's name in the registry */

/* A field as text, or NULL; it stays on the stack. @idx is positive. */
static const char *field(lua_State *L, int idx, const char *name) {
  lua_pushstring(L, name);
  lua_rawget(L, idx);
  return lua_tostring(L, -1);
}

/* Push "text; remedy". */
static const char *push_sentence(lua_State *L, int idx) {
  int top = lua_gettop(L);
  const char *text = field(L, idx, "text"), *remedy = field(L, idx, "remedy");
  lua_pushfstring(L, remedy != NULL ? "%s; %s" : "%s", text != NULL ? text : "", remedy);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return lua_tostring(L, -1);
}

static int l_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  const char *sentence = push_sentence(L, 1), *place = field(L, 1, "place"), *code = field(L, 1, "code");
  if (place == NULL || code == NULL)
    lua_settop(L, 2);
  else
    lua_pushfstring(L, "%s: %s: %s", place, code, sentence);
  return 1;
}

static int l_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static int l_len(lua_State *L) {
  size_t n;
  luaL_tolstring(L, 1, &n);
  return lutil_pushint(L, n);
}

/* The string's method in upvalue 1, with the sentence as the string. */
static int l_method(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_tolstring(L, 1, NULL);
  lua_replace(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int l_is(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *name = luaL_checkstring(L, 2);
  lua_pushstring(L, name);
  (void)field(L, 1, "code");
  lua_pushboolean(L, lua_rawequal(L, -1, -2));
  return 1;
}

int failure_sentence(lua_State *L) {
  luaL_checkany(L, 1);
  if (failure_test(L, 1))
    push_sentence(L, 1);
  else
    luaL_tolstring(L, 1, NULL);
  return 1;
}

/* A method of failures (upvalue 1), else what strings have at the moment under that name. */
static int l_index(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (lua_type(L, 2) != LUA_TSTRING) return 1;
  lua_pushliteral(L, "");
  lua_pushvalue(L, 2);
  if (lua_gettable(L, -2) == LUA_TFUNCTION) lua_pushcclosure(L, l_method, 1);
  return 1;
}

static void push_metatable(lua_State *L) {
  static const luaL_Reg events[] = {{"__tostring", l_tostring}, {"__concat", l_concat}, {"__len", l_len}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"is", l_is}, {"sentence", failure_sentence}, {NULL, NULL}};
  if (luaL_newmetatable(L, class) == 0) return;
  luaL_setfuncs(L, events, 0);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, l_index, 1);
  lua_setfield(L, -2, "__index");
}

bool failure_test(lua_State *L, int idx) {
  if (lua_type(L, idx) != LUA_TTABLE || lua_getmetatable(L, idx) == 0) return false;
  luaL_getmetatable(L, class);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

void failure_push(lua_State *L, const char *place, const char *code, const char *text, const char *remedy) {
  lua_createtable(L, 0, 4);
  lutil_setstr(L, "place", place);
  lutil_setstr(L, "code", code);
  lutil_setstr(L, "text", text);
  lutil_setstr(L, "remedy", remedy);
  push_metatable(L);
  lua_setmetatable(L, -2);
}

int failure_message(lua_State *L) {
  if (lua_isstring(L, 1)) {
    lua_settop(L, 1);
    lua_tostring(L, 1);
  } else if (luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL)
    luaL_tolstring(L, 1, NULL);
  else
    lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  return 1;
}
