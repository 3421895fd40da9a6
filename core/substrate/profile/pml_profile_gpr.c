/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_gpr.c - enters and leaves that need no memory, in general registers only. */
#include "substrate/profile/pml_profile_private.h"

struct pml__profile_place pml__profile_nowhere = {.latest = &pml__profile_nowhere, .region = PML__PROFILE_NO_REGION};

/* Apart, and all is looked at again, so that what is common needs few registers. */
__attribute__((noinline)) static uint64_t enter_another(struct pml__profile_track *t, pml_region_t region,
                                                        uint64_t ticks) {
  struct pml__profile_place *at = t->at;
  if (at == &pml__profile_nowhere) return ticks;
  const struct pml__profile_node *node = pml__profile_tree_known(&t->tree, at->node, region);
  struct pml__profile_place *p = node != NULL ? pml__profile_place_at(t, node->index) : NULL;
  if (PML_UNLIKELY(p == NULL)) return ticks;
  at->latest = p;
  pml__profile_begin_call(t, p, ticks);
  return 0;
}

uint64_t pml__profile_enter_plainly(void *data, pml_region_t region, uint64_t ticks) {
  return PML_LIKELY(pml__profile_enter_again(data, region, ticks)) ? 0 : enter_another(data, region, ticks);
}

uint64_t pml__profile_leave_plainly(void *data, pml_region_t region, uint64_t ticks) {
  return PML_LIKELY(pml__profile_leave_known(data, region, ticks)) ? 0 : ticks;
}
