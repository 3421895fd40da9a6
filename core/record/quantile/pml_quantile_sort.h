/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_quantile_sort.h - sorting and merging for exact quantiles. */
#ifndef PML_QUANTILE_SORT_H
#define PML_QUANTILE_SORT_H

#include "base/pml_api.h"

#include <stddef.h>
#include <stdint.h>

typedef int pml__compare(const void *, const void *);

/*
 * pml__big_alloc - malloc(), in huge pages where it is large: touching 8 MB for the first time costs as much as sorting
 * them otherwise. To be freed by free().
 */
void *pml__big_alloc(size_t bytes);

/* pml__sort_keys - ascending. @scratch: room for @n. Radix passes over the bits that differ; no comparator. */
PML__SHARED void pml__sort_keys(uint64_t *key, uint64_t *scratch, size_t n);

/* pml__merge_keys - two ascending runs that lie one after the other become one. @scratch: room for @n_second. */
void pml__merge_keys(uint64_t *first, size_t n_first, size_t n_second, uint64_t *scratch);

/* pml__keys_rank - how many of @n ascending keys are below or equal to @limit. */
size_t pml__keys_rank(const uint64_t *key, size_t n, uint64_t limit);

/*
 * pml__sort_elements - stable merge sort. Every access is within the array even if @compare is inconsistent, which
 * qsort does not promise. @scratch: room for @n elements.
 */
void pml__sort_elements(void *array, void *scratch, size_t n, size_t bytes, pml__compare *compare);

/* pml__merge_elements - as pml__merge_keys. @scratch: room for @n_second elements. */
void pml__merge_elements(void *first, size_t n_first, size_t n_second, void *scratch, size_t bytes,
                         pml__compare *compare);

#endif
