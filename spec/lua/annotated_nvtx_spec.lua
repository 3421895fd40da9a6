-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/annotated_nvtx_spec.lua - tests of recording NVTX: a program with the pointers that NVTX's header defines.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

local client = support.C .. [[
#include "pml_nvtx.h"
typedef struct pml_nvtx_event E;
#define LIST(X) \
  X(1, 1, void, MarkEx, (const E *e)) X(1, 2, void, MarkA, (const char *t)) X(1, 3, void, MarkW, (const wchar_t *t)) \
  X(1, 4, uint64_t, RangeStartEx, (const E *e)) X(1, 5, uint64_t, RangeStartA, (const char *t)) \
  X(1, 6, uint64_t, RangeStartW, (const wchar_t *t)) X(1, 7, void, RangeEnd, (uint64_t id)) \
  X(1, 8, int, RangePushEx, (const E *e)) X(1, 9, int, RangePushA, (const char *t)) \
  X(1, 10, int, RangePushW, (const wchar_t *t)) \
  X(1, 11, int, RangePop, (void)) X(1, 14, void, NameOsThreadA, (uint32_t tid, const char *name)) \
  X(1, 12, void, NameCategoryA, (uint32_t category, const char *name)) \
  X(5, 1, void, DomainMarkEx, (void *d, const E *e)) X(5, 2, uint64_t, DomainRangeStartEx, (void *d, const E *e)) \
  X(5, 3, void, DomainRangeEnd, (void *d, uint64_t id)) X(5, 4, int, DomainRangePushEx, (void *d, const E *e)) \
  X(5, 5, int, DomainRangePop, (void *d)) X(5, 10, void *, DomainRegisterStringA, (void *d, const char *t)) \
  X(5, 11, void *, DomainRegisterStringW, (void *d, const wchar_t *t)) X(5, 12, void *, DomainCreateA, (const char *t)) \
  X(5, 14, void, DomainDestroy, (void *d)) X(6, 1, void *, DomainSyncUserCreate, (void *d, const struct pml_nvtx_lock *l)) \
  X(6, 3, void, DomainSyncUserAcquireStart, (void *l)) X(6, 4, void, DomainSyncUserAcquireFailed, (void *l)) \
  X(6, 5, void, DomainSyncUserAcquireSuccess, (void *l)) X(6, 6, void, DomainSyncUserReleasing, (void *l))
static void first(void) {}
#define POINTER(m, s, r, name, p) static r (*name##_) p = (r (*) p)(void *)first;
LIST(POINTER)
static pml_nvtx_function *slots[PML_NVTX_MODULES][16];
static int damage;
static int functions(int module, pml_nvtx_function ***out, unsigned *n) {
  if (module < 1 || module >= PML_NVTX_MODULES) return 0;
  *out = damage == 2 ? NULL : slots[module];
  *n = damage == 3 ? 2 : 16;
  return damage != 4;
}
static const void *tables(uint32_t id) {
  static struct pml_nvtx_callbacks c = {sizeof c, functions};
  if (damage == 5) c.bytes = 8;
  return id == PML_NVTX_CALLBACKS && damage != 1 ? &c : NULL;
}
/* What the tool leaves is cleared, as by the header. */
static int open_tool(const char *file) {
  void *library = file != NULL ? dlopen(file, RTLD_LAZY) : NULL;
  int (*init)(pml_nvtx_tables *) = library != NULL ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
  if (init == NULL) exit(98);
#define SLOT(m, s, r, name, p) slots[m][s] = (pml_nvtx_function *)(void *)&name##_;
  LIST(SLOT)
  int is = init(tables);
#define CLEAR(m, s, r, name, p) if (!is || (void *)name##_ == (void *)first) name##_ = NULL;
  LIST(CLEAR)
  return is;
}
#define CALL(name, ...) do { if (name##_ != NULL) name##_(__VA_ARGS__); } while (0)
static void expect(int is, const char *what) { if (!is) printf("wrong: %s\n", what); }
static E event(int type, const void *text, int payload, double value) {
  E e = {.version = 3, .bytes = sizeof e, .message_type = type, .message.ascii = text};
  e.payload_type = payload, e.payload.real = value;
  return e;
}
static uint64_t range, other;
static void *ends(void *arg) {
  CALL(NameOsThreadA, (uint32_t)syscall(SYS_gettid), "the helper");
  CALL(RangeEnd, range);
  CALL(DomainRangeEnd, arg, other);
  CALL(RangePushA, "helped"); CALL(RangePop, );
  return arg;
}
static void all(void) {
  expect(RangePushA_("outer") == 0 && RangePushW_(L"wide \u20ac") == 1, "levels of pushes");
  expect(RangePop_() == 1 && RangePop_() == 0 && RangePop_() < 0, "levels of pops");
  for (int i = 0; i < 200; i++) { CALL(RangePushA, i % 2 ? "odd" : "even"); CALL(RangePop, ); }
  void *d = DomainCreateA_("mine"), *s = DomainRegisterStringA_(d, "registered"), *w = DomainRegisterStringW_(d, L"wide one");
  expect(d == DomainCreateA_("mine") && s == DomainRegisterStringA_(d, "registered"), "the same handles");
  E known = event(PML_NVTX_REGISTERED, s, PML_NVTX_DOUBLE, 0), wide = event(PML_NVTX_REGISTERED, w, 0, 0);
  E text = event(PML_NVTX_ASCII, "text", 0, 0);
  for (int i = 1; i <= 100; i++) {
    known.payload.real = i;
    expect(DomainRangePushEx_(d, &known) == 0, "a level of a domain");
    CALL(RangePushA, "across");
    expect(DomainRangePop_(d) == 0, "a level of a domain");
    CALL(RangePop, );
  }
  for (int i = 0; i < 10; i++) { CALL(DomainRangePushEx, d, &text); CALL(DomainMarkEx, d, &wide); CALL(DomainRangePop, d); }
  for (int i = 0; i < 3; i++) { CALL(MarkA, "marked"); CALL(MarkEx, &text); CALL(MarkW, L"marked"); }
  range = RangeStartA_("across threads");
  other = DomainRangeStartEx_(d, &text);
  expect(range != 0 && other != 0 && range != other, "numbers of ranges");
  usleep(2000);
  pthread_t t;
  pthread_create(&t, NULL, ends, d);
  pthread_join(t, NULL);
  struct pml_nvtx_lock l = {3, sizeof l, PML_NVTX_ASCII, {"the lock"}};
  void *lock = DomainSyncUserCreate_(d, &l);
  for (int i = 0; i < 7; i++) {
    CALL(DomainSyncUserAcquireStart, lock);
    if (i < 2) CALL(DomainSyncUserAcquireFailed, lock);
    else CALL(DomainSyncUserAcquireSuccess, lock);
    CALL(DomainSyncUserReleasing, lock);
  }
  CALL(DomainDestroy, d);
}
static void bad(void) {
  static char long_text[1 << 20];
  memset(long_text, 'x', sizeof long_text - 1);
  E old = event(PML_NVTX_ASCII, "old", 0, 0), wild = event(PML_NVTX_REGISTERED, (void *)0xdeadbeef0, 77, 0);
  E empty = event(0, NULL, 0, 0);
  E odd = event(99, NULL, 0, 0), null = event(PML_NVTX_ASCII, NULL, 0, 0);
  wchar_t surrogates[] = {0xd800, 0x7fffffff, -1, 0};
  old.bytes = 8;
  CALL(RangeEnd, 0); CALL(RangeEnd, 12345); CALL(RangeEnd, ~0ull);
  CALL(RangePop, ); CALL(DomainRangePop, (void *)99);
  range = RangeStartA_("twice");
  CALL(RangeEnd, range); CALL(RangeEnd, range);
  const E *events[] = {&old, &wild, &empty, &odd, &null, NULL};
  for (int i = 0; i < 6; i++) {
    CALL(RangePushEx, events[i]); CALL(RangePop, );
    CALL(DomainRangePushEx, (void *)0xdeadbeef0, events[i]); CALL(DomainRangePop, (void *)0xdeadbeef0);
    CALL(MarkEx, events[i]);
  }
  CALL(RangePushA, long_text); CALL(RangePop, );
  CALL(RangePushA, "\xff\xfe"); CALL(RangePop, );
  CALL(RangePushA, NULL); CALL(RangePop, );
  CALL(RangePushW, surrogates); CALL(RangePop, );
  CALL(RangePushW, NULL); CALL(RangePop, );
  CALL(DomainDestroy, (void *)-1);
  (void)DomainRegisterStringA_((void *)77, NULL);
  (void)DomainSyncUserCreate_(NULL, NULL);
  CALL(DomainSyncUserAcquireSuccess, (void *)3);
  for (int i = 0; i < 100; i++) CALL(DomainRangePushEx, (void *)(intptr_t)i, &empty);
  for (int i = 0; i < 100000; i++) (void)RangeStartA_("never ended");
}
static void with_tool(void) {
  int pushed = RangePushA_("outer"), popped = RangePop_();
  void *d = DomainCreateA_("mine");
  E e = event(PML_NVTX_REGISTERED, DomainRegisterStringA_(d, "registered"), 0, 0);
  int in = DomainRangePushEx_(d, &e), out = DomainRangePop_(d);
  CALL(RangeEnd, RangeStartA_("range"));
  CALL(RangeEnd, 77);
  CALL(MarkA, "marked");
  printf("%d %d %d %d\n", pushed, popped, in, out);
}
static void names(void) {
  char text[32];
  void *d = DomainCreateA_("d");
  for (int i = 0; i < 150000; i++) {
    sprintf(text, "name %d", i);
    E e = event(PML_NVTX_REGISTERED, DomainRegisterStringA_(d, text), 0, 0);
    CALL(DomainRangePushEx, d, &e);
    CALL(DomainRangePop, d);
  }
}
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "all";
  damage = how[0] >= '1' && how[0] <= '9' ? how[0] - '0' : 0;
  int is = open_tool(getenv("NVTX_INJECTION64_PATH"));
  if (strcmp(how, "all") == 0) all();
  else if (strcmp(how, "bad") == 0) bad();
  else if (strcmp(how, "tool") == 0) with_tool();
  else if (strcmp(how, "names") == 0) names();
  else { CALL(RangePushA, "one"); CALL(RangePop, ); }
  printf("%d %d\n", is, NameCategoryA_ == NULL);
  return 0;
}
]]

--- Another tool, with its own handles. At its end it prints the number of its calls and of wrong arguments.
local tool = support.C .. [[
#include "pml_nvtx.h"
static long pushed, popped, started, ended, marked, wrong;
static int push(const char *t) { pushed++; return 41; }
static int pop(void) { popped++; return 42; }
static void mark(const char *t) { marked++; }
static uint64_t start(const char *t) { started++; return 77; }
static void end(uint64_t id) { ended++; wrong += id != 77; }
static void *create(const char *name) { return (void *)0x1234; }
static void *string(void *d, const char *t) { wrong += d != (void *)0x1234; return (void *)0x5678; }
static int push_in(void *d, const struct pml_nvtx_event *e) {
  pushed++;
  wrong += d != (void *)0x1234 || (e->message_type == PML_NVTX_REGISTERED && e->message.registered != (void *)0x5678);
  return 43;
}
static int pop_in(void *d) { popped++; wrong += d != (void *)0x1234; return 44; }
int InitializeInjectionNvtx2(pml_nvtx_tables *tables) {
  const struct pml_nvtx_callbacks *c = tables(PML_NVTX_CALLBACKS);
  pml_nvtx_function **core, **core2;
  unsigned n;
  c->functions(PML_NVTX_CORE, &core, &n);
  c->functions(PML_NVTX_CORE2, &core2, &n);
  *core[2] = (pml_nvtx_function)mark, *core[5] = (pml_nvtx_function)start, *core[7] = (pml_nvtx_function)end;
  *core[9] = (pml_nvtx_function)push, *core[11] = (pml_nvtx_function)pop;
  *core2[4] = (pml_nvtx_function)push_in, *core2[5] = (pml_nvtx_function)pop_in;
  *core2[10] = (pml_nvtx_function)string, *core2[12] = (pml_nvtx_function)create;
  return 1;
}
__attribute__((destructor)) static void say(void) {
  printf("tool %ld %ld %ld %ld %ld %ld\n", pushed, popped, started, ended, marked, wrong);
}
]]

local nvtx = require "spec.lua.annotated".of(at, "NVTX")

local PLANTED <const> = { outer = 1, ["wide €"] = 1, even = 100, odd = 100, ["mine/registered"] = 100, ["mine/text"] = 11,
  ["mine/wide one"] = 10, marked = 6, text = 3, ["across threads"] = 1, helped = 1, ["mine/wait the lock"] = 7 }

describe("pmlua record of NVTX", function()
  setup(function()
    support.compile(at.dir, { ["client.c"] = client, ["pml_nvtx.h"] = support.slurp "core/interface/nvtx/pml_nvtx.h" },
      "gcc -O1 -w -rdynamic client.c -o client -ldl -lpthread")
  end)
  teardown(support.cleanup)

  it("counts ranges, marks, domains, registered strings and waits as the program made them", function()
    local calls, rows, _, status, err, out = nvtx.record "all"
    assert.same({ 0, "1 1\n" }, { status, out }, err)
    calls.across = nil -- it crosses ranges of another domain, and so is left and entered again
    assert.same(PLANTED, calls)
    -- these ended on another thread, 2 ms after they began
    assert.is_true(rows["across threads"].inclusive_ns >= 2e6 and rows["mine/text"].max_ns >= 2e6)
    assert.is_true(rows.outer.inclusive_ns >= rows["wide €"].inclusive_ns)
  end)

  it("has payloads as values of a recorder, and ranges that cross", function()
    local sections, events = nvtx.reported "all"
    local values = events["NVTX::mine/registered"]
    assert.same({ 100, 1, 100 }, { values.value, values.min, values.max })
    assert.same({ 100, 100 }, { sections.across.calls, sections["mine/registered"].calls })
  end)

  it("attaches to no table of another version", function()
    for damage = 1, 5 do
      local calls, _, _, status, err = nvtx.record(damage)
      assert.equal(0, status, err)
      assert.is_nil(calls.one)
      if damage == 1 or damage == 5 then assert.equal(1, calls["(unknown version of NVTX)"]) end
    end
  end)

  it("survives wrong numbers, handles, versions and texts, and counts misuse", function()
    local calls, _, _, status, err = nvtx.record "bad"
    assert.equal(0, status, err)
    assert.same({ 1, 9 }, { calls.twice, calls["(unknown version of NVTX)"] + calls["(no message)"] })
    local sections = nvtx.reported "bad"
    assert.equal(6, sections["(no begin)"].misuse.unmatched) -- 3 wrong numbers, 2 pops, the second end of a range
  end)

  it("lets another tool have the same calls, with its own handles and results", function()
    support.compile(at.dir, { ["tool.c"] = tool, ["pml_nvtx.h"] = support.slurp "core/interface/nvtx/pml_nvtx.h" },
      "gcc -shared -fPIC -w tool.c -o tool.so")
    local calls, _, _, status, err, out = nvtx.record("tool", nil, "NVTX_INJECTION64_PATH=$PWD/tool.so")
    assert.same({ 0, "41 42 43 44\n1 1\ntool 2 2 1 1 1 0\n" }, { status, out }, err)
    assert.same({ outer = 1, ["mine/registered"] = 1, range = 1, marked = 1 }, calls)
  end)

  it("limits the number of names", function()
    local calls, _, _, status, err = nvtx.record "names"
    local n = 0
    for _, count in pairs(calls) do n = n + count end
    assert.same({ 0, 150000 }, { status, n }, err)
    assert.is_true(calls["(other names)"] >= 50000)
  end)

  it("names threads in the trace", function()
    local _, _, _, status, err, _, folder = nvtx.record("all", "--trace")
    assert.equal(0, status, err)
    local _, text = at.printed(folder, {}, "-G")
    assert.truthy(text:find("thread %d+ the helper"))
    assert.same({ 100, 100 }, { at.traced(folder).odd, at.traced(folder)["mine/registered"] })
  end)
end)
