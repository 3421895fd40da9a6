/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_map.h - hash functions, and a hash table of the elements of an array. Internal.
 *
 * The table numbers the added elements 0, 1, 2, ... The caller's array holds keys and values at these indices; the
 * table compares hashes and the caller compares keys. Nothing is removed. To find or add an element:
 *
 *   uint64_t hash = pml__hash(PML__HASH, key);
 *   uint32_t at = 0, i = pml__map_next(&map, hash, &at);
 *   while (i != PML__MAP_NONE && array[i].key != key) i = pml__map_next(&map, hash, &at);
 *   if (i == PML__MAP_NONE && PML__ARRAY_ROOM(array, room, map.n + 1)) i = pml__map_add(&map, hash);
 *
 * The caller owns a map: zeros are an empty one, pml__map_free() makes it empty. Finding costs one access to memory
 * and, for most keys, one comparison. One thread at a time may add; not async-signal-safe.
 */
#ifndef PML_MAP_H
#define PML_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- hash functions: not for untrusted keys ---- */

#define PML__HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* 2^64 divided by the golden ratio */
#define PML__HASH UINT64_C(0xcbf29ce484222325)        /* the hash of nothing */

/* pml__hash - @hash of what comes before, continued with @value. */
static inline uint64_t pml__hash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * PML__HASH_FACTOR;
  return hash ^ hash >> 29;
}

/* pml__hash_bytes - the same with @n bytes, eight at a time. Zeros at their end do not change it. */
static inline uint64_t pml__hash_bytes(uint64_t hash, const void *bytes, size_t n) {
  const unsigned char *b = bytes;
  uint64_t word = 0;
  for (; n >= sizeof word; b += sizeof word, n -= sizeof word) {
    memcpy(&word, b, sizeof word);
    hash = pml__hash(hash, word);
  }
  word = 0;
  memcpy(&word, b, n);
  return n > 0 ? pml__hash(hash, word) : hash;
}

/* pml__hash_text - the same with a string and its terminating zero, so that ("ab", "c") and ("a", "bc") differ. */
static inline uint64_t pml__hash_text(uint64_t hash, const char *text) {
  return pml__hash_bytes(hash, text, strlen(text) + 1);
}

/* ---- the table ---- */

#define PML__MAP_NONE UINT32_MAX

struct pml__map {
  struct pml__map_slot {
    uint32_t hash, number; /* number: of the element, plus 1; 0: free */
  } * slot;
  uint32_t slots, n; /* slots: 0 or a power of two, at most half of them in use; n: elements */
};

/* pml__map_next - the next element with @hash, or PML__MAP_NONE. *@at is 0 at first. */
static inline uint32_t pml__map_next(const struct pml__map *m, uint64_t hash, uint32_t *at) {
  uint32_t wanted = (uint32_t)(hash >> 32), mask = m->slots - 1;
  while (m->slots > 0 && m->slot[(wanted + *at) & mask].number != 0) {
    const struct pml__map_slot *s = &m->slot[(wanted + (*at)++) & mask];
    if (s->hash == wanted) return s->number - 1;
  }
  return PML__MAP_NONE;
}

static inline void pml__map_put(struct pml__map *m, struct pml__map_slot s) {
  uint32_t i = s.hash;
  while (m->slot[i & (m->slots - 1)].number != 0) i++;
  m->slot[i & (m->slots - 1)] = s;
}

/* pml__map_add - add an element; returns its number, or PML__MAP_NONE without memory. */
static inline uint32_t pml__map_add(struct pml__map *m, uint64_t hash) {
  if (m->n >= m->slots / 2) {
    struct pml__map more = {.slots = m->slots > 0 ? 4 * m->slots : 64, .n = m->n};
    if (more.slots == 0) return PML__MAP_NONE; /* 2^31 elements */
    more.slot = calloc(more.slots, sizeof *more.slot);
    if (more.slot == NULL) return PML__MAP_NONE;
    for (uint32_t i = 0; i < m->slots; i++)
      if (m->slot[i].number != 0) pml__map_put(&more, m->slot[i]);
    free(m->slot);
    *m = more;
  }
  pml__map_put(m, (struct pml__map_slot){(uint32_t)(hash >> 32), ++m->n});
  return m->n - 1;
}

static inline void pml__map_free(struct pml__map *m) {
  free(m->slot);
  *m = (struct pml__map){0};
}

#endif
