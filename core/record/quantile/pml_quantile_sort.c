/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_quantile_sort.c - radix sort of 64-bit keys, and a merge sort for any comparator. */
#include "record/quantile/pml_quantile_sort.h"

#include "base/pml_array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DIGIT 10 /* bits per pass: more targets than this at once miss the first-level cache and the TLB */
#define SLOTS ((size_t)1 << DIGIT)
#define HUGE_PAGE ((size_t)2 << 20)
#define PASSES 3
#define SMALL 16    /* up to here insertion is best */
#define MIDDLE 1024 /* up to here clearing the counters would cost more than merging */

static void insert_keys(uint64_t *key, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t k = key[i];
    size_t j = i;
    for (; j > 0 && key[j - 1] > k; j--) key[j] = key[j - 1];
    key[j] = k;
  }
}

static void merge_sort_keys(uint64_t *key, uint64_t *scratch, size_t n) {
  for (size_t i = 0; i < n; i += SMALL) insert_keys(key + i, n - i < SMALL ? n - i : SMALL);
  for (size_t width = SMALL; width < n; width *= 2)
    for (size_t i = 0; i + width < n; i += 2 * width)
      pml__merge_keys(key + i, width, n - i - width < width ? n - i - width : width, scratch);
}

static uint64_t differing_bits(const uint64_t *key, size_t n) {
  uint64_t differ = 0;
  for (size_t i = 1; i < n; i++) differ |= key[i] ^ key[0];
  return differ;
}

/* One stable counting pass by the digit above @shift; false if all keys have the same digit, and nothing moved. */
static bool scatter(const uint64_t *from, uint64_t *to, size_t n, unsigned shift, size_t *count) {
  size_t at = 0;
  if (count[(from[0] >> shift) & (SLOTS - 1)] == n) return false;
  for (size_t d = 0; d < SLOTS; d++) {
    size_t c = count[d];
    count[d] = at;
    at += c;
  }
  for (size_t i = 0; i < n; i++) to[count[(from[i] >> shift) & (SLOTS - 1)]++] = from[i];
  return true;
}

/* Sorts by the @passes digits above @shift. */
static void sort_digits(uint64_t *key, uint64_t *scratch, size_t n, unsigned shift, unsigned passes) {
  size_t count[PASSES][SLOTS];
  memset(count, 0, passes * sizeof count[0]);
  for (size_t i = 0; i < n; i++) {
    uint64_t k = key[i] >> shift;
    for (unsigned p = 0; p < passes; p++, k >>= DIGIT) count[p][k & (SLOTS - 1)]++;
  }
  uint64_t *from = key, *to = scratch;
  for (unsigned p = 0; p < passes; p++) {
    if (!scatter(from, to, n, shift + p * DIGIT, count[p])) continue;
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != key) memcpy(key, from, n * sizeof *key);
}

/*
 * Three passes over the highest differing bits leave most series sorted except for neighbours; keys with the same high
 * bits are sorted by the next lower bits. A round settles 30 bits, so there are at most two below the first.
 */
void pml__sort_keys(uint64_t *key, uint64_t *scratch, size_t n) {
  if (n <= MIDDLE) {
    merge_sort_keys(key, scratch, n);
    return;
  }
  uint64_t differ = differing_bits(key, n);
  if (differ == 0) return;
  unsigned bits = 64 - (unsigned)__builtin_clzll(differ);
  unsigned low = (unsigned)__builtin_ctzll(differ);
  unsigned passes = (bits - low + DIGIT - 1) / DIGIT;
  if (passes > PASSES) passes = PASSES;
  unsigned shift = bits > passes * DIGIT ? bits - passes * DIGIT : 0;
  sort_digits(key, scratch, n, shift, passes);
  if (shift <= low) return;
  for (size_t i = 0, end; i < n; i = end) {
    uint64_t high = key[i] >> shift;
    for (end = i + 1; end < n && key[end] >> shift == high;) end++;
    if (end - i <= SMALL)
      insert_keys(key + i, end - i);
    else
      pml__sort_keys(key + i, scratch, end - i); /* NOLINT(misc-no-recursion): fewer bits each time */
  }
}

void *pml__big_alloc(size_t bytes) {
  if (bytes < HUGE_PAGE || bytes > SIZE_MAX - HUGE_PAGE) return malloc(bytes);
  bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  void *p = aligned_alloc(HUGE_PAGE, bytes);
  if (p != NULL) (void)madvise(p, bytes, MADV_HUGEPAGE); /* without, it is only slower */
  return p;
}

void pml__merge_keys(uint64_t *first, size_t n_first, size_t n_second, uint64_t *scratch) {
  memcpy(scratch, first + n_first, n_second * sizeof *first);
  size_t i = n_first, j = n_second;
  uint64_t *out = first + n_first + n_second;
  while (i > 0 && j > 0) {
    uint64_t a = first[i - 1], b = scratch[j - 1];
    bool older = a > b; /* no branch: which run comes next cannot be predicted */
    *--out = older ? a : b;
    i -= older;
    j -= !older;
  }
  memcpy(first, scratch, j * sizeof *first);
}

size_t pml__keys_rank(const uint64_t *key, size_t n, uint64_t limit) {
  size_t i;
  PML__ARRAY_SEARCH(i, n, key[i] <= limit);
  return i;
}

void pml__merge_elements(void *first, size_t n_first, size_t n_second, void *scratch, size_t bytes,
                         pml__compare *compare) {
  char *a = first, *b = scratch, *out = a + (n_first + n_second) * bytes;
  size_t i = n_first, j = n_second;
  memcpy(b, a + n_first * bytes, n_second * bytes);
  while (i > 0 && j > 0) {
    const char *x = a + (i - 1) * bytes, *y = b + (j - 1) * bytes;
    out -= bytes;
    bool older = compare(x, y) > 0;
    memcpy(out, older ? x : y, bytes); /* apart: while j > 0, out is behind both */
    i -= older;
    j -= !older;
  }
  memcpy(a, b, j * bytes);
}

void pml__sort_elements(void *array, void *scratch, size_t n, size_t bytes, pml__compare *compare) {
  for (size_t width = 1; width < n; width *= 2)
    for (size_t i = 0; i + width < n; i += 2 * width)
      pml__merge_elements((char *)array + i * bytes, width, n - i - width < width ? n - i - width : width, scratch,
                          bytes, compare);
}
