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
  struct pml_exact_sums exact = {8, 40, 2, 9, {232, 0}};
  a = pml_sums_of(&exact);
  CHECK(is(&a, 8, 5, deviation, 2, 9), "from the sum and the sum of squares");
  const struct pml_exact_sums no_values = {0, 0, UINT64_MAX, 0, {0, 0}};
  pml_exact_sums_merge(&exact, &no_values);
  b = pml_sums_of(&exact);
  CHECK(memcmp(&a, &b, sizeof a) == 0, "which nothing is merged into");
  a = pml_sums_of(&no_values);
  CHECK(is(&a, 0, 0, 0, 0, 0) && is(&nothing, 0, 0, 0, 0, 0), "nothing is all zero");
  b = of(v, 1);
  CHECK(is(&b, 1, 2, 0, 2, 2), "one value has no deviation");
  /* 2^33 times 2^40 + 0 or 2: the squares take more than 64 bits, the deviation is 1. */
  const double n = 0x1p33, least = 0x1p40;
  a = (struct pml_sums){n / 2, least, 0, least, least};
  b = (struct pml_sums){n / 2, least + 2, 0, least + 2, least + 2};
  pml_sums_merge(&a, &b);
  CHECK(is(&a, n, least + 1, sqrt(n / (n - 1)), least, least + 2), "large values with a small spread lose nothing");
  /* 2^32 - 1 and 2^32 + 1, whose squares are 2^64 -+ 2^33 + 1: each half of a sum carries into the next. */
  exact = (struct pml_exact_sums){1, UINT32_MAX, UINT32_MAX, UINT32_MAX, {UINT64_C(1) - (UINT64_C(1) << 33), 0}};
  const uint64_t more = (UINT64_C(1) << 32) + 1;
  const struct pml_exact_sums other = {1, more, more, more, {UINT64_C(1) + (UINT64_C(1) << 33), 1}};
  pml_exact_sums_merge(&exact, &other);
  CHECK(exact.square[0] == 2 && exact.square[1] == 2, "sums of squares carry");
  exact = (struct pml_exact_sums){2, 0x1p32, 0x7fffffff, 0x80000001, {(UINT64_C(1) << 63) + 2, 0}};
  a = pml_sums_of(&exact);
  CHECK(is(&a, 2, 0x1p31, sqrt(2), 0x1p31 - 1, 0x1p31 + 1), "whole numbers lose nothing, either");
  return check_done();
}
