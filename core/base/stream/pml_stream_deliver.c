/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream_deliver.c - lock-free delivery of events to consumers. Ordering: see pml_stream.c. */
#include "base/pml_cancel.h"
#include "base/pml_clock.h"
#include "base/pml_thread.h"
#include "base/stream/pml_stream_private.h"

/* ---- lists, in a delivery ---- */

static const struct pml__stream_list *list_of(enum pml_stream_kind kind) {
  return __atomic_load_n(&pml__stream_list[kind], __ATOMIC_ACQUIRE);
}

/* The guard may have been begun by a plain store: the exchange makes up for it where membarrier(2) does not. */
static void use_lists(struct pml__stream_thread *t) {
  pml__own_add_release(&t->slow, 1);
  if (PML_UNLIKELY(!atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed)))
    (void)__atomic_fetch_add(&t->guard, 0, __ATOMIC_SEQ_CST);
  atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline, cold)) static void begin_for(struct pml__stream_thread *t, uint32_t i) {
  int cancel = pml__cancel_hold();
  t->at[i].id = pml__stream_slot[i].id;
  t->at[i].data = NULL;
  if (pml__stream_slot[i].id != 0) /* a consumer forked: the child has no consumers */
    t->at[i].data = pml__stream_slot[i].consumer.thread_begin(pml__stream_slot[i].consumer.arg, pml_thread_id());
  pml__cancel_again(cancel);
}

/* The thread's data for the consumer of @entry, which may begin now; NULL: it refused the thread. */
static inline void *data_for(struct pml__stream_thread *t, const struct pml__stream_entry *entry) {
  if (PML_UNLIKELY(t->at[entry->slot].id != entry->id)) begin_for(t, entry->slot);
  return t->at[entry->slot].data;
}

/* The same of a consumer that does not begin now; NULL also: it has not begun. */
static void *begun_data(const struct pml__stream_thread *t, const struct pml__stream_entry *entry) {
  return t->at[entry->slot].id == entry->id ? t->at[entry->slot].data : NULL;
}

static bool has_it(const struct pml__stream_several *s, uint64_t id) {
  uint32_t i = 0;
  while (i < s->done && s->at[i].id != id) i++;
  return i < s->done;
}

/* ---- what a thread learns of consumers ---- */

/* One consumer is what most have. Interrupted while it is learnt, the generation says that it is not. */
static void learn_one(struct pml__stream_thread *t, enum pml_stream_kind kind, const struct pml__stream_list *list) {
  const struct pml__stream_entry *only = &list->at[0];
  if (list->n != 1 || begun_data(t, only) == NULL) return;
  t->one[kind].generation = 0;
  atomic_signal_fence(memory_order_seq_cst);
  t->one[kind].call = pml__stream_slot[only->slot].consumer.event[kind];
  t->one[kind].data = t->at[only->slot].data;
  t->one[kind].prepare = pml__stream_slot[only->slot].consumer.prepare;
  atomic_signal_fence(memory_order_seq_cst);
  t->one[kind].generation = list->generation;
}

/* Decline an event without values: emit_slow() adds them. */
static uint64_t decline_uncounted(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region;
  return ticks;
}

/* Fast functions of all consumers of @list, and what intercepted calls use; false: one of them refused the thread. */
static bool learn_kind(struct pml__stream_thread *t, enum pml_stream_kind kind, const struct pml__stream_list *list) {
  struct pml__stream_several *s = &t->several[kind];
  for (uint32_t i = 0; i < list->n; i++) {
    const struct pml_stream_consumer *c = &pml__stream_slot[list->at[i].slot].consumer;
    void *data = data_for(t, &list->at[i]);
    if (data == NULL) return false;
    s->at[i] = (struct pml__stream_target){{c->fast[kind], data}, c->fast_values[kind], data, list->at[i].id};
    if (c->fast_values[kind] != NULL) continue;
    s->at[i].values = pml__stream_without_values;
    s->at[i].values_data = &s->at[i].fast;
  }
  s->at[list->n].values = NULL;
  t->known[kind] = (struct pml__stream_known){pml__stream_fast_several, s};
  if (list->n == 1) t->known[kind] = s->at[0].fast;
  t->called[kind] = t->known[kind];
  if (!list->counted) return true;
  t->known[kind] = (struct pml__stream_known){decline_uncounted, NULL};
  t->called[kind].call = kind == PML_STREAM_ENTER ? pml__stream_enter_counted : pml__stream_leave_counted;
  t->called[kind].data = t;
  if (t->counts.read == NULL)
    t->counts = (struct pml__stream_counts){.read = pml__stream_read_none, .event = &pml__stream_own.call.event};
  return true;
}

/* Learn the fast functions for enters and leaves. While the thread changes its calls it is suspended, and @free does
 * not change. */
static void learn_fast(struct pml__stream_thread *t, uint64_t latest) {
  const struct pml__stream_list *list[2];
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++) {
    list[k] = list_of(k);
    if (list[k] == NULL || !list[k]->fast || list[k]->generation != latest) return;
  }
  t->free = t->learnt = PML__STREAM_FREE;
  atomic_signal_fence(memory_order_seq_cst);
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++)
    if (!learn_kind(t, k, list[k])) return;
  atomic_signal_fence(memory_order_seq_cst);
  t->learnt = latest;
  if (pml__stream_own.call.busy == 0) t->free = latest;
}

/* The place that the only consumer has; see pml_stream.c. */
static void learn_place(struct pml__stream_thread *t, const struct pml__stream_list *list) {
  const struct pml__stream_one *one = &t->one[PML_STREAM_COMMUNICATION];
  struct pml_stream_place *(*place)(void *) = pml__stream_slot[list->at[0].slot].consumer.place;
  if (one->generation != list->generation || place == NULL || pml__clock.kind != PML_CLOCK_COUNTER) return;
  __atomic_store_n(&t->place, place(one->data), __ATOMIC_RELAXED);
  atomic_signal_fence(memory_order_seq_cst);
  if (!pml__stream_knows(PML_STREAM_COMMUNICATION, list->generation))
    __atomic_store_n(&t->place, NULL, __ATOMIC_RELAXED);
}

/* Nothing of a list that is published just now: the others of its generation may not be. */
static void learn(struct pml__stream_thread *t, enum pml_stream_kind kind, const struct pml__stream_list *list) {
  uint64_t latest = atomic_load_explicit(&pml__stream_latest, memory_order_acquire);
  if (list->generation != latest || !atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed)) return;
  if (t->learnt != latest) learn_fast(t, latest);
  learn_one(t, kind, list);
  if (kind == PML_STREAM_COMMUNICATION) learn_place(t, list);
}

/* A signal handler that interrupts this reads from the set only after all its fields are stored. */
void pml__stream_count_by(pml__stream_read *read, void *set, const struct pml_stream_metrics *metrics,
                          uint64_t *value) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_event *e = &pml__stream_own.call.event;
  if (!t->here && (t = pml__stream_thread_begin()) == NULL) return;
  pml__stream_count_no_more();
  e->metrics = metrics;
  e->values = value;
  t->counts = (struct pml__stream_counts){pml__stream_read_none, set, value, e};
  atomic_signal_fence(memory_order_seq_cst);
  t->counts.read = read;
}

void pml__stream_count_no_more(void) {
  struct pml__stream_thread *t = pml__stream_self;
  if (t->here) t->counts.read = pml__stream_read_none;
  atomic_signal_fence(memory_order_seq_cst);
}

/* ---- events ---- */

/* To the consumers that do not have @e from fast functions yet. */
static void deliver(struct pml__stream_thread *t, enum pml_stream_kind kind, const struct pml_stream_event *e) {
  use_lists(t);
  const struct pml__stream_list *list = list_of(kind);
  struct pml__stream_several *s = kind <= PML_STREAM_LEAVE ? &t->several[kind] : NULL;
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    if (PML_UNLIKELY(s != NULL && s->done > 0) && has_it(s, list->at[i].id)) continue;
    void *data = data_for(t, &list->at[i]);
    if (PML_LIKELY(data != NULL))
      pml__stream_slot[list->at[i].slot].consumer.event[kind](data, e);
    else
      atomic_store_explicit(&t->refused, t->refused + 1, memory_order_relaxed);
  }
  if (s != NULL) s->done = 0;
  if (list != NULL) learn(t, kind, list);
  pml__stream_unguard(t);
}

void pml__stream_complete(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  deliver(pml__stream_self, kind, e);
}

/* A delivery is under way already, or the thread has no block: then it has from here on. NULL: @e is lost. */
__attribute__((noinline, cold)) static struct pml__stream_thread *begin_guarded(struct pml__stream_thread *t) {
  if (t->here) {
    atomic_store_explicit(&t->nested, t->nested + 1, memory_order_relaxed);
    return NULL;
  }
  t = pml__stream_thread_begin();
  if (t == NULL)
    atomic_fetch_add_explicit(&pml__stream_lost_threads, 1, memory_order_relaxed);
  else
    (void)pml__stream_guard(t, PML__STREAM_EMITTING);
  return t;
}

__attribute__((noinline)) void pml__stream_emit_by_list(enum pml_stream_kind kind, const struct pml_stream_event *e,
                                                        uint64_t was) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_UNLIKELY((was & PML__STREAM_FREE) == 0)) t = begin_guarded(t);
  if (t != NULL) deliver(t, kind, e);
}

void pml__stream_emit(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  pml__stream_emit_inline(kind, e);
}

/* Without fast functions, or where one declined the event. Counts are read in the delivery: a signal handler's event
 * reads into the same values. */
__attribute__((noinline)) static int emit_slow(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks,
                                               uint64_t was) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_event e = {.ticks = ticks, .region = region};
  bool is_guarded = (was & PML__STREAM_FREE) != 0;
  if (PML_UNLIKELY(!is_guarded) && (t = begin_guarded(t)) == NULL) return 0;
  if (pml__stream_is_counting()) pml__stream_counter_in_use(kind, &e);
  if (is_guarded)
    pml__stream_emit_guarded(t, kind, &e, was);
  else
    deliver(t, kind, &e);
  return 0;
}

/* The region is in the guard meanwhile, which takes no register; so is the result, which is 0. */
__attribute__((always_inline)) static inline int emit_fast(enum pml_stream_kind kind, pml_region_t region,
                                                           uint64_t ticks) {
  struct pml__stream_thread *t = pml__stream_self;
  uint64_t was = pml__stream_guard(t, PML__STREAM_EMITTING_OF(region));
  if (PML_UNLIKELY(!pml__stream_knows(kind, was))) return emit_slow(kind, region, ticks, was);
  ticks = t->known[kind].call(t->known[kind].data, region, ticks);
  if (PML_UNLIKELY(ticks != 0)) return emit_slow(kind, PML__STREAM_REGION_OF(t->guard), ticks, PML__STREAM_FREE);
  pml__stream_unguard(t);
  __asm__("" : "+r"(ticks)); /* returned where it is */
  return (int)ticks;
}

int pml__stream_emit_enter(pml_region_t region, uint64_t ticks) {
  return emit_fast(PML_STREAM_ENTER, region, ticks);
}

int pml__stream_emit_leave(pml_region_t region, uint64_t ticks) {
  return emit_fast(PML_STREAM_LEAVE, region, ticks);
}

/* ---- beside events ---- */

/* Prepare all consumers except those that have the event already, because their next event is a different one. */
static void prepare(struct pml__stream_thread *t, pml_region_t region) {
  use_lists(t);
  const struct pml__stream_list *list = list_of(PML_STREAM_ENTER);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    if (has_it(&t->several[PML_STREAM_ENTER], list->at[i].id)) continue;
    void *data = data_for(t, &list->at[i]);
    void (*call)(void *, pml_region_t) = pml__stream_slot[list->at[i].slot].consumer.prepare;
    if (data != NULL && call != NULL) call(data, region);
  }
}

bool pml__stream_prepare_rest(pml_region_t region) {
  prepare(pml__stream_self, region);
  return pml__stream_self->several[PML_STREAM_ENTER].done == 0;
}

__attribute__((noinline)) static void prepare_by_list(pml_region_t region) {
  struct pml__stream_thread *t = pml__stream_self;
  if (!t->here && (t = pml__stream_thread_begin()) == NULL) return;
  if (pml__stream_is_guarded(t)) return; /* its enter will reach no consumer, either */
  (void)pml__stream_guard(t, PML__STREAM_EMITTING);
  prepare(t, region);
  pml__stream_unguard(t);
}

void pml__stream_prepare(pml_region_t region) {
  const struct pml__stream_one *one = &pml__stream_self->one[PML_STREAM_ENTER];
  if (PML_UNLIKELY(one->prepare != NULL) || !pml__stream_knows(PML_STREAM_ENTER, one->generation))
    prepare_by_list(region);
}

void pml__stream_with(uint64_t id, void (*call)(void *data, void *arg), void *arg) {
  struct pml__stream_thread *t = pml__stream_self;
  if (!t->here || pml__stream_is_guarded(t)) return;
  (void)pml__stream_guard(t, PML__STREAM_EMITTING);
  use_lists(t);
  const struct pml__stream_list *list = list_of(PML_STREAM_ENTER);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    void *data = begun_data(t, &list->at[i]);
    if (list->at[i].id == id && data != NULL) call(data, arg);
  }
  pml__stream_unguard(t);
}

static void repair_all(struct pml__stream_thread *t) {
  const struct pml__stream_list *list = list_of(PML_STREAM_ENTER);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    void *data = begun_data(t, &list->at[i]);
    void (*repair)(void *) = pml__stream_slot[list->at[i].slot].consumer.repair;
    if (repair != NULL && data != NULL) repair(data);
  }
}

void pml__stream_abandon(void) {
  struct pml__stream_thread *t = pml__stream_self;
  if (!t->here || !pml__stream_is_guarded(t)) return;
  use_lists(t);
  repair_all(t);
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++) t->several[k].done = 0;
  pml__stream_unguard(t);
}

bool pml__stream_return(struct pml__stream_thread *t, const struct pml_stream_call *call, uint64_t ticks) {
  bool known = false;
  if (!t->here || pml__stream_is_guarded(t)) return false;
  (void)pml__stream_guard(t, PML__STREAM_EMITTING);
  use_lists(t);
  const struct pml__stream_list *list = list_of(PML_STREAM_LEAVE);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    const struct pml_stream_consumer *c = &pml__stream_slot[list->at[i].slot].consumer;
    void *data = begun_data(t, &list->at[i]);
    if (c->returned != NULL && data != NULL) known |= c->returned(data, call, ticks);
  }
  pml__stream_unguard(t);
  return known;
}
