/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_gpr.c - delivery of an event to several consumers, or with counts, in general registers
 * only.
 */
#include "base/pml_clock.h"
#include "base/stream/pml_stream_private.h"

/* The consumers before number @i have the event; pml__stream_complete() delivers it to the others. */
__attribute__((noinline, cold)) static uint64_t decline(struct pml__stream_several *s, uint32_t i, uint64_t ticks) {
  s->done = i;
  return ticks;
}

static inline bool declines(const struct pml__stream_several *s, uint32_t i, pml_region_t region, uint64_t ticks) {
  return PML_UNLIKELY(s->at[i].fast.call(s->at[i].fast.data, region, ticks) != 0);
}

__attribute__((noinline)) static uint64_t deliver_rest(struct pml__stream_several *s, pml_region_t region,
                                                       uint64_t ticks) {
  for (uint32_t i = 2; s->at[i].values != NULL; i++)
    if (declines(s, i, region, ticks)) return decline(s, i, ticks);
  return 0;
}

/* Most often there are two. */
uint64_t pml__stream_fast_several(void *several, pml_region_t region, uint64_t ticks) {
  struct pml__stream_several *s = several;
  if (declines(s, 0, region, ticks)) return decline(s, 0, ticks);
  if (declines(s, 1, region, ticks)) return decline(s, 1, ticks);
  return PML_LIKELY(s->at[2].values == NULL) ? 0 : deliver_rest(s, region, ticks);
}

uint64_t pml__stream_without_values(void *known, const struct pml_stream_event *e) {
  const struct pml__stream_known *k = known;
  return k->call(k->data, e->region, e->ticks);
}

int pml__stream_read_none(void *set, uint64_t *value) {
  (void)set, (void)value;
  return -1;
}

/* Region 0: the event has not the call's counts. */
__attribute__((noinline, cold)) static uint64_t refuse(const struct pml_stream_event *e) {
  pml__stream_own.call.event.region = 0; /* that is @e, or pml_call.c would not notice */
  return e->ticks;
}

/* False: it cannot. Then the event has the ticks. */
static inline bool read_counts(struct pml__stream_thread *t, pml_region_t region, uint64_t ticks) {
  t->counts.event->region = region;
  t->counts.event->ticks = ticks;
  return PML_LIKELY(t->counts.read(t->counts.set, t->counts.value) == 0);
}

__attribute__((noinline, cold)) static uint64_t decline_counted(struct pml__stream_thread *t, enum pml_stream_kind kind,
                                                                const struct pml__stream_target *at) {
  return decline(&t->several[kind], (uint32_t)(at - t->several[kind].at), t->counts.event->ticks);
}

/* Values are loaded again, because keeping them would take another register. */
static inline uint64_t deliver_counted(struct pml__stream_thread *t, enum pml_stream_kind kind) {
  const struct pml__stream_target *at = t->several[kind].at;
  do
    if (PML_UNLIKELY(at->values(at->values_data, PML__OWN_AGAIN(t->counts.event)) != 0))
      return decline_counted(t, kind, at);
  while ((++at)->values != NULL);
  return 0;
}

uint64_t pml__stream_enter_counted(void *thread, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = thread;
  if (PML_UNLIKELY(!read_counts(t, region, ticks))) return refuse(t->counts.event);
  t->counts.event->ticks = pml__clock_counter();
  return deliver_counted(t, PML_STREAM_ENTER);
}

uint64_t pml__stream_leave_counted(void *thread, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = thread;
  if (PML_UNLIKELY(!read_counts(t, region, ticks))) return refuse(t->counts.event);
  return deliver_counted(t, PML_STREAM_LEAVE);
}
