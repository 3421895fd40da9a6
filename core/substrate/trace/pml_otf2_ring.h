/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_otf2_ring.h - the ring of one location: its thread appends, a flush drains. Internal.
 *
 * A record takes one slot, {ticks, kind << 32 | region}; the values of a metric record follow, two per slot. One slot
 * is kept free for the leave of every open region that was recorded, so a leave always finds room and what is kept is
 * balanced whatever is dropped.
 *
 * Ordering. @head is written by the recording thread alone, @tail by the flusher alone (one at a time, under the
 * archive's lock); both only grow, and a slot is theirs by the distance between them.
 *  - The thread fills slots and then stores head with release; the flusher loads head with acquire and reads only slots
 *    below it: it sees them filled.
 *  - The flusher reads slots and then stores tail with release; the thread loads tail with acquire and fills only slots
 *    below tail + capacity: every read of their old content has happened before.
 * The thread uses a tail it loaded earlier (inside @limit) as long as that leaves room: an old tail is smaller, which
 * errs on the side of full.
 */
#ifndef PML_OTF2_RING_H
#define PML_OTF2_RING_H

#include "substrate/trace/pml_otf2.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PML__OTF2_CACHE_LINE 64

enum pml__otf2_kind { PML__OTF2_ENTER = 1, PML__OTF2_LEAVE, PML__OTF2_METRIC, PML__OTF2_SINGLE };
#define PML__OTF2_SINGLE_SLOTS 2u /* a record of a single value: which one is in the place of the region */

/* What is open, innermost last: the word that the leave will have, or one of these marks. */
#define PML__OTF2_DROPPED (UINT64_C(1) << 63) /* this enter was dropped: drop its leave */
#define PML__OTF2_BEYOND PML__OTF2_DROPPED    /* alone: the frame that stands for all regions too deep for the stack */

struct pml_otf2_location {
  /* The recording thread's; set up before it gets the location. */
  _Alignas(PML__OTF2_CACHE_LINE) _Atomic uint64_t head;
  uint64_t budget; /* head + slots promised to the leaves of open regions */
  uint64_t limit;  /* the last tail seen + capacity */
  uint64_t mask;   /* capacity - 1 */
  uint64_t last_ticks;
  uint64_t *words;       /* [2 * capacity] */
  uint64_t *open;        /* [capacity + 1] */
  uint32_t depth;        /* frames in @open */
  uint32_t known;        /* every region id up to here exists */
  uint64_t beyond;       /* regions that PML__OTF2_BEYOND stands for */
  uint64_t metric_slots; /* slots of a metric record; 0: the archive has no metrics */
  uint64_t nmetrics;
  /* Counters of the recording thread, read by anybody. */
  _Atomic uint64_t dropped, lifted, unmatched;

  /* The flusher's, under the archive's lock. */
  _Alignas(PML__OTF2_CACHE_LINE) _Atomic uint64_t tail;
  struct OTF2_EvtWriter_struct *writer;
  uint64_t nrecords;                    /* taken out of the ring, or values of a series */
  uint64_t nevents;                     /* handed to libotf2: a record of metrics is one or more, or none */
  uint64_t first_written, last_written; /* ticks, where nevents > 0 */
  uint64_t discarded;                   /* taken from the ring after libotf2 had failed */
  uint64_t closed;                      /* regions that close had to leave */
  uint64_t ref;
  char *name;
  struct pml__otf2_series *series; /* NULL: a thread's. It has no ring */
  struct pml_otf2_location *next;
};

static inline uint64_t pml__otf2_word(enum pml__otf2_kind kind, pml_region_t region) {
  return (uint64_t)kind << 32 | region;
}

/* One writer, so no locked instruction. */
static inline void pml__otf2_count(_Atomic uint64_t *counter) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* pml__otf2_has_room - whether @slots more fit beside those promised; looks at the true tail only when it must. */
static inline bool pml__otf2_has_room(struct pml_otf2_location *loc, uint64_t slots) {
  if (loc->budget + slots <= loc->limit) return true;
  loc->limit = atomic_load_explicit(&loc->tail, memory_order_acquire) + loc->mask + 1;
  return loc->budget + slots <= loc->limit;
}

/* pml__otf2_put - fill the next slot without publishing it; its position. The caller has seen to room and to time. */
static inline uint64_t pml__otf2_put(struct pml_otf2_location *loc, uint64_t ticks, uint64_t word) {
  uint64_t head = atomic_load_explicit(&loc->head, memory_order_relaxed);
  loc->last_ticks = ticks;
  uint64_t *slot = &loc->words[(head & loc->mask) * 2];
  slot[0] = ticks;
  slot[1] = word;
  return head;
}

static inline void pml__otf2_publish(struct pml_otf2_location *loc, uint64_t head) {
  atomic_store_explicit(&loc->head, head, memory_order_release);
}

/* pml__otf2_values_in - the @n values that follow the slot at @head, into the ring; they may go over its end. */
static inline void pml__otf2_values_in(struct pml_otf2_location *loc, uint64_t head, const uint64_t *values,
                                       uint64_t n) {
  uint64_t at = ((head + 1) & loc->mask) * 2, end = (loc->mask + 1) * 2;
  uint64_t *to = loc->words + at;
  if (PML_UNLIKELY(n > end - at)) {
    for (; at < end; at++, n--) *to++ = *values++;
    to = loc->words;
  }
  for (uint64_t i = 0; i < n; i++) to[i] = values[i];
}

/* pml__otf2_values_out - and out of it again. */
static inline void pml__otf2_values_out(const struct pml_otf2_location *loc, uint64_t at, uint64_t *values,
                                        uint64_t n) {
  uint64_t mask = loc->mask * 2 + 1;
  for (uint64_t i = 0; i < n; i++) values[i] = loc->words[((at + 1) * 2 + i) & mask];
}

#endif
