-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/annotated_linked_spec.lua - programs that are linked with the library of LIKWID's markers, or with PAPI.

local json = require "cjson"
local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

--- A library with the functions of LIKWID's marker interface, which counts what the program asks for.
local LIBRARY = [[
#include <stdio.h>
#include <string.h>
static struct { char tag[64]; int open, count; } region[8];
static int find(const char *tag) {
  int i = 0;
  while (region[i].tag[0] && strcmp(region[i].tag, tag)) i++;
  strcpy(region[i].tag, tag);
  return i;
}
int likwid_markerStartRegion(const char *tag) { return region[find(tag)].open++; }
int likwid_markerStopRegion(const char *tag) { int i = find(tag); return region[i].count++, --region[i].open; }
void likwid_markerGetRegion(const char *tag, int *n, double *events, double *time, int *count) {
  *count = region[find(tag)].count;
}
]]

--- A library whose functions start and stop regions for their callers.
local TIMER = [[
int likwid_markerStartRegion(const char *), likwid_markerStopRegion(const char *);
int timer_start(const char *name) { return likwid_markerStartRegion(name); }
int timer_work(int n) { return n + 1; }
int timer_stop(const char *name) { return likwid_markerStopRegion(name); }
]]

local PROGRAM = [[
#include <stdio.h>
int likwid_markerStartRegion(const char *), likwid_markerStopRegion(const char *);
void likwid_markerGetRegion(const char *, int *, double *, double *, int *);
int timer_start(const char *), timer_stop(const char *), timer_work(int);
int main(void) {
  int n, count, sum = 0;
  for (int i = 0; i < 30; i++) {
    sum += likwid_markerStartRegion("outer");
    for (int k = 0; k < 4; k++) likwid_markerStartRegion("inner"), likwid_markerStopRegion("inner");
    sum += likwid_markerStartRegion("overlapping");
    sum += likwid_markerStopRegion("outer");
    sum += likwid_markerStopRegion("overlapping");
  }
  for (int i = 0; i < 20; i++) {
    timer_start("timed");
    for (int k = 0; k < 3; k++) sum += timer_work(-1);
    timer_stop("timed");
  }
  const char *const tag[] = {"outer", "inner", "overlapping", "timed"};
  for (int i = 0; i < 4; i++) likwid_markerGetRegion(tag[i], &n, 0, 0, &count), printf("%s %d\n", tag[i], count);
  return sum;
}
]]

local PAPI = [[
#include <papi.h>
int main(void) {
  for (int i = 0; i < 6; i++) {
    PAPI_hl_region_begin("outer");
    for (int k = 0; k < 2; k++) PAPI_hl_region_begin("inner"), PAPI_hl_region_end("inner");
    PAPI_hl_region_end("outer");
  }
  return PAPI_hl_stop() != PAPI_OK;
}
]]

setup(function()
  support.compile(at.dir, { ["markers.c"] = LIBRARY, ["timer.c"] = TIMER, ["program.c"] = PROGRAM },
    "gcc -w -shared -fPIC markers.c -o libmarkers.so && gcc -w -shared -fPIC timer.c -o libtimer.so -L. -lmarkers && "
    .. "gcc -w program.c -o program -L. -ltimer -lmarkers -Wl,-rpath,'$ORIGIN' -Wl,-rpath-link,.")
end)
teardown(support.cleanup)

local function sections(folder)
  local out = support.done(at.shell(("%s report %s --json"):format(recording.command, folder)))
  return support.by(json.decode(out).sections, "label")
end

describe("pmlua record of a program that is linked with an annotation library", function()
  local by_name, all, status, said, out
  setup(function()
    by_name, all, status, said, out = at.recorded("-o likwid --trace --flow=flow.json -- ./program", "LD_LIBRARY_PATH=" .. at.dir)
  end)

  it("counts LIKWID's regions, also overlapping ones, and the library gets each call", function()
    assert.equal(0, status, said)
    assert.equal("outer 30\ninner 120\noverlapping 30\ntimed 20\n", out)
    local list = sections "likwid"
    for name, n in pairs { outer = 30, inner = 120, overlapping = 30, timed = 20 } do
      assert.same({ n, "LIKWID" }, { list[name].calls, list[name].interface }, name)
      assert.is_nil(list[name].misuse, name)
    end
    assert.same({ "LIKWID", 120 }, { by_name.inner.library, by_name.inner.calls })
  end)

  it("counts a region that a library function starts and another one stops, and the calls inside", function()
    local depth, returned = {}, {}
    for _, path in ipairs(all.processes[1].paths) do
      if path.calls > 0 then depth[path.name], returned[path.name] = path.depth, path.calls - path.unreturned end
    end
    assert.same({ 20, 60, 20, 20 }, { returned.timed, returned.timer_work, returned.timer_start, returned.timer_stop })
    assert.same({ 0, 1, 0, 0 }, { depth.timed, depth.timer_work, depth.timer_start, depth.timer_stop })
    assert.equal(0, all.processes[1].unmatched or 0)
    local calls = at.traced "likwid"
    assert.same({ 60, 40, 20, 40 }, { calls.timer_work, calls.timed, calls.timer_start, calls.timer_stop })
    local flow = json.decode(support.slurp(at.dir .. "/flow.json"))
    assert.truthy(json.encode(flow):find("timer_work", 1, true))
  end)

  support.it_unless(function()
    return not (support.exists "/usr/include/papi.h" and support.library "libpapi.so") and "libpapi-dev is not installed"
  end)("counts regions of PAPI's high-level interface, and PAPI writes its report", function()
    support.compile(at.dir, { ["high.c"] = PAPI }, "gcc -w high.c -o high -lpapi")
    local functions, _, ended = at.recorded("-o papi -- ./high", "PAPI_EVENTS=perf::TASK-CLOCK PAPI_OUTPUT_DIRECTORY=own")
    assert.equal(select(1, at.shell "PAPI_EVENTS=perf::TASK-CLOCK PAPI_OUTPUT_DIRECTORY=without ./high"), ended)
    local list = sections "papi"
    assert.same({ 6, 12, "PAPI" }, { list.outer.calls, list.inner.calls, list.inner.interface })
    assert.same({ 6, "PAPI" }, { functions.outer.calls, functions.outer.library })
    local function reports(folder) return (select(2, at.shell("ls " .. folder .. " 2>&1 | wc -l"))) end
    assert.equal(reports "without", reports "own")
  end)
end)
