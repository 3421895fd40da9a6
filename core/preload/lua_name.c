/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/lua_name.c - names of functions of Lua. */
#include "preload/lua.h"

#include <stdio.h>
#include <string.h>

#define FIELD_BYTES 256u
#define LEVELS 8 /* limit of calls whose variables are searched */

/* The key of the pair under the value on top of the stack, if it is a text: a number must not become one. */
static const char *text_key(lua_State *L) {
  enum { TEXT = 4 };
  return pml__lua.lua_type(L, -2) == TEXT ? pml__lua.lua_tolstring(L, -2, NULL) : NULL;
}

/* The field of the table on top of the stack that contains the function at index @function. */
static bool find_field(lua_State *L, int function, char to[FIELD_BYTES]) {
  bool found = false;
  pml__lua.lua_pushnil(L);
  while (!found && pml__lua.lua_next(L, -2) != 0) {
    const char *name = text_key(L);
    found = name != NULL && pml__lua.lua_rawequal(L, -1, function) != 0;
    if (found) (void)snprintf(to, FIELD_BYTES, "%s", name);
    pml__lua.lua_settop(L, found ? -3 : -2);
  }
  return found;
}

/* Whether the value on top of the stack, which is removed, is @function; then @name is its name. */
static bool is_named(lua_State *L, const void *function, const char *name, char to[FIELD_BYTES]) {
  bool is = name[0] != '(' && pml__lua.lua_topointer(L, -1) == function;
  if (is) (void)snprintf(to, FIELD_BYTES, "%s", name);
  pml__lua.lua_settop(L, -2);
  return is;
}

/* The variable of a function of @L that contains @function. */
static bool find_variable(lua_State *L, const void *function, char to[FIELD_BYTES]) {
  int top = pml__lua.lua_gettop(L);
  const char *name;
  bool found = false;
  lua_Debug in;
  for (int level = 0; level < LEVELS && !found && pml__lua.lua_getstack(L, level, &in) != 0; level++) {
    for (int i = 1; !found && (name = pml__lua.lua_getlocal(L, &in, i)) != NULL; i++)
      found = is_named(L, function, name, to);
    (void)pml__lua.lua_getinfo(L, "f", &in);
    for (int i = 1; !found && (name = pml__lua.lua_getupvalue(L, -1, i)) != NULL; i++)
      found = is_named(L, function, name, to);
    pml__lua.lua_settop(L, top);
  }
  return found;
}

/* A caller in C, a tail call, or a resumed coroutine leaves a function without a name. */
static void find_name(lua_State *L, lua_State *resumer, lua_Debug *ar, char to[FIELD_BYTES]) {
  (void)pml__lua.lua_getinfo(L, "f", ar);
  const void *function = pml__lua.lua_topointer(L, -1);
  pml__lua.lua_settop(L, -2);
  if (!find_variable(L, function, to) && resumer != NULL) (void)find_variable(resumer, function, to);
}

/* The loaded module that contains the function of @ar, and its field there. */
static bool find_module(lua_State *L, lua_Debug *ar, char module[FIELD_BYTES], char field[FIELD_BYTES]) {
  int top = pml__lua.lua_gettop(L);
  bool found = false;
  (void)pml__lua.lua_getinfo(L, "f", ar);
  if (pml__lua.lua_getfield(L, LUA_REGISTRY, "_LOADED") != LUA_TABLE) {
    pml__lua.lua_settop(L, top);
    return false;
  }
  pml__lua.lua_pushnil(L);
  while (!found && pml__lua.lua_next(L, -2) != 0) {
    const char *name = text_key(L);
    found = name != NULL && pml__lua.lua_type(L, -1) == LUA_TABLE && find_field(L, top + 1, field);
    if (found) (void)snprintf(module, FIELD_BYTES, "%s", name);
    pml__lua.lua_settop(L, -2);
  }
  pml__lua.lua_settop(L, top);
  return found;
}

/* A file "dir/name.lua" is the module "name". */
static void name_module(const char *file, char to[FIELD_BYTES]) {
  (void)snprintf(to, FIELD_BYTES, "%s", file[0] != '[' ? file : "string");
  char *dot = strrchr(to, '.');
  if (dot != NULL && strcmp(dot, ".lua") == 0) *dot = '\0';
}

void pml__lua_name(lua_State *L, lua_State *resumer, lua_Debug *ar, char *to, size_t bytes) {
  char module[FIELD_BYTES], field[FIELD_BYTES] = "?";
  const char *file = ar->source[0] == '@' || ar->source[0] == '=' ? ar->source + 1 : ar->short_src;
  const char *slash = strrchr(file, '/');
  if (slash != NULL && file != ar->short_src) file = slash + 1;
  if (!find_module(L, ar, module, field) || strcmp(module, "_G") == 0) name_module(file, module);
  (void)pml__lua.lua_getinfo(L, "n", ar);
  if (ar->what[0] == 'm')
    (void)snprintf(field, sizeof field, "<chunk>");
  else if (field[0] == '?' && ar->name != NULL)
    (void)snprintf(field, sizeof field, "%s", ar->name);
  else if (field[0] == '?')
    find_name(L, resumer, ar, field);
  (void)snprintf(to, bytes, "%s.%s (%s:%d)", module, field, file, ar->linedefined > 0 ? ar->linedefined : 1);
}
