/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream_gpr.c - one event for several consumers, with general registers only. */
#include "base/stream/pml_stream_private.h"

/* Most often there are two. */
uint64_t pml__stream_hand_two(void *several, pml_region_t region, uint64_t ticks) {
  struct pml__stream_several *s = several;
  if (PML_UNLIKELY(s->at[0].plain(s->at[0].data, region, ticks) != 0)) return ticks;
  if (PML_LIKELY(s->at[1].plain(s->at[1].data, region, ticks) == 0)) return 0;
  s->handed = 1;
  return ticks;
}
