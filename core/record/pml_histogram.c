/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_histogram.c - bucket bounds, and quantiles of a histogram. */
#include "record/pml_histogram.h"

#include "record/quantile/pml_quantile.h"

#include <math.h>

/* 2^64 does not fit an integer. */
double pml_histogram_least(uint32_t i) {
  if (i > PML_HISTOGRAM_BUCKETS) i = PML_HISTOGRAM_BUCKETS;
  return i < PML_HISTOGRAM_EXACT ? i : ldexp(8 + i % 8, (int)(i / 8) - 1);
}

/* The value of place @at in their order. */
static double value_at(const uint64_t *count, uint64_t at) {
  uint32_t i = 0;
  while (i + 1 < PML_HISTOGRAM_BUCKETS && at >= count[i]) at -= count[i++];
  double from = pml_histogram_least(i), width = pml_histogram_least(i + 1) - from;
  return i < PML_HISTOGRAM_EXACT ? from : from + width * ((double)at + 0.5) / (double)count[i];
}

double pml_histogram_quantile(const uint64_t *count, double q) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < PML_HISTOGRAM_BUCKETS; i++) n += count[i];
  if (n == 0 || !(q >= 0 && q <= 1)) return NAN;
  struct pml_quantile_place p = pml_quantile_place(n, q);
  double lower = value_at(count, p.at);
  return p.part > 0 ? pml_quantile_between(lower, value_at(count, p.at + 1), p.part) : lower;
}
