/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/base/lfailure.c - pmlua.core.failure: failures for Lua modules that refuse as those in C do. */
#include "failure.h"
#include "module.h"

#include <lauxlib.h>

/* new { place =, code =, text =, remedy = } */
static int l_new(lua_State *L) {
  static const char *const known[] = {"code", "text", "place", "remedy", NULL};
  const char *of[4];
  luaL_checktype(L, 1, LUA_TTABLE);
  lutil_options(L, 1, known);
  for (int i = 0; known[i] != NULL; i++) {
    bool is_needed = i < 2;
    of[i] = lutil_stringfield(L, 1, known[i], NULL);
    if (of[i] == NULL && is_needed) return luaL_error(L, "failure: %s is needed", known[i]);
  }
  failure_push(L, of[2], of[0], of[1], of[3]);
  return 1;
}

/* Leave the failure at 1 on top, without its place; @about, if any, goes before its text. */
static void push_without_place(lua_State *L, const char *about) {
  lua_pushnil(L);
  lua_setfield(L, 1, "place");
  (void)lutil_field(L, 1, "text");
  const char *text = lua_tostring(L, -1);
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
  (void)lutil_field(L, -1, "code");
  return 3;
}

int luaopen_pmlua_failure(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"new", l_new}, {"refuse", l_refuse}, {"sentence", failure_sentence}, {NULL, NULL}};
  failure_push(L, NULL, NULL, NULL, NULL); /* makes the metatable */
  lua_pop(L, 1);
  return lutil_module(L, functions);
}
