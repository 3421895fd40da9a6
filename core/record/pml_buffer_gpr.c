/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_buffer_gpr.c - what is common, with general registers only; the rest is for pml_buffer.c. */
#include "record/pml_buffer_ring.h"

bool pml__buffer_enter_plainly(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (pml__buffer_is_out(r, e->region)) return true;
  bool inside = r->depth > 0 && (r->open[r->depth - 1] & PML__BUFFER_DROPPED) != 0;
  if (PML_UNLIKELY(e->metrics != NULL || inside || r->depth == PML_BUFFER_DEPTH_MAX ||
                   !pml__ring_has_room(&r->ring, 2)))
    return false;
  pml__buffer_enter(r, e);
  return true;
}

bool pml__buffer_leave_plainly(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (PML_UNLIKELY(e->metrics != NULL || r->beyond > 0 || r->depth == 0 || r->open[r->depth - 1] != e->region))
    return false;
  pml__buffer_leave(r, e);
  return true;
}
