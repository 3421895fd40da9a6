/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/program/ltool.c - pmlua.core.tool: run a helper program to completion, without a shell. */
#include "module.h"

#include "program/pml_tool.h"

#include <errno.h>
#include <stdlib.h>

#define ARGUMENTS_MAX 4096
#define DAY_S 86400

static int l_free(lua_State *L) {
  char **text = lua_touserdata(L, 1);
  free(*text);
  *text = NULL;
  return 0;
}

/* Owns the tool's output, so that an error frees it. */
static char **new_text(lua_State *L) {
  char **text = lua_newuserdatauv(L, sizeof *text, 0);
  *text = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, l_free);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return text;
}

/* run(words, {folder=, seconds=, confined=}) - its exit status (128 + a signal) and what it printed; nil, why, code. */
static int l_run(lua_State *L) {
  static const char *const known[] = {"folder", "seconds", "confined", NULL};
  struct pml_tool tool = {0};
  size_t length;
  int status;
  lua_settop(L, 2);
  lutil_options(L, 2, known);
  tool.folder = lutil_stringfield(L, 2, "folder", NULL);
  tool.timeout_ms = 1000 * (int)lutil_intfield(L, 2, "seconds", 60, 1, DAY_S);
  tool.confined = lutil_flag(L, 2, "confined") != 0;
  const char **argv = lua_newuserdatauv(L, (ARGUMENTS_MAX + 1) * sizeof *argv, 0);
  char **text = new_text(L);
  argv[lutil_names(L, 1, argv, ARGUMENTS_MAX)] = NULL;
  tool.argv = (char *const *)(uintptr_t)argv;
  int err = pml_tool_run(&tool, &status, text, &length);
  if (err < 0) return pml_pusherr(L, err, "tool.run");
  lua_pushinteger(L, status);
  lua_pushlstring(L, *text, length);
  return 2;
}

static int l_confines(lua_State *L) {
  return lutil_pushbool(L, pml_tool_can_confine());
}

int luaopen_pmlua_tool(lua_State *L) {
  static const luaL_Reg functions[] = {{"run", l_run}, {"confines", l_confines}, {NULL, NULL}};
  return lutil_module(L, functions);
}
