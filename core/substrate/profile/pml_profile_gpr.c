/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_gpr.c - enters and leaves that need no memory, with general registers only. */
#include "substrate/profile/pml_profile_private.h"

struct pml__profile_place pml__profile_nowhere = {.latest = &pml__profile_nowhere, .region = PML__PROFILE_NO_REGION};

/* The cache entry of the child of @at for @region. Few paths that are near each other share one. */
static inline struct pml__profile_place **recent(struct pml__profile_lane *t, const struct pml__profile_place *at,
                                                 pml_region_t region) {
  uint32_t place = (uint32_t)((uintptr_t)at / _Alignof(struct pml__profile_place));
  return &t->recent[(185u * place + region) % PML__PROFILE_RECENT];
}

/* Separate functions, so that the common case needs few registers. */
__attribute__((noinline)) static uint64_t enter_by_tree(struct pml__profile_lane *t, pml_region_t region,
                                                        uint64_t ticks) {
  struct pml__profile_place *at = t->at;
  if (at == &pml__profile_nowhere) return ticks;
  const struct pml__profile_node *node = pml__profile_tree_known(&t->tree, at->node, region);
  struct pml__profile_place *p = node != NULL ? pml__profile_place_at(t, node->index) : NULL;
  if (PML_UNLIKELY(p == NULL)) return ticks;
  at->latest = *recent(t, at, region) = p;
  pml__profile_begin_call(t, p, ticks);
  return 0;
}

__attribute__((noinline)) static uint64_t enter_another(struct pml__profile_lane *t, pml_region_t region,
                                                        uint64_t ticks) {
  struct pml__profile_place *at = t->at, *p = *recent(t, at, region);
  if (PML_UNLIKELY(p == NULL || p->up != at || p->region != region)) return enter_by_tree(t, region, ticks);
  at->latest = p;
  pml__profile_begin_call(t, p, ticks);
  return 0;
}

uint64_t pml__profile_enter_fast(void *data, pml_region_t region, uint64_t ticks) {
  return PML_LIKELY(pml__profile_enter_again(data, region, ticks)) ? 0 : enter_another(data, region, ticks);
}

uint64_t pml__profile_enter_counted(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__profile_lane *t = data;
  const struct pml__profile_place *at = t->at, *p = at->latest;
  if (p->region != region) p = *recent(t, at, region);
  if (p != NULL && p->region == region && p->up == at && (p->node->entered + 1) % PML_PROFILE_FREQUENT == 0)
    return ticks;
  return pml__profile_enter_fast(data, region, ticks);
}

uint64_t pml__profile_leave_fast(void *data, pml_region_t region, uint64_t ticks) {
  return PML_LIKELY(pml__profile_leave_known(data, region, ticks)) ? 0 : ticks;
}
