/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_sums.c - count, mean, deviation and extremes, merged. */
#include "record/pml_sums.h"

#include <math.h>

/* Negative results of rounding become 0. */
struct pml_sums pml_sums_of(const struct pml_exact_sums *exact) {
  struct pml_sums s = {.count = (double)exact->count};
  if (exact->count == 0) return s;
  long double mean = (long double)exact->sum / (long double)exact->count;
  long double all = (long double)exact->square[1] * 0x1p64L + (long double)exact->square[0];
  s.mean = (double)mean;
  s.square = fmax((double)(all - (long double)exact->count * mean * mean), 0);
  s.min = (double)exact->min;
  s.max = (double)exact->max;
  return s;
}

void pml_exact_sums_merge(struct pml_exact_sums *to, const struct pml_exact_sums *from) {
  uint64_t low = to->square[0] + from->square[0];
  to->square[1] += from->square[1] + (low < from->square[0]);
  to->square[0] = low;
  to->count += from->count;
  to->sum += from->sum;
  if (from->min < to->min) to->min = from->min;
  if (from->max > to->max) to->max = from->max;
}

void pml_sums_merge(struct pml_sums *to, const struct pml_sums *from) {
  if (!(from->count > 0)) return;
  if (!(to->count > 0)) {
    *to = *from;
    return;
  }
  double n = to->count + from->count, share = from->count / n, distance = from->mean - to->mean;
  to->square += from->square + distance * distance * to->count * share;
  to->mean += distance * share;
  to->min = fmin(to->min, from->min);
  to->max = fmax(to->max, from->max);
  to->count = n;
}

void pml_sums_add(struct pml_sums *to, double value) {
  const struct pml_sums one = {1, value, 0, value, value};
  pml_sums_merge(to, &one);
}

double pml_sums_deviation(const struct pml_sums *s) {
  return s->count > 1 ? sqrt(s->square / (s->count - 1)) : 0;
}
