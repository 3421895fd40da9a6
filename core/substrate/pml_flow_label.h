/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/pml_flow_label.h - the visits at which an edge is taken, compressed while they come. Internal.
 *
 * Visits come in ascending order. The run under way, {first, first + stride, ..., last}, grows until a visit does not
 * continue it; then it is put into the list: as one more turn of a label among the last PML__FLOW_WINDOW, which it then
 * continues or with which it begins a loop, or as a label of its own. Work per visit is bounded.
 */
#ifndef PML_FLOW_LABEL_H
#define PML_FLOW_LABEL_H

#include "substrate/pml_flow.h"

#define PML__FLOW_WINDOW 8u

struct pml__flow_visits {
  uint64_t first, last, stride; /* of the run under way; first 0: there is none, stride 0: it is one visit */
  uint64_t next;                /* what continues it; 0: it has no stride yet */
  struct pml_flow_label *label;
  uint32_t n, capacity;
};

/* What pml__flow_note() does but for the common case. General registers only. */
bool pml__flow_note_slowly(struct pml__flow_visits *s, uint64_t visit);

/*
 * pml__flow_note - @visit, which is more than those before. False: nothing has changed, for @s->label needs room for
 * one more. General registers only.
 */
static inline bool pml__flow_note(struct pml__flow_visits *s, uint64_t visit) {
  if (PML_UNLIKELY(visit != s->next)) return pml__flow_note_slowly(s, visit);
  s->last = visit;
  s->next = visit + s->stride;
  return true;
}

/* pml__flow_visits_end - no visits follow: the run goes into the list, which has room for one more. */
void pml__flow_visits_end(struct pml__flow_visits *s);

#endif
