/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/refusal.c - refusals of the system, as functions return them to Lua. */
#include "refusal.h"

#include "failure.h"
#include "pml.h"

#include <lauxlib.h>
#include <string.h>

/* Their addresses are keys of the registry: the last failure's sentence, and the line of the script that got it. */
static const char refusal = 0, refused_at = 0;
/* Its address is the registry's key of the name of the script's chunk, as in lua_Debug. */
static const char script = 0;

void lutil_script(lua_State *L, const char *source) {
  lua_pushstring(L, source);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &script);
}

/* "FILE:LINE" of the script's line that runs, or nil. */
static void pushplace(lua_State *L) {
  lua_Debug ar;
  int known = lua_rawgetp(L, LUA_REGISTRYINDEX, &script) == LUA_TSTRING;
  const char *source = known ? lua_tostring(L, -1) : "";
  for (int level = 1; known && lua_getstack(L, level, &ar) != 0; level++) {
    lua_getinfo(L, "Sl", &ar);
    if (strcmp(ar.source, source) != 0 || ar.currentline < 1) continue;
    lua_pop(L, 1);
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
    return;
  }
  lua_pop(L, 1);
  lua_pushnil(L);
}

/* A script that uses the nil of a refusal fails with one of these messages. */
static int isaboutnil(const char *msg) {
  return strstr(msg, "a nil value") != NULL || strstr(msg, "with nil") != NULL || strstr(msg, "nil with") != NULL ||
         strstr(msg, "got nil") != NULL;
}

/* The remedy for a message of Lua; NULL: none is known. */
static const char *remedy(const char *msg) {
  if (strstr(msg, "(global 'pml')") != NULL) return "write local pml = require \"pmlua\" first";
  if (strstr(msg, "'}' expected") != NULL) return "is a comma missing before it?";
  const char *got = strstr(msg, " expected, got no value)");
  const char *type = got != NULL ? strstr(msg, "bad argument #1 to '") : NULL;
  if (type == NULL || (type = strchr(type, '(')) == NULL || type > got) return NULL;
  size_t n = (size_t)(got - ++type);
  static const char *const values[] = {"table", "string", "number", "function", "boolean", "value", "integer"};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    if (strlen(values[i]) == n && memcmp(values[i], type, n) == 0) return NULL;
  return "call it with a colon, as in object:method()";
}

void lutil_explain(lua_State *L) {
  const char *msg = lua_tostring(L, -1), *advice = msg != NULL ? remedy(msg) : NULL;
  int top = lua_gettop(L);
  if (advice != NULL) {
    lua_pushfstring(L, "%s; %s", msg, advice);
    lua_replace(L, top);
  }
  if (advice != NULL || msg == NULL || !isaboutnil(msg)) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refused_at);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refusal);
  const char *place = lua_tostring(L, -2), *sentence = lua_tostring(L, -1);
  if (place != NULL && sentence != NULL) {
    lua_pushfstring(L, "%s; the last refusal, at %s, was: %s", msg, place, sentence);
    lua_replace(L, top);
  }
  lua_settop(L, top);
}

int lutil_explained(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lutil_explain(L);
  return 1;
}

void lutil_refused(lua_State *L) {
  luaL_tolstring(L, -1, NULL);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refusal);
  pushplace(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refused_at);
}

int pml_pusherr(lua_State *L, int err, const char *where) {
  struct pml_failure f; /* a copy: a finalizer run by the pushes below may fail at something else */
  pml_error_failure(err, &f);
  const char *name = pml_error_name(err);
  lua_pushnil(L);
  failure_push(L, where, name, f.text, f.remedy);
  lutil_refused(L);
  lua_pushstring(L, name);
  return 3;
}

int lutil_refusal(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refusal);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refusal);
  return 1;
}

int pml_pushdone(lua_State *L, int err, const char *where) {
  if (err < 0) return pml_pusherr(L, err, where);
  lua_pushboolean(L, 1);
  return 1;
}
