/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_buffer_gpr.c - what is common, with general registers only; the rest is for pml_buffer.c. */
#include "record/pml_buffer_ring.h"

uint64_t pml__buffer_enter_plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__buffer_ring *r = data;
  if (pml__buffer_is_out(r, region)) return 0;
  bool inside = r->depth > 0 && (r->open[r->depth - 1] & PML__BUFFER_DROPPED) != 0;
  if (PML_UNLIKELY(inside || r->depth == PML_BUFFER_DEPTH_MAX || !pml__ring_has_room(&r->ring, 2))) return ticks;
  pml__buffer_enter(r, region, ticks);
  return 0;
}

uint64_t pml__buffer_leave_plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__buffer_ring *r = data;
  if (PML_UNLIKELY(r->beyond > 0 || r->depth == 0 || r->open[r->depth - 1] != region)) return ticks;
  pml__buffer_leave(r, region, ticks);
  return 0;
}
