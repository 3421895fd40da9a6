/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_interval.h - distribution-free confidence interval of a median. */
#ifndef PML_INTERVAL_H
#define PML_INTERVAL_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

#define PML_INTERVAL_FEWEST 5u

/*
 * pml_median_interval - between order statistics of @n values in their order: T. P. Hettmansperger & S. J. Sheather,
 * Confidence intervals based on interpolated order statistics, Statistics & Probability Letters 4 (1986). The number of
 * values below the median is binomial (n, 1/2). The interval never leaves the values: where even the outermost enclose
 * the median less often than @level, it goes from one to the other. The extremes of five values do in 93.75 % of all
 * cases.
 *
 * Values must be independent: rounds, not samples in a row. Where half of them are far from the other half, the median
 * is anywhere in between, and the interval may miss it more often. Returns 0 or -EINVAL (fewer than
 * PML_INTERVAL_FEWEST). Cost: up to n / 2 exponentials.
 */
PML__SHARED int pml_median_interval(const double *sorted, uint64_t n, double level, double *low, double *high);

PML_END_DECLS

#endif
