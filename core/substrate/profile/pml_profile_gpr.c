/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_gpr.c - enters and leaves that need no memory, with general registers only. */
#include "substrate/profile/pml_profile_private.h"

/* Apart, so that what is common needs few registers. */
__attribute__((noinline)) static bool enter_another(struct pml__profile_track *t, struct pml__profile_node *parent,
                                                    pml_region_t region, uint64_t ticks) {
  struct pml__profile_node *node = pml__profile_tree_known(&t->tree, parent, region);
  if (PML_LIKELY(node != NULL)) pml__profile_begin_call(t, node, region, ticks);
  return node != NULL;
}

bool pml__profile_enter_plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__profile_track *t = data;
  if (PML_LIKELY(pml__profile_enter_again(t, region, ticks))) return true;
  struct pml__profile_node *parent = t->top->node;
  return t->top != t->last && parent != &pml__profile_nowhere && enter_another(t, parent, region, ticks);
}

bool pml__profile_leave_plainly(void *data, pml_region_t region, uint64_t ticks) {
  return pml__profile_leave_known(data, region, ticks);
}
