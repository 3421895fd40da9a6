/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/stream.c - the four vector operations of STREAM, with the probe after each, and once inside copy.
 *
 * McCalpin's rules: best time of all but the first repetition, 2, 2, 3, 3 arrays counted, results validated.
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>

enum { N, REPEATS };
enum { COPY_ELEMENT, COPY, SCALE, ADD, TRIAD, SITES };

/*
 * STREAM multiplies by 3, and its arrays overflow after some 260 repetitions. With this q, a step of all four
 * operations multiplies a by q^2 + 2q = 1: any number of repetitions can be validated.
 */
static const double q = 0.41421356237309503;

#define BLOCK ((size_t)1 << 20) /* elements between two looks at the user's wish to stop */

struct arrays {
  double *a, *b, *c;
};

static void copy(const struct arrays *v, size_t lo, size_t hi) {
  double *restrict c = v->c;
  const double *restrict a = v->a;
  for (size_t j = lo; j < hi; j++) c[j] = a[j];
}

static void scale(const struct arrays *v, size_t lo, size_t hi) {
  double *restrict b = v->b;
  const double *restrict c = v->c;
  for (size_t j = lo; j < hi; j++) b[j] = q * c[j];
}

static void add(const struct arrays *v, size_t lo, size_t hi) {
  double *restrict c = v->c;
  const double *restrict a = v->a, *restrict b = v->b;
  for (size_t j = lo; j < hi; j++) c[j] = a[j] + b[j];
}

static void triad(const struct arrays *v, size_t lo, size_t hi) {
  double *restrict a = v->a;
  const double *restrict b = v->b, *restrict c = v->c;
  for (size_t j = lo; j < hi; j++) a[j] = b[j] + q * c[j];
}

static void start_values(const struct arrays *v, size_t lo, size_t hi) {
  for (size_t j = lo; j < hi; j++) {
    v->a[j] = 2.0;
    v->b[j] = 2.0;
    v->c[j] = 0.0;
  }
}

static const struct {
  const char *name, *rate;
  void (*kernel)(const struct arrays *v, size_t lo, size_t hi);
  unsigned arrays; /* read and written, as STREAM counts */
} vector[SITES] = {
    [COPY] = {"copy", "copy_rate", copy, 2},
    [SCALE] = {"scale", "scale_rate", scale, 2},
    [ADD] = {"add", "add_rate", add, 3},
    [TRIAD] = {"triad", "triad_rate", triad, 3},
};

static int sweep(struct pml_workload_run *r, void (*kernel)(const struct arrays *, size_t, size_t),
                 const struct arrays *v, size_t lo, size_t n) {
  int err = 0;
  for (; lo < n && !err; lo += BLOCK) {
    kernel(v, lo, n - lo < BLOCK ? n : lo + BLOCK);
    err = workload_stopped(r, SITES);
  }
  return err;
}

/* One copy with the probe after each element, as long as there is room for samples; the rest is plain. */
static int copy_elements(struct pml_workload_run *r, const struct arrays *v, size_t n, pml_region_t region) {
  struct pml_probe *p = &r->probe[COPY_ELEMENT];
  size_t room = p->samples->capacity - p->samples->n, probed = room < n ? room : n;
  uint64_t enter = pml_clock_ticks();
  int err = 0;
  for (size_t j = 0; j < probed && !err; j++) {
    v->c[j] = v->a[j];
    pml_probe_hit(p);
    if ((j & 1023) == 0) err = workload_stopped(r, SITES);
  }
  if (!err) err = sweep(r, copy, v, probed, n);
  workload_phase(r, region, enter, pml_clock_ticks());
  return err;
}

static int repeat(struct pml_workload_run *r, const struct arrays *v, size_t n, size_t repeats, double best_ns[SITES]) {
  pml_region_t region[SITES];
  int err = workload_region(r, "copy_element", &region[COPY_ELEMENT]);
  for (unsigned k = COPY; k < SITES && !err; k++) {
    best_ns[k] = INFINITY;
    err = workload_region(r, vector[k].name, &region[k]);
  }
  if (!err) err = copy_elements(r, v, n, region[COPY_ELEMENT]);
  for (size_t i = 0; i < repeats && !err; i++) {
    for (unsigned k = COPY; k < SITES && !err; k++) {
      uint64_t enter = pml_clock_ticks();
      err = sweep(r, vector[k].kernel, v, 0, n);
      uint64_t leave = pml_clock_ticks();
      if (!err) pml_probe_hit(&r->probe[k]);
      workload_phase(r, region[k], enter, leave);
      double ns = (double)pml_clock_ticks_to_ns(leave - enter);
      if ((i > 0 || repeats == 1) && ns < best_ns[k]) best_ns[k] = ns; /* the first run warms up */
    }
  }
  return err ? err : workload_stopped(r, SITES);
}

/* Average relative deviation of an array from the value each of its elements must have. */
static double deviation(const double *x, size_t n, double expected) {
  double sum = 0;
  for (size_t j = 0; j < n; j++) sum += fabs(x[j] - expected);
  return sum / (double)n / fabs(expected);
}

static int validate(struct pml_workload_run *r, const struct arrays *v, size_t n, size_t repeats) {
  double a = 2.0, b = 2.0, c = 0.0;
  for (size_t i = 0; i < repeats; i++) {
    c = a;
    b = q * c;
    c = a + b;
    a = b + q * c;
  }
  double error = fmax(deviation(v->a, n, a), fmax(deviation(v->b, n, b), deviation(v->c, n, c)));
  workload_result(r, "error", "relative", error);
  if (error < 1e-13) return 0; /* NaN fails, too */
  return workload_fail(r, PML_EFORMAT, "the arrays are wrong: average relative error %.3g, it must be below 1e-13",
                       error);
}

static int run(struct pml_workload_run *r) {
  struct arrays v = {0};
  size_t n = 0, repeats = 0;
  double best_ns[SITES];
  int err = workload_size(r, N, "n", 1, 1e11, &n);
  if (!err) err = workload_size(r, REPEATS, "repeats", 1, 1e9, &repeats);
  if (err) return err;

  v.a = malloc(n * sizeof *v.a);
  v.b = malloc(n * sizeof *v.b);
  v.c = malloc(n * sizeof *v.c);
  if (!v.a || !v.b || !v.c) err = workload_out_of_memory(r, 3.0 * (double)n * sizeof(double));
  if (!err) err = sweep(r, start_values, &v, 0, n);
  if (!err) err = repeat(r, &v, n, repeats, best_ns);
  if (!err) {
    for (unsigned k = COPY; k < SITES; k++) /* bytes per ns are GB/s */
      workload_result(r, vector[k].rate, "MB/s", vector[k].arrays * sizeof(double) * (double)n / best_ns[k] * 1e3);
    err = validate(r, &v, n, repeats);
  }
  free(v.a);
  free(v.b);
  free(v.c);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "stream",
    .help = "STREAM's copy, scale, add and triad, probed after each element of a copy and after each vector",
    .site = {"copy_element", "copy", "scale", "add", "triad"},
    .option = {[N] = {"n", "elements of each of the three arrays of doubles", 1e7, NULL},
               [REPEATS] = {"repeats", "repetitions of the four operations", 10, NULL}},
    .run = run,
};
