/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_formula.c - any bytes as a formula and as a file of groups: a value, a reason, or one line that says
 * what is wrong and where.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] =
    "local formula, groups = require 'pmlua.formula', require 'pmlua.groups'\n"
    "local counts = setmetatable({ z = 0, n = 0 / 0 }, { __index = function(_, k) return k ~= 'x' and #k or nil end "
    "})\n"
    "return function(text)\n"
    "  local file, why = groups.parse(text, 'f')\n"
    "  assert(file or why:find('^f:%d+: .'), why)\n"
    "  local f, err = formula.compile(text)\n"
    "  if not f then\n"
    "    assert(err:find('^column %d+: [^\\n]+$'), err)\n"
    "    return 0\n"
    "  end\n"
    "  local v, reason = f:value(counts)\n"
    "  assert(math.type(v) == 'float' and (v == v) == (reason == nil))\n"
    "  assert(v ~= math.huge and v ~= -math.huge)\n"
    "  local ok, unit = f:check_unit('byte/s', { a = { s = 1 }, b = { byte = 1 } })\n"
    "  assert(ok or unit:find('^column %d+: .'), unit)\n"
    /* Lua reads the same text as the same numbers: its precedence is the one of mathematics, too. */
    "  local lua = #f.names == 0 and not text:find('[%a%-][%a%-]') and load('return ' .. text:gsub('[%d.]+', '(%0 + "
    "0.0)'))\n"
    "  if lua and not reason and not text:find('%a') and not text:find('^%s*%-.*%^') then\n"
    "    local done, w = pcall(lua)\n"
    "    if done and math.type(w) then assert(w == v or math.abs(w - v) <= 1e-9 * math.abs(w), text) end\n"
    "  end\n"
    "  return #f.names\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 2);
  return 0;
}
