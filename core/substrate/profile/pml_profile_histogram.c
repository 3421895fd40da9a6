/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_histogram.c - histograms of durations, one per function and thread. */
#include "substrate/profile/pml_profile_histogram.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u

struct pml__histogram pml__histogram_none;

static struct pml__histogram **find(const struct pml__histograms *all, pml_region_t region) {
  uint32_t i = (uint32_t)((uint64_t)region * UINT64_C(0x9e3779b97f4a7c15) >> 32) & all->mask;
  while (all->slot[i] != NULL && all->slot[i]->region != region) i = (i + 1) & all->mask;
  return &all->slot[i];
}

/* The table is at most half full. */
static bool more_slots(struct pml__histograms *all) {
  struct pml__histograms more = *all;
  more.mask = all->slot == NULL ? FIRST_SLOTS - 1 : all->mask * 2 + 1;
  more.slot = calloc(more.mask + 1, sizeof *more.slot);
  if (more.slot == NULL) return false;
  for (struct pml__histogram *h = all->first; h != NULL; h = h->next) *find(&more, h->region) = h;
  free(all->slot);
  all->slot = more.slot;
  all->mask = more.mask;
  return true;
}

/* Zeroed memory; multiples of a cache line are aligned to it. */
static void *get(const struct pml_profile_memory *memory, pml_region_t region, uint32_t part, size_t bytes) {
  if (memory != NULL) return memory->get(memory->arg, region, part, bytes);
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  return block != NULL ? memset(block, 0, bytes) : NULL;
}

static void put(const struct pml_profile_memory *memory, void *block) {
  if (memory == NULL)
    free(block);
  else if (block != NULL)
    memory->put(memory->arg, block);
}

void pml__histograms_close(struct pml__histograms *all) {
  for (struct pml__histogram *h = all->first, *next; h != NULL; h = next) {
    next = h->next;
    const struct pml_profile_memory *memory = all->memory;
    for (uint32_t i = 0; i < PML__HISTOGRAM_OCTAVES; i++) put(memory, h->octave[i]);
    put(memory, h);
  }
  free(all->slot);
  memset(all, 0, sizeof *all);
}

struct pml__histogram *pml__histograms_of(struct pml__histograms *all, pml_region_t region) {
  if ((all->slot == NULL || 2 * (all->n + 1) > all->mask + 1) && !more_slots(all)) return NULL;
  struct pml__histogram **at = find(all, region);
  if (*at != NULL) return *at;
  struct pml__histogram *h = get(all->memory, region, PML__HISTOGRAM_PART, sizeof *h);
  if (h == NULL) return NULL;
  h->region = region;
  h->memory = all->memory;
  h->next = all->first;
  __atomic_store_n(&all->first, h, __ATOMIC_RELEASE);
  all->n++;
  return *at = h;
}

static bool add_octave(struct pml__histogram *h, uint32_t i) {
  uint64_t *counts = get(h->memory, h->region, PML__HISTOGRAM_OCTAVE_PART(i), 64);
  if (counts == NULL) return false;
  __atomic_store_n(&h->octave[i], counts, __ATOMIC_RELEASE);
  return true;
}

void pml__histogram_add(struct pml__histogram *h, uint64_t ticks) {
  if (h == &pml__histogram_none) return;
  uint32_t bucket = pml_histogram_bucket(h->late - 1);
  if (h->late != 0 && (h->octave[bucket / 8] != NULL || add_octave(h, bucket / 8))) {
    uint64_t *count = &h->octave[bucket / 8][bucket % 8];
    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&h->late, ticks + 1, __ATOMIC_RELAXED);
}

static const uint64_t *counts_of(const struct pml__histogram *h, uint32_t octave) {
  return __atomic_load_n(&h->octave[octave], __ATOMIC_ACQUIRE);
}

/* The octave of the latest call; a value beyond all octaves if there was no call. */
static uint32_t late_octave(const struct pml__histogram *h) {
  uint64_t late = __atomic_load_n(&h->late, __ATOMIC_RELAXED);
  return late != 0 ? pml_histogram_bucket(late - 1) / 8 : PML__HISTOGRAM_OCTAVES;
}

/* Make room for all counts of @from. */
static bool make_room(struct pml__histograms *to, const struct pml__histogram *from) {
  struct pml__histogram *h = pml__histograms_of(to, from->region);
  bool all = h != NULL;
  uint32_t late = late_octave(from);
  for (uint32_t i = 0; i < PML__HISTOGRAM_OCTAVES && all; i++)
    all = (counts_of(from, i) == NULL && i != late) || h->octave[i] != NULL || add_octave(h, i);
  return all;
}

/* An octave added meanwhile is merged the next time. */
static void add(struct pml__histogram *to, const struct pml__histogram *from) {
  for (uint32_t i = 0; i < PML__HISTOGRAM_OCTAVES; i++) {
    const uint64_t *counts = counts_of(from, i);
    for (uint32_t b = 0; b < 8 && counts != NULL && to->octave[i] != NULL; b++)
      to->octave[i][b] += __atomic_load_n(&counts[b], __ATOMIC_RELAXED);
  }
  uint64_t late = __atomic_load_n(&from->late, __ATOMIC_RELAXED);
  uint32_t bucket = pml_histogram_bucket(late - 1);
  if (late != 0 && to->octave[bucket / 8] != NULL) to->octave[bucket / 8][bucket % 8]++;
}

bool pml__histograms_merge(struct pml__histograms *to, const struct pml__histograms *from) {
  const struct pml__histogram *first = __atomic_load_n(&from->first, __ATOMIC_ACQUIRE);
  for (const struct pml__histogram *h = first; h != NULL; h = h->next)
    if (!make_room(to, h)) return false;
  for (const struct pml__histogram *h = first; h != NULL; h = h->next) add(*find(to, h->region), h);
  return true;
}
