/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_quantile_parts.c - partial radix sort by the highest differing bits. */
#include "record/quantile/pml_quantile_parts.h"

#include "base/pml_array.h"
#include "record/quantile/pml_quantile_sort.h"

#include <stdlib.h>

#define DIGIT 10u /* as many targets as a pass of the sort has */
#define PARTS ((size_t)1 << DIGIT)

struct pml__parts {
  unsigned shift;  /* below the digit */
  uint64_t prefix; /* above it, the same in all keys */
  size_t end[PARTS];
  bool sorted[PARTS];
};

static uint64_t prefix_of(uint64_t key, unsigned shift) {
  return shift + DIGIT < 64 ? key >> (shift + DIGIT) : 0;
}

static size_t part_of(uint64_t key, unsigned shift) {
  return (size_t)(key >> shift) & (PARTS - 1);
}

static size_t begin_of(const struct pml__parts *p, size_t part) {
  return part > 0 ? p->end[part - 1] : 0;
}

struct pml__parts *pml__parts_make(const uint64_t *key, size_t n, uint64_t *to) {
  uint64_t differ = 0;
  for (size_t i = 1; i < n; i++) differ |= key[i] ^ key[0];
  struct pml__parts *p = differ != 0 ? calloc(1, sizeof *p) : NULL;
  if (p == NULL) return NULL;
  unsigned bits = 64 - (unsigned)__builtin_clzll(differ), shift = bits > DIGIT ? bits - DIGIT : 0;
  p->shift = shift;
  p->prefix = prefix_of(key[0], shift);
  for (size_t i = 0; i < n; i++) p->end[part_of(key[i], shift)]++;
  for (size_t part = 0, at = 0; part < PARTS; part++) {
    size_t count = p->end[part];
    p->end[part] = at; /* where its next key goes; at last, where it ends */
    at += count;
  }
  for (size_t i = 0; i < n; i++) to[p->end[part_of(key[i], shift)]++] = key[i];
  return p;
}

static bool sort_part(struct pml__parts *p, uint64_t *key, size_t part) {
  size_t begin = begin_of(p, part), n = p->end[part] - begin;
  if (p->sorted[part]) return true;
  if (n > 1 && p->shift > 0) { /* else they are all the same */
    uint64_t *scratch = pml__big_alloc(n * sizeof *scratch);
    if (scratch == NULL) return false;
    pml__sort_keys(key + begin, scratch, n);
    free(scratch);
  }
  p->sorted[part] = true;
  return true;
}

/* The part that the key of @index is in. */
static size_t part_at(const struct pml__parts *p, size_t index) {
  size_t i;
  PML__ARRAY_SEARCH(i, PARTS - 1, p->end[i] <= index);
  return i;
}

bool pml__parts_key(struct pml__parts *p, uint64_t *key, size_t index, uint64_t *out) {
  if (!sort_part(p, key, part_at(p, index))) return false;
  *out = key[index];
  return true;
}

static uint64_t lowest_of(const struct pml__parts *p, size_t part) {
  uint64_t prefix = p->shift + DIGIT < 64 ? p->prefix << (p->shift + DIGIT) : 0;
  return prefix | (uint64_t)part << p->shift;
}

uint64_t pml__parts_below(const struct pml__parts *p, size_t index) {
  return lowest_of(p, part_at(p, index));
}

uint64_t pml__parts_above(const struct pml__parts *p, size_t index) {
  return lowest_of(p, part_at(p, index)) | (((uint64_t)1 << p->shift) - 1);
}

size_t pml__parts_rank(struct pml__parts *p, uint64_t *key, uint64_t limit) {
  uint64_t prefix = prefix_of(limit, p->shift);
  if (prefix != p->prefix) return prefix < p->prefix ? 0 : p->end[PARTS - 1];
  size_t part = part_of(limit, p->shift), begin = begin_of(p, part), end = p->end[part], rank = begin;
  if (sort_part(p, key, part)) return begin + pml__keys_rank(key + begin, end - begin, limit);
  for (size_t i = begin; i < end; i++) rank += key[i] <= limit;
  return rank;
}

bool pml__parts_finish(struct pml__parts *p, uint64_t *key) {
  for (size_t part = 0; part < PARTS; part++)
    if (!sort_part(p, key, part)) return false;
  return true;
}
