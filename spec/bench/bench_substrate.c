/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_substrate.c - what those who take events add to one: nobody, a substrate plugin, an event flow. */
#include "bench.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/pml_flow.h"
#include "substrate/pml_profile.h"
#include "substrate/pml_scorep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 5

static pml_region_t region;

/* Half of them enters, half of them leaves, as whoever raises makes them: at a read of the clock. */
static void clocks(void *arg, size_t n) {
  volatile uint64_t *sink = arg;
  for (size_t i = 0; i < n; i++) *sink = pml_clock_ticks();
}

static void events(void *arg, size_t n) {
  struct pml_stream_event e = {.region = region};
  (void)arg;
  for (size_t i = 0; i < n; i += 2) {
    e.ticks = pml_clock_ticks();
    pml_stream_raise(PML_STREAM_ENTER, &e);
    e.ticks = pml_clock_ticks();
    pml_stream_raise(PML_STREAM_LEAVE, &e);
  }
}

/* Without the clock, behind whose reads what is added would hide. */
static void bare_events(void *arg, size_t n) {
  struct pml_stream_event e = {.region = region};
  (void)arg;
  for (size_t i = 0; i < n; i += 2) {
    e.ticks++;
    pml_stream_raise(PML_STREAM_ENTER, &e);
    e.ticks++;
    pml_stream_raise(PML_STREAM_LEAVE, &e);
  }
}

/* The event itself, all the way to a consumer that does nothing. */
static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void nothing(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
}

static bool folder(char *path, size_t size) {
  ssize_t n = readlink("/proc/self/exe", path, size - 16);
  if (n <= 0) return false;
  path[n] = '\0';
  memcpy(strrchr(path, '/'), "/spec/plugins", sizeof "/spec/plugins");
  return true;
}

static double timed(bench_batch *batch, void *arg) {
  struct bench_op op = {.batch = batch, .arg = arg};
  bench_run(&op, 1);
  return op.ns;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Who takes events: opened, to be closed. */
static int open_plugin(void **plugin, const char *path) {
  struct pml_scorep *p = NULL;
  int err = pml_scorep_open(&p, &(struct pml_scorep_options){.name = "nothing", .path = path});
  *plugin = p;
  return err;
}
static void close_plugin(void *plugin) {
  pml_scorep_close(plugin);
}
static int open_profile(void **profile, const char *path) {
  struct pml_profile *p = NULL;
  int err = pml_profile_open(&p);
  (void)path;
  *profile = p;
  return err;
}
static void close_profile(void *profile) {
  pml_profile_close(profile);
}
static int open_flow(void **flow, const char *path) {
  struct pml_flow *f = NULL;
  int err = pml_flow_open(&f, NULL);
  (void)path;
  *flow = f;
  return err;
}
static void close_flow(void *flow) {
  pml_flow_close(flow);
}

/* What it adds to an event beyond a consumer that does nothing, in turn: the median of the differences. */
static int adds(int (*open)(void **consumer, const char *path), void (*close)(void *consumer), const char *path,
                double *ns) {
  const struct pml_stream_consumer c = {.thread_begin = begin, .event = {nothing, nothing, NULL}, .arg = &region};
  double difference[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    void *p;
    uint64_t id;
    int err = pml_stream_add(&c, &id);
    if (err < 0) return err;
    double itself = timed(bare_events, NULL);
    (void)pml_stream_remove(id);
    err = open(&p, path);
    if (err < 0) return err;
    difference[i] = timed(bare_events, NULL) - itself;
    close(p);
  }
  qsort(difference, ROUNDS, sizeof *difference, ascending);
  *ns = difference[ROUNDS / 2];
  return 0;
}

void bench_substrate_rows(void) {
  static uint64_t sink;
  char path[4096];
  if (pml_region_intern("bench substrate", NULL, 0, &region) < 0 || !folder(path, sizeof path)) return;
  struct bench_op two[2] = {{.batch = clocks, .arg = &sink}, {.batch = events}};
  struct bench_op one_ns = {.ns = 1}, two_ns = {.ns = 2}, plugin = {.instructions = -1}, profile = plugin,
                  flow = plugin;
  bench_run(two, 2);
  struct bench_op unwanted = {.ns = two[1].ns - two[0].ns, .instructions = -1};
  bench_row("event that nobody wants adds", &unwanted, "1 ns", &one_ns, 1, NULL, NULL);
  int err = adds(open_plugin, close_plugin, path, &plugin.ns);
  if (err < 0)
    printf("%-34s %s\n", "substrate plugin", pml_error_detail(err));
  else
    bench_row("substrate plugin adds", &plugin, "2 ns an event", &two_ns, 1, NULL, NULL);
  err = adds(open_profile, close_profile, NULL, &profile.ns);
  if (err == 0) err = adds(open_flow, close_flow, NULL, &flow.ns);
  if (err < 0)
    printf("%-34s %s\n", "event flow", pml_error_detail(err));
  else
    bench_row("event flow adds", &flow, "what a profile adds", &profile, 1.25, NULL, NULL);
}
