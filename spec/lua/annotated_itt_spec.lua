-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/annotated_itt_spec.lua - tests of recording ITT: a program with a static part and known calls, and TBB.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()
local itt = require "spec.lua.annotated".of(at, "ITT")

--- A static part: pointers for functions, and their list. Calls of functions that the tool lacks do nothing.
local client = support.C .. [[
#include "pml_itt.h"
#define D struct pml_itt_domain *d
#define N struct pml_itt_string *n
#define I struct pml_itt_id id
#define LIST(X) \
  X(struct pml_itt_domain *, domain_create, (const char *name)) \
  X(struct pml_itt_string *, string_handle_create, (const char *name)) \
  X(struct pml_itt_counter *, counter_create, (const char *name, const char *domain)) \
  X(struct pml_itt_counter *, counter_create_typed, (const char *name, const char *domain, int type)) \
  X(unsigned long long, get_timestamp, (void)) X(int, event_create, (const char *name, int n)) \
  X(int, event_start, (int event)) X(int, event_end, (int event)) \
  X(void, pause, (void)) X(void, resume, (void)) X(void, thread_set_name, (const char *name)) \
  X(void, task_begin, (D, I, struct pml_itt_id parent, N)) X(void, task_end, (D)) \
  X(void, task_begin_fn, (D, I, struct pml_itt_id parent, void *f)) \
  X(void, task_begin_overlapped, (D, I, struct pml_itt_id parent, N)) X(void, task_end_overlapped, (D, I)) \
  X(void, region_begin, (D, I, struct pml_itt_id parent, N)) X(void, region_end, (D, I)) \
  X(void, frame_begin_v3, (D, struct pml_itt_id *id)) X(void, frame_end_v3, (D, struct pml_itt_id *id)) \
  X(void, frame_submit_v3, (D, struct pml_itt_id *id, unsigned long long b, unsigned long long e)) \
  X(void, marker, (D, I, N, int scope)) \
  X(void, metadata_add, (D, I, N, int type, size_t count, void *data)) \
  X(void, metadata_str_add, (D, I, N, const char *text, size_t length)) \
  X(void, counter_inc, (struct pml_itt_counter *c)) \
  X(void, counter_inc_delta, (struct pml_itt_counter *c, unsigned long long by)) \
  X(void, counter_dec, (struct pml_itt_counter *c)) X(void, counter_set_value, (struct pml_itt_counter *c, void *value)) \
  X(void, sync_create, (void *lock, const char *type, const char *name, int kind)) X(void, sync_prepare, (void *lock)) \
  X(void, sync_acquired, (void *lock)) X(void, sync_cancel, (void *lock)) X(void, sync_releasing, (void *lock)) \
  X(void, heap_allocate_begin, (void *h, size_t size, int zero))
static void first(void) {}
#define POINTER(r, name, p) static r (*name##_) p = (r (*) p)(void *)first;
LIST(POINTER)
#define ROW(r, name, p) {"__itt_" #name, (void **)(void *)&name##_, (void *)first, NULL, 0},
static struct pml_itt_function rows[] = {LIST(ROW) {0}};
#define OLD(r, name, p) {"__itt_" #name, (void **)(void *)&name##_, (void *)first, 0},
static struct pml_itt_function_without_none old_rows[] = {LIST(OLD) {0}};
static struct pml_itt_global global = {.magic = PML_ITT_MAGIC, .major = 3, .minor = 24, .build = 20230630, .functions = rows};
#define CALL(name, ...) do { if ((void *)name##_ != NULL && (void *)name##_ != (void *)first) name##_(__VA_ARGS__); } while (0)
static void open_tool(void) {
  void *library = dlopen(getenv("INTEL_LIBITTNOTIFY64"), RTLD_LAZY);
  void (*init)(struct pml_itt_global *, int) = library != NULL ? dlsym(library, "__itt_api_init") : NULL;
  global.library = library;
  if (init == NULL) exit(98);
  init(&global, -1);
}
static const struct pml_itt_id none;
static struct pml_itt_domain early = {.enabled = 1, .name = "early"};
static struct pml_itt_string solve = {.text = "solve"}, inner = {.text = "inner"};
static struct pml_itt_counter hits = {.name = "hits", .domain = "early", .type = PML_ITT_U64};
static void *ends(void *arg) {
  CALL(thread_set_name, "the helper");
  CALL(task_end_overlapped, &early, ((struct pml_itt_id){{1, 2, 3}}));
  CALL(frame_end_v3, &early, NULL);
  for (int i = 0; i < 20; i++) { CALL(task_begin, &early, none, none, &inner); CALL(task_end, &early); }
  return arg;
}
static void in_thread(void *(*f)(void *)) {
  pthread_t t;
  pthread_create(&t, NULL, f, NULL);
  pthread_join(t, NULL);
}
void by_address(void) {}
static void all(void) {
  struct pml_itt_domain *late = domain_create_("late");
  struct pml_itt_string *step = string_handle_create_("step");
  if (late != domain_create_("late") || step != string_handle_create_("step") || domain_create_(NULL) != NULL) exit(3);
  for (int i = 0; i < 100; i++) {
    CALL(task_begin, &early, none, none, &solve);
    for (int k = 0; k < 3; k++) { CALL(task_begin, &early, none, none, &inner); CALL(task_end, &early); }
    CALL(task_end, &early);
  }
  CALL(task_begin, late, none, none, step);
  CALL(task_end, late);
  CALL(task_begin_fn, late, none, none, (void *)by_address);
  CALL(task_end, late);
  CALL(task_begin_overlapped, &early, ((struct pml_itt_id){{1, 2, 3}}), none, step);
  CALL(region_begin, &early, ((struct pml_itt_id){{1, 2, 3}}), none, &inner);
  CALL(region_end, &early, ((struct pml_itt_id){{1, 2, 3}}));
  CALL(frame_begin_v3, &early, NULL);
  usleep(2000);
  in_thread(ends);
  for (int i = 0; i < 4; i++) {
    struct pml_itt_id id = {{(unsigned long long)i, 0, 0}};
    CALL(frame_begin_v3, late, &id);
    CALL(frame_end_v3, late, &id);
  }
  unsigned long long t = get_timestamp_();
  usleep(3000);
  CALL(frame_submit_v3, late, NULL, t, get_timestamp_());
  for (int i = 0; i < 5; i++) CALL(marker, late, none, &inner, 1);
  int event = event_create_("legacy", 6);
  for (int i = 0; i < 6; i++) { CALL(event_start, event); CALL(event_end, event); }
  struct pml_itt_counter *level = counter_create_typed_("level", "late", PML_ITT_DOUBLE);
  double value = 2.5, many[3] = {1, 2, 6};
  for (int i = 0; i < 42; i++) CALL(counter_inc, &hits);
  CALL(counter_dec, &hits);
  CALL(counter_inc_delta, &hits, 100);
  CALL(counter_set_value, level, &value);
  CALL(metadata_add, late, none, step, PML_ITT_DOUBLE, 3, many);
  for (int i = 0; i < 3; i++) CALL(metadata_str_add, late, none, step, i == 0 ? "text" : "textual", i == 0 ? 0 : 4);
  CALL(sync_create, &early, "mutex", "the lock", 2);
  for (int i = 0; i < 7; i++) { CALL(sync_prepare, &early); CALL(sync_acquired, &early); CALL(sync_releasing, &early); }
  CALL(sync_acquired, &early); /* without waiting */
  CALL(sync_prepare, &early);
  CALL(sync_cancel, &early);
  CALL(pause, );
  for (int i = 0; i < 50; i++) { CALL(task_begin, late, none, none, step); CALL(task_end, late); }
  CALL(resume, );
  CALL(heap_allocate_begin, NULL, 1, 0);
}
static void cross(void) { /* tasks of two domains */
  struct pml_itt_domain *late = domain_create_("late");
  for (int i = 0; i < 3; i++) {
    CALL(task_begin, &early, none, none, &solve);
    CALL(task_begin, late, none, none, &inner);
    CALL(task_end, &early);
    CALL(task_end, late);
  }
}
static void bad(void) {
  static char long_text[1 << 20], wrong[] = "\xff\xfe\x80";
  struct pml_itt_string is_long = {.text = long_text}, is_wrong = {.text = wrong}, is_null = {.text = NULL};
  memset(long_text, 'x', sizeof long_text - 1);
  CALL(task_end, &early);
  CALL(task_end, NULL);
  CALL(task_end_overlapped, &early, ((struct pml_itt_id){{9, 9, 9}}));
  CALL(region_end, NULL, none);
  CALL(frame_end_v3, NULL, NULL);
  CALL(event_start, -1);
  CALL(event_end, 1 << 24);
  CALL(event_end, 0);
  for (int i = 0; i < 2; i++) CALL(task_begin_overlapped, &early, ((struct pml_itt_id){{4, 4, 4}}), none, &solve);
  for (int i = 0; i < 3; i++) CALL(task_end_overlapped, &early, ((struct pml_itt_id){{4, 4, 4}}));
  for (int i = 0; i < 3; i++) {
    CALL(task_begin, NULL, none, none, i == 0 ? &is_long : i == 1 ? &is_wrong : &is_null);
    CALL(task_end, NULL);
  }
  CALL(task_begin, &early, none, none, NULL);
  CALL(task_end, &early);
  CALL(counter_set_value, &hits, NULL);
  CALL(counter_inc, NULL);
  struct pml_itt_counter odd = {.type = 77};
  CALL(counter_inc, &odd);
  CALL(counter_set_value, &odd, &odd);
  CALL(metadata_add, NULL, none, NULL, PML_ITT_DOUBLE, 1, NULL);
  CALL(metadata_str_add, NULL, none, NULL, NULL, 1);
  CALL(metadata_str_add, NULL, none, NULL, long_text, sizeof long_text);
  CALL(sync_create, NULL, NULL, NULL, 0);
  for (int i = 0; i < 30; i++) CALL(sync_prepare, &early + i);
  CALL(sync_acquired, NULL);
  CALL(frame_submit_v3, &early, NULL, 5, 1);
  CALL(frame_submit_v3, &early, NULL, 5, ~0ull);
  CALL(thread_set_name, long_text);
  for (int i = 0; i < 100000; i++) CALL(task_begin_overlapped, &early, ((struct pml_itt_id){{(unsigned)i, 5, 5}}), none, &inner);
}
static void names(void) {
  struct pml_itt_domain *d = domain_create_("d");
  char text[32];
  for (int i = 0; i < 150000; i++) {
    sprintf(text, "name %d", i);
    CALL(task_begin, d, none, none, string_handle_create_(text));
    CALL(task_end, d);
  }
}
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "all";
  if (strcmp(how, "old") == 0) { global.build = 20101001; global.functions = old_rows; }
  if (strcmp(how, "magic") == 0) global.magic[3] ^= 1;
  if (strcmp(how, "major") == 0) global.major = 4;
  if (strcmp(how, "empty") == 0) global.functions = NULL;
  if (strcmp(how, "rows") == 0) rows[0].at = NULL;
  open_tool();
  if (strcmp(how, "all") == 0 || strcmp(how, "old") == 0) all();
  else if (strcmp(how, "bad") == 0) bad();
  else if (strcmp(how, "cross") == 0) cross();
  else if (strcmp(how, "names") == 0) names();
  else { CALL(task_begin, &early, none, none, &solve); CALL(task_end, &early); }
  printf("%d\n", (void *)heap_allocate_begin_ == (void *)first);
  return 0;
}
]]

--- Another tool, which prints at its end how often it was called, and creates its own domains.
local tool = support.C .. [[
#include "pml_itt.h"
static long begun, ended, created;
static struct pml_itt_domain own = {.enabled = 1, .name = "a domain of the tool"};
void __itt_task_begin(const void *d, struct pml_itt_id id, struct pml_itt_id parent, const struct pml_itt_string *n) {
  begun += n != NULL && d != NULL;
}
void __itt_task_end(const void *d) { ended++; }
struct pml_itt_domain *__itt_domain_create(const char *name) { created++; return &own; }
#ifdef INIT
void __itt_api_init(struct pml_itt_global *g, int group) {
  for (struct pml_itt_function *f = g->functions; f->name != NULL; f++) {
    void *mine = dlsym(g->library, f->name);
    *f->at = mine != NULL ? mine : f->none;
  }
}
#endif
__attribute__((destructor)) static void say(void) { printf("tool %ld %ld %ld\n", begun, ended, created); }
]]

local PLANTED <const> = { ["early/solve"] = 100, ["early/inner"] = 300 + 1 + 20, ["late/step"] = 1, ["late/by_address"] = 1,
  ["early/step"] = 1, ["early/frame"] = 1, ["late/frame"] = 5, ["late/inner"] = 5, ["late/step=text"] = 3,
  legacy = 6, ["wait the lock"] = 8 }

describe("pmlua record of ITT", function()
  setup(function()
    support.compile(at.dir, { ["client.c"] = client, ["pml_itt.h"] = support.slurp "core/interface/itt/pml_itt.h" },
      "gcc -O1 -w -rdynamic client.c -o client -ldl -lpthread")
  end)
  teardown(support.cleanup)

  it("counts tasks, frames, regions, markers, legacy events and waits as the program made them", function()
    local calls, rows, _, status, err, out = itt.record "all"
    assert.same({ 0, "0\n" }, { status, out }, err)
    assert.same(PLANTED, calls)
    -- these ended on another thread, 2 ms after they began
    assert.is_true(rows["early/frame"].inclusive_ns >= 2e6 and rows["early/step"].inclusive_ns >= 2e6)
    assert.is_true(rows["late/frame"].max_ns >= 3e6) -- submitted with its times
    -- nested tasks are within their task
    assert.is_true(rows["early/solve"].inclusive_ns > rows["early/solve"].exclusive_ns)
  end)

  it("reads the list of functions of older versions", function()
    local calls, _, _, status = itt.record "old"
    assert.same({ 0, PLANTED }, { status, calls })
  end)

  it("uses no struct of another version, and says so", function()
    for _, damage in ipairs { "magic", "major", "empty" } do
      local calls, _, _, status, err, out = itt.record(damage)
      assert.same({ 0, { ["(unknown version of ITT)"] = 1 }, "1\n" }, { status, calls, out }, err)
    end
    local calls, _, _, status = itt.record "rows"
    assert.same({ 0, { ["early/solve"] = 1 } }, { status, calls })
  end)

  it("survives ends without begins, wrong ids, odd texts and too many open regions", function()
    local calls, _, _, status, err = itt.record "bad"
    assert.equal(0, status, err)
    assert.same({ 2, 1, 1 }, { calls["early/solve"], calls["???"], calls["early/(null)"] })
    for name in pairs(calls) do assert.is_true(#name <= 4200) end
  end)

  it("counts misuse in the section that is misused", function()
    -- two tasks, an overlapped one, a region, a frame, the third end of an id, three events, each once
    assert.equal(9, itt.reported("bad")["(no begin)"].misuse.unmatched)
  end)

  it("has counters as software-defined events, and metadata as values of a recorder", function()
    local _, events = itt.reported "all"
    assert.same({ 141, 2.5 }, { events["ITT::early/hits"].value, events["ITT::late/level"].value })
    local values = events["ITT::late/step"]
    assert.same({ 3, 1, 6 }, { values.value, values.min, values.max })
  end)

  it("lets tasks of two domains cross", function()
    local rows = itt.reported "cross"
    assert.same({ 3, 3 }, { rows["early/solve"].calls, rows["late/inner"].calls })
    assert.is_nil(rows["early/solve"].misuse)
  end)

  it("lets another tool have the same calls", function()
    for _, how in ipairs { "", "-DINIT" } do
      support.compile(at.dir, { ["tool.c"] = tool, ["pml_itt.h"] = support.slurp "core/interface/itt/pml_itt.h" },
        ("gcc -shared -fPIC -w %s tool.c -o tool.so"):format(how))
      local calls, _, _, status, err, out = itt.record("cross", nil, "INTEL_LIBITTNOTIFY64=$PWD/tool.so")
      assert.same({ 0, "0\ntool 6 6 1\n" }, { status, out }, err)
      assert.equal(3, calls["early/solve"])
      assert.truthy(calls["a domain of the tool/inner"])
    end
  end)

  it("names another tool that cannot be loaded", function()
    local calls, _, _, status = itt.record("cross", nil, "INTEL_LIBITTNOTIFY64=$PWD/gone.so")
    assert.same({ 0, 3 }, { status, calls["early/solve"] })
    local said
    for name in pairs(calls) do said = said or name:match "another tool is not used: .*gone%.so" end
    assert.truthy(said)
  end)

  it("limits the number of names", function()
    local calls, _, _, status, err = itt.record "names"
    local n, others = 0, calls["d/(other names)"] or 0
    for name, count in pairs(calls) do n, others = n + count, others + (name == "(other names)" and count or 0) end
    assert.same({ 0, 150000 }, { status, n }, err)
    assert.is_true(others >= 50000)
  end)

  it("names threads in the trace", function()
    local _, _, _, status, err, _, folder = itt.record("all", "--trace")
    assert.equal(0, status, err)
    local _, text = at.printed(folder, {}, "-G")
    assert.truthy(text:find("thread %d+ the helper"))
    -- an overlapping region is in no trace
    assert.same({ 100, 320 }, { at.traced(folder)["early/solve"], at.traced(folder)["early/inner"] })
  end)

  support.it_unless(function()
    return not support.exists "/usr/include/tbb/flow_graph.h" and "no headers of TBB (libtbb-dev)"
  end)(
    "counts messages of a flow graph of TBB, and the program's own events", function()
    local program = [[
      #define TBB_USE_PROFILING_TOOLS 1
      #include <tbb/flow_graph.h>
      #include <tbb/profiling.h>
      #include <cstdio>
      int main() {
        long sum = 0;
        tbb::flow::graph g;
        tbb::flow::function_node<int, int> body(g, 1, [&](int v) { sum += v; return v; });
        for (int i = 0; i < 25; i++) body.try_put(i);
        g.wait_for_all();
        tbb::profiling::event planted("planted");
        for (int i = 0; i < 13; i++) planted.emit();
        printf("%ld\n", sum);
      }]]
    support.compile(at.dir, { ["tbb.cpp"] = program }, "g++ -O1 -w tbb.cpp -o client -ltbb")
    local calls, rows, _, status, err, out = itt.record ""
    assert.same({ 0, "300\n" }, { status, out }, err)
    local events = 0
    for name, n in pairs(calls) do events = events + (name:find "planted$" and n or 0) end
    assert.same({ 25, 13 }, { calls["tbb.flow/body"], events })
    assert.equal(0, rows["tbb.flow/body"].unreturned)
  end)
end)
