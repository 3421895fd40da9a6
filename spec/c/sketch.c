/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sketch.c - every quantile of a sketch is within the bound it states, merged or not, coarse or not. */
#include "base/pml_pack.h"
#include "check.h"
#include "record/quantile/pml_sketch.h"

#include <float.h>
#include <math.h>

#define N 50000
#define ROUNDING 1e-9 /* error of log, exp and tanh */

static uint64_t seed = 2463534242u;

static double uniform(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return ((double)(seed >> 11) + 1) / 9007199254740993.0;
}

static double exponential(void) {
  return -log(uniform());
}

static double pareto(void) { /* without a mean */
  return pow(uniform(), -1 / 0.7);
}

static double lognormal_of_both_signs(void) {
  double u = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
  return uniform() < 0.3 ? -exp(4 * u) : uniform() < 0.1 ? 0 : exp(4 * u);
}

static double all_magnitudes(void) {
  double v = exp((uniform() - 0.5) * 1400);
  return uniform() < 0.5 ? v : -v;
}

static const struct {
  const char *name;
  double (*draw)(void);
} kinds[] = {{"exponential", exponential},
             {"Pareto without a mean", pareto},
             {"lognormal of both signs with zeros", lognormal_of_both_signs},
             {"600 orders of magnitude", all_magnitudes}};

static int by_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The largest relative error over 1,001 quantiles of @v, which is sorted. */
static double worst(const struct pml_sketch *s, const double *v, size_t n) {
  double most = 0;
  for (unsigned i = 0; i <= 1000; i++) {
    size_t index = (size_t)floor(i / 1000.0 * (double)n);
    double want = v[index < n ? index : n - 1], got = pml_sketch_at(s, i / 1000.0);
    double error = want == got ? 0 : fabs(got - want) / fabs(want);
    if (!(error <= most)) most = error;
  }
  return most;
}

/* The quantiles of @v, which is sorted, are within @bound in @s; count and ends are exact. */
static bool holds(const struct pml_sketch *s, const double *v, double bound, const char *what) {
  double error = worst(s, v, N);
  bool good = error <= bound + ROUNDING && pml_sketch_count(s) == N && pml_sketch_at(s, 0) == v[0] &&
              pml_sketch_at(s, 1) == v[N - 1];
  if (!good) printf("# %s: error %.3g within %.3g\n", what, error, bound);
  return good;
}

static void bounds(void) {
  static const struct {
    double alpha;
    size_t buckets;
  } shape[] = {{0.01, 2048}, {0.001, 65536}, {0.02, 64}, {0.5, 16}};
  static double v[N];
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    for (size_t p = 0; p < sizeof shape / sizeof shape[0]; p++) {
      struct pml_sketch *s, *part[3];
      pml_sketch_open(&s, shape[p].alpha, shape[p].buckets);
      for (int i = 0; i < 3; i++) pml_sketch_open(&part[i], shape[p].alpha, shape[p].buckets);
      for (size_t i = 0; i < N; i++) {
        v[i] = kinds[k].draw();
        pml_sketch_add(s, v[i]);
        pml_sketch_add(part[i * i % 3], v[i]); /* 0 or 1: the third stays empty */
      }
      qsort(v, N, sizeof *v, by_double);
      for (int i = 1; i < 3; i++) pml_sketch_merge(part[0], part[i]);
      double bound = pml_sketch_error(s), merged = pml_sketch_error(part[0]);
      CHECK(holds(s, v, bound, "whole") && (p > 0 || k > 2 || bound == shape[p].alpha), "%s, %g asked with %zu buckets",
            kinds[k].name, shape[p].alpha, shape[p].buckets);
      CHECK(holds(part[0], v, merged, "merged") && merged <= bound + ROUNDING, "and merged of three parts");
      pml_sketch_close(s);
      for (int i = 0; i < 3; i++) pml_sketch_close(part[i]);
    }
}

static void scaled(void) {
  static const double factor[] = {1, 0.37, 1e9 / 2993.0};
  static double v[N];
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    for (size_t f = 0; f < sizeof factor / sizeof factor[0]; f++) {
      struct pml_sketch *from, *to;
      pml_sketch_open(&from, 0.01, 2048);
      pml_sketch_open(&to, 0.01, 512);
      for (size_t i = 0; i < N; i++) {
        pml_sketch_add(from, v[i] = kinds[k].draw());
        v[i] *= factor[f];
      }
      pml_sketch_add_scaled(to, from, factor[f]);
      qsort(v, N, sizeof *v, by_double);
      double a = pml_sketch_error(from), b = pml_sketch_error(to);
      CHECK(holds(to, v, a + b + a * b, "scaled"), "%s times %g", kinds[k].name, factor[f]);
      pml_sketch_close(from);
      pml_sketch_close(to);
    }
}

static void scaled_ends(void) {
  static const double v[] = {-INFINITY, -4, 0, 0, NAN, 2, INFINITY};
  struct pml_sketch *from, *to;
  pml_sketch_open(&from, 0.01, 64);
  pml_sketch_open(&to, 0.01, 64);
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) pml_sketch_add(from, v[i]);
  pml_sketch_add_scaled(to, from, 0.5);
  CHECK(pml_sketch_count(to) == 6 && pml_sketch_nans(to) == 1 && pml_sketch_at(to, 0) == -INFINITY &&
            pml_sketch_at(to, 1) == INFINITY && pml_sketch_at(to, 0.5) == 0 && fabs(pml_sketch_at(to, 0.2) + 2) <= 0.05,
        "zeros, NaN and infinities stay what they are");
  pml_sketch_close(from);
  pml_sketch_close(to);
}

/* Its extremes are two reals of 8 bytes, behind its error, its size and its level. */
static void hostile_extremes(void) {
  struct pml_sketch *s, *back;
  struct pml__pack p = {0};
  const double nan = NAN;
  pml_sketch_open(&s, 0.01, 256);
  pml_sketch_add(s, 1);
  pml__sketch_pack(&p, s);
  const double one = 1;
  for (size_t at = 11; at <= 19; at += 8) {
    CHECK(memcmp(p.at + at, &one, 8) == 0, "an extreme is at byte %zu", at);
    memcpy(p.at + at, &nan, 8);
    struct pml__unpack u = {p.at, p.n, false};
    CHECK((back = pml__sketch_unpack(&u)) == NULL && u.failed, "an extreme that is no number is refused");
    pml_sketch_close(back);
    memcpy(p.at + at, &one, 8);
  }
  struct pml__unpack u = {p.at, p.n, false};
  CHECK((back = pml__sketch_unpack(&u)) != NULL && !u.failed, "and others are not");
  pml_sketch_close(back);
  pml_sketch_close(s);
  free(p.at);
}

static void odd_values(void) {
  struct pml_sketch *s, *other;
  pml_sketch_open(&s, 0.01, 256);
  CHECK(isnan(pml_sketch_at(s, 0.5)), "nothing has no median");
  static const double v[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, DBL_MAX, -DBL_MAX, DBL_MIN, NAN};
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) pml_sketch_add(s, v[i]);
  CHECK(pml_sketch_count(s) == 7 && pml_sketch_nans(s) == 2, "NaN are counted apart");
  CHECK(pml_sketch_at(s, 0) == -INFINITY && pml_sketch_at(s, 1) == INFINITY, "infinities stand at the ends");
  CHECK(pml_sketch_at(s, 0.5) == 0, "zeros between the signs");
  CHECK(isnan(pml_sketch_at(s, 1.5)) && isnan(pml_sketch_at(s, NAN)), "there is no quantile beyond 1");
  pml_sketch_open(&other, 0.01, 64);
  CHECK(pml_sketch_merge(other, s) == 0 && pml_sketch_merge(other, s) == 0 && pml_sketch_count(other) == 14 &&
            pml_sketch_nans(other) == 4 && pml_sketch_at(other, 0) == -INFINITY,
        "also merged twice");
  pml_sketch_close(other);
  pml_sketch_clear(s);
  CHECK(pml_sketch_count(s) == 0 && pml_sketch_nans(s) == 0 && pml_sketch_error(s) == 0.01, "clear forgets all");
  for (int i = 1; i <= 10; i++) pml_sketch_add(s, i);
  CHECK(fabs(pml_sketch_at(s, 0.25) - 3) <= 0.03 && fabs(pml_sketch_at(s, 0.5) - 6) <= 0.06, "libsde's index rule");
  CHECK(pml_sketch_merge(s, s) == -EINVAL, "a sketch is not merged into itself");
  pml_sketch_open(&other, 0.02, 256);
  CHECK(pml_sketch_merge(s, other) == -EINVAL && pml_sketch_count(s) == 10, "nor one of another error");
  pml_sketch_close(other);
  pml_sketch_close(s);
  pml_sketch_close(NULL);
  CHECK(pml_sketch_open(&s, 0, 256) == -EINVAL && pml_sketch_open(&s, NAN, 256) == -EINVAL && s == NULL,
        "an error that cannot be held is refused");
}

static void sizes_differ(void) {
  static double v[N];
  struct pml_sketch *coarse, *fine;
  pml_sketch_open(&coarse, 0.01, 32);
  pml_sketch_open(&fine, 0.01, 4096);
  for (size_t i = 0; i < N; i++) pml_sketch_add(i % 2 ? coarse : fine, v[i] = pareto());
  qsort(v, N, sizeof *v, by_double);
  pml_sketch_merge(fine, coarse);
  CHECK(holds(fine, v, pml_sketch_error(fine), "coarse") && pml_sketch_error(fine) >= pml_sketch_error(coarse),
        "a coarse one merged into a fine one makes it coarse, and is reported");
  pml_sketch_close(coarse), pml_sketch_close(fine);
}

int main(void) {
  CHECK_EACH(bounds, scaled, scaled_ends, odd_values, hostile_extremes, sizes_differ);
  return check_done();
}
