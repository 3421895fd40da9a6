/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_expression.c - any bytes as a metric's expression of perf, Intel or Arm: a formula that compiles, or
 * why not.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] =
    "local expression, formula = require 'pmlua.internal.groups.expression', require 'pmlua.formula'\n"
    "return function(text)\n"
    "  local node, why = expression.parse(text)\n"
    "  if not node then\n"
    "    assert(type(why) == 'string' and #why > 0)\n"
    "    return 0\n"
    "  end\n"
    "  local keys, n = {}, 0\n"
    "  local written, reason = expression.formula(node, function(name)\n"
    "    if name:find '^#' then return 'number', #name - 3.0 end\n"
    "    if name == 'M' then return 'expression', node end\n"
    "    if name == 'U' then return 'unknown', 'U is unknown' end\n"
    "    n = n + 1\n"
    "    keys[n] = 'k' .. n\n"
    "    return 'key', keys[n]\n"
    "  end)\n"
    "  if not written then\n"
    "    assert(type(reason) == 'string' and #reason > 0)\n"
    "    return 0\n"
    "  end\n"
    "  local compiled, err = formula.compile(written)\n"
    "  if not compiled then\n"
    "    assert(err:find 'longer than' or err:find 'nested' or err:find 'too large' or err:find '1 to 16', err)\n"
    "    return 0\n"
    "  end\n"
    /* Constants alone come to the same here and in Lua. */
    "  if n == 0 and not text:find '[%a@#<>|&%%\\\\]' then\n"
    "    local lua = load('return ' .. text:gsub('%-%-', '- -'))\n"
    "    local v, no = compiled:value {}\n"
    "    local done, w = pcall(lua or error)\n"
    "    if done and not no and math.type(w) and not text:find '%+%s*%+' and math.abs(w) < 1e15 then\n"
    "      assert(w == v or math.abs(w - v) <= 1e-9 * math.abs(w), text)\n"
    "    end\n"
    "  end\n"
    "  return n\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 2);
  return 0;
}
