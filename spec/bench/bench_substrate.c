/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_substrate.c - the cost that consumers add to an event: none, a plugin, a flow, a tuner. */
#include "bench.h"

#include "adapter/section/pml_section.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "control/tune/pml_tune.h"
#include "substrate/flow/pml_flow.h"
#include "substrate/profile/pml_profile.h"
#include "substrate/scorep/pml_scorep.h"

#define ROUNDS 5

static pml_region_t region;

/* Enters and leaves in turn, raised as by adapters, each with a read of the clock. */
static void clocks(void *arg, size_t n) {
  volatile uint64_t *sink = arg;
  for (size_t i = 0; i < n; i++) *sink = pml_clock_ticks();
}

static void events(void *arg, size_t n) {
  struct pml_stream_event e = {.region = region};
  (void)arg;
  for (size_t i = 0; i < n; i += 2) {
    e.ticks = pml_clock_ticks();
    pml_stream_emit(PML_STREAM_ENTER, &e);
    e.ticks = pml_clock_ticks();
    pml_stream_emit(PML_STREAM_LEAVE, &e);
  }
}

/* Without the clock, whose reads would hide the added cost. */
static void bare_events(void *arg, size_t n) {
  struct pml_stream_event e = {.region = region};
  (void)arg;
  for (size_t i = 0; i < n; i += 2) {
    e.ticks++;
    pml_stream_emit(PML_STREAM_ENTER, &e);
    e.ticks++;
    pml_stream_emit(PML_STREAM_LEAVE, &e);
  }
}

/* The whole path from the program to the consumer: enters and leaves of a section, in turn. */
static void of_section(void *arg, size_t n) {
  for (size_t i = 0; i < n; i += 2) {
    pml_section_start(arg);
    pml_section_stop(arg);
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

static double timed(bench_batch *batch, void *arg) {
  struct bench_op op = {.batch = batch, .arg = arg};
  bench_run(&op, 1);
  return op.ns;
}

static int begin_plugin(void *arg, void **open) {
  return pml_scorep_open((struct pml_scorep **)open, &(struct pml_scorep_options){.name = "nothing", .path = arg});
}
static void end_plugin(void *open) {
  pml_scorep_close(open);
}

/* A rule for another region. */
static int begin_tune(void *arg, void **open) {
  static const struct pml_tune_rule rule = {.region = "another", .threads = 1};
  (void)arg;
  return pml_tune_open((struct pml_tune **)open, &rule, 1, NULL);
}
static void end_tune(void *open) {
  pml_tune_close(open);
}

static int begin_profile(void *arg, void **open) {
  (void)arg;
  return pml_profile_open((struct pml_profile **)open);
}
static void end_profile(void *open) {
  pml_profile_close(open);
}

static int begin_flow(void *arg, void **open) {
  (void)arg;
  return pml_flow_open((struct pml_flow **)open, NULL);
}
static void end_flow(void *open) {
  pml_flow_close(open);
}

struct taker {
  int (*begin)(void *arg, void **open);
  void (*end)(void *open);
  void *arg;
};

/* The cost that a consumer adds to each event beyond an empty one, measured in turn: the median of the differences. */
static int adds(const struct taker *t, double *ns) {
  const struct pml_stream_consumer c = {.thread_begin = begin, .event = {nothing, nothing, NULL}, .arg = &region};
  double difference[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    void *open;
    uint64_t id;
    int err = pml_stream_add(&c, &id);
    if (err < 0) return err;
    double itself = timed(bare_events, NULL);
    (void)pml_stream_remove(id);
    err = t->begin(t->arg, &open);
    if (err < 0) return err;
    difference[i] = timed(bare_events, NULL) - itself;
    t->end(open);
  }
  *ns = bench_median(difference, ROUNDS);
  return 0;
}

/* The same for events of a section, beyond one without a consumer. */
static int adds_to_section(const struct taker *t, struct pml_section *s, double *ns) {
  double difference[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    void *open;
    double itself = timed(of_section, s);
    int err = t->begin(t->arg, &open);
    if (err < 0) return err;
    difference[i] = timed(of_section, s) - itself;
    t->end(open);
  }
  *ns = bench_median(difference, ROUNDS);
  return 0;
}

/* A consumer adds at most 2 ns to an event, raised alone or by a section. */
static void row(const char *name, const struct taker *t, bool section) {
  struct bench_op two_ns = {.ns = 2}, measured = {.instructions = -1};
  struct pml_section *s;
  int err = pml_section_define("bench substrate", NULL, &s);
  if (err == 0) err = section ? adds_to_section(t, s, &measured.ns) : adds(t, &measured.ns);
  if (err < 0)
    printf("%-34s %s\n", name, pml_error_detail(err));
  else
    bench_row(name, &measured, "2 ns an event", &two_ns, 1, NULL, NULL);
}

void bench_substrate_rows(void) {
  static uint64_t sink;
  char path[4096];
  if (pml_region_intern("bench substrate", NULL, 0, &region) < 0 || !bench_plugins(path)) return;
  struct bench_op two[2] = {{.batch = clocks, .arg = &sink}, {.batch = events}};
  struct bench_op one_ns = {.ns = 1};
  bench_run(two, 2);
  struct bench_op unwanted = {.ns = two[1].ns - two[0].ns, .instructions = -1};
  bench_row("event without a consumer adds", &unwanted, "1 ns", &one_ns, 1, NULL, NULL);
  const struct taker plugin = {begin_plugin, end_plugin, path}, profile = {begin_profile, end_profile, NULL},
                     flow = {begin_flow, end_flow, NULL}, tune = {begin_tune, end_tune, NULL};
  row("substrate plugin adds", &plugin, false);
  row("substrate plugin adds to a section", &plugin, true);
  row("profile adds", &profile, false);
  row("event flow adds", &flow, false);
  row("tuning of another region adds", &tune, false);
}
