/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/flow/pml_flow_label.h - online compression of the visits at which an edge is taken. Internal.
 *
 * Visits come in ascending order. The run under way, {first, first + stride, ..., last}, grows until a visit does not
 * continue it; then it is put into the list: as one more turn of a label among the last PML__FLOW_WINDOW, which it then
 * continues or with which it begins a loop, or as a label of its own. A nest that comes again in the same shape is a
 * loop around it, which labels do not have: if its own loops are few, each of them becomes a nest with the outer loop's
 * stride, so that there are no more labels the longer that turns. Work per visit is bounded.
 */
#ifndef PML_FLOW_LABEL_H
#define PML_FLOW_LABEL_H

#include "substrate/flow/pml_flow.h"

#define PML__FLOW_WINDOW 16u
#define PML__FLOW_FOLD 6u /* loops of a nest that are distinguished if it comes again */

struct pml__flow_visits {
  uint64_t first, last, stride; /* of the current run; first 0: no run, stride 0: a single visit */
  uint64_t next;                /* what continues it; 0: it has no stride yet */
  struct pml_flow_label *label;
  uint32_t n, capacity;
};

/* Whether @visit may take labels that there is no room for. */
static inline bool pml__flow_needs_room(const struct pml__flow_visits *s) {
  return s->stride != 0 && s->capacity - s->n < PML__FLOW_FOLD;
}

/* What pml__flow_note() does but for the common case. General registers only. */
bool pml__flow_note_slowly(struct pml__flow_visits *s, uint64_t visit);

/*
 * pml__flow_note - @visit, which is more than those before. False: nothing has changed, for @s->label needs room for
 * PML__FLOW_FOLD more. General registers only.
 */
static inline bool pml__flow_note(struct pml__flow_visits *s, uint64_t visit) {
  if (PML_UNLIKELY(visit != s->next)) return pml__flow_note_slowly(s, visit);
  s->last = visit;
  s->next = visit + s->stride;
  return true;
}

/* pml__flow_visits_end - no visits follow: the run goes into the list, which has room for PML__FLOW_FOLD more. */
void pml__flow_visits_end(struct pml__flow_visits *s);

#endif
