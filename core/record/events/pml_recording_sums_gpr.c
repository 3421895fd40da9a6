/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_recording_sums_gpr.c - integer sums that need no memory, in general registers only. */
#include "record/events/pml_recording_accumulator.h"

static inline bool has_room(const struct pml__recording_accumulator *t) {
  return PML_LIKELY(t->overflow == 0 && t->depth < t->capacity);
}

uint64_t pml__accumulator_enter_fast(void *data, pml_region_t region, uint64_t ticks) {
  if (!has_room(data)) return ticks;
  pml__accumulator_enter(data, region, NULL);
  return 0;
}

uint64_t pml__accumulator_enter_fast_values(void *data, const struct pml_stream_event *e) {
  const struct pml__recording_accumulator *t = data;
  if (!has_room(t)) return e->ticks;
  pml__accumulator_enter(data, e->region, e->metrics == t->metrics ? e->values : NULL);
  return 0;
}

uint64_t pml__accumulator_leave_fast(void *data, pml_region_t region, uint64_t ticks) {
  struct pml__recording_accumulator *t = data;
  if (PML_UNLIKELY(t->overflow > 0)) return ticks;
  if (pml__accumulator_is_innermost(t, region)) t->depth--;
  return 0;
}

uint64_t pml__accumulator_leave_fast_values(void *data, const struct pml_stream_event *e) {
  struct pml__recording_accumulator *t = data;
  if (PML_UNLIKELY(t->overflow > 0)) return e->ticks;
  if (!pml__accumulator_is_innermost(t, e->region)) return 0;
  struct pml__log_sums *s = NULL;
  bool has = pml__accumulator_has(t, e);
  if (has) {
    if (PML_UNLIKELY(t->slot == NULL || pml_stream_metrics_any_real(t->metrics))) return e->ticks;
    s = *pml__accumulator_find(t->slot, t->mask, e->region);
    if (PML_UNLIKELY(s == NULL)) return e->ticks;
  }
  t->depth--;
  if (has) pml__accumulator_add(t, e, s, false);
  return 0;
}
