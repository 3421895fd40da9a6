/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_bench.c - interleaved samples of a function and an empty function. */
#include "record/pml_bench.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "record/pml_interval.h"
#include "record/quantile/pml_quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_NS 1e5 /* per sample: clocks resolve some 100 ns or better */
#define SAMPLES 200u /* of each function, where one call takes no longer than a sample should */
#define MOST (UINT64_C(1) << 40)

struct samples {
  double *of_f, *of_empty; /* [2 * SAMPLES] ns a call */
  uint64_t n;
};

static void empty(void *arg) {
  (void)arg;
}

/* The compiler may not know which function it is, nor call it once for all. */
static double timed(void (*volatile f)(void *), void *arg, uint64_t n) {
  void (*call)(void *) = f;
  uint64_t from = pml_clock_ns();
  for (uint64_t i = 0; i < n; i++) call(arg);
  return (double)(pml_clock_ns() - from);
}

static uint64_t iterations_for(void (*f)(void *), void *arg, double sample_ns) {
  uint64_t n = 1;
  for (double took; n < MOST && (took = timed(f, arg, n)) < sample_ns;) {
    double wanted = took > 0 ? ceil((double)n * sample_ns / took * 1.1) : 16 * (double)n;
    n = (uint64_t)fmin(16 * (double)n, fmax((double)n + 1, wanted));
  }
  return n;
}

static void measure(void (*f)(void *), void *arg, double seconds, uint64_t iterations, struct samples *s) {
  uint64_t from = pml_clock_ns();
  do {
    s->of_empty[s->n] = timed(empty, arg, iterations) / (double)iterations;
    s->of_f[s->n++] = timed(f, arg, iterations) / (double)iterations;
  } while (s->n < PML_INTERVAL_FEWEST || (s->n < 2 * SAMPLES && (double)(pml_clock_ns() - from) < seconds * 1e9));
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *value, uint64_t n, double *low, double *high) {
  qsort(value, n, sizeof *value, ascending);
  (void)pml_median_interval(value, n, 0.95, low, high); /* there are enough */
  struct pml_quantile_place p = pml_quantile_place(n, 0.5);
  return p.part > 0 ? pml_quantile_between(value[p.at], value[p.at + 1], p.part) : value[p.at];
}

/*
 * The interval of the difference is computed from both intervals: G. Y. Zou & A. Donner, Construction of confidence
 * limits about effect measures, Statistics in Medicine 27 (2008).
 */
static void summarise(const struct samples *s, uint64_t iterations, struct pml_bench *b) {
  double f_low, f_high, e_low, e_high;
  double f = median(s->of_f, s->n, &f_low, &f_high), e = median(s->of_empty, s->n, &e_low, &e_high);
  *b = (struct pml_bench){.median_ns = f - e,
                          .low_ns =
                              fmax(f - e - hypot(f - f_low, e_high - e), fmin(f - e, 0)), /* no call gives time back */
                          .high_ns = f - e + hypot(f_high - f, e - e_low),
                          .min_ns = s->of_f[0] - e,
                          .max_ns = s->of_f[s->n - 1] - e,
                          .empty_ns = e,
                          .iterations = iterations,
                          .samples = s->n};
}

int pml_bench_run(void (*f)(void *arg), void *arg, double seconds, struct pml_bench *b) {
  *b = (struct pml_bench){0};
  if (f == NULL) return pml_fail(-EINVAL, "no function to measure");
  if (!(seconds > 0) || isinf(seconds)) return pml_fail(-EINVAL, "seconds must be a positive number");
  double *room = malloc(4 * SAMPLES * sizeof *room);
  if (room == NULL) return pml_fail(-ENOMEM, "no memory for samples");
  (void)pml_clock_init(); /* without a counter it is another clock */
  struct samples s = {.of_f = room, .of_empty = room + 2 * SAMPLES};
  uint64_t iterations = iterations_for(f, arg, fmax(LEAST_NS, 1e9 * seconds / SAMPLES / 2));
  measure(f, arg, seconds, iterations, &s);
  summarise(&s, iterations, b);
  free(room);
  return 0;
}
