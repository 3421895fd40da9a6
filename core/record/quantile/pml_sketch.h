/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_sketch.h - quantiles of an endless series in bounded memory, with an error bound. */
#ifndef PML_SKETCH_H
#define PML_SKETCH_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/*
 * Counts per bucket of a geometric scale (DDSketch: Masson, Rim & Lee, VLDB 2019): every quantile is within @alpha
 * times its value of the true one. Where a series spans more than the buckets can, all pairs of neighbours are joined
 * (uniform collapse: Epicoco et al., IEEE Access 2020), which keeps a bound for all quantiles, a larger one:
 * pml_sketch_error(). Zeros, negatives and infinities are kept apart, NaN counted; minimum and maximum are exact.
 *
 * One thread adds; another may meanwhile merge from it or ask for counts.
 */
struct pml_sketch;

/*
 * @alpha: in [1e-6, 0.5]; @max_buckets: for each sign, rounded up to a power of two, at least 16.
 * Returns 0, -EINVAL or -ENOMEM. Memory: 24 bytes per bucket.
 */
PML__SHARED int pml_sketch_open(struct pml_sketch **s, double alpha, size_t max_buckets);
PML__SHARED void pml_sketch_close(struct pml_sketch *s);
void pml_sketch_clear(struct pml_sketch *s);

/* pml_sketch_add - no allocation; a logarithm and a few loads. */
PML__SHARED void pml_sketch_add(struct pml_sketch *s, double v);

/* pml_sketch_merge - add what @from holds; -EINVAL: other alpha, or itself; -ENOMEM: nothing was merged. */
PML__SHARED int pml_sketch_merge(struct pml_sketch *into, const struct pml_sketch *from);

/*
 * pml_sketch_add_scaled - add what @from holds, each value times @factor (> 0). Values of a bucket are taken as its
 * middle, so that the errors of both add up; minimum and maximum stay exact. No thread may add to @from meanwhile.
 */
PML__SHARED void pml_sketch_add_scaled(struct pml_sketch *into, const struct pml_sketch *from, double factor);

/* pml_sketch_at - the element of index floor(@q * count), from 0, capped at count - 1; NaN if empty or q not in 0..1.
 */
double pml_sketch_at(const struct pml_sketch *s, double q);
/* pml_sketch_value - the quantile by the rule of pml_quantile.h; NaN if empty or q not in 0..1. */
PML__SHARED double pml_sketch_value(const struct pml_sketch *s, double q);
PML__SHARED uint64_t pml_sketch_count(const struct pml_sketch *s); /* without NaN */
uint64_t pml_sketch_nans(const struct pml_sketch *s);
/* The bound that holds now: @alpha, or more where buckets had to be joined. */
PML__SHARED double pml_sketch_error(const struct pml_sketch *s);

/* pml__sketch_like - an empty one as @s was opened, or NULL. pml__sketch_alike - the two can be merged. */
PML__SHARED struct pml_sketch *pml__sketch_like(const struct pml_sketch *s);
PML__SHARED bool pml__sketch_alike(const struct pml_sketch *s, const struct pml_sketch *other);

/*
 * pml__sketch_pack - append @s as bytes to @p; no thread may add to @s meanwhile: two or three for each bucket in
 * use. pml__sketch_unpack - the sketch that these bytes are, to be closed; NULL where there is no memory, or with @u
 * failed where they are not a sketch: nothing in them is trusted, and a sketch of more than PML__SKETCH_PACKED_MAX
 * buckets is refused.
 */
#define PML__SKETCH_PACKED_MAX 4096u
struct pml__pack;
struct pml__unpack;
PML__SHARED void pml__sketch_pack(struct pml__pack *p, const struct pml_sketch *s);
PML__SHARED struct pml_sketch *pml__sketch_unpack(struct pml__unpack *u);

PML_END_DECLS

#endif
