/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_section.c - cost of a section's start and stop beside two clock reads, and of a report over many
 * threads. */
#include "bench.h"

#include "adapter/section/pml_section.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/pml_eventset.h"
#include "source/sde/pml_sde.h"

#include <pthread.h>

#define MANY 5000u
#define SOME 50u
#define REPORT_SECTIONS 1000u
#define REPORT_THREADS 64u
#define REPORTS 15

static volatile uint64_t sink;
static struct pml_section *many[MANY];
static char label[MANY][24];

static void two_clocks(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    sink = pml_clock_ticks();
    sink = pml_clock_ticks();
  }
}

static void by_handle(void *arg, size_t n) {
  struct pml_section *s = arg;
  for (size_t i = 0; i < n; i++) {
    pml_section_start(s);
    pml_section_stop(s);
  }
}

static void by_handle_of(size_t sections, size_t n) {
  for (size_t i = 0, at = 0; i < n; i++) {
    pml_section_start(many[at]);
    pml_section_stop(many[at]);
    at = at + 1 == sections ? 0 : at + 1;
  }
}

static void by_handle_some(void *arg, size_t n) {
  (void)arg;
  by_handle_of(SOME, n);
}

static void by_handle_many(void *arg, size_t n) {
  (void)arg;
  by_handle_of(MANY, n);
}

static void by_label(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    pml_section_start_label(arg);
    pml_section_stop_label(arg);
  }
}

static void with_work(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) {
    pml_section_start(arg);
    pml_section_stop_work(arg, 8, 1);
  }
}

static void disabled(void *arg, size_t n) {
  pml_section_enable(false);
  by_handle(arg, n);
  pml_section_enable(true);
}

/* ---- with a second thread on another cpu ---- */

static void second_row(struct pml_section *s) {
  struct bench_op op[2] = {{.batch = two_clocks}, {.batch = by_handle, .arg = s}};
  if (!bench_second_start(by_handle, s)) {
    printf("%-34s needs a second cpu\n", "section, 2 threads");
    return;
  }
  bench_run(op, 2);
  bench_second_stop();
  bench_row("section, 2 threads on one", &op[1], "two clock reads", &op[0], 1.25, NULL, NULL);
}

/* ---- with events ---- */

static void two_reads(void *arg, size_t n) {
  uint64_t v[PML_SECTION_EVENTS_MAX];
  for (size_t i = 0; i < n; i++) {
    pml_eventset_read(arg, v);
    pml_eventset_read(arg, v);
  }
}

/* The limit of a section with events: the cost of one without events plus two reads of its event set. */
static void events_row(const char *figure, const char *const *names, size_t n, double limit) {
  struct pml_section_options o = {.events = names, .nevents = n};
  struct pml_section *s;
  struct pml_eventset *set;
  int err = pml_section_define(figure, &o, &s);
  if (err == 0) err = pml_eventset_open(&set, names, n, NULL);
  if (err < 0) {
    printf("%-34s %s\n", figure, pml_error_detail(err));
    return;
  }
  pml_eventset_start(set);
  struct bench_op op[3] = {{.batch = two_clocks}, {.batch = two_reads, .arg = set}, {.batch = by_handle, .arg = s}};
  bench_run(op, 3);
  struct bench_op most = {.ns = 1.3 * op[0].ns + op[1].ns};
  bench_row(figure, &op[2], "1.3 x 2 clocks, 2 reads", &most, limit, NULL, NULL);
  pml_eventset_close(set);
}

static void events_rows(void) {
  static const char *const kernel[] = {"task-clock:u", "page-faults:u", "context-switches:u", "cpu-migrations:u"};
  static const char *const own[] = {"sde:::BENCH_SECTION::A", "sde:::BENCH_SECTION::B", "sde:::BENCH_SECTION::C",
                                    "sde:::BENCH_SECTION::D"};
  static int64_t count[4];
  struct pml_sde_library *lib;
  events_row("section, 4 events of the kernel", kernel, 4, 1.05);
  if (pml_sde_library(&lib, "BENCH_SECTION") < 0) return;
  for (int i = 0; i < 4; i++)
    if (pml_sde_register(lib, strrchr(own[i], ':') + 1, PML_SDE_RO, PML_TYPE_INT64, &count[i]) < 0) return;
  /* A read takes some 7 ns here, no more than adding four differences up and finding where they belong. */
  events_row("section, 4 software-defined events", own, 4, 1.25);
}

/* ---- the report ---- */

static void *touch_all(void *arg) {
  for (unsigned i = 0; i < REPORT_SECTIONS; i++) by_handle(many[i], 2);
  return arg;
}

static void report_row(void) {
  double ns[REPORTS];
  pthread_t t[REPORT_THREADS];
  for (unsigned i = 0; i < REPORT_THREADS; i++)
    if (pthread_create(&t[i], NULL, touch_all, NULL) != 0) return;
  for (unsigned i = 0; i < REPORT_THREADS; i++) pthread_join(t[i], NULL);
  for (unsigned i = 0; i < REPORTS; i++) {
    struct pml_section_report r;
    uint64_t t0 = pml_clock_ticks_ordered();
    if (pml_section_report(false, &r) != 0) return;
    ns[i] = (double)pml_clock_ticks_to_ns(pml_clock_ticks_ordered() - t0);
    pml_section_report_free(&r);
  }
  struct bench_op op = {.ns = bench_median(ns, REPORTS), .instructions = -1}, second = {.ns = 1e9};
  bench_row("report, 1000 sections x 64 threads", &op, "a second", &second, 1, NULL, NULL);
}

void bench_section_rows(void) {
  for (unsigned i = 0; i < MANY; i++) {
    snprintf(label[i], sizeof label[i], "bench %u", i);
    if (pml_section_define(label[i], NULL, &many[i]) < 0) return;
  }
  struct bench_op op[7] = {{.batch = two_clocks},
                           {.batch = by_handle, .arg = many[0]},
                           {.batch = by_handle_some},
                           {.batch = by_handle_many},
                           {.batch = by_label, .arg = label[0]},
                           {.batch = with_work, .arg = many[0]},
                           {.batch = disabled, .arg = many[0]}};
  struct bench_op two_ns = {.ns = 2};
  bench_run(op, 7);
  bench_row("section by handle", &op[1], "two clock reads", &op[0], 1.25, NULL, NULL);
  /* Intel's rdtsc waits for the loads before it: one more that leads to the section, a workload to be added behind. */
  bench_row("section by handle, 50 in turn", &op[2], "two clock reads", &op[0], 1.3, NULL, NULL);
  bench_row("section by handle, 5000 in turn", &op[3], "two clock reads", &op[0], 1.3, NULL, NULL);
  bench_row("section by label", &op[4], "two clock reads", &op[0], 2.5, NULL, NULL);
  bench_row("section with workload", &op[5], "two clock reads", &op[0], 1.3, NULL, NULL);
  bench_row("section, disabled", &op[6], "2 ns", &two_ns, 1, NULL, NULL);
  second_row(many[0]);
  events_rows();
  report_row();
}
