/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_private.h - handing out an event inline, also with general registers only, for adapters
 * that run before others' code has had its vector registers saved. Internal.
 *
 * What is inline here is compiled with -mgeneral-regs-only in _gpr files. Ordering: see pml_stream.c.
 */
#ifndef PML_STREAM_PRIVATE_H
#define PML_STREAM_PRIVATE_H

#include "base/pml_own.h"
#include "base/pml_stream.h"

#include <stdatomic.h>

struct pml__stream_entry {
  void (*call)(void *data, const struct pml_stream_event *e);
  bool (*plain)(void *data, pml_region_t region, uint64_t ticks); /* may be NULL */
  uint64_t id;                                                    /* of the consumer */
  uint32_t slot;
  bool sparing; /* its plain function is */
};

struct pml__stream_list {
  uint32_t n;          /* 0: consumers may come: a child is being looked at */
  uint64_t generation; /* no other list of the kind has it */
  struct pml__stream_entry at[PML_STREAM_CONSUMERS_MAX];
};

#define PML__STREAM_SEVERAL 4u /* consumers that are handed to plainly */

/* Consumers of one list, all of them with plain functions, as a thread knows them. */
struct pml__stream_several {
  uint32_t n;
  uint32_t handed; /* of them, when one wanted more: those before it have the event */
  struct {
    bool (*plain)(void *data, pml_region_t region, uint64_t ticks);
    void *data;
    uint64_t id; /* of the consumer */
  } at[PML__STREAM_SEVERAL];
};

/*
 * In memory that is cleared in a child: there the thread is in no pass and knows no generation, so what is inline leads
 * to pml__stream_thread_begins() as a thread's first event does.
 */
struct pml__stream_thread {
  uint64_t passes; /* atomic, one writer; odd: in the consumers */
  struct {
    uint64_t generation; /* of the list whose consumers all have plain functions; 0: not known to be so */
    /* that of the only one, or of all */
    bool (*plain)(void *data, pml_region_t region, uint64_t ticks);
    void *data;       /* its, or the several */
    uint64_t sparing; /* the generation, if @plain is sparing; else 0 */
  } known[PML_STREAM_KINDS];
  bool here; /* in the list of threads; false for pml__stream_nobody and for a cleared block */
  atomic_bool taken;
  _Atomic uint64_t nested, refused; /* one writer */
  struct pml_stream_event told;     /* that pml__stream_tell() hands out; never with values */
  struct {
    uint64_t generation; /* of the list that has one consumer; 0: not known to be so */
    void (*call)(void *data, const struct pml_stream_event *e);
    void *data;
    void (*ready)(void *data, pml_region_t region); /* its; NULL: it never gets ready */
  } one[PML_STREAM_KINDS];
  struct pml_stream_place *place; /* atomic: of the only consumer of communications; NULL: not known to be so */
  struct {
    uint64_t id; /* of the consumer that @data is for */
    void *data;
  } at[PML_STREAM_CONSUMERS_MAX]; /* before what is large: arm64 loads pairs up to 504 bytes away */
  struct pml__stream_several several[PML_STREAM_KINDS];
  struct pml__stream_thread *next;
};

/* Slots change under the stream's lock, and only when no thread is in a list that names them. */
struct pml__stream_slot {
  struct pml_stream_consumer consumer;
  uint64_t id; /* 0: free */
};

#pragma GCC visibility push(hidden)

extern struct pml__stream_slot pml__stream_slot[PML_STREAM_CONSUMERS_MAX];
extern _Atomic uint64_t pml__stream_lost_threads; /* events of threads that there was no memory for */

/* Used before a thread's first event and after its end; it is in a pass for ever. */
extern struct pml__stream_thread pml__stream_nobody;
extern atomic_bool pml__stream_expedited;

/* Of the list in use, or what none has. Published as the list is: a thread in a pass may use the one or the other.
 */
extern _Atomic uint64_t pml__stream_generation[PML_STREAM_KINDS];

/* The same of enters and leaves while intercepted calls may go by known[].sparing; else what none has. For stubs.S. */
extern _Atomic uint64_t pml__stream_sparing[2];

#pragma GCC visibility pop

/*
 * What a thread has, found by one load: its block, and its open calls (adapter/arch/pml_call.h), which a forked child
 * keeps.
 */
struct pml__call_pad;
struct pml__call_thread {
  uintptr_t busy;
  struct pml__call_pad *open;    /* the innermost call's; NULL: the thread has not begun */
  struct pml_stream_event event; /* that is being handed out */
  uintptr_t lo, hi;              /* its own stack; hi 0: not asked yet */
};
struct pml__stream_own {
  struct pml__stream_thread *self;
  struct pml__call_thread call;
};
extern PML__SHARED PML_THREAD_LOCAL struct pml__stream_own pml__stream_own __attribute__((tls_model("initial-exec")));
#define pml__stream_self pml__stream_own.self

#define PML__STREAM_NOBODYS UINT64_MAX /* the generation of no list; stubs.S has it, too */

static inline void pml__stream_count(_Atomic uint64_t *counter) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* False: the thread is already inside the consumers; that is counted. @t is not pml__stream_nobody. */
static inline bool pml__stream_begin_pass(struct pml__stream_thread *t) {
  uint64_t passes = __atomic_load_n(&t->passes, __ATOMIC_RELAXED);
  if (PML_UNLIKELY(passes % 2 != 0)) {
    pml__stream_count(&t->nested);
    return false;
  }
  if (PML_LIKELY(atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed))) {
    __atomic_store_n(&t->passes, passes + 1, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst);
  } else {
    (void)__atomic_exchange_n(&t->passes, passes + 1, __ATOMIC_SEQ_CST);
  }
  return true;
}

static inline void pml__stream_end_pass(struct pml__stream_thread *t) {
  pml__own_add_release(&t->passes, 1);
}

/*
 * pml__stream_hand_plainly - in a pass, hand an event without values to its consumers with general registers only.
 *
 * Returns false where that is not known to do: one has no plain function, or wants more. The pass stays open,
 * and pml__stream_go_on() must follow, with the same event, once all registers are saved; it ends the pass.
 *
 * pml__stream_begin_plainly - begin such a pass. The thread is in none. Where threads need a fence of their own nothing
 * is known of consumers, so that only pml__stream_go_on(), which has one, looks at their list.
 */
static inline bool pml__stream_hand_plainly(struct pml__stream_thread *t, enum pml_stream_kind kind,
                                            pml_region_t region, uint64_t ticks) {
  uint64_t generation = atomic_load_explicit(&pml__stream_generation[kind], memory_order_acquire);
  return PML_LIKELY(t->known[kind].generation == generation) &&
         PML_LIKELY(t->known[kind].plain(t->known[kind].data, region, ticks));
}
/* By its thread, the only writer: a plain load is one with the test. */
static inline bool pml__stream_in_pass(const struct pml__stream_thread *t) {
  return t->passes % 2 != 0;
}
static inline void pml__stream_begin_plainly(struct pml__stream_thread *t) {
  pml__own_add(&t->passes, 1);
  atomic_signal_fence(memory_order_seq_cst);
}

/*
 * pml__stream_begin_in_place - begin a pass in which a communication is written to the place that is returned, with
 * ticks of the counter. End it with pml__stream_end_pass(). NULL without a place: hand the event out.
 */
static inline struct pml_stream_place *pml__stream_begin_in_place(struct pml__stream_thread *t) {
  if (PML_UNLIKELY(pml__stream_in_pass(t))) return NULL;
  pml__stream_begin_plainly(t);
  struct pml_stream_place *place = __atomic_load_n(&t->place, __ATOMIC_RELAXED);
  if (PML_UNLIKELY(place == NULL)) pml__stream_end_pass(t);
  return place;
}

/* To as many as there are; a thread that is in the consumers already is counted. */
void pml__stream_raise_to_all(enum pml_stream_kind kind, const struct pml_stream_event *e);

/* The same, quicker where several consumers all have plain functions and the event has no values. */
void pml__stream_raise_to_several(enum pml_stream_kind kind, const struct pml_stream_event *e);

/* A leave of a call that did not return, to the consumers of leaves. */
void pml__stream_raise_left(const struct pml_stream_event *e);

/*
 * pml__stream_with - in a pass, @call with what the calling thread has for consumer @id, which takes enters: beside an
 * event, for what no event carries. Nothing where the thread has nothing for it, as in a forked child, or is in the
 * consumers already. No lock, no allocation.
 */
void pml__stream_with(uint64_t id, void (*call)(void *data, void *arg), void *arg);

/* The calling thread's, from now on, in this process; in no pass. NULL: no memory. */
struct pml__stream_thread *pml__stream_thread_begins(void);

/*
 * pml__stream_wanted, pml__stream_hand - pml_stream_wanted() and pml_stream_raise(), inline, for adapters that call
 * them as often as sections do: @kind is a constant, and of one consumer the function is called from here.
 * pml__stream_hand_to_one returns false if the event is still to be handed out, to several or to one not known yet.
 *
 * The generation goes for the list, as in pml__stream_hand_plainly(): loaded in the pass, with acquire. What is known
 * is known only with membarrier(2).
 */
static inline bool pml__stream_wanted(enum pml_stream_kind kind) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  bool is; /* the load is one with the comparison, which compilers make of no atomic one */
  __asm__ volatile("cmpq %2, %1" : "=@ccne"(is) : "m"(pml__stream_generation[kind]), "i"(-1));
  return is;
#else
  return atomic_load_explicit(&pml__stream_generation[kind], memory_order_relaxed) != PML__STREAM_NOBODYS;
#endif
}
static inline bool pml__stream_hand_to_one(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_UNLIKELY(pml__stream_in_pass(t))) return false;
  pml__stream_begin_plainly(t);
  uint64_t generation = atomic_load_explicit(&pml__stream_generation[kind], memory_order_acquire);
  bool known = PML_LIKELY(t->one[kind].generation == generation);
  if (known) t->one[kind].call(t->one[kind].data, e);
  pml__stream_end_pass(t);
  return known;
}
static inline void pml__stream_hand(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  if (!pml__stream_hand_to_one(kind, e)) pml__stream_raise_to_all(kind, e);
}

/*
 * pml__stream_tell - the same for an event without values, by the plain functions where they do.
 * pml__stream_tell_to_all - as pml__stream_raise_to_all().
 */
void pml__stream_tell_to_all(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks);
void pml__stream_go_on(enum pml_stream_kind kind, const struct pml_stream_event *e);
static inline void pml__stream_tell(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_UNLIKELY(pml__stream_in_pass(t))) {
    pml__stream_tell_to_all(kind, region, ticks);
    return;
  }
  pml__stream_begin_plainly(t);
  t->told.ticks = ticks;
  t->told.region = region;
  if (PML_LIKELY(pml__stream_hand_plainly(t, kind, region, ticks))) {
    pml__stream_end_pass(t);
  } else if (t->one[kind].generation == atomic_load_explicit(&pml__stream_generation[kind], memory_order_acquire)) {
    t->one[kind].call(t->one[kind].data, &t->told);
    pml__stream_end_pass(t);
  } else {
    pml__stream_go_on(kind, &t->told);
  }
}

/* The plain functions of two sparing consumers and of any others; @several is a struct pml__stream_several. */
bool pml__stream_hand_two(void *several, pml_region_t region, uint64_t ticks);
bool pml__stream_hand_several(void *several, pml_region_t region, uint64_t ticks);

/*
 * pml__stream_ready_in_pass - the same for an enter that was not handed out plainly, before pml__stream_go_on(). True:
 * no consumer has had it, so that its clock may be read again.
 */
bool pml__stream_ready_in_pass(pml_region_t region);

/*
 * pml__stream_spare - whether they may: the clock is read by an instruction, and calls are recorded. By one thread at a
 * time; no lock. pml__stream_forget_known - what the calling thread knows of consumers is learnt anew.
 */
void pml__stream_spare(bool may);
void pml__stream_forget_known(void);

/* The thread left its consumers by a longjmp: the pass is over. */
void pml__stream_abandon(void);

#endif
