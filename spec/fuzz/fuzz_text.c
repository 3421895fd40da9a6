/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_text.c - any bytes for a reader in Lua: the check of checks.lua that CHECK names (see fuzz.mk). */
#include "fuzz_lua.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = fuzz_check(CHECK);
  lua_pushlstring(L, (const char *)data, size);
  PLANTED(fuzz_reaches(L, 1));
  return 0;
}
