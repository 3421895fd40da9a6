/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_intercept.c - a call between libraries, intercepted, beside two clock reads and the plain call. */
#include "bench.h"

#include "adapter/pml_intercept.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_stream.h"
#include "substrate/pml_profile.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t sink;
static volatile double value;

/* A function of libm that does next to nothing: through a pointer, which stays as it is, and through the slot. */
typedef double function(double);

static void plain_and_clocks(void *arg, size_t n) {
  function *const f = *(function *const *)arg;
  for (size_t i = 0; i < n; i++) {
    sink = pml_clock_ticks();
    value = f((double)i);
    sink = pml_clock_ticks();
  }
}

static void call(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) value = logb((double)i);
}

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void drop(void *data, const struct pml_stream_event *e) {
  (void)data;
  (void)e;
}

static bool begin_to_intercept(function **plain) {
  static const struct pml_intercept_options o = {.lib = "libm", .sym = "logb"};
  struct pml_intercept_stats s = {0};
  void *m = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (m == NULL) return false;
  *(void **)plain = dlsym(m, "logb");
  int err = pml_intercept_install(&o);
  pml_intercept_stats(&s);
  if (err < 0 || s.slots == 0)
    printf("%-34s %s\n", "intercepted call", err < 0 ? pml_error_detail(err) : "this program has no slot for logb");
  return err == 0 && s.slots > 0;
}

void bench_intercept_rows(void) {
  static int self;
  function *plain;
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {drop, drop, NULL}, .arg = &self};
  struct pml_profile *profile = NULL;
  uint64_t id;
  if (!begin_to_intercept(&plain)) return;
  struct bench_op idle[2] = {{.batch = plain_and_clocks, .arg = &plain}, {.batch = call}};
  bench_run(idle, 2);
  bench_row("intercepted call, nobody asks", &idle[1], "plain call + two clock reads", &idle[0], 1.35, NULL, NULL);
  if (pml_stream_add(&c, &id) < 0) return;
  struct bench_op op[2] = {{.batch = plain_and_clocks, .arg = &plain}, {.batch = call}};
  bench_run(op, 2);
  bench_row("intercepted call", &op[1], "plain call + two clock reads", &op[0], 1.35, NULL, NULL);
  (void)pml_stream_remove(id);
  if (pml_profile_open(&profile) < 0) return;
  struct bench_op with[2] = {{.batch = plain_and_clocks, .arg = &plain}, {.batch = call}};
  bench_run(with, 2);
  bench_row("intercepted call, with a profile", &with[1], "intercepted call", &op[1], 2.0, NULL, NULL);
  pml_profile_close(profile);
  pml_intercept_remove();
}
