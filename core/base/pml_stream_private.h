/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_stream_private.h - handing out an event with general registers only, for adapters that run before
 * others' code has had its vector registers saved. Internal.
 *
 * What is inline here is compiled with -mgeneral-regs-only by who uses it so. Ordering: see pml_stream.c.
 */
#ifndef PML_STREAM_PRIVATE_H
#define PML_STREAM_PRIVATE_H

#include "base/pml_stream.h"

#include <stdatomic.h>

struct pml__stream_entry {
  void (*call)(void *data, const struct pml_stream_event *e);
  bool (*plain)(void *data, const struct pml_stream_event *e); /* NULL: it has none */
  uint64_t id;                                                 /* of the consumer */
  uint32_t slot;
};

struct pml__stream_list {
  uint32_t n;
  struct pml__stream_entry at[PML_STREAM_CONSUMERS_MAX];
};

struct pml__stream_thread {
  _Atomic uint64_t passes; /* odd: in the consumers */
  atomic_bool taken;
  _Atomic uint64_t nested, refused;    /* one writer */
  const struct pml__stream_list *list; /* of a pass that needs all registers to go on, */
  uint32_t handed;                     /* and how many consumers have had its event */
  struct {
    uint64_t id; /* of the consumer that @data is for */
    void *data;
  } at[PML_STREAM_CONSUMERS_MAX];
  struct pml__stream_thread *next;
};

/* NULL until the thread's first event. */
extern PML_THREAD_LOCAL struct pml__stream_thread *pml__stream_self __attribute__((tls_model("initial-exec")));
extern atomic_bool pml__stream_expedited;

static inline void pml__stream_count(_Atomic uint64_t *counter) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* False: the thread is in the consumers already; that is counted. */
static inline bool pml__stream_begin_pass(struct pml__stream_thread *t) {
  uint64_t passes = atomic_load_explicit(&t->passes, memory_order_relaxed);
  if (PML_UNLIKELY(passes % 2 != 0)) {
    pml__stream_count(&t->nested);
    return false;
  }
  if (PML_LIKELY(atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed))) {
    atomic_store_explicit(&t->passes, passes + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
  } else {
    (void)atomic_exchange_explicit(&t->passes, passes + 1, memory_order_seq_cst);
  }
  return true;
}

static inline void pml__stream_end_pass(struct pml__stream_thread *t) {
  uint64_t passes = atomic_load_explicit(&t->passes, memory_order_relaxed);
  atomic_store_explicit(&t->passes, passes + 1, memory_order_release);
}

static inline bool pml__stream_hand_plainly(struct pml__stream_thread *t, const struct pml__stream_entry *c,
                                            const struct pml_stream_event *e) {
  if (PML_UNLIKELY(t->at[c->slot].id != c->id || c->plain == NULL)) return false;
  if (PML_LIKELY(t->at[c->slot].data != NULL)) return c->plain(t->at[c->slot].data, e);
  pml__stream_count(&t->refused);
  return true;
}

/*
 * pml__stream_raise_plainly - as pml_stream_raise(), with general registers only.
 * @t: pml__stream_self, not NULL.
 *
 * Returns true: it is done. False: the pass is open, and pml__stream_go_on() must follow, with the same event, once
 * all registers are saved.
 */
static inline bool pml__stream_raise_plainly(struct pml__stream_thread *t, enum pml_stream_kind kind,
                                             const struct pml_stream_event *e) {
  if (!pml__stream_begin_pass(t)) return true;
  const struct pml__stream_list *list = __atomic_load_n(&pml__stream_list[kind], __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; list != NULL && i < list->n; i++) {
    if (PML_LIKELY(pml__stream_hand_plainly(t, &list->at[i], e))) continue;
    t->list = list;
    t->handed = i;
    return false;
  }
  pml__stream_end_pass(t);
  return true;
}

void pml__stream_go_on(const struct pml_stream_event *e);

/* The thread left its consumers by a longjmp: the pass is over. */
void pml__stream_abandon(void);

#endif
