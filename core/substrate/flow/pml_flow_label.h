/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/flow/pml_flow_label.h - online compression of the visits at which an edge is taken. Internal.
 *
 * Visits come in ascending order. The current run, {first, first + stride, ..., last}, grows until a visit does not
 * continue it. Then the run is added to the list: as one more iteration of one of the last PML__FLOW_WINDOW labels,
 * which it continues or forms a loop with, or as a new label. A nest that repeats in the same shape is inside a further
 * loop, which labels cannot express: if its loops are few, each of them becomes a nest with the outer loop's stride, so
 * the number of labels does not grow with the number of iterations. Work per visit is bounded.
 */
#ifndef PML_FLOW_LABEL_H
#define PML_FLOW_LABEL_H

#include "substrate/flow/pml_flow.h"

#define PML__FLOW_WINDOW 16u
#define PML__FLOW_FOLD 6u /* loops of a repeated nest that are distinguished */

struct pml__flow_visits {
  uint64_t first, last, stride; /* the current run; first 0: no run, stride 0: a single visit */
  uint64_t next;                /* the visit that continues it; 0: it has no stride yet */
  struct pml_flow_label *label;
  uint32_t n, capacity;
};

/* Whether the next visit may need more labels than there is room for. */
static inline bool pml__flow_needs_room(const struct pml__flow_visits *s) {
  return s->stride != 0 && s->capacity - s->n < PML__FLOW_FOLD;
}

/* The uncommon cases of pml__flow_note(). General registers only. */
bool pml__flow_note_slowly(struct pml__flow_visits *s, uint64_t visit);

/*
 * pml__flow_note - add @visit, which is larger than all earlier visits. False: nothing has changed, because @s->label
 * needs room for PML__FLOW_FOLD more labels. General registers only.
 */
static inline bool pml__flow_note(struct pml__flow_visits *s, uint64_t visit) {
  if (PML_UNLIKELY(visit != s->next)) return pml__flow_note_slowly(s, visit);
  s->last = visit;
  s->next = visit + s->stride;
  return true;
}

/* pml__flow_visits_end - end the visits: add the current run to the list, which has room for PML__FLOW_FOLD more
 * labels. */
void pml__flow_visits_end(struct pml__flow_visits *s);

#endif
