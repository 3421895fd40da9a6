-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/annotated_kokkos_spec.lua - programs annotated for Kokkos Tools, which load their tool as Kokkos does.

local json = require "cjson"
local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

--- Loads the first library that the environment names, and calls it with planted counts.
local PROGRAM = support.C .. [[
#include <stdbool.h>
struct space { char name[64]; };
static void *tool;
static void *look(const char *name) { return tool != NULL ? dlsym(tool, name) : NULL; }
static void (*begin_for)(const char *, uint32_t, uint64_t *), (*end_for)(uint64_t), (*push)(const char *), (*pop)(void);
static void open_tool(void) {
  const char *name = getenv("KOKKOS_TOOLS_LIBS") ? getenv("KOKKOS_TOOLS_LIBS") : getenv("KOKKOS_PROFILE_LIBRARY");
  char first[4096] = "";
  if (name != NULL) sscanf(name, "%4095[^;]", first);
  tool = dlopen(first, RTLD_NOW | RTLD_GLOBAL);
  if (tool == NULL) exit(9);
  void (*init)(int, uint64_t, uint32_t, void *) = look("kokkosp_init_library");
  init(0, 20210623, 0, NULL);
  begin_for = look("kokkosp_begin_parallel_for"), end_for = look("kokkosp_end_parallel_for");
  push = look("kokkosp_push_profile_region"), pop = look("kokkosp_pop_profile_region");
}
static void kernel(const char *name) {
  uint64_t id;
  begin_for(name, 0, &id);
  end_for(id);
}
static void good(void) {
  void (*create)(const char *, uint32_t *) = look("kokkosp_create_profile_section");
  void (*start)(uint32_t) = look("kokkosp_start_profile_section"), (*stop)(uint32_t) = look("kokkosp_stop_profile_section");
  void (*copy)(struct space, const char *, const void *, struct space, const char *, const void *, uint64_t) =
      look("kokkosp_begin_deep_copy"), (*copied)(void) = look("kokkosp_end_deep_copy");
  void (*allocate)(struct space, const char *, const void *, uint64_t) = look("kokkosp_allocate_data");
  void (*event)(const char *) = look("kokkosp_profile_event");
  void (*settings)(uint32_t, bool *) = look("kokkosp_request_tool_settings");
  struct space host = {"Host"}, gpu = {"Cuda"};
  uint32_t one, two;
  bool wants[256] = {true};
  settings(1, wants);
  if (wants[0]) exit(8);
  push("solve");
  for (int i = 0; i < 70; i++) kernel("fill");
  for (int i = 0; i < 7; i++) kernel("N3app6FillerIdEE/N3app4SlowE");
  kernel("3abc");
  create("first", &one), create("second", &two);
  for (int i = 0; i < 5; i++) start(one), start(two), stop(one), stop(two);
  for (int i = 0; i < 3; i++) copy(gpu, "b", 0, host, "a", 0, 1000), copied();
  allocate(host, "a", 0, 4096), allocate(host, "a", 0, 4);
  event("checkpoint");
  pop();
}
static void touch(void) {
  uint64_t id;
  size_t page = sysconf(_SC_PAGESIZE);
  volatile char *m = mmap(NULL, 50 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise((void *)m, 50 * page, MADV_NOHUGEPAGE);
  kernel("nothing");
  begin_for("touch", 0, &id);
  for (int i = 0; i < 50; i++) m[i * page] = 1;
  end_for(id);
}
static void *end_elsewhere(void *id) { return end_for(*(uint64_t *)id), NULL; }
static void bad(void) {
  uint64_t id;
  pthread_t thread;
  static char big[1 << 20];
  char buffer[16];
  memset(big, 'm', sizeof big - 1);
  pop();
  end_for(0), end_for(12345678), end_for(~UINT64_C(0));
  for (int i = 0; i < 4; i++) kernel(NULL);
  kernel(""), kernel(big), kernel("bad \xff\xfe\n\x1b[31m bytes");
  push("left open");
  begin_for("elsewhere", 0, &id);
  pthread_create(&thread, NULL, end_elsewhere, &id), pthread_join(thread, NULL);
  end_for(id);
  for (int i = 0; i < 10; i++) sprintf(buffer, "reused %d", i), kernel(buffer);
}
static void many(void) {
  char name[32];
  for (int i = 0; i < 100500; i++) sprintf(name, "name %d", i), kernel(name);
}
int main(int argc, char **argv) {
  open_tool();
  if (strcmp(argv[1], "good") == 0) good();
  if (strcmp(argv[1], "bad") == 0) bad();
  if (strcmp(argv[1], "touch") == 0) touch();
  if (strcmp(argv[1], "many") == 0) many();
  void (*finalize)(void) = look("kokkosp_finalize_library");
  finalize();
  return argc != 2;
}
]]

--- Another tool, which chooses its own numbers and prints what it gets.
local OTHER = [[
#include <stdint.h>
#include <stdio.h>
static uint64_t next = 1000, sum;
static int kernels, pushes;
void kokkosp_begin_parallel_for(const char *name, uint32_t d, uint64_t *id) { *id = next += 7; sum += *id; kernels++; }
void kokkosp_end_parallel_for(uint64_t id) { sum -= id; }
void kokkosp_push_profile_region(const char *name) { pushes++; }
void kokkosp_create_profile_section(const char *name, uint32_t *id) { *id = name[0]; }
void kokkosp_start_profile_section(uint32_t id) { sum += id; }
void kokkosp_stop_profile_section(uint32_t id) { sum -= id; }
void kokkosp_request_tool_settings(uint32_t n, char *fences) { *fences = 0; }
void kokkosp_finalize_library(void) { printf("kernels %d pushes %d left %d\n", kernels, pushes, (int)sum); }
]]

setup(function()
  support.compile(at.dir, { ["kokkos.c"] = PROGRAM, ["other.c"] = OTHER },
    "gcc -w -O1 kokkos.c -o kokkos -lpthread -ldl && gcc -w -shared -fPIC other.c -o libother.so")
end)
teardown(support.cleanup)

--- The sections of a recording by label, and the text of the report.
local function sections(folder)
  local out = support.done(at.shell(("%s report %s --json"):format(recording.command, folder)))
  return support.by(json.decode(out).sections, "label"), (support.done(at.shell(("%s report %s"):format(recording.command,
    folder))))
end

local function calls(list)
  local n = {}
  for name, of in pairs(list) do n[name] = of.calls end
  return n
end

describe("pmlua record of a program that calls a Kokkos tool", function()
  local expected = { solve = 1, fill = 70, ["app::Filler<double>/app::Slow"] = 7, ["3abc"] = 1, first = 5, second = 5,
    ["copy Host a to Cuda b"] = 3, ["allocate Host a"] = 2, checkpoint = 1 }

  it("shows kernels, regions, sections, copies, allocations and events as calls and as sections", function()
    local by_name, all, status = at.recorded "-o good --trace -- ./kokkos good"
    assert.equal(0, status)
    local list = sections "good"
    assert.same(expected, calls(list))
    for name, of in pairs(list) do
      assert.equal("Kokkos", of.interface, name)
      assert.equal("Kokkos", by_name[name].library, name)
      assert.is_nil(of.misuse, name)
    end
    assert.same({ 70, 7, 3 }, { by_name.fill.calls, by_name["app::Filler<double>/app::Slow"].calls,
      by_name["copy Host a to Cuda b"].calls })
    assert.equal(3000, list["copy Host a to Cuda b"].work)
    assert.equal(4100, list["allocate Host a"].work)
    local depth = {}
    for _, path in ipairs(all.processes[1].paths) do depth[path.name] = path.depth end
    assert.same({ 0, 1 }, { depth.solve, depth.fill })
    assert.same({ 1, 70 }, { at.traced("good").solve, at.traced("good").fill })
  end)

  it("passes each call on to another tool that was there, with the numbers that this tool chose", function()
    for i, variable in ipairs { "KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY" } do
      local folder = "other" .. i
      local _, _, status, _, out = at.recorded(("-o %s -- ./kokkos good"):format(folder),
        ("%s=%s/libother.so"):format(variable, at.dir))
      assert.equal(0, status)
      assert.equal("kernels 78 pushes 1 left 0\n", out)
      assert.same(expected, calls(sections(folder)))
    end
    local _, _, _, said = at.recorded("-o missing -- ./kokkos good", "KOKKOS_TOOLS_LIBS=/nowhere/libtool.so")
    assert.truthy(said:find("pmlua: the Kokkos tool /nowhere/libtool.so cannot be loaded", 1, true), said)
  end)

  it("counts events of its regions", function()
    local by_name, all, status = at.recorded "-o counted --event page-faults:u -- ./kokkos touch"
    assert.equal(0, status)
    local event = all.processes[1].events[1]
    assert.truthy(by_name.touch.events[event] >= 50, by_name.touch.events[event])
    assert.truthy(by_name.nothing.events[event] < 50)
  end)

  it("reports the same with PMLUA_REPORT alone", function()
    local library = support.build .. "/preload/libpmlua-record.so"
    local status = at.shell(("PMLUA_REPORT=alone KOKKOS_TOOLS_LIBS=%s ./kokkos good"):format(library))
    assert.equal(0, status)
    assert.same(expected, calls(sections "alone"))
  end)

  it("counts and names bad annotations, and continues", function()
    local _, _, status = at.recorded "-o bad -- ./kokkos bad"
    assert.equal(0, status)
    local list, text = sections "bad"
    assert.same({ unmatched = 4 }, list["(no begin)"].misuse)
    assert.equal(4, list["(null)"].calls)
    assert.equal(1, list["(empty)"].calls)
    assert.same({ foreign = 1 }, list.elsewhere.misuse)
    assert.equal(1, list.elsewhere.calls)
    assert.equal(1, list["left open"].running)
    local odd = list["bad \\xff\\xfe\\x0a\\x1b[31m bytes"]
    assert.equal(1, odd and odd.calls)
    local long = 0
    for name, of in pairs(list) do
      if name:find "^mmmm" then
        long = long + of.calls
        assert.equal(("m"):rep(4095) .. "…", name)
      end
    end
    assert.equal(1, long)
    for i = 0, 9 do assert.equal(1, list["reused " .. i].calls) end
    assert.truthy(text:find("misuse: Kokkos: (no begin) (*): unmatched, 4 times", 1, true), text)
  end)

  it("merges names beyond the limit into one section", function()
    local status = at.shell(("PMLUA_REPORT=many KOKKOS_TOOLS_LIBS=%s/preload/libpmlua-record.so ./kokkos many"):format(
      support.build))
    assert.equal(0, status)
    local out = support.done(at.shell(recording.command .. " report many --csv"))
    local rows, others = 0, nil
    for line in out:gmatch "[^\n]+" do
      rows = rows + 1
      others = others or line:match "^%(other names%),Kokkos,calculation,no,(%d+),"
    end
    assert.same({ 100002, "500" }, { rows, others })
  end)
end)
