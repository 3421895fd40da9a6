/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/program/ltool.c - pmlua.core.tool: run a helper program to completion, without a shell. */
#include "module.h"

#include "base/text/pml_text.h"
#include "program/pml_tool.h"

#include <errno.h>
#include <stdlib.h>

#define ARGUMENTS_MAX 4096
#define DAY_S 86400

/* run(words, {folder=, seconds=, confined=}) - its exit status (128 + a signal) and what it printed; nil, why, code. */
static int l_run(lua_State *L) {
  static const struct option known[] = {OPTIONS(struct pml_tool, folder, confined),
                                        OPTION_RANGE(struct pml_tool, "seconds", timeout_ms, 1, DAY_S), OPTION_END};
  struct pml_tool tool = {.timeout_ms = 60};
  size_t length;
  int status;
  char *text = NULL;
  lua_settop(L, 2);
  option_read(L, 2, known, &tool);
  tool.timeout_ms *= 1000;
  const char **argv = lua_newuserdatauv(L, (ARGUMENTS_MAX + 1) * sizeof *argv, 0);
  struct lutil_guard *output = lutil_guard(L, pml__free);
  argv[lutil_names(L, 1, argv, ARGUMENTS_MAX)] = NULL;
  tool.argv = (char *const *)(uintptr_t)argv;
  int err = pml_tool_run(&tool, &status, &text, &length);
  output->of = text;
  if (err < 0) return pml_pusherr(L, err, "tool.run");
  lua_pushinteger(L, status);
  lua_pushlstring(L, text, length);
  lutil_close(&output->h);
  return 2;
}

static int l_confines(lua_State *L) {
  return lutil_pushbool(L, pml_tool_can_confine());
}

int luaopen_pmlua_tool(lua_State *L) {
  static const luaL_Reg functions[] = {{"run", l_run}, {"confines", l_confines}, {NULL, NULL}};
  return lutil_module(L, functions);
}
