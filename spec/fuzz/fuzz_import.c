/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_import.c - files of other tools: samples of perf script, Chrome's JSON, profiles of pprof, folded
 * stacks. The first byte is the form: 'p', 'c', 'g' or 'f'. Each becomes a trace that can be closed and read, or is
 * refused in one line.
 *
 * Runs: 150
 */
#include "fuzz_lua.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = fuzz_check("import");
  fuzz_write(fuzz_folder(), "input", data + (size > 0), size - (size > 0));
  lua_pushstring(L, fuzz_folder());
  lua_pushlstring(L, (const char *)data, size > 0);
  PLANTED(fuzz_reaches(L, 2));
  return 0;
}
