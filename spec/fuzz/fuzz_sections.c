/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_sections.c - any bytes as a file of sections: a report in every form, or one line that says why not.
 *
 * Runs: 500
 */
#include "fuzz_lua.h"

static const char check[] =
    "local sections, report = require 'pmlua.sections', require 'pmlua.report'\n"
    "local text, data, timeline = require 'pmlua.internal.report.text', require 'pmlua.internal.report.data', require "
    "'pmlua.internal.report.timeline'\n"
    "local json = require 'pmlua.json'\n"
    "return function(bytes)\n"
    /* After a '!' the number of lines at the end is added, which chance would never get right. */
    "  if bytes:sub(1, 1) == '!' then\n"
    "    bytes = bytes:sub(2)\n"
    "    bytes = bytes .. ('end\\t%d\\n'):format(select(2, bytes:gsub('\\n', '')))\n"
    "  end\n"
    "  local p, err = sections.parse(bytes, 'f')\n"
    "  if not p then\n"
    "    assert(tostring(err):find('^f:%d+: [^\\n]+$'), err)\n"
    "    return 0\n"
    "  end\n"
    "  for _, lane in ipairs(p.timeline) do\n"
    "    local calls = timeline.calls(lane, p.regions)\n"
    "    assert(#calls <= #lane.events)\n"
    "    for _, c in ipairs(calls) do assert(c.last >= c.first and c.name) end\n"
    "    assert(#timeline.boxes(calls, 10) <= #calls)\n"
    "  end\n"
    "  local r, why = report.build(assert(require 'pmlua.internal.report.survey'.of { p }), 'time')\n"
    "  if not r then\n"
    "    assert(tostring(why):find('^f: [^\\n]+$'), why)\n"
    "    return 0\n"
    "  end\n"
    "  local shown = {}\n"
    "  for _, s in ipairs(r.sections) do\n"
    "    local label = sections.show(s.label)\n"
    "    assert(utf8.len(label) and not label:find('%c') and not shown[label], label)\n"
    "    shown[label] = true\n"
    "  end\n"
    "  local shown_as = text.format(r, { basic = true, detail = true, threads = true })\n"
    "  assert(utf8.len(shown_as))\n"
    "  local parts = {}\n"
    "  local function write(...)\n"
    "    for _, part in ipairs { ... } do parts[#parts + 1] = part end\n"
    "  end\n"
    "  data.json(r, write)\n"
    "  assert(json.decode(table.concat(parts)))\n"
    "  for _, level in ipairs { 'basic', 'detail', 'threads' } do data.csv(r, level, write) end\n"
    "  return p.rank or 0\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PLANTED(fuzz_bytes(check, data, size) > 1);
  return 0;
}
