/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/pmu_page.c - the page reader on the pages of real events, each read bracketed by read(2): both widths, many
 * events on few counters, and a reader that is held up inside its read. Needs a PMU that user space may read.
 *
 * Only the header is put to the test, so it can be built against a broken copy of it. An argument is the number of
 * reads.
 */
#include <stdint.h>

static uint64_t held_up(uint32_t counter);
#define PML_RDPMC_INSN(counter) held_up(counter)

#include "source/kernel/pml_rdpmc.h"

#include "check.h"

#include <inttypes.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define CROWD 14 /* more than any counter set we know, so that they take turns */
#define HOLD_NS 2500000

#if defined(__aarch64__)
static const uint64_t config1_of[] = {2, 3}; /* user access with 32 bits, and with 64 */
#else
static const uint64_t config1_of[] = {0};
#endif
#define WIDTHS (sizeof config1_of / sizeof config1_of[0])

struct counted {
  int fd;
  volatile struct perf_event_mmap_page *page;
  struct pml_reading last;
};

static struct {
  uint64_t reads, by_page, left;
  bool broken;
} seen;

static struct {
  int before, after; /* hold up before or after the instruction, that many times */
  unsigned instructions;
} hold;

/* One violation is told, with a name; the rest would follow from it. */
static bool holds(const char *name, bool good, uint64_t got, uint64_t min, uint64_t max) {
  if (good || seen.broken) return good;
  seen.broken = true;
  printf("violation: %s after %" PRIu64 " reads: %" PRIu64 " not in [%" PRIu64 ", %" PRIu64 "]\n", name, seen.reads,
         got, min, max);
  fflush(stdout);
  return false;
}

static bool is_within(const char *name, uint64_t v, uint64_t min, uint64_t max) {
  return holds(name, v - min <= max - min, v, min, max);
}

/* Long enough for the kernel to give the counters to others. */
static void wait_inside(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t start = t.tv_sec * INT64_C(1000000000) + t.tv_nsec, now = start;
  for (int i = 0; i < 10000000 && now - start < HOLD_NS; i++) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    now = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
  }
}

static uint64_t held_up(uint32_t counter) {
  if (++hold.instructions > PML_RDPMC_TRIES) {
    holds("bounded", false, hold.instructions, 1, PML_RDPMC_TRIES);
    _Exit(1);
  }
  if (hold.before > 0) {
    hold.before--;
    wait_inside();
  }
  uint64_t v = 0;
  (void)pml__rdpmc_insn(NULL, counter, &v);
  if (hold.after > 0) {
    hold.after--;
    wait_inside();
  }
  return v;
}

static int open_event(struct counted *c, uint64_t config, uint64_t config1) {
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                 .size = sizeof attr,
                                 .config = config,
                                 .config1 = config1,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1,
                                 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
  *c = (struct counted){.fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)};
  if (c->fd < 0) return -errno;
  void *m = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, c->fd, 0);
  c->page = m == MAP_FAILED ? NULL : m;
  return c->page == NULL ? -EPERM : 0;
}

static void close_event(struct counted *c) {
  if (c->page != NULL) munmap((void *)(uintptr_t)c->page, (size_t)sysconf(_SC_PAGESIZE));
  if (c->fd >= 0) close(c->fd);
}

static bool by_kernel(const struct counted *c, struct pml_reading *r) {
  return read(c->fd, r, sizeof *r) == (ssize_t)sizeof *r;
}

/* read(2), page, read(2); a read that needs the kernel is counted, and correct by definition. */
static void bracketed(struct counted *c, bool timed) {
  struct pml_reading a, z, r = {.raw = 11, .enabled_ns = 12, .running_ns = 13};
  hold.instructions = 0;
  if (!holds("read", by_kernel(c, &a), 0, 0, 0)) return;
  int tries = timed ? pml_rdpmc_read(c->page, &r) : pml_rdpmc_count(c->page, &r.raw);
  if (!holds("read", by_kernel(c, &z), 0, 0, 0)) return;
  hold.before = hold.after = 0;
  seen.reads++;
  seen.by_page += tries > 0;
  seen.left += tries == 0;
  if (tries == 0) {
    holds("untouched", r.raw == 11 && r.enabled_ns == 12 && r.running_ns == 13, r.raw, 11, 11);
    return;
  }
  holds("told", (unsigned)tries >= hold.instructions, (uint64_t)tries, hold.instructions, PML_RDPMC_TRIES);
  is_within("bracketed", r.raw, a.raw, z.raw);
  holds("monotonic", r.raw >= c->last.raw, r.raw, c->last.raw, z.raw);
  c->last.raw = r.raw;
  if (!timed) return;
  is_within("times", r.enabled_ns, a.enabled_ns, z.enabled_ns);
  is_within("times", r.running_ns, a.running_ns, z.running_ns);
}

/* The expected result of a copy: 0, that is read(2), if @readable is false. */
static void copy_is_left(const char *name, volatile struct perf_event_mmap_page *copy, bool timed, bool readable) {
  struct pml_reading r = {0};
  hold.instructions = 0;
  int tries = timed ? pml_rdpmc_read(copy, &r) : pml_rdpmc_count(copy, &r.raw);
  seen.reads++;
  holds(name, (tries > 0) == readable, (uint64_t)tries, readable, readable);
}

/* States that this machine's kernel never shows during the test: a modified copy of its page. */
static void copies(const struct counted *c) {
  struct perf_event_mmap_page original, copy;
  memcpy(&original, (const void *)(uintptr_t)c->page, sizeof original);
  if (original.index == 0) return;
  copy = original;
  copy_is_left("still", &copy, true, true);
  copy.lock = original.lock | 1;
  copy_is_left("stalled", &copy, false, false);
  copy = original;
  copy.cap_user_rdpmc = 0;
  copy_is_left("unreadable", &copy, false, false);
  copy = original;
  copy.index = 0;
  copy_is_left("unreadable", &copy, false, false);
  copy = original;
  copy.cap_user_time = 0;
  copy_is_left("unreadable", &copy, true, false);
  copy_is_left("still", &copy, false, true);
  if (PML_RDPMC_COUNTERS != UINT32_MAX) {
    copy = original;
    copy.index = PML_RDPMC_COUNTERS + 1;
    copy_is_left("unreadable", &copy, false, false);
  }
}

/* A clock of 12 bits whose last wrap was at 2^40: the time read is within one period of it. */
static void short_clock(const struct counted *c) {
  struct perf_event_mmap_page copy;
  struct pml_reading r = {0};
  memcpy(&copy, (const void *)(uintptr_t)c->page, sizeof copy);
  if (copy.index == 0 || !copy.cap_user_time) return;
  copy.cap_user_time_short = 1;
  copy.time_mask = 0xfff;
  copy.time_cycles = UINT64_C(1) << 40;
  copy.time_shift = 4;
  copy.time_mult = 48; /* 3 ns each */
  copy.time_offset = -(UINT64_C(3) << 40);
  copy.time_enabled = 1000;
  hold.instructions = 0;
  int tries = pml_rdpmc_read(&copy, &r);
  seen.reads++;
  if (holds("still", tries == 1, (uint64_t)tries, 1, 1)) is_within("times", r.enabled_ns, 1000, 1000 + 3 * 0xfff);
}

static bool alone(uint64_t config, uint64_t config1, uint64_t reads) {
  struct counted c;
  int rc = open_event(&c, config, config1);
  bool usable = rc == 0 && c.page->cap_user_rdpmc && c.page->index != 0;
  if (usable) {
    uint64_t by_page = seen.by_page;
    unsigned width = c.page->pmc_width;
    for (uint64_t i = 0; i < reads && !seen.broken; i++) bracketed(&c, i % 2 == 0);
    holds("still", seen.broken || seen.by_page > by_page, 0, 1, reads);
    CHECK(!seen.broken, "event %" PRIu64 " alone, %u bits: every page read lies between two read(2)s", config, width);
  }
  close_event(&c);
  if (!usable) SKIP("an event that does not open, or whose counter user space may not read");
  return usable;
}

static void doctored(uint64_t config1) {
  struct counted c;
  if (open_event(&c, PERF_COUNT_HW_CPU_CYCLES, config1) == 0 && c.page->index != 0) {
    copies(&c);
    if (!seen.broken) short_clock(&c);
    CHECK(!seen.broken, "pages that this kernel never shows, made here: read, or left to read(2)");
  }
  close_event(&c);
}

/* Both kinds on a page as the kernel writes it while they take turns, with a cycle counter that always runs. */
static void crowd(uint64_t config1, uint64_t reads) {
  struct counted c[CROWD], cycles;
  size_t n = 0;
  uint64_t by_page = seen.by_page, left = seen.left;
  bool live = open_event(&cycles, PERF_COUNT_HW_CPU_CYCLES, config1 | 1) == 0;
  for (; n < CROWD; n++)
    if (open_event(&c[n], PERF_COUNT_HW_INSTRUCTIONS, config1) != 0) break;
  for (uint64_t i = 0; n == CROWD && i < reads && !seen.broken; i++) {
    if (i % 8 == 0) hold.before = 1;
    if (i % 8 == 4) hold.after = 1;
    bracketed(&c[i % n], i % 3 == 0);
    if (live && !seen.broken) bracketed(&cycles, true);
  }
  by_page = seen.by_page - by_page, left = seen.left - left;
  if (n < CROWD)
    SKIP("the kernel does not open so many events of this width for user space");
  else
    CHECK(!seen.broken && by_page > 0,
          "%zu events and a delay inside the read: %" PRIu64 " by page, %" PRIu64 " left to read(2), none mixed", n,
          by_page, left);
  if (n == CROWD && left == 0) SKIP("all events had a counter all the time: none was seen without one");
  while (n > 0) close_event(&c[--n]);
  close_event(&cycles);
}

/* The shortest intervals that the kernel allows, so that a read meets their ends; unchanged if they cannot be set. */
static void short_turns(void) {
  static const char *const file[] = {"/sys/bus/event_source/devices/armv8_pmuv3_0/perf_event_mux_interval_ms",
                                     "/sys/bus/event_source/devices/armv8_pmuv3/perf_event_mux_interval_ms",
                                     "/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms"};
  for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
    FILE *f = fopen(file[i], "we");
    if (f == NULL) continue;
    fputs("1", f);
    fclose(f);
  }
}

int main(int argc, char **argv) {
  uint64_t reads = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
  bool any = false;
  for (size_t w = 0; w < WIDTHS && !seen.broken; w++) {
    any |= alone(PERF_COUNT_HW_INSTRUCTIONS, config1_of[w], reads);
    if (!seen.broken) any |= alone(PERF_COUNT_HW_CPU_CYCLES, config1_of[w], reads);
  }
  if (!any) {
    SKIP("no PMU here whose counters user space may read");
    return check_done();
  }
  short_turns();
  for (size_t w = 0; w < WIDTHS && !seen.broken; w++) crowd(config1_of[w], reads / 50 + 50);
  for (size_t w = 0; w < WIDTHS && !seen.broken; w++) doctored(config1_of[w]);
  return check_done();
}
