/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_gpr.c - enters and leaves that need no memory, with general registers only. */
#include "substrate/profile/pml_profile_private.h"

/* Apart, so that what is common needs few registers. */
__attribute__((noinline)) static bool enter_another(struct pml__profile_track *t, struct pml__profile_node *parent,
                                                    const struct pml_stream_event *e) {
  struct pml__profile_node *node = pml__profile_tree_known(&t->tree, parent, e->region);
  if (PML_LIKELY(node != NULL)) pml__profile_begin_call(t, node, e);
  return node != NULL;
}

bool pml__profile_enter_plainly(void *data, const struct pml_stream_event *e) {
  struct pml__profile_track *t = data;
  struct pml__profile_node *parent = t->top->node;
  if (PML_UNLIKELY(t->top == t->last || parent == NULL)) return false;
  struct pml__profile_node *node = parent->latest;
  if (PML_UNLIKELY(node == NULL || node->region != e->region)) return enter_another(t, parent, e);
  pml__profile_begin_call(t, node, e);
  return true;
}

bool pml__profile_leave_plainly(void *data, const struct pml_stream_event *e) {
  struct pml__profile_track *t = data;
  struct pml__profile_frame *f = t->top;
  if (PML_UNLIKELY(f->region != e->region || f->node == NULL)) return false;
  struct pml__histogram *h = f->node->histogram;
  uint64_t d = pml__profile_duration(f, e), *count = pml__histogram_count(h);
  if (PML_UNLIKELY(count == NULL)) return false;
  pml__own_add(count, 1);
  __atomic_store_n(&h->late, d + 1, __ATOMIC_RELAXED);
  pml__profile_end_call(t, f, d);
  return true;
}
