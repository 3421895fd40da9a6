/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_buffer_ring.h - a thread's ring of a buffer: append. Internal.
 *
 * An event with values is followed by {metrics, number} and the values, which may be left out where there is no room.
 * A thread that ends stores @ended with release, after its last head; the reader that sees it, and then an empty ring,
 * gives the ring to the next thread under the lock, which orders all that the first did before it.
 *
 * The inline functions are also compiled with general registers only; they call no other function.
 */
#ifndef PML_BUFFER_RING_H
#define PML_BUFFER_RING_H

#include "base/pml_own.h"
#include "record/pml_buffer.h"
#include "record/pml_ring.h"

#define PML__BUFFER_VALUES (UINT64_C(1) << 40)  /* in a word: values follow */
#define PML__BUFFER_DROPPED (UINT32_C(1) << 31) /* in an open region: its enter found no room */

struct pml__buffer_ring {
  /* The thread's. */
  _Alignas(PML__RING_LINE) struct pml__ring ring;
  uint32_t *open; /* [PML_BUFFER_DEPTH_MAX] regions, innermost last */
  uint32_t depth; /* of them */
  uint64_t overflow;
  const uint64_t *out;                 /* the buffer's; atomic: a bit for each region that is left out */
  uint64_t events, dropped, unmatched; /* atomic, one writer */
  uint32_t ended;                      /* atomic */
  /* The reader's, under the lock. */
  _Alignas(PML__RING_LINE) uint64_t tail; /* atomic */
  uint64_t thread;
  uint32_t reading; /* depth at the tail */
  bool idle;
  struct pml__buffer_ring *next;
};

static inline bool pml__buffer_is_out(const struct pml__buffer_ring *r, pml_region_t region) {
  return region < PML_REGIONS_MAX && (__atomic_load_n(&r->out[region / 64], __ATOMIC_RELAXED) >> region % 64 & 1) != 0;
}

static inline uint64_t pml__buffer_slots(const struct pml_stream_event *e) {
  return e->metrics == NULL ? 1 : 2 + ((uint64_t)e->metrics->n + 1) / 2;
}

/* @promised: slots that it has already. */
static inline void pml__buffer_put(struct pml__buffer_ring *r, enum pml__log_event_kind kind,
                                   const struct pml_stream_event *e, bool values, uint64_t promised) {
  const struct pml_stream_metrics *m = e->metrics;
  uint64_t slots = values ? pml__buffer_slots(e) : 1;
  uint64_t head = pml__ring_put(&r->ring, e->ticks, PML__LOG_WORD(kind, e->region) | (values ? PML__BUFFER_VALUES : 0));
  if (values) {
    r->ring.slot[(head + 1) & r->ring.mask] = (struct pml__log_event){(uint64_t)(uintptr_t)m, m->n};
    pml__ring_values_in(&r->ring, head + 2, e->values, m->n);
  }
  r->ring.budget += slots - promised;
  pml__own_add(&r->events, 1);
  pml__ring_publish(&r->ring, head + slots);
}

/* An enter that has room, without values. */
static inline void pml__buffer_enter(struct pml__buffer_ring *r, pml_region_t region, uint64_t ticks) {
  r->ring.budget += 2;
  pml__ring_publish(&r->ring, pml__ring_put(&r->ring, ticks, PML__LOG_WORD(PML__LOG_ENTER, region)) + 1);
  pml__own_add(&r->events, 1);
  r->open[r->depth++] = region;
}

/* The leave of the innermost region, whose enter was kept: its slot was promised. */
static inline void pml__buffer_leave(struct pml__buffer_ring *r, pml_region_t region, uint64_t ticks) {
  r->depth--;
  pml__ring_publish(&r->ring, pml__ring_put(&r->ring, ticks, PML__LOG_WORD(PML__LOG_LEAVE, region)) + 1);
  pml__own_add(&r->events, 1);
}

/* As pml_stream_consumer.fast. */
pml_stream_fast pml__buffer_enter_fast, pml__buffer_leave_fast;
pml_stream_fast_values pml__buffer_enter_fast_values, pml__buffer_leave_fast_values; /* as .fast_values */

#endif
