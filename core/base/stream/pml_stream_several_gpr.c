/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream_several_gpr.c - delivery of an event to consumers that use general registers only. */
#include "base/stream/pml_stream_private.h"

uint64_t pml__stream_hand_several(void *several, pml_region_t region, uint64_t ticks) {
  struct pml__stream_several *s = several;
  for (uint32_t i = 0; i < s->n; i++) {
    if (PML_LIKELY(s->at[i].to.plain(s->at[i].to.data, region, ticks) == 0)) continue;
    s->handed = i;
    return ticks;
  }
  return 0;
}
