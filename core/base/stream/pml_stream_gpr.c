/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream_gpr.c - one event for several consumers, with general registers only. */
#include "base/stream/pml_stream_private.h"

bool pml__stream_hand_several(void *several, const struct pml_stream_event *e) {
  struct pml__stream_several *s = several;
  for (uint32_t i = 0; i < s->n; i++) {
    if (PML_LIKELY(s->at[i].plain(s->at[i].data, e))) continue;
    s->handed = i;
    return false;
  }
  return true;
}
