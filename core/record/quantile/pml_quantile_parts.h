/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_quantile_parts.h - keys partitioned by their highest bits, sorted on demand. */
#ifndef PML_QUANTILE_PARTS_H
#define PML_QUANTILE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parts of a run: each key of a part is below each key of the next part. A part is sorted when it is first needed,
 * because a few quantiles of many keys need only a few parts. One reader at a time.
 */
struct pml__parts;

/*
 * pml__parts_make - @n keys, at least one, from @key to @to, in parts. NULL: no memory, or they are all the same, and
 * nothing was written. Free with free(). One pass to count, one to move.
 */
struct pml__parts *pml__parts_make(const uint64_t *key, size_t n, uint64_t *to);

/* pml__parts_key - the key of @index of those in @key, into *@out; false: no memory to sort its part. */
bool pml__parts_key(struct pml__parts *p, uint64_t *key, size_t index, uint64_t *out);

/* pml__parts_below, pml__parts_above - what the key of @index is at least, and at most: the bounds of its part. */
uint64_t pml__parts_below(const struct pml__parts *p, size_t index);
uint64_t pml__parts_above(const struct pml__parts *p, size_t index);

/* pml__parts_rank - how many of those in @key are below or equal to @limit. Without memory it only takes longer. */
size_t pml__parts_rank(struct pml__parts *p, uint64_t *key, uint64_t limit);

/* pml__parts_finish - sort all that is not sorted yet; false: no memory, and some of it is not. */
bool pml__parts_finish(struct pml__parts *p, uint64_t *key);

#endif
