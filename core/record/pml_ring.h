/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_ring.h - single-producer ring of events, drained by one reader at a time. Internal.
 *
 * An event takes a slot, as in a log; its values follow, two in each slot. One slot stays free for the leave of every
 * open region that was recorded, so a leave always finds room, and the recorded events stay balanced when others are
 * dropped.
 *
 * Memory order. The thread alone stores @head, the reader alone the tail (under a lock); both only grow.
 *  - The thread fills slots, then stores head with release; the reader loads head with acquire and reads below it.
 *  - The reader reads slots, then stores the tail with release; the thread loads it with acquire and fills only slots
 *    below tail + capacity, so it overwrites only slots that the reader has read. The thread uses an older tail
 *    (@limit) as long as that leaves room: an older tail is smaller, so the ring can only look fuller than it is.
 *
 * The inline functions are also compiled with general registers only; they call no other function.
 */
#ifndef PML_RING_H
#define PML_RING_H

#include "base/pml_api.h"
#include "record/log/pml_log_format.h"

#include <stdbool.h>

#define PML__RING_LINE 64 /* stores of the thread and of the reader go to separate lines */

struct pml__ring {
  uint64_t head;   /* atomic */
  uint64_t budget; /* head + slots promised to the leaves of open regions */
  uint64_t limit;  /* the last tail seen + capacity */
  uint64_t mask;   /* capacity - 1 */
  struct pml__log_event *slot;
  const uint64_t *tail; /* atomic, the reader's */
};

/* Whether @slots more fit beside those promised; looks at the true tail only when it must. */
static inline bool pml__ring_has_room(struct pml__ring *r, uint64_t slots) {
  if (PML_LIKELY(r->budget + slots <= r->limit)) return true;
  r->limit = __atomic_load_n(r->tail, __ATOMIC_ACQUIRE) + r->mask + 1;
  return r->budget + slots <= r->limit;
}

/* Fill the next slot without publishing it; its position. The caller has seen to room. */
static inline uint64_t pml__ring_put(struct pml__ring *r, uint64_t ticks, uint64_t word) {
  uint64_t head = r->head;
  struct pml__log_event *slot = &r->slot[head & r->mask];
  slot->ticks = ticks;
  slot->word = word;
  return head;
}

static inline void pml__ring_publish(struct pml__ring *r, uint64_t head) {
  __atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
}

/*
 * @n values into the slots from @at on; they may go over the ring's end. The stores are atomic so that compilers call
 * no memcpy() for them: some callers have only general registers.
 */
static inline void pml__ring_values_in(struct pml__ring *r, uint64_t at, const uint64_t *values, uint64_t n) {
  uint64_t *words = (uint64_t *)r->slot, mask = r->mask * 2 + 1;
  for (uint64_t i = 0; i < n; i++) __atomic_store_n(&words[(at * 2 + i) & mask], values[i], __ATOMIC_RELAXED);
}

/* And out of them. */
static inline void pml__ring_values_out(const struct pml__ring *r, uint64_t at, uint64_t *values, uint64_t n) {
  const uint64_t *words = (const uint64_t *)r->slot;
  uint64_t mask = r->mask * 2 + 1;
  for (uint64_t i = 0; i < n; i++) values[i] = words[(at * 2 + i) & mask];
}

#endif
