/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_data.c - any bytes as a data file: values within its limits, or one line with the file and the line;
 * and the same as event groups or presets.
 *
 * Runs: 1000
 */
#include "fuzz_lua.h"

static const char check[] =
    "local literal, groups = require 'pmlua.internal.literal', require 'pmlua.groups'\n"
    "local function walk(v, seen)\n"
    "  if type(v) ~= 'table' then assert(type(v) == 'string' or type(v) == 'number' or type(v) == 'boolean', type(v)) "
    "return end\n"
    "  assert(not seen[v] and getmetatable(v) == nil)\n"
    "  seen[v] = true\n"
    "  for key, value in pairs(v) do walk(key, seen) walk(value, seen) end\n"
    "end\n"
    "local function told(err) assert(err:find('^f:%d+: ') and not err:find('\\n'), err) end\n"
    "return function(bytes)\n"
    "  local data, err = literal.parse(bytes, 'f')\n"
    "  if not data then told(err) return 0 end\n"
    "  walk(data, {})\n"
    "  local file, why = groups.parse(bytes, 'f')\n"
    "  if not file then told(why) return 1 end\n"
    "  for _, group in pairs(file.groups) do\n"
    "    for _, metric in ipairs(group.metrics) do groups.value(group, metric, {}) groups.judge(metric, 1) end\n"
    "  end\n"
    "  return next(file.groups) and 2 or 1\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 1);
  return 0;
}
