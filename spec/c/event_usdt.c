/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_usdt.c - USDT probes: found by name, counted at all places. */
#include "check.h"

#define NOTE_SECTION ".note.stapsdt, \"\", @note"
#define BASE_SECTION ".stapsdt.base, \"aG\", @progbits, .stapsdt.base, comdat"

/* A place of a probe as sys/sdt.h marks it; SEMAPHORE is a symbol or 0. */
#define PROBE(PROVIDER, NAME, SEMAPHORE)                                                                               \
  __asm__ volatile("990: nop\n"                                                                                        \
                   ".pushsection " NOTE_SECTION "\n"                                                                   \
                   ".balign 4\n"                                                                                       \
                   ".4byte 992f-991f, 994f-993f, 3\n"                                                                  \
                   "991: .asciz \"stapsdt\"\n"                                                                         \
                   "992: .balign 4\n"                                                                                  \
                   "993: .8byte 990b, _.stapsdt.base, " SEMAPHORE "\n"                                                 \
                   ".asciz \"" PROVIDER "\"\n"                                                                         \
                   ".asciz \"" NAME "\"\n"                                                                             \
                   ".asciz \"\"\n"                                                                                     \
                   "994: .balign 4\n"                                                                                  \
                   ".popsection\n"                                                                                     \
                   ".ifndef _.stapsdt.base\n"                                                                          \
                   ".pushsection " BASE_SECTION "\n"                                                                   \
                   ".weak _.stapsdt.base\n"                                                                            \
                   ".hidden _.stapsdt.base\n"                                                                          \
                   "_.stapsdt.base: .space 1\n"                                                                        \
                   ".size _.stapsdt.base, 1\n"                                                                         \
                   ".popsection\n"                                                                                     \
                   ".endif\n"                                                                                          \
                   :                                                                                                   \
                   :                                                                                                   \
                   : "memory")

extern volatile unsigned short usdt_gate;
volatile unsigned short usdt_gate __attribute__((section(".probes"), used)) = 0;

static __attribute__((noinline)) void single(void) {
  PROBE("pmlua_spec", "single", "0");
}

static __attribute__((noinline)) void of_another(void) {
  PROBE("other_spec", "single", "0");
}

static __attribute__((noinline)) void twice(bool first) {
  if (first) {
    PROBE("pmlua_spec", "both", "0");
    (void)usdt_gate; /* a read, so that the compiler does not make one place of the two */
  } else {
    PROBE("pmlua_spec", "both", "0");
  }
}

/* Uses the macro of sys/sdt.h as recommended: expensive arguments are computed only while a counter is open. */
static __attribute__((noinline)) bool gated(void) {
  bool open = usdt_gate != 0;
  PROBE("pmlua_spec", "gated", "usdt_gate");
  return open;
}

static char self[256];

static int parse(struct pml_event *ev, const char *probe) {
  char name[PML_EVENT_NAME_MAX];
  (void)snprintf(name, sizeof name, "usdt:%.200s:%s", self, probe);
  return pml_event_parse(ev, name);
}

static void check_fails(const char *name, int code, const char *says) {
  struct pml_event ev;
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "%s: %s", name, pml_error_detail(err));
}

static void parses(void) {
  struct pml_event ev, other;
  CHECK(parse(&ev, "pmlua_spec:single") == 0 && ev.nparts == 1, "a probe with one place");
  CHECK(parse(&ev, "pmlua_spec:single:u") == 0 && ev.first.attr.exclude_kernel, "with a modifier");
  CHECK(parse(&ev, "pmlua_spec:both") == 0 && ev.nparts == 2, "a probe with two places has two parts: %u", ev.nparts);
  CHECK(ev.nparts == 2 && pml_event_part(&ev, 0).attr.probe_offset != pml_event_part(&ev, 1).attr.probe_offset,
        "each has its place");
  CHECK(parse(&other, "pmlua_spec:gated") == 0 && other.first.attr.config >> 32 != 0, "a semaphore is in the config");
  char text[PML_EVENT_NAME_MAX + 64];
  (void)snprintf(text, sizeof text, "usdt:%s:pmlua_spec:singel", self);
  check_fails(text, PML_ENOSYMBOL, "nearest: pmlua_spec:single");
  char *slash = strrchr(self, '/');
  (void)snprintf(text, sizeof text, "usdt:%.*s/../libpmlua.so:a:b", (int)(slash - self), self);
  check_fails(text, PML_ENOSYMBOL, "libpmlua.so has no USDT probes (no .note.stapsdt); readelf -n lists");
}

/* Write a copy of this program whose note of the probe "gated" has another address: 0: of the place, 2: of the
 * semaphore. */
static bool write_copy(const char *to, int field, uint64_t address) {
  static char bytes[1 << 24];
  FILE *from = fopen("/proc/self/exe", "rb"), *f = fopen(to, "wb");
  size_t n = from != NULL ? fread(bytes, 1, sizeof bytes, from) : 0;
  char *text = bytes;
  do text = memmem(text + 1, n - (size_t)(text + 1 - bytes), "pmlua_spec\0gated", sizeof "pmlua_spec\0gated");
  while (text != NULL && memcmp(text - 32, "stapsdt", sizeof "stapsdt") != 0); /* its owner, before three addresses */
  if (text != NULL && address != 0) memcpy(text + 8 * (field - 3), &address, sizeof address);
  bool written = text != NULL && f != NULL && fwrite(bytes, 1, n, f) == n;
  if (from != NULL) (void)fclose(from);
  return f != NULL && fclose(f) == 0 && written;
}

/* A damaged note leads to no place. */
static void damaged(void) {
  const char *temporary = getenv("TMPDIR");
  char path[120], name[PML_EVENT_NAME_MAX];
  struct pml_event ev;
  (void)snprintf(path, sizeof path, "%.80s/pmlua-usdt-%d", temporary != NULL ? temporary : "/tmp", (int)getpid());
  (void)snprintf(name, sizeof name, "usdt:%s:pmlua_spec:gated", path);
  CHECK(write_copy(path, 0, 0) && pml_event_parse(&ev, name) == 0, "a copy of this program has the probe");
  for (int field = 0; field <= 2; field += 2) {
    CHECK(write_copy(path, field, UINT64_C(1) << 40), "a copy whose address %d is outside of all segments", field);
    check_fails(name, PML_ENOSYMBOL, "pmlua_spec:");
  }
  (void)remove(path);
}

#define TIMES 1000

static void counts(void) {
  const char *probes[] = {"pmlua_spec:both", "pmlua_spec:single", "pmlua_spec:gated"};
  struct pml_eventset *set = NULL;
  char name[3][PML_EVENT_NAME_MAX];
  const char *names[3];
  uint64_t values[3];
  for (int i = 0; i < 3; i++) {
    (void)snprintf(name[i], sizeof name[i], "usdt:%.200s:%s", self, probes[i]);
    names[i] = name[i];
  }
  CHECK(!gated(), "nobody counts yet");
  int err = pml_eventset_open(&set, names, 3, NULL);
  if (err == -EACCES || err == PML_EPARANOID || err == PML_ECAP) {
    SKIP("this user may not place probes");
    return;
  }
  if (!CHECK(err == 0, "a set of three probes: %s", err ? pml_error_detail(err) : "")) return;
  (void)pml_eventset_start(set);
  CHECK(gated(), "the kernel raised the semaphore");
  for (int i = 0; i < TIMES; i++) {
    single();
    of_another();
    twice(i % 4 == 0);
    (void)gated();
  }
  (void)pml_eventset_read(set, values);
  CHECK(values[0] == TIMES && values[1] == TIMES && values[2] == TIMES + 1, "each is counted: %llu, %llu, %llu",
        (unsigned long long)values[0], (unsigned long long)values[1], (unsigned long long)values[2]);
  pml_eventset_close(set);
  CHECK(!gated(), "and lowered it");
}

int main(void) {
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0 || n > 180) SKIP("no path of this program");
  struct pml_event ev;
  int err = parse(&ev, "pmlua_spec:single");
  if (err == PML_ENOEVENT) SKIP("this kernel has no uprobe PMU");
  parses();
  damaged();
  counts();
  return check_done();
}
