/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_import.c - files of other tools: samples of perf script, Chrome's JSON, profiles of pprof, folded
 * stacks. The first byte is the form: 'p', 'c', 'g' or 'f'. Each becomes a trace that can be closed and read, or is
 * refused in one line.
 *
 * Runs: 150
 */
#include "fuzz_lua.h"

static const char check[] = "local core = require 'pmlua.core'\n"
                            "local input = require 'pmlua.internal.import.input'\n"
                            "local of = { p = 'perf', c = 'chrome', g = 'pprof', f = 'folded' }\n"
                            "local function line(err)\n"
                            "  err = type(err) == 'table' and err:sentence() or err\n"
                            "  assert(type(err) == 'string' and #err > 0 and not err:find '\\n', err)\n"
                            "  return 0\n"
                            "end\n"
                            "return function(dir, which)\n"
                            "  local reader = require('pmlua.internal.import.' .. (of[which] or 'folded'))\n"
                            "  local to = dir .. '/trace'\n"
                            "  os.execute('rm -rf ' .. to)\n"
                            "  local file <close>, why = input.open(dir .. '/input')\n"
                            "  if not file then return line(why) end\n"
                            "  assert(type(reader.is(input.head(file))) == 'boolean')\n"
                            "  local archive, err = reader.read(file, 'input', to)\n"
                            "  if not archive then return line(err) end\n"
                            "  assert(archive:close())\n"
                            "  local t <close> = assert(core.trace.open(archive.path))\n"
                            "  local rows, odd = assert(t:group())\n"
                            "  assert(odd.unmatched == 0 and odd.backward == 0 and odd.unknown == 0)\n"
                            "  local calls = 0\n"
                            "  for _, r in ipairs(rows) do calls = calls + r.calls end\n"
                            "  assert(calls == archive.calls)\n"
                            "  return calls\n"
                            "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  if (L == NULL) {
    L = fuzz_lua();
    fuzz_code(L, check);
  }
  fuzz_write(fuzz_folder(), "input", data + (size > 0), size - (size > 0));
  lua_pushvalue(L, 1);
  lua_pushstring(L, fuzz_folder());
  lua_pushlstring(L, (const char *)data, size > 0);
  fuzz_call(L, 2, 1);
  PLANTED(size > 0 && data[0] == 'f' && lua_tointeger(L, -1) > 5);
  lua_settop(L, 1);
  return 0;
}
