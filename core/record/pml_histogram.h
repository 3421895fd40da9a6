/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_histogram.h - histograms with buckets of logarithmic width. */
#ifndef PML_HISTOGRAM_H
#define PML_HISTOGRAM_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/*
 * Values below PML_HISTOGRAM_EXACT have a bucket each; above, every octave has eight of equal width, so that a bucket
 * is at most an eighth of its values wide. There is one for every 64-bit value.
 */
#define PML_HISTOGRAM_BUCKETS 496u
#define PML_HISTOGRAM_EXACT 16u

/* Values below EXACT are their own buckets. */
static inline uint32_t pml_histogram_bucket(uint64_t value) {
  uint32_t shift = 60u - (uint32_t)__builtin_clzll(value | 8);
  return shift * 8 + (uint32_t)(value >> shift);
}

/* pml_histogram_least - the least value of bucket @i; of PML_HISTOGRAM_BUCKETS and beyond, 2^64. */
PML__SHARED double pml_histogram_least(uint32_t i);

/*
 * pml_histogram_quantile - of what @count [PML_HISTOGRAM_BUCKETS] has, by the rule of pml_quantile.h, as if the values
 * of a bucket were evenly spread in it: good to half a bucket, some 6 %. NaN without values or if @q is not in 0..1.
 */
PML__SHARED double pml_histogram_quantile(const uint64_t *count, double q);

PML_END_DECLS

#endif
