/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/profile/pml_profile_histogram.h - histograms of call durations by function: one writer, concurrent
 * readers. Internal.
 *
 * Durations in ticks are in the buckets of pml_histogram.h. The counts of an octave are one cache line, allocated when
 * first needed.
 *
 * The latest call of a function is stored in `late` and counted at the next call: the address of a count depends on the
 * clock, and a store there would delay the next read of the clock by half of its duration.
 *
 * Histograms never move, and all are removed together. A histogram is filled, then linked with release; an octave is
 * cleared, then stored with release; a reader loads both with acquire. Counts are stored and loaded relaxed.
 */
#ifndef PML_PROFILE_HISTOGRAM_H
#define PML_PROFILE_HISTOGRAM_H

#include "base/pml_own.h"
#include "substrate/profile/pml_profile.h"

#define PML__HISTOGRAM_OCTAVES 62u /* the first two are exact */

_Static_assert(PML_HISTOGRAM_BUCKETS == 8 * PML__HISTOGRAM_OCTAVES, "an octave has eight buckets");

/* The purpose of memory, for the allocator: a histogram, or its counts of octave i. */
#define PML__HISTOGRAM_PART 0x100u
#define PML__HISTOGRAM_OCTAVE_PART(i) (0x101u + (i))

struct pml__histogram {
  pml_region_t region;
  struct pml__histogram *next;
  uint64_t late;                            /* atomic; 1 + the ticks of the latest call, 0: no call yet */
  uint64_t *octave[PML__HISTOGRAM_OCTAVES]; /* [8] atomic counts; NULL: no calls */
  const struct pml_profile_memory *memory;  /* for the counts; NULL: the heap */
};

struct pml__histograms {
  struct pml__histogram *first; /* atomic */
  struct pml__histogram **slot; /* [mask + 1], used by the owner only: a hash of regions */
  uint32_t n, mask;
  const struct pml_profile_memory *memory; /* NULL: the heap */
};

PML__SHARED void pml__histograms_close(struct pml__histograms *all);
/* The histogram of @region, created if necessary; NULL: no memory. By the owner only. */
struct pml__histogram *pml__histograms_of(struct pml__histograms *all, pml_region_t region);
/* Merge all of @from, which may be growing, into @to. Returns false without memory, with nothing added. */
PML__SHARED bool pml__histograms_merge(struct pml__histograms *to, const struct pml__histograms *from);
/* Add a call of @ticks; it is lost if there is no memory for its octave. */
void pml__histogram_add(struct pml__histogram *h, uint64_t ticks);

/* Used for regions without memory for a histogram; it stays empty. */
extern __attribute__((visibility("hidden"))) struct pml__histogram pml__histogram_none;

/*
 * Count the latest call. Returns false, with nothing changed, if there is no memory for its octave yet. Computes
 * pml_histogram_bucket(), but handles the first octave separately: in other octaves, bits 3 and up of the shifted value
 * are 1, and are included in the addresses.
 */
static inline bool pml__histogram_count_late(struct pml__histogram *h) {
  uint64_t late = h->late - 1, *octave;
  if (PML_UNLIKELY(late <= 7)) {
    octave = h->octave[0];
    if (PML_UNLIKELY(octave == NULL)) return false;
    pml__own_add(octave + late, 1);
    return true;
  }
  uint64_t highest = (uint32_t)__builtin_clzll(late) ^ 63u; /* in this form it is one instruction */
  __asm__("" : "+r"(highest));                              /* one register, extended in place */
  octave = *(h->octave + highest - 2);
  if (PML_UNLIKELY(octave == NULL)) return false;
  pml__own_add(octave + (late >> (highest - 3)) - 8, 1);
  return true;
}

#endif
