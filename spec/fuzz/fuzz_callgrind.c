/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_callgrind.c - any bytes as a file of callgrind's: functions that add up to the totals, or one line.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] = "local callgrind = require 'pmlua.internal.simulation.callgrind'\n"
                            "return function(text)\n"
                            "  local out, err = callgrind.parse(text)\n"
                            "  if not out then\n"
                            "    assert(err:find('^line %d+: [^\\n]+$'), err)\n"
                            "    return 0\n"
                            "  end\n"
                            "  for i, total in ipairs(out.totals) do\n"
                            "    for _, f in ipairs(out.functions) do total = total - f.cost[i] end\n"
                            "    assert(total == 0)\n"
                            "  end\n"
                            "  return #out.functions\n"
                            "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 3);
  return 0;
}
