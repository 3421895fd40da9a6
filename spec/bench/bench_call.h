/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_call.h - shared parts of the benches of recorded calls: the reference rows (a plain call, a plain
 * call between two clock reads) and a consumer that drops its events. */
#ifndef BENCH_CALL_H
#define BENCH_CALL_H

#include "bench.h"

#include "base/pml_clock.h"
#include "base/pml_stream.h"

/* A function of libm that does almost nothing. */
typedef double bench_function(double);

static _Thread_local volatile uint64_t bench_sink; /* a second thread shares no line with the first */
static _Thread_local volatile double bench_value;

/* @arg: a pointer to the function, which is called by it and not through a slot. */
static void plain_and_clocks(void *arg, size_t n) {
  bench_function *const f = *(bench_function *const *)arg;
  for (size_t i = 0; i < n; i++) {
    bench_sink = pml_clock_ticks();
    bench_value = f((double)i);
    bench_sink = pml_clock_ticks();
  }
}

static void call_row(const char *figure, bench_batch *batch, void *arg, bench_function **plain, double limit) {
  struct bench_op op[2] = {{.batch = plain_and_clocks, .arg = plain}, {.batch = batch, .arg = arg}};
  bench_run(op, 2);
  bench_row(figure, &op[1], "plain call + two clock reads", &op[0], limit, NULL, NULL);
}

static void *bench_begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void bench_drop(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
}
static uint64_t bench_drop_fast(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region, (void)ticks;
  return 0;
}

/* It takes events with general registers alone, unless its fast functions are removed. */
static struct pml_stream_consumer bench_dropper(void) {
  static int self;
  return (struct pml_stream_consumer){
      .thread_begin = bench_begin,
      .event = {bench_drop, bench_drop, NULL},
      .fast = {bench_drop_fast, bench_drop_fast}, /* they change no register but the result's */
      .arg = &self};
}

#endif
