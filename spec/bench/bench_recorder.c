/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_recorder.c - cost of a recorder's push, alone and with a second thread, and of quantiles of a
 * million doubles. */
#include "bench.h"

#include "base/pml_clock.h"
#include "record/pml_compressed.h"
#include "record/pml_recorder.h"

#define MILLION 1000000
#define ROUNDS 15

/* --- pushing --- */

/* The floor: a store, and an increment of a count that other threads may read. */
struct bare {
  double *at;
  uint64_t n, most;
};

static void bare_store(void *arg, size_t n) {
  struct bare *b = arg;
  b->n = 0;
  for (size_t i = 0; i < n; i++) {
    if (b->n == b->most) return;
    b->at[b->n] = (double)(int64_t)i;
    __atomic_store_n(&b->n, b->n + 1, __ATOMIC_RELEASE);
  }
}

static void push_inline(void *arg, size_t n) {
  pml_recorder_reset(arg);
  for (size_t i = 0; i < n; i++) pml_recorder_push_double(arg, (double)(int64_t)i);
}

static void push_called(void *arg, size_t n) {
  pml_recorder_reset(arg);
  for (size_t i = 0; i < n; i++) {
    double v = (double)(int64_t)i;
    pml_recorder_push(arg, &v);
  }
}

static void push_on(void *arg, size_t n) {
  for (size_t i = 0; i < n; i++) pml_recorder_push_double(arg, (double)(int64_t)i);
}

static void nothing(void *arg, size_t n) {
  (void)arg, (void)n;
}

/* Samples of a counter, one a second with some ms of jitter, into memory that begins again when it is full. */
static void compress(void *arg, size_t n) {
  struct pml__compressed *c = arg;
  for (size_t i = 0; i < n; i++)
    if (!pml__compressed_add(c, (int64_t)(1000 * i + i % 7), i * 977)) pml__compressed_begin(c, c->at, c->end / 8);
}

/* @op while a second thread does @push to the same recorder; false if there is no second cpu. */
static bool run_with_second(struct bench_op *op, bench_batch *push) {
  if (!bench_second_start(push, op->arg)) return false;
  bench_run(op, 1);
  bench_second_stop();
  return true;
}

static void second_rows(struct pml_recorder *r) {
  struct bench_op alone = {.batch = push_inline, .arg = r}, both = alone;
  struct bench_sde_event shared = {bench_sde_open(), bench_sde_recorder(bench_sde_open(), "SHARED")};
  struct bench_op peer = {.batch = shared.event != NULL ? bench_sde_record_shared : NULL, .arg = &shared};
  bench_run(&alone, 1);
  if (!run_with_second(&both, push_on)) {
    printf("%-34s needs a second cpu\n", "recorder push, 2 threads on one");
    return;
  }
  if (peer.batch != NULL) run_with_second(&peer, bench_sde_record_shared);
  bench_row("recorder push, 2 threads on one", &both, "1 thread", &alone, 1.2, "papi_sde_record", &peer);
}

static void push_rows(void) {
  static double room[MILLION];
  struct bare bare = {room, 0, MILLION};
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  struct bench_sde_event series = {bench_sde_open(), bench_sde_recorder(bench_sde_open(), "SERIES")};
  if (pml_recorder_open(&r, &o) != 0) return;
  static unsigned char chunk[4096];
  struct pml__compressed compressed = {.at = chunk, .end = 8 * sizeof chunk};
  struct bench_op op[5] = {{.batch = bare_store, .arg = &bare},
                           {.batch = push_inline, .arg = r},
                           {.batch = push_called, .arg = r},
                           {.batch = series.event != NULL ? bench_sde_record : NULL, .arg = &series},
                           {.batch = compress, .arg = &compressed}};
  /* Until a process starts a second thread, the C library's locks cost half as much, which is not how libsde is used.
   */
  if (bench_second_start(nothing, NULL)) bench_second_stop();
  bench_run(op, 4);
  bench_run(&op[4], 1);
  bench_row("compressed sample, written", &op[4], "store + count", &op[0], 60, NULL, NULL);
  bench_row("recorder push, inline", &op[1], "store + count", &op[0], 5, "papi_sde_record", &op[3]);
  bench_row("recorder push, called", &op[2], "store + count", &op[0], 8, "papi_sde_record", &op[3]);
  if (op[3].batch != NULL) bench_row("recorder push, inline", &op[1], "papi_sde_record", &op[3], 0.2, NULL, NULL);
  second_rows(r);
  pml_recorder_close(r);
}

/* --- quantiles --- */

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

/* A stand-in batch for bench_row(): these are timed one by one, because each needs a series in a different state. */
static struct bench_op median_of(double *ns, size_t n) {
  return (struct bench_op){.batch = push_on, .ns = bench_median(ns, n), .instructions = -1};
}

/* --- the same of PAPI, through its own libsde --- */

#define PEER_ROUNDS 3 /* each takes a second */

static double papi_ns(struct bench_papi *papi) {
  uint64_t t0 = pml_clock_ticks_ordered();
  bench_papi_read(papi, 1);
  return (double)pml_clock_ticks_to_ns(pml_clock_ticks_ordered() - t0);
}

static void push_peer(struct bench_libsde *l, void *recorder) {
  double v = next_double();
  l->record(recorder, sizeof v, &v);
}

/* Fills @op[FIRST], [AGAIN] and [MORE]; false where there is no PAPI with software-defined events. */
static bool peer_quantiles(struct bench_op *op) {
  static const char *const names[] = {"sde:::BENCH::QUANT:MIN", "sde:::BENCH::QUANT:Q1",  "sde:::BENCH::QUANT:MED",
                                      "sde:::BENCH::QUANT:Q3",  "sde:::BENCH::QUANT:MAX", "sde:::BENCH::QUANT:CNT"};
  double ns[MORE + 1][PEER_ROUNDS];
  struct bench_libsde *l = bench_sde_open();
  void *recorder = bench_sde_recorder(l, "QUANT");
  struct bench_papi *papi = recorder != NULL ? bench_papi_open(names, sizeof names / sizeof *names) : NULL;
  if (papi == NULL) return false;
  for (size_t i = 0; i < MILLION; i++) push_peer(l, recorder);
  for (int r = 0; r < PEER_ROUNDS; r++) {
    push_peer(l, recorder); /* invalidates the values that PAPI keeps sorted */
    ns[FIRST][r] = papi_ns(papi);
    ns[AGAIN][r] = papi_ns(papi);
    for (size_t i = 0; i < MILLION / 100; i++) push_peer(l, recorder);
    ns[MORE][r] = papi_ns(papi);
  }
  for (int w = FIRST; w <= MORE; w++) op[w] = median_of(ns[w], PEER_ROUNDS);
  bench_papi_close(papi);
  return true;
}

static void quantile_rows(void) {
  static double ns[WAYS][ROUNDS];
  struct bench_op op[WAYS], peer[WAYS] = {{.batch = NULL}};
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
  for (int w = 0; w < WAYS; w++) op[w] = median_of(ns[w], ROUNDS);
  (void)peer_quantiles(peer);
  bench_row("5 quantiles + count, 1e6 doubles", &op[FIRST], "copy + qsort", &op[QSORT], 0.08, "PAPI_read",
            &peer[FIRST]);
  bench_row("the same, nothing new", &op[AGAIN], "the first time", &op[FIRST], 0.001, "PAPI_read", &peer[AGAIN]);
  bench_row("the same, 1 % new", &op[MORE], "the first time", &op[FIRST], 0.1, "PAPI_read", &peer[MORE]);
}

void bench_recorder_rows(void) {
  push_rows();
  quantile_rows();
}
