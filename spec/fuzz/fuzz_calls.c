/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_calls.c - any bytes as what a recorded process left: functions whose figures can be, or one line that
 * names the file.
 */
#include "fuzz_lua.h"

static const char check[] =
    "local calls = require 'pmlua.internal.record.functions'\n"
    "return function(folder)\n"
    "  local all, err = calls.read(folder)\n"
    "  if not all then\n"
    "    assert(type(err) == 'string' and err:find('7.calls', 1, true) and not err:find('\\n'), err)\n"
    "    return 0\n"
    "  end\n"
    "  for _, f in ipairs(all.functions) do\n"
    "    assert(f.library and f.name and f.calls >= 0 and f.unreturned <= f.calls)\n"
    "    assert(f.exclusive_ns >= 0 and f.inclusive_ns >= 0 and f.inclusive_ns < math.huge)\n"
    "    assert(not f.min_ns or f.min_ns <= f.max_ns)\n"
    "    for _, v in pairs(f.values or {}) do assert(v.count > 0 and not (v.min > v.max)) end\n"
    "  end\n"
    "  local one = all.functions[1]\n"
    "  return one and one.values and 2 or one and 1 or 0\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  if (L == NULL) {
    L = fuzz_lua();
    fuzz_code(L, check);
  }
  fuzz_write(fuzz_folder(), "7.calls", data, size);
  lua_pushvalue(L, 1);
  lua_pushstring(L, fuzz_folder());
  fuzz_call(L, 1, 1);
  PLANTED(lua_tointeger(L, -1) > 1);
  lua_settop(L, 1);
  return 0;
}
