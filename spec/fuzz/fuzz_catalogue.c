/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_catalogue.c - any bytes as JSON of perf's, Intel's or Arm's metrics: metrics and events, or why not.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] = "local catalogue = require 'pmlua.internal.groups.catalogue'\n"
                            "return function(text)\n"
                            "  local found, why = catalogue.parse { { path = 'f', text = text } }\n"
                            "  if not found then\n"
                            "    assert(why:find('^f: [^\\n]+'), why)\n"
                            "    return 0\n"
                            "  end\n"
                            "  local n = 0\n"
                            "  for _, group in ipairs(found.groups) do\n"
                            "    for _, m in ipairs(group.metrics) do\n"
                            "      assert(type(m.name) == 'string' and type(m.expression) == 'string' and m.unit and "
                            "m.about)\n"
                            "      n = n + 1\n"
                            "    end\n"
                            "  end\n"
                            "  for name, e in pairs(found.events) do\n"
                            "    assert(name == name:upper() and e.code <= 0xffff and math.type(e.config) == "
                            "'integer')\n"
                            "  end\n"
                            "  return n\n"
                            "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 1);
  return 0;
}
