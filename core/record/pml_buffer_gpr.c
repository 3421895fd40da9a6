/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_buffer_gpr.c - common case of a push, in general registers only. */
#include "record/pml_buffer_ring.h"

/* Room for an enter of @slots, and for its leave. */
static inline bool has_room(struct pml__buffer_ring *r, uint64_t slots) {
  bool inside = r->depth > 0 && (r->open[r->depth - 1] & PML__BUFFER_DROPPED) != 0;
  return !PML_UNLIKELY(inside || r->depth == PML_BUFFER_DEPTH_MAX || !pml__ring_has_room(&r->ring, slots + 1));
}

uint64_t pml__buffer_enter_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__buffer_ring *r = data;
  if (pml__buffer_is_out(r, region)) return 0;
  if (!has_room(r, 1)) return ticks;
  pml__buffer_enter(r, region, ticks);
  return 0;
}

uint64_t pml__buffer_leave_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__buffer_ring *r = data;
  if (PML_UNLIKELY(r->overflow > 0 || r->depth == 0 || r->open[r->depth - 1] != region)) return ticks;
  pml__buffer_leave(r, region, ticks);
  return 0;
}

uint64_t pml__buffer_enter_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (pml__buffer_is_out(r, e->region)) return 0;
  if (!has_room(r, pml__buffer_slots(e))) return e->ticks;
  pml__buffer_put(r, PML__LOG_ENTER, e, true, 0);
  r->ring.budget++;
  r->open[r->depth++] = e->region;
  return 0;
}

uint64_t pml__buffer_leave_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (PML_UNLIKELY(r->overflow > 0 || r->depth == 0 || r->open[r->depth - 1] != e->region)) return e->ticks;
  if (PML_UNLIKELY(!pml__ring_has_room(&r->ring, pml__buffer_slots(e) - 1))) return e->ticks;
  r->depth--;
  pml__buffer_put(r, PML__LOG_LEAVE, e, true, 1);
  return 0;
}
