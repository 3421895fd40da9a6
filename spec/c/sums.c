/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sums.c - count, mean, deviation and extremes are the same however values are put together. */
#include "check.h"
#include "record/pml_sums.h"

#include <math.h>

static bool is(const struct pml_sums *s, double count, double mean, double deviation, double min, double max) {
  return s->count == count && fabs(s->mean - mean) <= 1e-12 * fabs(mean) && s->min == min && s->max == max &&
         fabs(pml_sums_deviation(s) - deviation) <= 1e-9 * (1 + deviation);
}

static struct pml_sums of(const double *value, unsigned n) {
  struct pml_sums s = {0};
  for (unsigned i = 0; i < n; i++) pml_sums_add(&s, value[i]);
  return s;
}

int main(void) {
  static const double v[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* mean 5, squares 32 */
  const double deviation = sqrt(32.0 / 7);
  struct pml_sums all = of(v, 8), nothing = {0}, a, b;
  CHECK(is(&all, 8, 5, deviation, 2, 9), "one by one");
  unsigned wrong = 0;
  for (unsigned n = 0; n <= 8; n++) {
    a = of(v, n);
    b = of(v + n, 8 - n);
    pml_sums_merge(&a, &b);
    wrong += !is(&a, 8, 5, deviation, 2, 9);
  }
  CHECK(wrong == 0, "in two parts of any size (%u wrong)", wrong);
  const uint64_t square[2] = {232, 0};
  a = pml_sums_of(8, 40, square, 2, 9);
  CHECK(is(&a, 8, 5, deviation, 2, 9), "from the sum and the sum of squares");
  a = pml_sums_of(0, 0, square, UINT64_MAX, 0);
  CHECK(is(&a, 0, 0, 0, 0, 0) && is(&nothing, 0, 0, 0, 0, 0), "nothing is all zero");
  b = of(v, 1);
  CHECK(is(&b, 1, 2, 0, 2, 2), "one value has no deviation");
  /* 2^33 times 2^40 + 0 or 2: the squares take more than 64 bits, the deviation is 1. */
  const double n = 0x1p33, least = 0x1p40;
  a = (struct pml_sums){n / 2, least, 0, least, least};
  b = (struct pml_sums){n / 2, least + 2, 0, least + 2, least + 2};
  pml_sums_merge(&a, &b);
  CHECK(is(&a, n, least + 1, sqrt(n / (n - 1)), least, least + 2), "large values with a small spread lose nothing");
  const uint64_t wide[2] = {UINT64_C(0x8000000000000000) + UINT64_C(2), 0}; /* 2^31.5 twice: 2 (2^31)^2 and a little */
  a = pml_sums_of(2, UINT64_C(1) << 32, wide, UINT64_C(0x7fffffff), UINT64_C(0x80000001));
  CHECK(is(&a, 2, 0x1p31, sqrt(2), 0x1p31 - 1, 0x1p31 + 1), "so do whole numbers");
  return check_done();
}
