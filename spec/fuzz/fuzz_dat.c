/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_dat.c - any bytes as a table of a run (data.dat): a table of finite numbers, or one line that says
 * why.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] = "local dat = require 'pmlua.internal.dat'\n"
                            "return function(text)\n"
                            "  local t, err = dat.parse(text, 'f')\n"
                            "  if not t then\n"
                            "    assert(err:find('^f:%d+: [^\\n]+$'), err)\n"
                            "    return 0\n"
                            "  end\n"
                            "  for _, row in ipairs(t.rows) do\n"
                            "    for name, v in pairs(row) do\n"
                            "      assert(t.position[name])\n"
                            "      assert(v == v and v ~= math.huge and v ~= -math.huge)\n"
                            "      assert(type(v) == 'number' or t.columns[t.position[name]].unit == 'text')\n"
                            "    end\n"
                            "  end\n"
                            /* What was read is written and read again as the same. */
                            "  local rows = {}\n"
                            "  for i, row in ipairs(t.rows) do\n"
                            "    rows[i] = {}\n"
                            "    for c, column in ipairs(t.columns) do rows[i][c] = row[column.name] end\n"
                            "  end\n"
                            "  local again = assert(dat.parse(dat.format { title = t.title, status = t.status, columns "
                            "= t.columns, rows = rows }, 'g'))\n"
                            "  assert(#again.rows == #t.rows and #again.columns == #t.columns)\n"
                            "  for i, row in ipairs(t.rows) do\n"
                            "    for name, v in pairs(row) do\n"
                            "      local w = again.rows[i][name]\n"
                            "      assert(w == v or type(v) == 'string', tostring(v))\n"
                            "    end\n"
                            "  end\n"
                            "  return #t.rows\n"
                            "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_Integer got = fuzz_bytes(check, data, size);
  PLANTED(got > 0 && got != 3);
  return 0;
}
