/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_profile_plain.c - enters and leaves that need no memory, with general registers only. */
#include "substrate/pml_profile_private.h"

bool pml__profile_enter_plainly(void *data, const struct pml_stream_event *e) {
  struct pml__profile_track *t = data;
  struct pml__profile_node *parent = t->frame[t->depth].node;
  if (PML_UNLIKELY(t->beyond > 0 || t->depth + 1 == t->capacity || parent == NULL)) return false;
  struct pml__profile_node *node = pml__profile_tree_known(&t->tree, parent, e->region);
  if (PML_UNLIKELY(node == NULL)) return false;
  pml__profile_begin_call(t, node, e);
  return true;
}

bool pml__profile_leave_plainly(void *data, const struct pml_stream_event *e) {
  struct pml__profile_track *t = data;
  const struct pml__profile_frame *f = &t->frame[t->depth];
  if (PML_UNLIKELY(t->beyond > 0 || f->region != e->region || f->node == NULL || f->node->histogram == NULL))
    return false;
  uint64_t d = pml__profile_duration(f, e), *count = pml__histogram_count(f->node->histogram, d);
  if (PML_UNLIKELY(count == NULL)) return false;
  pml__profile_end_call(t, d, count);
  return true;
}
