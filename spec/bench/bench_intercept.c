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
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
static bool drop_plainly(void *data, const struct pml_stream_event *e) {
  drop(data, e);
  return true;
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

static void row(const char *figure, function **plain, double limit) {
  struct bench_op op[2] = {{.batch = plain_and_clocks, .arg = plain}, {.batch = call}};
  bench_run(op, 2);
  bench_row(figure, &op[1], "plain call + two clock reads", &op[0], limit, NULL, NULL);
}

/* ---- with a second thread that makes the same calls, on a cpu of its own ---- */

static atomic_bool end;

static void *run_second(void *arg) {
  while (!atomic_load_explicit(&end, memory_order_relaxed)) call(arg, 64);
  return NULL;
}

static bool start_second(pthread_t *t) {
  int here = sched_getcpu();
  atomic_store(&end, false);
  if (pthread_create(t, NULL, run_second, NULL) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (cpu != here && pthread_setaffinity_np(*t, sizeof one, &one) == 0) return true;
  }
  atomic_store(&end, true);
  pthread_join(*t, NULL);
  return false;
}

static void rows_with_profile(function **plain) {
  struct pml_profile *profile = NULL;
  pthread_t t;
  if (pml_profile_open(&profile) < 0) return;
  row("intercepted call, profile", plain, 1.35);
  if (start_second(&t)) {
    row("intercepted call, profile, 2 thr.", plain, 1.35);
    atomic_store(&end, true);
    pthread_join(t, NULL);
  } else {
    printf("%-34s needs a second cpu\n", "intercepted call, profile, 2 thr.");
  }
  pml_profile_close(profile);
}

/* A consumer that may use every register has them all saved: for information, its limit is what that took once. */
void bench_intercept_rows(void) {
  static int self;
  function *plain;
  struct pml_stream_consumer c = {
      .thread_begin = begin, .event = {drop, drop, NULL}, .plain = {drop_plainly, drop_plainly, NULL}, .arg = &self};
  uint64_t id;
  if (!begin_to_intercept(&plain)) return;
  row("intercepted call, nobody asks", &plain, 0.5);
  if (pml_stream_add(&c, &id) < 0) return;
  row("intercepted call", &plain, 1.35);
  (void)pml_stream_remove(id);
  rows_with_profile(&plain);
  memset(c.plain, 0, sizeof c.plain);
  if (pml_stream_add(&c, &id) < 0) return;
  row("intercepted call, all registers", &plain, 4.0);
  (void)pml_stream_remove(id);
  pml_intercept_remove();
}
