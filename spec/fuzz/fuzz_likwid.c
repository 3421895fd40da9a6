/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_likwid.c - any bytes as one of LIKWID's group files: a group, or one line that says what is wrong and
 * where.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] =
    "local likwid = require 'pmlua.internal.groups.likwid'\n"
    "return function(text)\n"
    "  local found, why = likwid.parse(text, 'G', 'f', 'skx')\n"
    "  if not found then\n"
    "    assert(why:find('^f:%d+: [^\\n]+$'), why)\n"
    "    return 0\n"
    "  end\n"
    "  local group = found.groups[1]\n"
    "  for key, event in pairs(group.events) do\n"
    "    assert(key:find('^[%a_][%w_]*$') and (event.why or event.name and event.suffix))\n"
    "  end\n"
    "  for _, m in ipairs(group.metrics) do assert(#m.expression > 0 and m.name and m.unit) end\n"
    "  return #group.metrics\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 1);
  return 0;
}
