/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_quantile.h - exact quantiles by typed selection, and a sketch with a bound for endless series. */
#ifndef PML_QUANTILE_H
#define PML_QUANTILE_H

#include "source/pml_value.h"

#include <stddef.h>

PML_BEGIN_DECLS

/*
 * Exact order statistics of a growing series: the part that was sorted stays sorted, each update sorts only what is new
 * and merges it. NaN are counted apart and never sorted in.
 */
struct pml_quantile; /* opaque */

/* @bytes and @compare (as of qsort) matter for PML_TYPE_OTHER only. Returns 0, -EINVAL or -ENOMEM. */
PML_API int pml_quantile_open(struct pml_quantile **q, enum pml_type type, size_t bytes,
                              int (*compare)(const void *, const void *));
PML_API void pml_quantile_close(struct pml_quantile *q);

/* pml_quantile_add - take @n elements in; they are copied. Returns 0 or -ENOMEM (then nothing of them is taken). */
PML_API int pml_quantile_add(struct pml_quantile *q, const void *elements, size_t n);
PML_API void pml_quantile_clear(struct pml_quantile *q);
PML_API size_t pml_quantile_count(const struct pml_quantile *q); /* without NaN */
PML_API size_t pml_quantile_nans(const struct pml_quantile *q);

/*
 * pml_quantile_at - the element of index (n * percent) / 100, integer, from 0, capped at n - 1: libsde's rule, so that
 * 0, 25, 50, 75 and 100 are MIN, Q1, MED, Q3 and MAX. Valid until the next add, clear or close. NULL if there is none.
 * Cost: nothing if nothing was added since the last call, else the sort of what is new and one merge.
 */
PML_API const void *pml_quantile_at(struct pml_quantile *q, unsigned percent);

/*
 * Streaming sketch with a relative error bound: every quantile it gives is within @alpha times its value of the true
 * one (DDSketch: Masson, Rim & Lee, VLDB 2019), in bounded memory; mergeable. Zeros and negatives are kept apart, NaN
 * counted.
 */
struct pml_sketch;
PML_API int pml_sketch_open(struct pml_sketch **s, double alpha, size_t max_buckets);
PML_API void pml_sketch_close(struct pml_sketch *s);
PML_API void pml_sketch_add(struct pml_sketch *s, double v);                          /* no allocation after open */
PML_API int pml_sketch_merge(struct pml_sketch *into, const struct pml_sketch *from); /* -EINVAL: other alpha */
PML_API double pml_sketch_at(const struct pml_sketch *s, double q);                   /* NaN if empty */
PML_API uint64_t pml_sketch_count(const struct pml_sketch *s);
PML_API uint64_t pml_sketch_nans(const struct pml_sketch *s);
/* The bound that holds now: @alpha, or more where buckets had to be collapsed. */
PML_API double pml_sketch_error(const struct pml_sketch *s);

PML_END_DECLS

#endif
