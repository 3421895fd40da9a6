/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_recording_accumulator.h - a thread's accumulators of event values by call. Internal. All
 * functions need general registers only, unless values may be doubles. */
#ifndef PML_RECORDING_ACCUMULATOR_H
#define PML_RECORDING_ACCUMULATOR_H

#include "base/pml_value.h"
#include "record/events/pml_recording_file.h"

/* Open calls, innermost last, each with n values at its enter and n sums of the calls inside. */
struct pml__recording_accumulator {
  struct pml_recording *recording;
  const struct pml_stream_metrics *metrics;
  uint32_t n, depth, capacity, overflow;
  pml_region_t *region;        /* [capacity] regions of open calls; 0: the enter had no values */
  uint64_t *value;             /* [capacity][2 n] */
  struct pml__log_sums **slot; /* [mask + 1] by a hash of regions; NULL before the first sums */
  uint32_t nsums, mask;
  struct pml__recording_accumulator *following;
};

/* The slot with the sums of @region, or the free slot for them. */
static inline struct pml__log_sums **pml__accumulator_find(struct pml__log_sums **slot, uint32_t mask,
                                                           pml_region_t region) {
  uint32_t i = (uint32_t)((uint64_t)region * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
  while (slot[i] != NULL && slot[i]->region != region) i = (i + 1) & mask;
  return &slot[i];
}

/* There must be room. @values may be NULL. The stores are atomic so that compilers do not call memset(). */
static inline void pml__accumulator_enter(struct pml__recording_accumulator *t, pml_region_t region,
                                          const uint64_t *values) {
  uint64_t *mine = t->value + (size_t)2 * t->n * t->depth, *inside = mine + t->n;
  for (uint32_t i = 0; i < t->n; i++) {
    __atomic_store_n(&mine[i], values != NULL ? values[i] : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&inside[i], 0, __ATOMIC_RELAXED);
  }
  t->region[t->depth] = values != NULL ? region : 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler may leave by a longjmp */
  t->depth++;
}

/* Whether the innermost call is of @region; true if its region is unknown. */
static inline bool pml__accumulator_is_innermost(const struct pml__recording_accumulator *t, pml_region_t region) {
  return t->depth > 0 && (t->region[t->depth - 1] == region || t->region[t->depth - 1] == 0);
}

/* Whether also both its ends have values. */
static inline bool pml__accumulator_has(const struct pml__recording_accumulator *t, const struct pml_stream_event *e) {
  return t->region[t->depth - 1] != 0 && e->metrics == t->metrics;
}

/* Add the values of the call just removed from the stack to @s (NULL: there was no memory) and to its caller's nested
 * values. @reals: some may be doubles. */
static inline void pml__accumulator_add(struct pml__recording_accumulator *t, const struct pml_stream_event *e,
                                        struct pml__log_sums *s, bool reals) {
  uint64_t *mine = t->value + (size_t)2 * t->n * t->depth, *outer = t->depth > 0 ? mine - t->n : NULL;
  for (uint32_t i = 0; i < t->n; i++) {
    bool real = reals && pml_stream_metrics_real(t->metrics, i);
    uint64_t all = pml_value_change(mine[i], e->values[i], real), own = pml_value_minus(all, mine[t->n + i], real);
    if (s != NULL) __atomic_store_n(&s->sum[i], pml_value_plus(s->sum[i], own, real), __ATOMIC_RELAXED);
    if (outer != NULL) outer[i] = pml_value_plus(outer[i], all, real);
  }
}

/* Like pml_stream_consumer.fast and .fast_values; they neither allocate nor support doubles. */
pml_stream_fast pml__accumulator_enter_fast, pml__accumulator_leave_fast;
pml_stream_fast_values pml__accumulator_enter_fast_values, pml__accumulator_leave_fast_values;

#endif
