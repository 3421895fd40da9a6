/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_recorder.c - pushing, alone and with a second thread, and quantiles of a million doubles. */
#include "bench.h"

#include "base/pml_clock.h"
#include "source/pml_recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MILLION 1000000
#define ROUNDS 15
#define SOME ((size_t)64) /* pushes of the second thread between two looks */

/* --- pushing ---------------------------------------------------------------------------------------------------------
 */

/* The floor: a store and a count that others may read. */
struct bare {
  double *at;
  uint64_t n, most;
};

static void bare_store(void *arg, size_t n) {
  struct bare *b = arg;
  b->n = 0;
  for (size_t i = 0; i < n; i++) {
    if (b->n == b->most) return;
    b->at[b->n] = (double)i;
    __atomic_store_n(&b->n, b->n + 1, __ATOMIC_RELEASE);
  }
}

static void push_inline(void *arg, size_t n) {
  pml_recorder_reset(arg);
  for (size_t i = 0; i < n; i++) pml_recorder_push_double(arg, (double)i);
}

static void push_called(void *arg, size_t n) {
  pml_recorder_reset(arg);
  for (size_t i = 0; i < n; i++) {
    double v = (double)i;
    pml_recorder_push(arg, &v);
  }
}

/* A thread that does the same on another cpu while a batch runs. */
struct second {
  bench_batch *batch, *other;
  void *arg;
  _Atomic int go; /* 1: work, 0: wait, -1: end */
  _Atomic int working;
};

static void push_on(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) pml_recorder_push_double(arg, (double)i);
}

static void *run_second(void *arg) {
  struct second *s = arg;
  int go;
  while ((go = atomic_load(&s->go)) >= 0) {
    atomic_store(&s->working, go);
    if (go) s->other(s->arg, SOME);
  }
  return NULL;
}

static void with_second(void *arg, size_t n) {
  struct second *s = arg;
  atomic_store(&s->go, 1);
  while (!atomic_load(&s->working)) sched_yield();
  s->batch(s->arg, n);
  atomic_store(&s->go, 0);
  while (atomic_load(&s->working)) sched_yield();
}

/* On the first cpu that is not the caller's; false if there is none. */
static bool start_second(pthread_t *t, struct second *s) {
  int here = sched_getcpu();
  cpu_set_t one;
  if (pthread_create(t, NULL, run_second, s) != 0) return false;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (cpu != (size_t)here && pthread_setaffinity_np(*t, sizeof one, &one) == 0) return true;
  }
  atomic_store(&s->go, -1);
  pthread_join(*t, NULL);
  return false;
}

static void second_rows(struct pml_recorder *r, struct bench_sde *sde) {
  struct second mine = {.batch = push_inline, .other = push_on, .arg = r};
  struct second theirs = {.batch = bench_sde_record_shared, .other = bench_sde_record_shared, .arg = sde};
  struct bench_op op[3] = {{.batch = with_second, .arg = &mine}, {.batch = push_inline, .arg = r}, {.batch = NULL}};
  pthread_t t;
  if (!start_second(&t, &mine)) {
    printf("%-34s needs a second cpu\n", "recorder push, 2 threads on one");
    return;
  }
  bench_run(op, 2);
  atomic_store(&mine.go, -1);
  pthread_join(t, NULL);
  if (sde != NULL && start_second(&t, &theirs)) {
    op[2] = (struct bench_op){.batch = with_second, .arg = &theirs};
    bench_run(&op[2], 1);
    atomic_store(&theirs.go, -1);
    pthread_join(t, NULL);
  }
  bench_row("recorder push, 2 threads on one", &op[0], "1 thread", &op[1], 1.2, "papi_sde_record", &op[2]);
}

static void push_rows(void) {
  static double room[MILLION];
  struct bare bare = {room, 0, MILLION};
  struct bench_sde *sde = bench_sde_open();
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  if (pml_recorder_open(&r, &o) != 0) return;
  struct bench_op op[4] = {{.batch = bare_store, .arg = &bare},
                           {.batch = push_inline, .arg = r},
                           {.batch = push_called, .arg = r},
                           {.batch = sde != NULL ? bench_sde_record : NULL, .arg = sde}};
  bench_run(op, 4);
  bench_row("recorder push, inline", &op[1], "store + count", &op[0], 5, "papi_sde_record", &op[3]);
  bench_row("recorder push, called", &op[2], "store + count", &op[0], 8, "papi_sde_record", &op[3]);
  if (sde != NULL) bench_row("recorder push, inline", &op[1], "papi_sde_record", &op[3], 0.2, NULL, NULL);
  second_rows(r, sde);
  pml_recorder_close(r);
}

/* --- quantiles -------------------------------------------------------------------------------------------------------
 */

static int by_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double next_double(void) {
  static uint64_t seed = 88172645463325252u;
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (double)(seed >> 11) / 9007199254740992.0;
}

static void push_random(struct pml_recorder *r, size_t n) {
  for (size_t i = 0; i < n; i++) pml_recorder_push_double(r, next_double());
}

static double five_and_count_ns(struct pml_recorder *r) {
  struct pml_value v;
  uint64_t t0 = pml_clock_ticks_ordered();
  for (unsigned percent = 0; percent <= 100; percent += 25) pml_recorder_quantile(r, percent, &v);
  volatile uint64_t count = pml_recorder_count(r);
  (void)count;
  return (double)pml_clock_ticks_to_ns(pml_clock_ticks_ordered() - t0);
}

static double qsort_ns(struct pml_recorder *r, double *copy) {
  uint64_t t0 = pml_clock_ticks_ordered();
  size_t n = pml_recorder_copy(r, 0, copy, MILLION);
  qsort(copy, n, sizeof *copy, by_double);
  return (double)pml_clock_ticks_to_ns(pml_clock_ticks_ordered() - t0);
}

enum { FIRST, AGAIN, MORE, QSORT, WAYS };

/* What a batch would do, for bench_row(): these are timed one by one, because each needs a series in its own state. */
static struct bench_op median_of(double *ns) {
  qsort(ns, ROUNDS, sizeof *ns, by_double);
  return (struct bench_op){.ns = ns[ROUNDS / 2], .instructions = -1};
}

static void quantile_rows(void) {
  static double ns[WAYS][ROUNDS];
  struct bench_op op[WAYS];
  double *copy = malloc(MILLION * sizeof *copy);
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  for (int i = 0; i < ROUNDS && copy != NULL; i++) {
    if (pml_recorder_open(&r, &o) != 0) break;
    push_random(r, MILLION);
    ns[FIRST][i] = five_and_count_ns(r);
    ns[AGAIN][i] = five_and_count_ns(r);
    ns[QSORT][i] = qsort_ns(r, copy);
    push_random(r, MILLION / 100);
    ns[MORE][i] = five_and_count_ns(r);
    pml_recorder_close(r);
  }
  free(copy);
  for (int w = 0; w < WAYS; w++) op[w] = median_of(ns[w]);
  bench_row("5 quantiles + count, 1e6 doubles", &op[FIRST], "copy + qsort", &op[QSORT], 0.1, NULL, NULL);
  bench_row("the same, nothing new", &op[AGAIN], "the first time", &op[FIRST], 0.001, NULL, NULL);
  bench_row("the same, 1 % new", &op[MORE], "the first time", &op[FIRST], 0.1, NULL, NULL);
}

void bench_recorder_rows(void) {
  push_rows();
  quantile_rows();
}
