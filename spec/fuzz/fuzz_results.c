/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_results.c - any bytes as meta.json, data.dat and rounds.dat of a run: opened, or one line that says
 * why.
 *
 * Runs: 500
 */
#include "fuzz_lua.h"

static const char check[] =
    "local results = require 'pmlua.results'\n"
    "return function(path)\n"
    "  local run, err = results.open(path)\n"
    "  if not run then\n"
    "    assert(not err:find('\\n') and err:find(path, 1, true), err)\n"
    "    return 0\n"
    "  end\n"
    "  assert(type(run.meta.name) == 'string' and type(run.status) == 'string' and run.data.rows)\n"
    "  assert(run.complete == (run.status == 'complete'))\n"
    "  return run.rounds and 1 + #run.rounds.rows or 1\n"
    "end\n";

/* Files of a folder, one after the other with a byte 1 in between: no text file has that. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  static const char *const files[] = {"meta.json", "data.dat", "rounds.dat"};
  struct fuzz_input in = {data, data + size};
  if (L == NULL) {
    L = fuzz_lua();
    fuzz_code(L, check);
  }
  const char *folder = fuzz_folder();
  char rounds[96];
  snprintf(rounds, sizeof rounds, "%s/rounds.dat", folder);
  unlink(rounds);
  for (int i = 0; i < 3; i++) {
    size_t n;
    if (i == 2 && in.at == in.end) break;
    char *text = fuzz_text(&in, 1, &n);
    fuzz_write(folder, files[i], text, n);
    free(text);
  }
  lua_pushvalue(L, 1);
  lua_pushstring(L, folder);
  fuzz_call(L, 1, 1);
  PLANTED(lua_tointeger(L, -1) > 1 && lua_tointeger(L, -1) != 3);
  lua_settop(L, 1);
  return 0;
}
