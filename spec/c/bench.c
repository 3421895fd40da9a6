/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/bench.c - what a call costs, of functions whose cost is planted; and the interval of a median. */
#include "check.h"
#include "record/pml_interval.h"

#include <math.h>

struct planted {
  unsigned turns;
  uint64_t calls;
};

/* A chain of so many divisions, which no compiler shortens. */
static void divide(void *arg) {
  struct planted *p = arg;
  double v = 1e300;
  p->calls++;
  for (unsigned i = 0; i < p->turns; i++) {
    v /= 1.0000001;
    pml_bench_keep(&v);
  }
}

static void rest(void *arg) {
  const struct timespec ms = {0, 1000000};
  (void)arg;
  nanosleep(&ms, NULL);
}

static void nothing(void *arg) {
  (void)arg;
}

static bool in_order(const struct pml_bench *b) {
  return b->min_ns <= b->median_ns && b->median_ns <= b->max_ns && b->low_ns <= b->median_ns &&
         b->median_ns <= b->high_ns && b->empty_ns > 0 && b->samples >= PML_INTERVAL_FEWEST;
}

static void functions(void) {
  struct planted few = {10, 0}, many = {10000, 0};
  struct pml_bench a, b, c;
  CHECK(pml_bench_run(divide, &few, 0.1, &a) == 0 && in_order(&a), "a function is measured");
  CHECK(few.calls >= a.iterations * a.samples && a.iterations > 1, "in %llu calls a sample",
        (unsigned long long)a.iterations);
  CHECK(pml_bench_run(divide, &many, 0.1, &b) == 0 && in_order(&b), "so is one that takes a thousand times as long");
  CHECK(b.median_ns > 10 * a.median_ns && b.iterations < a.iterations, "it costs more (%.0f ns, %.0f ns)", b.median_ns,
        a.median_ns);
  int err = pml_bench_run(nothing, NULL, 0.1, &c);
  CHECK(err == 0 && in_order(&c) && c.median_ns < b.median_ns / 10, "nothing costs next to nothing (%.2f ns)",
        c.median_ns);
  err = pml_bench_run(rest, NULL, 0.02, &a);
  CHECK(err == 0 && a.iterations == 1 && a.min_ns + a.empty_ns >= 1e6, "no rest is shorter than requested (%.0f ns)",
        a.min_ns);
}

static void misuse(void) {
  struct pml_bench b = {.samples = 7};
  CHECK(pml_bench_run(NULL, NULL, 1, &b) == -EINVAL && b.samples == 0, "no function is -EINVAL");
  const double bad[] = {0, -1, NAN, INFINITY};
  for (int i = 0; i < 4; i++) CHECK(pml_bench_run(nothing, NULL, bad[i], &b) == -EINVAL, "so are %g seconds", bad[i]);
}

static bool near(double a, double b) {
  return fabs(a - b) < 1e-3;
}

static void intervals(void) {
  double v[2001], low, high;
  for (int i = 0; i < 2001; i++) v[i] = i + 1;
  for (uint64_t n = 0; n < 5; n++)
    CHECK(pml_median_interval(v, n, 0.95, &low, &high) == -EINVAL, "%d values are too few for an interval", (int)n);
  int err = pml_median_interval(v, 6, 0.99, &low, &high);
  CHECK(err == 0 && near(low, 1) && near(high, 6), "the interval of six for 99 %% is all of them (%.4f .. %.4f)", low,
        high);
  for (uint64_t n = 5; n < 60; n++) {
    err = pml_median_interval(v, n, 0.95, &low, &high);
    CHECK(err == 0 && low >= 1 && high <= (double)n, "the interval of %d is within them (%.4f .. %.4f)", (int)n, low,
          high);
  }
  /* The outer 2 and 3 of 10 have 97.85 and 89.06 %: share 0.3244, part 8 share / (2 + 6 share) */
  err = pml_median_interval(v, 10, 0.95, &low, &high);
  CHECK(err == 0 && near(low, 2.6577) && near(high, 8.3423),
        "the interval of ten lies between the second and the third (%.4f .. %.4f)", low, high);
  err = pml_median_interval(v, 2001, 0.95, &low, &high);
  CHECK(err == 0 && fabs(low - 957.2) < 1 && fabs(high - 1044.8) < 1,
        "the interval of many is the normal distribution's (%.1f .. %.1f)", low, high);
}

int main(void) {
  CHECK_EACH(functions, misuse, intervals);
  return check_done();
}
