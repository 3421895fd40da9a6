/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/stream/pml_stream_raise.c - lock-free delivery of events. Ordering: see pml_stream.c. */
#include "base/pml_stream.h"

#include "base/pml_cancel.h"
#include "base/pml_clock.h"
#include "base/pml_thread.h"
#include "base/stream/pml_stream_private.h"

/* In a pass, so that the slot stays what it is. */
__attribute__((noinline, cold)) static void begin_for(struct pml__stream_thread *t, uint32_t i) {
  int cancel = pml__cancel_hold();
  t->at[i].id = pml__stream_slot[i].id;
  t->at[i].data = NULL;
  if (pml__stream_slot[i].id != 0) /* a consumer forked: the child has no consumers */
    t->at[i].data = pml__stream_slot[i].consumer.thread_begin(pml__stream_slot[i].consumer.arg, pml_thread_id());
  pml__cancel_again(cancel);
}

static bool has_it(const struct pml__stream_several *s, uint64_t id) {
  uint32_t i = 0;
  while (i < s->handed && s->id[i] != id) i++;
  return i < s->handed;
}

/* In a pass; all but those that have the event already: what comes next is another one to them. */
static void get_ready(struct pml__stream_thread *t, pml_region_t region) {
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[PML_STREAM_ENTER], __ATOMIC_ACQUIRE);
  if (list == NULL) return;
  uint32_t i = 0; /* a list has at least one, or a first entry that stands for nothing */
  do {
    uint32_t at = list->at[i].slot;
    if (has_it(&t->several[PML_STREAM_ENTER], list->at[i].id)) continue;
    if (t->at[at].id != list->at[i].id) begin_for(t, at);
    if (t->at[at].data != NULL && pml__stream_slot[at].consumer.ready != NULL)
      pml__stream_slot[at].consumer.ready(t->at[at].data, region);
  } while (++i < list->n);
}

/* Of the only consumer, which has begun: as pml__stream_hand_to_one(). */
static bool one_is_ready(struct pml__stream_thread *t, pml_region_t region) {
  const _Atomic uint64_t *generation = &pml__stream_generation[PML_STREAM_ENTER];
  if (t->one[PML_STREAM_ENTER].generation != atomic_load_explicit(generation, memory_order_acquire)) return false;
  if (t->one[PML_STREAM_ENTER].ready == NULL || pml__stream_in_pass(t)) return true;
  pml__stream_begin_only(t);
  bool known = t->one[PML_STREAM_ENTER].generation == atomic_load_explicit(generation, memory_order_acquire);
  if (known) t->one[PML_STREAM_ENTER].ready(t->one[PML_STREAM_ENTER].data, region);
  pml__stream_end_pass(t);
  return known;
}

void pml__stream_ready(pml_region_t region) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_LIKELY(one_is_ready(t, region))) return;
  if (!t->here && (t = pml__stream_thread_begins()) == NULL) return;
  if (pml__stream_in_pass(t)) return; /* as its enter will be, without a consumer */
  if (!pml__stream_begin_pass(t)) return;
  get_ready(t, region);
  pml__stream_end_pass(t);
}

/* The thread's, in the pass that was begun plainly, made up for: the mark's store is the exchange now. */
__attribute__((always_inline)) static inline struct pml__stream_thread *in_its_pass(void) {
  struct pml__stream_thread *t = pml__stream_self;
  pml__own_add_release(&t->slow, 1);
  (void)__atomic_fetch_add(&t->pass, 0, __ATOMIC_SEQ_CST);
  return t;
}

bool pml__stream_ready_in_pass(pml_region_t region) {
  struct pml__stream_thread *t = in_its_pass();
  get_ready(t, region);
  return t->several[PML_STREAM_ENTER].handed == 0;
}

/* To all but those that have it already; inline, as most callers know that none has. */
__attribute__((always_inline)) static inline void hand_out(struct pml__stream_thread *t,
                                                           const struct pml__stream_list *list,
                                                           const struct pml__stream_several *have,
                                                           const struct pml_stream_event *e) {
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    uint32_t at = list->at[i].slot;
    if (PML_UNLIKELY(have != NULL && has_it(have, list->at[i].id))) continue;
    if (PML_UNLIKELY(t->at[at].id != list->at[i].id)) begin_for(t, at);
    if (PML_LIKELY(t->at[at].data != NULL))
      list->at[i].call(t->at[at].data, e);
    else
      pml__stream_count(&t->refused);
  }
}

/* One consumer is what most have. Interrupted while it is learnt, the generation says that it is not. */
static void learn_one(struct pml__stream_thread *t, enum pml_stream_kind kind, const struct pml__stream_list *list) {
  const struct pml__stream_entry *only = &list->at[0];
  if (list->n != 1 || !atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed)) return;
  if (t->at[only->slot].id != only->id || t->at[only->slot].data == NULL) return;
  t->one[kind].generation = 0;
  atomic_signal_fence(memory_order_seq_cst);
  t->one[kind].call = only->call;
  t->one[kind].data = t->at[only->slot].data;
  t->one[kind].ready = pml__stream_slot[only->slot].consumer.ready;
  atomic_signal_fence(memory_order_seq_cst);
  t->one[kind].generation = list->generation;
}

/* What the thread has for the consumers of @list, which all take events plainly; false: not for all. */
static bool gather(struct pml__stream_thread *t, struct pml__stream_several *s, const struct pml__stream_list *list) {
  s->n = list->n;
  for (uint32_t i = 0; i < list->n; i++) {
    uint32_t at = list->at[i].slot;
    if (t->at[at].id != list->at[i].id) begin_for(t, at);
    if (t->at[at].data == NULL) return false;
    bool valued = list->at[i].valued != NULL;
    s->id[i] = list->at[i].id;
    s->at[i].to = (struct pml__stream_known){list->at[i].plain, t->at[at].data};
    s->at[i].valued = valued ? list->at[i].valued : pml__stream_hand_no_values;
    s->at[i].valued_data = valued ? t->at[at].data : &s->at[i].to;
  }
  s->at[list->n].valued = NULL;
  return true;
}

static void learn_plain(struct pml__stream_thread *t, enum pml_stream_kind kind, const struct pml__stream_list *list) {
  struct pml__stream_several *s = &t->several[kind];
  bool two = s->n == 2 && (list->sparing || !PML__SPARING);
  t->known[kind] = (struct pml__stream_known){two ? pml__stream_hand_two : pml__stream_hand_several, s};
  if (s->n == 1) t->known[kind] = s->at[0].to;
  t->called[kind] = t->known[kind];
  if (!list->counted) return;
  t->called[kind].data = t;
  if (t->counts.read == NULL)
    t->counts = (struct pml__stream_counts){.read = pml__stream_read_none, .event = &pml__stream_own.call.event};
  if (!list->valued || (PML__SPARING && !list->sparing))
    t->called[kind].plain = pml__stream_hand_none;
  else
    t->called[kind].plain = kind == PML_STREAM_ENTER ? pml__stream_enter_counted : pml__stream_leave_counted;
}

/* A signal handler that interrupts this reads from the set only after all its fields are stored. */
void pml__stream_count_by(pml__stream_read *read, void *set, const struct pml_stream_metrics *metrics,
                          uint64_t *value) {
  struct pml__stream_thread *t = pml__stream_self;
  struct pml_stream_event *e = &pml__stream_own.call.event;
  if (!t->here && (t = pml__stream_thread_begins()) == NULL) return;
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

/*
 * Of enters and leaves, in a pass; who was handed an event that others have not is still listed in several[]. While the
 * thread is at its calls it is held back, and @free stays what it is.
 */
static void learn(struct pml__stream_thread *t) {
  uint64_t latest = atomic_load_explicit(&pml__stream_latest, memory_order_acquire);
  if (t->learnt == latest || t->several[PML_STREAM_ENTER].handed > 0 || t->several[PML_STREAM_LEAVE].handed > 0 ||
      !atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed))
    return;
  const struct pml__stream_list *list[2];
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++) {
    list[k] = __atomic_load_n(&pml__stream_list[k], __ATOMIC_ACQUIRE);
    if (list[k] == NULL || !list[k]->plain || list[k]->generation != latest) return;
  }
  t->free = t->learnt = PML__STREAM_FREE;
  atomic_signal_fence(memory_order_seq_cst);
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++) {
    if (!gather(t, &t->several[k], list[k])) return;
    learn_plain(t, k, list[k]);
  }
  atomic_signal_fence(memory_order_seq_cst);
  t->learnt = latest;
  if (pml__stream_own.call.busy == 0) t->free = latest;
}

/* The same of the place that the only consumer has; see pml_stream.c. */
static void learn_place(struct pml__stream_thread *t, const struct pml__stream_list *list) {
  uint32_t at = list->at[0].slot;
  struct pml_stream_place *(*place)(void *) = pml__stream_slot[at].consumer.place;
  if (t->one[PML_STREAM_COMMUNICATION].generation != list->generation || place == NULL ||
      pml__clock.kind != PML_CLOCK_COUNTER)
    return;
  __atomic_store_n(&t->place, place(t->at[at].data), __ATOMIC_RELAXED);
  atomic_signal_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&pml__stream_generation[PML_STREAM_COMMUNICATION], memory_order_acquire) != list->generation)
    __atomic_store_n(&t->place, NULL, __ATOMIC_RELAXED);
}

void pml__stream_raise_to_all(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_UNLIKELY(!t->here) && (t = pml__stream_thread_begins()) == NULL) {
    atomic_fetch_add_explicit(&pml__stream_lost_threads, 1, memory_order_relaxed);
    return;
  }
  if (!pml__stream_begin_pass(t)) return;
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[kind], __ATOMIC_ACQUIRE);
  hand_out(t, list, NULL, e);
  if (list != NULL) {
    learn(t);
    learn_one(t, kind, list);
    if (kind == PML_STREAM_COMMUNICATION) learn_place(t, list);
  }
  pml__stream_end_pass(t);
}

void pml__stream_raise_left(const struct pml_stream_event *e) {
  struct pml__stream_thread *t = pml__stream_self;
  if (!t->here && (t = pml__stream_thread_begins()) == NULL) return;
  if (!pml__stream_begin_pass(t)) return;
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[PML_STREAM_LEAVE], __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    uint32_t at = list->at[i].slot;
    void (*left)(void *, const struct pml_stream_event *) = pml__stream_slot[at].consumer.left;
    if (t->at[at].id != list->at[i].id) begin_for(t, at);
    if (t->at[at].data != NULL) (left != NULL ? left : list->at[i].call)(t->at[at].data, e);
  }
  pml__stream_end_pass(t);
}

void pml__stream_raise(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  pml__stream_hand(kind, e);
}

/* By the list, as events are handed out: a consumer that is in it in this pass stays until the pass is over. */
void pml__stream_with(uint64_t id, void (*call)(void *data, void *arg), void *arg) {
  struct pml__stream_thread *t = pml__stream_self;
  if (!t->here || !pml__stream_begin_pass(t)) return;
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[PML_STREAM_ENTER], __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    uint32_t at = list->at[i].slot;
    if (list->at[i].id == id && t->at[at].id == id && t->at[at].data != NULL) call(t->at[at].data, arg);
  }
  pml__stream_end_pass(t);
}

void pml__stream_go_on(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct pml__stream_thread *t = in_its_pass();
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[kind], __ATOMIC_ACQUIRE);
  if (list != NULL) {
    learn(t);
    learn_one(t, kind, list);
  }
  hand_out(t, list, &t->several[kind], e);
  t->several[kind].handed = 0;
  pml__stream_end_pass(t);
}

/* Unknown consumers are looked up for the next event. */
void pml__stream_raise_to_several(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_UNLIKELY(!t->here || e->metrics != NULL || e->ticks == 0 || !pml__stream_begin_pass(t))) {
    pml__stream_raise_to_all(kind, e);
    return;
  }
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[kind], __ATOMIC_ACQUIRE);
  if (PML_LIKELY(pml__stream_knows(kind, t->learnt)) &&
      PML_LIKELY(pml__stream_hand_plainly(t, kind, e->region, e->ticks) == 0)) {
    pml__stream_end_pass(t);
  } else if (list != NULL && list->n > 1) {
    pml__stream_go_on(kind, e);
  } else {
    pml__stream_end_pass(t);
    pml__stream_raise_to_all(kind, e);
  }
}

void pml__stream_tell_to_all(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks) {
  const struct pml_stream_event e = {.ticks = ticks, .region = region};
  pml__stream_raise_to_all(kind, &e);
}

__attribute__((cold)) int pml__stream_tell_fully(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = pml__stream_self;
  t->told.ticks = ticks;
  t->told.region = region;
  pml__stream_go_on(kind, &t->told);
  return 0;
}

__attribute__((cold)) int pml__stream_tell_otherwise(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks,
                                                     uint64_t was) {
  if ((was & PML__STREAM_FREE) != 0) return pml__stream_tell_fully(kind, region, ticks);
  pml__stream_put_back(pml__stream_self, was);
  pml__stream_tell_to_all(kind, region, ticks);
  return 0;
}

/* By the list of enters, as pml__stream_with(). */
static void mend_all(struct pml__stream_thread *t) {
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[PML_STREAM_ENTER], __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    uint32_t at = list->at[i].slot;
    void (*mend)(void *) = pml__stream_slot[at].consumer.mend;
    if (mend != NULL && t->at[at].id == list->at[i].id && t->at[at].data != NULL) mend(t->at[at].data);
  }
}

void pml__stream_abandon(void) {
  if (!pml__stream_self->here || !pml__stream_in_pass(pml__stream_self)) return;
  struct pml__stream_thread *t = in_its_pass();
  mend_all(t);
  for (unsigned k = 0; k <= PML_STREAM_LEAVE; k++) t->several[k].handed = 0;
  pml__stream_end_pass(t);
}
