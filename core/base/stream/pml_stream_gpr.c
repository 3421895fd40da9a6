/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_gpr.c - delivery of an event to several consumers, or with counts, in general registers
 * only.
 */
#include "base/pml_clock.h"
#include "base/stream/pml_stream_private.h"

/* Most often there are two. */
uint64_t pml__stream_hand_two(void *several, pml_region_t region, uint64_t ticks) {
  struct pml__stream_several *s = several;
  if (PML_UNLIKELY(s->at[0].to.plain(s->at[0].to.data, region, ticks) != 0)) return ticks;
  if (PML_LIKELY(s->at[1].to.plain(s->at[1].to.data, region, ticks) == 0)) return 0;
  s->handed = 1;
  return ticks;
}

uint64_t pml__stream_hand_no_values(void *known, const struct pml_stream_event *e) {
  const struct pml__stream_known *k = known;
  return k->plain(k->data, e->region, e->ticks);
}

/* Region 0: the event has not the call's counts. */
__attribute__((noinline, cold)) uint64_t pml__stream_hand_none(void *thread, pml_region_t region, uint64_t ticks) {
  (void)thread, (void)region;
  pml__stream_own.call.event.region = 0;
  return ticks;
}

int pml__stream_read_none(void *set, uint64_t *value) {
  (void)set, (void)value;
  return -1;
}

/* Values are loaded or computed again, here and below, because keeping them would take another register. */
__attribute__((noinline, cold)) static uint64_t hand_rest(enum pml_stream_kind kind,
                                                          const struct pml__stream_taker *at) {
  struct pml__stream_several *s = &pml__stream_self->several[kind];
  s->handed = (uint32_t)(at - s->at);
  return pml__stream_own.call.event.ticks;
}

static inline uint64_t hand_counted(struct pml__stream_thread *t, enum pml_stream_kind kind) {
  const struct pml__stream_taker *at = t->several[kind].at;
  do
    if (PML_UNLIKELY(at->valued(at->valued_data, PML__OWN_AGAIN(t->counts.event)) != 0)) return hand_rest(kind, at);
  while ((++at)->valued != NULL);
  return 0;
}

/* False: it cannot. Then the event has the ticks. */
static inline bool read_counts(struct pml__stream_thread *t, pml_region_t region, uint64_t ticks) {
  t->counts.event->region = region;
  t->counts.event->ticks = ticks;
  return PML_LIKELY(t->counts.read(t->counts.set, t->counts.value) == 0);
}

uint64_t pml__stream_enter_counted(void *thread, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = thread;
  if (PML_UNLIKELY(!read_counts(t, region, ticks))) return pml__stream_hand_none(t, 0, t->counts.event->ticks);
  t->counts.event->ticks = pml__clock_counter();
  return hand_counted(t, PML_STREAM_ENTER);
}

uint64_t pml__stream_leave_counted(void *thread, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = thread;
  if (PML_UNLIKELY(!read_counts(t, region, ticks))) return pml__stream_hand_none(t, 0, t->counts.event->ticks);
  return hand_counted(t, PML_STREAM_LEAVE);
}
