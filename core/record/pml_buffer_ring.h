/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_buffer_ring.h - the ring of one thread: filling it. Internal.
 *
 * A record takes a slot, {ticks, kind | values' flag | region}; one with values is followed by {metrics, number} and
 * the values, two to the slot. One slot stays free for the leave of every open region that was kept, so that a leave
 * always finds room; its values may not, and are left out then.
 *
 * Memory order. @head is stored by the ring's thread alone, @tail by the reader alone (under the buffer's lock); both
 * only grow.
 *  - The thread fills slots, then stores head with release; the reader loads head with acquire and reads below it.
 *  - The reader reads slots, then stores tail with release; the thread loads tail with acquire and fills only slots
 *    below tail + capacity, so that what they held has been read. It goes by an older tail (@limit) as long as that
 *    leaves room: an older tail is smaller, which errs on the side of full.
 *  - A thread that ends stores @ended with release, after its last head; the reader that sees it, and then an empty
 *    ring, gives the ring to the next thread under the lock, which orders all that the first did before it.
 *
 * What is inline here is compiled with general registers only, too: it calls nothing.
 */
#ifndef PML_BUFFER_RING_H
#define PML_BUFFER_RING_H

#include "record/pml_buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PML__BUFFER_LINE 64
#define PML__BUFFER_VALUES (UINT64_C(1) << 40)
#define PML__BUFFER_KIND_SHIFT 32
#define PML__BUFFER_DROPPED (UINT32_C(1) << 31) /* of an open region: its enter found no room */

struct pml__buffer_slot {
  uint64_t word[2];
};

struct pml__buffer_ring {
  /* The thread's. */
  _Alignas(PML__BUFFER_LINE) uint64_t head; /* atomic */
  uint64_t limit;                           /* the last tail seen + capacity */
  uint64_t mask;
  struct pml__buffer_slot *slot;
  uint32_t *open; /* [PML_BUFFER_DEPTH_MAX] regions, innermost last */
  uint32_t depth; /* of them */
  uint32_t kept;  /* of those, how many wait for a leave that is kept */
  uint64_t beyond;
  const uint64_t *out;                 /* the buffer's; atomic: a bit for each region that is left out */
  uint64_t events, dropped, unmatched; /* atomic, one writer */
  uint32_t ended;                      /* atomic */
  /* The reader's, under the lock. */
  _Alignas(PML__BUFFER_LINE) uint64_t tail; /* atomic */
  uint64_t thread;
  uint32_t reading; /* depth at the tail */
  bool idle;
  struct pml__buffer_ring *next;
};

static inline void pml__buffer_count(uint64_t *counter) {
  __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline bool pml__buffer_is_out(const struct pml__buffer_ring *r, pml_region_t region) {
  return region < PML_BUFFER_REGIONS &&
         (__atomic_load_n(&r->out[region / 64], __ATOMIC_RELAXED) >> region % 64 & 1) != 0;
}

/* Whether @n slots are free beside those that leaves wait for. */
static inline bool pml__buffer_has_room(struct pml__buffer_ring *r, uint64_t n) {
  uint64_t end = r->head + r->kept + n;
  if (PML_LIKELY(end <= r->limit)) return true;
  r->limit = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) + r->mask + 1;
  return end <= r->limit;
}

static inline void pml__buffer_fill(struct pml__buffer_ring *r, enum pml_stream_kind kind,
                                    const struct pml_stream_event *e, uint64_t flags) {
  struct pml__buffer_slot *s = &r->slot[r->head & r->mask];
  s->word[0] = e->ticks;
  s->word[1] = (uint64_t)kind << PML__BUFFER_KIND_SHIFT | e->region | flags;
  pml__buffer_count(&r->events);
}

static inline void pml__buffer_publish(struct pml__buffer_ring *r, uint64_t slots) {
  __atomic_store_n(&r->head, r->head + slots, __ATOMIC_RELEASE);
}

/* An enter that has room, without values. */
static inline void pml__buffer_enter(struct pml__buffer_ring *r, const struct pml_stream_event *e) {
  pml__buffer_fill(r, PML_STREAM_ENTER, e, 0);
  pml__buffer_publish(r, 1);
  r->open[r->depth++] = e->region;
  r->kept++;
}

/* The leave of the innermost region, whose enter was kept. */
static inline void pml__buffer_leave(struct pml__buffer_ring *r, const struct pml_stream_event *e) {
  r->depth--;
  r->kept--;
  pml__buffer_fill(r, PML_STREAM_LEAVE, e, 0);
  pml__buffer_publish(r, 1);
}

/* As pml_stream_consumer.plain. */
bool pml__buffer_enter_plainly(void *data, const struct pml_stream_event *e);
bool pml__buffer_leave_plainly(void *data, const struct pml_stream_event *e);

#endif
