/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_sums.h - count, mean, deviation and extremes of values, and their merge. */
#ifndef PML_SUMS_H
#define PML_SUMS_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/* All zero: of no values. */
struct pml_sums {
  double count, mean;
  double square; /* sum of the squared distances from the mean */
  double min, max;
};

/* Exact sums of whole numbers, updated by a thread and stored in a log (docs/log.md). */
struct pml_exact_sums {
  uint64_t count, sum;
  uint64_t min, max;  /* UINT64_MAX and 0 without values */
  uint64_t square[2]; /* sum of the squares, low and high half */
};

void pml_exact_sums_merge(struct pml_exact_sums *to, const struct pml_exact_sums *from);
PML__SHARED struct pml_sums pml_sums_of(const struct pml_exact_sums *exact);

/*
 * pml_sums_merge - @to is of the values of both; the pairwise update of T. F. Chan, G. H. Golub & R. J. LeVeque (1979),
 * in which nothing cancels. pml_sums_add - the same of one value.
 */
PML__SHARED void pml_sums_merge(struct pml_sums *to, const struct pml_sums *from);
PML__SHARED void pml_sums_add(struct pml_sums *to, double value);

/* pml_sums_deviation - the sample's (n - 1); 0 of fewer than two values. */
PML__SHARED double pml_sums_deviation(const struct pml_sums *s);

PML_END_DECLS

#endif
