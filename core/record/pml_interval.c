/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_interval.c - interpolated order statistics around the median. */
#include "record/pml_interval.h"

#include "base/pml_error.h"

#include <errno.h>
#include <math.h>

/* Chance that just @k of @n values are on one side of the median, or on the other. */
static double both_sides(uint64_t n, uint64_t k) {
  double all = (double)n, some = (double)k;
  int sign; /* lgamma() would leave it in a variable that threads share */
  return 2 * exp(lgamma_r(all + 1, &sign) - lgamma_r(some + 1, &sign) - lgamma_r(all - some + 1, &sign) - all * log(2));
}

int pml_median_interval(const double *sorted, uint64_t n, double level, double *low, double *high) {
  if (n < PML_INTERVAL_FEWEST)
    return pml_fail(-EINVAL, "%llu values are too few for an interval; %u are needed", (unsigned long long)n,
                    PML_INTERVAL_FEWEST);
  /* The median is outside of the k-th values from both ends in @here cases, of the next in @next. */
  double alpha = 1 - level, here = both_sides(n, 0), next = here + both_sides(n, 1);
  uint64_t k = 1;
  if (here > alpha) {
    *low = sorted[0];
    *high = sorted[n - 1];
    return 0;
  }
  for (; next <= alpha && k < n / 2; k++) {
    here = next;
    next += both_sides(n, k + 1);
  }
  double share = (alpha - here) / (next - here), outer = (double)(n - k);
  double part = outer * share / ((double)k + (outer - (double)k) * share);
  *low = sorted[k - 1] + part * (sorted[k] - sorted[k - 1]);
  *high = sorted[n - k] - part * (sorted[n - k] - sorted[n - k - 1]);
  return 0;
}
