/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/failure.c - failure values: fields, sentence, metatable. */
#include "failure.h"

#include "lutil.h"

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
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
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

/* sentence(failure): without place and code; another value's is its string. */
static int l_sentence(lua_State *L) {
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
  static const luaL_Reg methods[] = {{"is", l_is}, {"sentence", l_sentence}, {NULL, NULL}};
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

/* new { place =, code =, text =, remedy = }: for Lua modules that refuse as those in C do. */
static int l_new(lua_State *L) {
  static const char *const known[] = {"code", "text", "place", "remedy", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lutil_options(L, 1, known);
  for (int i = 0; known[i] != NULL; i++) {
    bool is_needed = i < 2;
    if (lutil_stringfield(L, 1, known[i], NULL) == NULL && is_needed)
      return luaL_error(L, "failure: %s is needed", known[i]);
  }
  lua_settop(L, 1);
  push_metatable(L);
  lua_setmetatable(L, 1);
  return 1;
}

/* Leave the failure at 1 on top, without its place; @about, if any, goes before its text. */
static void push_without_place(lua_State *L, const char *about) {
  lua_pushnil(L);
  lua_setfield(L, 1, "place");
  const char *text = field(L, 1, "text");
  if (about != NULL && text != NULL) {
    lua_pushfstring(L, "%s: %s", about, text);
    lua_setfield(L, 1, "text");
  }
  lua_pushvalue(L, 1);
}

/*
 * refuse(code, text, remedy): nil, the failure, code. The text names the place: a file and line, a program, a run.
 * refuse(failure, about): the same of a failure of the core; "about: " goes before its text instead of its place.
 */
static int l_refuse(lua_State *L) {
  bool again = failure_test(L, 1);
  const char *code = again ? NULL : lutil_string(L, 1);
  const char *text = again ? luaL_optstring(L, 2, NULL) : lutil_string(L, 2);
  luaL_argcheck(L, again || code[0] == 'E', 1, "must be the name of a code");
  const char *remedy = luaL_optstring(L, 3, NULL);
  lua_settop(L, 3);
  if (again)
    push_without_place(L, text);
  else
    failure_push(L, NULL, code, text, remedy);
  lutil_refused(L);
  lua_pushnil(L);
  lua_insert(L, -2);
  (void)field(L, lua_gettop(L), "code");
  return 3;
}

int luaopen_pmlua_failure(lua_State *L) {
  static const luaL_Reg functions[] = {{"new", l_new}, {"refuse", l_refuse}, {"sentence", l_sentence}, {NULL, NULL}};
  push_metatable(L);
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
