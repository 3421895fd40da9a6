/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/cost.c - the number of instructions of each hot path; run by spec/costs.lua, not a spec by itself.
 *
 *   cost pmu   counts them with the PMU, user space only, and prints "path<TAB>instructions"
 *   cost run   makes CALLS calls of each for callgrind to count, and prints "path<TAB>counter instructions per call",
 *              which callgrind can neither execute nor count: a signal handler does
 *
 * Counts a warm call with its arguments and its return: not the first one, and no retry. Both print the compiler and
 * the C library first, because the counts depend on them.
 */
#include "adapter/pml_probe.h"
#include "adapter/section/pml_section.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "read/otf2/write/pml_otf2.h"
#include "record/pml_compressed.h"
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"
#include "source/kernel/pml_rdpmc.h"

#include "events.h"

#include <errno.h>
#include <ftw.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#define CALLS 64u
#define PAGED 6u  /* the most events read by page */
#define KERNEL 8u /* and by read(2) */

static volatile uint64_t sink;
static uint64_t values[KERNEL], ticks;
static struct pml_reading readings[PAGED];
static struct pml_eventset *paged[PAGED + 1], *kernel1, *kernel8;
static struct pml_group group1, group6;
static struct pml_counter counter;
static struct pml_samples samples;
static struct pml_probe probe;
static struct pml_otf2 *archive;
static struct pml_otf2_location *location;
static pml_region_t region;
static struct pml_section *section;
static _Alignas(64) const char label[] = "cost"; /* aligned, because the cost of a comparison depends on the address */

static struct row {
  const char *name;
  void (*path)(void);
} row[128];
static size_t nrows;
enum { FIRST_ROW = __COUNTER__ + 1 };

/* Rows are in the order of their definitions, independent of the order of constructors. */
#define PATH(name, ...)                                                                                                \
  static __attribute__((noinline)) void path_##name(void) {                                                            \
    __VA_ARGS__;                                                                                                       \
  }                                                                                                                    \
  __attribute__((constructor)) static void add_##name(void) {                                                          \
    row[__COUNTER__ - FIRST_ROW] = (struct row){#name, path_##name};                                                   \
    nrows++;                                                                                                           \
  }
PATH(nothing, __asm__ volatile(""))
PATH(clock_ticks, sink = pml_clock_ticks())
PATH(clock_ns, sink = pml_clock_ns())
PATH(thread_id, sink = pml_thread_id())
PATH(rdpmc_count, uint64_t raw = 0; pml_rdpmc_count(counter.page, &raw); sink = raw)
PATH(rdpmc_read, pml_rdpmc_read(counter.page, &readings[0]))
PATH(counter_read_page, pml_counter_read(&counter, &readings[0]))
PATH(group_read_page_1, pml_group_read(&group1, readings))
PATH(group_read_page_6, pml_group_read(&group6, readings))
PATH(eventset_read_page_1, pml_eventset_read(paged[1], values))
PATH(eventset_read_page_2, pml_eventset_read(paged[2], values))
PATH(eventset_read_page_3, pml_eventset_read(paged[3], values))
PATH(eventset_read_page_4, pml_eventset_read(paged[4], values))
PATH(eventset_read_page_5, pml_eventset_read(paged[5], values))
PATH(eventset_read_page_6, pml_eventset_read(paged[6], values))
PATH(eventset_read_ts_page_1, uint64_t t; pml_eventset_read_ts(paged[1], values, &t); sink = t)
PATH(eventset_start_stop_page_1, pml_eventset_start(paged[1]); pml_eventset_stop(paged[1], values))
PATH(eventset_start_page_1, pml_eventset_start(paged[1]))
PATH(eventset_accum_page_1, pml_eventset_accum(paged[1], values))
PATH(eventset_reset_page_1, pml_eventset_reset(paged[1]))
PATH(eventset_read_kernel_1, pml_eventset_read(kernel1, values))
PATH(eventset_read_kernel_8, pml_eventset_read(kernel8, values))
#if defined(__x86_64__) /* where cores differ in kind; the machines that count by PMU have one kind */
static struct pml_counter restartable;
static struct pml_eventset *restartable1, *restartable6;
PATH(rdpmc_read_restartable, pml_rdpmc_read_restartable(counter.page, &readings[0]))
PATH(counter_read_restartable, pml_counter_read(&restartable, &readings[0]))
PATH(eventset_read_restartable_1, pml_eventset_read(restartable1, values))
PATH(eventset_read_restartable_6, pml_eventset_read(restartable6, values))
PATH(eventset_start_restartable_1, pml_eventset_start(restartable1))
#endif
PATH(probe_hit_empty, pml_probe_hit(&probe))
PATH(samples_push, pml_samples_push(&samples, 7))

/* Times of two classes; some values fit the bounds of their predecessor. */
static unsigned char compressed_bytes[65536];
static struct pml__compressed compressed = {.at = compressed_bytes, .end = 8 * sizeof compressed_bytes};
static void append_compressed(void) {
  static const int64_t early_ms[4] = {0, 3, -2, 40};
  static uint64_t n;
  n++;
  sink = pml__compressed_add(&compressed, (int64_t)n * 1000 + early_ms[n % 4], n * 977);
}
PATH(compressed_add, append_compressed())
PATH(otf2_call, pml_otf2_enter(location, ticks, region); pml_otf2_leave(location, ticks, region))
PATH(otf2_metric, pml_otf2_metric(location, ticks, values))
PATH(section, pml_section_start(section); pml_section_stop(section))
PATH(section_work, pml_section_start(section); pml_section_stop_work(section, 8, 1))
PATH(section_label, pml_section_start_label(label); pml_section_stop_label(label))

static char folder[] = "/tmp/pmlua-cost-XXXXXX";

/* clang-format off: the last one changes who takes events */
#include "cost_annotation.h"
#include "cost_count.h"
#include "cost_foreign.h"
#include "cost_plugin.h"
#include "cost_sampler.h"
#include "cost_sde.h"
#include "cost_stream.h"
/* clang-format on */

static int fail(const char *what, int rc) {
  printf("error\t%s: %s\n", what, pml_error_detail(rc));
  return 1;
}

/* --- what the paths work on
 * ------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

static int open_software(struct pml_eventset **s, uint32_t n) {
  struct pml_event ev[KERNEL];
  for (uint32_t i = 0; i < n; i++) {
    ev[i] = i % 2 == 0 ? faults() : task_clock();
    ev[i].first.attr.exclude_kernel = 1;
  }
  return pml__eventset_open_events(s, ev, n, NULL);
}

static int open_common(void) {
  static const struct pml_otf2_metric metric = {.name = "value", .description = "", .unit = "#"};
  int rc = pml_clock_init();
  if (rc < 0) return fail("clock", rc);
  ticks = pml_clock_ticks();
  if (pml_thread_self()->id == 0) return fail("thread", -ENOMEM);
  rc = open_software(&kernel1, 1);
  if (rc == 0) rc = open_software(&kernel8, KERNEL);
  if (rc < 0) return fail("software events", rc);
  rc = pml_samples_open(&samples, 4096);
  if (rc == 0) rc = pml_probe_init(&probe, PML_PROBE_EMPTY, NULL, &samples);
  if (rc < 0) return fail("samples", rc);
  if (mkdtemp(folder) == NULL) return fail("a folder for the trace", -errno);
  rc = pml_otf2_open(&archive, folder, &metric, 1);
  if (rc == 0) rc = pml_otf2_location(archive, "cost", &location);
  if (rc < 0) return fail("trace", rc);
  rc = pml_region_intern("cost", NULL, 0, &region);
  if (rc < 0) return fail("region", rc);
  rc = pml_section_define(label, NULL, &section);
  if (rc < 0) return fail("section", rc);
  open_annotations();
  sampler_open();
  rc = sde_open();
  if (rc < 0) return fail("software-defined events", rc);
  rc = plugin_open();
  if (rc < 0) return fail("metrics of a plugin", rc);
  foreign_open();
  rc = counted_open();
  return rc < 0 ? fail("counts of the compiler", rc) : 0;
}

static void close_all(void) {
  counted_close();
  sde_close();
  stream_close();
  plugin_close();
  pml_otf2_close(archive);
  nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  pml_samples_close(&samples);
  pml_eventset_close(kernel1);
  pml_eventset_close(kernel8);
  for (uint32_t n = 1; n <= PAGED; n++) pml_eventset_close(paged[n]);
}

/* --- cost pmu
 * --------------------------------------------------------------------------------------------------------- */

static struct pml_counter meter;

static __attribute__((noinline)) uint64_t met(void) {
  uint64_t raw = 0;
  pml_rdpmc_count(meter.page, &raw);
  return raw;
}

static uint64_t count(void (*path)(void)) {
  uint64_t least = UINT64_MAX;
  path();
  for (unsigned i = 0; i < CALLS; i++) {
    uint64_t before = met();
    path();
    uint64_t n = met() - before;
    if (n < least) least = n;
  }
  return least;
}

/* Paths that need counters open them for their own rows only: all together are more than the machine has. */
static int hardware(uint32_t n, bool grouped, bool open) {
  static struct pml_event ev[PAGED];
  const struct pml_event *of[PAGED];
  struct pml_group *g = n == 1 ? &group1 : &group6;
  if (!open) {
    if (grouped)
      pml_group_close(g);
    else
      pml_eventset_close(paged[n]);
    paged[n] = NULL;
    return 0;
  }
  for (uint32_t i = 0; i < n; i++) {
    /* one counter, the cycles' own, is left where the meter takes one of the others */
    int rc = pml_event_parse(&ev[i], i == 0 ? "cycles:u" : "instructions:u");
    if (rc < 0) return rc;
    of[i] = &ev[i];
  }
  return grouped ? pml_group_open(g, of, NULL, n, NULL, 0, NULL) : pml__eventset_open_events(&paged[n], ev, n, NULL);
}

/* A row whose plugin is missing is not counted. */
static bool is_here(size_t i) {
  const char *missing = plugin_set1 == NULL && strstr(row[i].name, "_plugin_") != NULL ? "plugin" : NULL;
  if (counted1 == NULL && strstr(row[i].name, "_counted_") != NULL) missing = "runtime";
  if (missing != NULL) printf("%s\tskip\tits %s is not beside this program\n", row[i].name, missing);
  return missing == NULL;
}

static int count_row(size_t i, uint64_t nothing) {
  if (!is_here(i)) return 0;
  const char *at = strstr(row[i].name, "_page_");
  uint32_t n = at != NULL ? (uint32_t)atoi(at + 6) : 0;
  bool grouped = strncmp(row[i].name, "group", 5) == 0;
  int rc = n > 0 ? hardware(n, grouped, true) : 0;
  if (rc < 0) {
    printf("%s\tskip\t%s\n", row[i].name, pml_error_detail(rc));
    return 0;
  }
  if (n > 0 && !grouped) pml_eventset_start(paged[n]);
  printf("%s\t%llu\n", row[i].name, (unsigned long long)(count(row[i].path) - nothing));
  return n > 0 ? hardware(n, grouped, false) : 0;
}

static int cost_pmu(void) {
  struct pml_event insns;
  if (pml_event_has_pmu() != 1) return fail("PMU", PML_ENOPMU);
  int rc = pml_event_parse(&insns, "instructions:u");
  if (rc == 0) rc = pml_counter_open(&meter, &insns, 0, NULL, NULL, 0);
  if (rc < 0) return fail("instructions:u", rc);
  if (meter.page == NULL) return fail("the meter has no page", 0);
  counter = meter;
  uint64_t nothing = count(path_nothing);
  for (size_t i = 1; i < nrows; i++) count_row(i, nothing);
  pml_counter_close(&meter);
  return 0;
}

/* --- cost run
 * --------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

static volatile unsigned emulated;
static struct perf_event_mmap_page page[PAGED];

/* Valgrind does not know rdpmc and raises SIGILL; the shipped code runs nevertheless. */
static void emulate(int sig, siginfo_t *info, void *context) {
  greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *insn = (const uint8_t *)(uintptr_t)reg[REG_RIP];
  (void)info;
  if (insn[0] != 0x0f || insn[1] != 0x33) {
    signal(sig, SIG_DFL);
    return;
  }
  reg[REG_RAX] = 1000 + (greg_t)emulated;
  reg[REG_RDX] = 0;
  reg[REG_RIP] += 2;
  emulated++;
}

/* A set of software events, disguised as hardware events with pages of this spec. */
static int dress(struct pml_eventset **set, uint32_t n, bool restarts) {
  int rc = open_software(set, n);
  if (rc < 0) return rc;
  struct pml_eventset *s = *set;
  struct pml__kernel_backend *k = pml__kernel_backend_of(s);
  k->owner = pml_thread_self()->id;
  k->restarts = restarts;
  k->group[0].paged = true;
  pml__kernel_choose_read(k);
  pml__eventset_choose_read(s);
  for (uint32_t i = 0; i < n; i++) k->page[i] = &page[i];
  return pml_eventset_start(s);
}

static int open_dressed(void) {
  static struct pml_counter member[PAGED];
  struct sigaction sa = {.sa_sigaction = emulate, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &sa, NULL);
  sigaction(SIGSEGV, &sa, NULL);
  for (uint32_t i = 0; i < PAGED; i++) {
    page[i].cap_user_rdpmc = page[i].cap_user_time = 1;
    page[i].index = i + 1;
    page[i].pmc_width = 48;
    page[i].time_mult = 1;
    member[i] = (struct pml_counter){.fd = 0, .page = &page[i], .owner = pml_thread_self()->id};
  }
  counter = member[0];
  group1 = (struct pml_group){.member = member, .n = 1};
  group6 = (struct pml_group){.member = member, .n = PAGED};
  int rc = 0;
  for (uint32_t n = 1; rc >= 0 && n <= PAGED; n++) rc = dress(&paged[n], n, false);
  restartable = member[0];
  restartable.owner |= PML__OWNER_RESTARTS;
  (void)pml__rseq_ready();
  if (rc >= 0) rc = dress(&restartable1, 1, true);
  if (rc >= 0) rc = dress(&restartable6, PAGED, true);
  return rc;
}

/* callgrind reports the cost of this function's calls. */
static __attribute__((noinline)) void measured_calls(void (*path)(void)) {
  for (unsigned i = 0; i < CALLS; i++) path();
}

static int cost_run(void) {
  int rc = open_dressed();
  if (rc < 0) return fail("software events", rc);
  for (size_t i = 0; i < nrows; i++) {
    if (!is_here(i)) continue;
    row[i].path(); /* initialisations of the first call */
    unsigned before = emulated;
    row[i].path();
    printf("%s\t%u\n", row[i].name, emulated - before);
    measured_calls(row[i].path);
  }
  return 0;
}

#else

static int cost_run(void) {
  return fail("callgrind's way is written for x86-64", 0);
}

#endif

int main(int argc, char **argv) {
  bool pmu = argc == 2 && strcmp(argv[1], "pmu") == 0;
  if (!pmu && (argc != 2 || strcmp(argv[1], "run") != 0)) {
    fprintf(stderr, "usage: cost pmu|run\n");
    return 2;
  }
#if defined(__clang__)
  printf("compiler\tclang-%d glibc-%s\n", __clang_major__, gnu_get_libc_version());
#else
  printf("compiler\tgcc-%d glibc-%s\n", __GNUC__, gnu_get_libc_version());
#endif
  int status = open_common();
  if (status == 0) status = pmu ? cost_pmu() : cost_run();
  if (archive != NULL) close_all();
  return status;
}
