/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_private.h - per-thread state of event delivery, and its fast path for adapters. Internal.
 *
 * An event reaches a consumer in one of two ways: by `event`, with all registers, or by `fast`, with general registers
 * only. Adapters that have saved all registers call pml__stream_emit() with any event, pml__stream_emit_enter() and
 * pml__stream_emit_leave() with one without values. Adapters that have not (adapter/arch) begin the delivery guard
 * here, call the functions that the thread knows, and leave what these decline to pml__stream_complete().
 *
 * The inline functions are compiled with -mgeneral-regs-only in _gpr files. Ordering: see pml_stream.c.
 */
#ifndef PML_STREAM_PRIVATE_H
#define PML_STREAM_PRIVATE_H

#include "base/pml_own.h"
#include "base/pml_stream.h"

#include <stdatomic.h>

/* Reads the counters of calls, with general registers only. Not 0: it cannot now. */
typedef int pml__stream_read(void *set, uint64_t *value);

/* The consumers of one kind. */
struct pml__stream_list {
  uint32_t n;          /* 0: the process was forked, and consumers may still be added */
  bool fast;           /* all have fast functions, and are at most PML__STREAM_SEVERAL */
  bool counted;        /* calls are: pml__stream_count_calls() */
  uint64_t generation; /* of all kinds' lists that are published together, and of no others */
  struct pml__stream_entry {
    uint64_t id; /* the consumer's */
    uint32_t slot;
  } at[PML_STREAM_CONSUMERS_MAX];
};

/* A fast function and its data. */
struct pml__stream_known {
  pml_stream_fast *call;
  void *data;
};

#define PML__STREAM_SEVERAL 4u /* consumers that are called by fast functions */

/* A thread's copy of the consumers of one list, all of which have fast functions. */
struct pml__stream_several {
  uint32_t done; /* consumers that have had the event, when the next one declined it */
  struct pml__stream_target {
    struct pml__stream_known fast;
    pml_stream_fast_values *values; /* NULL after the last; pml__stream_without_values() of a consumer without it */
    void *values_data;
    uint64_t id; /* the consumer's */
  } at[PML__STREAM_SEVERAL + 1];
};

/*
 * The values of a thread's delivery guard. Fast functions may deliver an event if the thread is in no consumer, is not
 * suspended, and has learnt the consumers of the current generation; this one word encodes all three.
 *
 * Without PML__STREAM_FREE a delivery is under way. 0 and odd numbers are marks of the stream; an even number is the
 * stack pointer of the call whose event it is (adapter/arch/pml_call.h).
 */
#define PML__STREAM_FREE (UINT64_C(1) << 63) /* no delivery; alone: no generation learnt */
#define PML__STREAM_EMITTING 1u
#define PML__STREAM_EMITTING_OF(region) (uint32_t)(2 * (region) + 1)
#define PML__STREAM_REGION_OF(guard) (pml_region_t)((guard) / 2)

/*
 * In memory that is cleared in a child: there a delivery is under way and the thread is not here, so each way leads to
 * pml__stream_thread_begin() as a thread's first event does.
 */
struct pml__stream_thread {
  uint64_t guard; /* atomic, one writer */
  uint64_t free;  /* its value when no delivery is under way */
  /*
   * For enters and for leaves, of generation @learnt: the fast function and data of the only consumer, or
   * pml__stream_fast_several() and @several. @called is the same for intercepted calls, whose counters it may read;
   * then its data is this block.
   */
  struct pml__stream_known called[2], known[2];
  uint64_t learnt; /* PML__STREAM_FREE: none. @free is the same unless the thread is suspended */
  uint64_t slow;   /* atomic, one writer: deliveries that used a list */
  bool here;       /* in the list of threads; false for pml__stream_nobody and for a cleared block */
  bool ending;     /* the thread's data are being destroyed */
  atomic_bool in_use;
  _Atomic uint64_t nested, refused; /* one writer */
  struct pml__stream_counts {
    pml__stream_read *read;
    void *set;
    uint64_t *value;
    struct pml_stream_event *event; /* the thread's, which has its metrics and values */
  } counts;                         /* of calls: pml__stream_count_by() */
  struct pml__stream_one {
    uint64_t generation; /* the list's, if it has a single consumer; else 0 */
    void (*call)(void *data, const struct pml_stream_event *e);
    void *data;
    void (*prepare)(void *data, pml_region_t region);
  } one[PML_STREAM_KINDS];
  struct pml_stream_place *place; /* atomic: from the only consumer of communications; NULL: none known */
  struct {
    uint64_t id; /* the consumer that owns @data */
    void *data;
  } at[PML_STREAM_CONSUMERS_MAX];        /* before large members: arm64 loads pairs up to 504 bytes away */
  struct pml__stream_several several[2]; /* of enters and of leaves */
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

/* Used before a thread's first event and after its end, by any thread: a delivery is always under way. */
extern struct pml__stream_thread pml__stream_nobody;
extern atomic_bool pml__stream_expedited;
typedef void pml__stream_counter(enum pml_stream_kind kind, struct pml_stream_event *e);
extern pml__stream_counter *pml__stream_counter_in_use; /* atomic; NULL: calls are not counted */

/* Each list's generation, or PML__STREAM_NO_CONSUMER. Published with the list: a delivery may use either. */
extern _Atomic uint64_t pml__stream_generation[PML_STREAM_KINDS];
#define PML__STREAM_NO_CONSUMER UINT64_MAX /* also defined in stubs.S */

/* The generation of all kinds' lists, published after them; and the same generation while stubs.S may deliver
 * intercepted calls, else an unused generation. */
extern _Atomic uint64_t pml__stream_latest, pml__stream_sparing;

#pragma GCC visibility pop

/* The state of a thread, found by one load: its block, and its open calls (adapter/arch/pml_call.h), which a forked
 * child inherits. */
struct pml__call_frame;
struct pml__call_stack;
struct pml__call_thread {
  uintptr_t busy;                    /* while the lists are in use; otherwise @idle */
  struct pml__call_frame *open;      /* frame of the innermost call; PML__CALL_NONE: no frame on this stack yet */
  struct pml__stream_thread *stream; /* whose consumers get the events of calls on the stack in use */
  uintptr_t from;                    /* the stack in use is above */
  struct pml_stream_event event;     /* that is being delivered; region 0: without the call's counts */
  uintptr_t idle;                    /* 0, or PML__CALL_PREEMPTED */
  int claimed;                       /* by a wrapper with signals blocked: 1 + what pml__cancel_hold() returned */
  uintptr_t lo, hi;                  /* the thread's first stack; hi 0: not determined yet */
  struct pml__call_stack *stack;     /* in use; NULL: its first */
  struct pml__call_stack *others;    /* other stacks it has had calls on */
  struct pml__call_frame *own;       /* `open` of its first stack while another is in use */
  struct pml__call_unwound {
    uintptr_t code, sp, by; /* slot and sp of the innermost call last assumed to be unwound; detected at @by */
  } unwound;
};
struct pml__stream_own {
  struct pml__stream_thread *self;
  struct pml__call_thread call;
};
extern PML__SHARED PML_THREAD_LOCAL struct pml__stream_own pml__stream_own __attribute__((tls_model("initial-exec")));
#define pml__stream_self pml__stream_own.self

/* ---- the delivery guard ---- */

/* By its thread, the only writer: a plain load is one with the test. */
static inline bool pml__stream_is_guarded(const struct pml__stream_thread *t) {
  return (int64_t)t->guard >= 0;
}

/*
 * pml__stream_guard - begin a delivery, with @mark as the guard; returns the guard's previous value. If that is the
 * generation in use, which pml__stream_knows() must check after this, the functions that the thread learnt for it may
 * be called. If it lacks PML__STREAM_FREE, another delivery is under way, and the guard has not changed: a handler that
 * switches stacks may let that delivery end before this one would restore its mark.
 * pml__stream_unguard - end it. pml__stream_restore - the same, with the previous value.
 */
static inline uint64_t pml__stream_guard(struct pml__stream_thread *t, uint64_t mark) {
  uint64_t was = __atomic_load_n(&t->guard, __ATOMIC_RELAXED);
  if (PML_UNLIKELY((was & PML__STREAM_FREE) == 0)) return was;
  __atomic_store_n(&t->guard, mark, __ATOMIC_RELAXED);
  atomic_signal_fence(memory_order_seq_cst);
  return was;
}
static inline bool pml__stream_knows(enum pml_stream_kind kind, uint64_t generation) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  bool is; /* the load, which has acquire here, is one with the comparison, which compilers make of no atomic one */
  __asm__ volatile("cmpq %2, %1" : "=@cce"(is) : "m"(pml__stream_generation[kind]), "re"(generation) : "memory");
  return is;
#else
  return atomic_load_explicit(&pml__stream_generation[kind], memory_order_acquire) == generation;
#endif
}
static inline bool pml__stream_wanted(enum pml_stream_kind kind) {
  return PML_UNLIKELY(!pml__stream_knows(kind, PML__STREAM_NO_CONSUMER));
}
static inline void pml__stream_restore(struct pml__stream_thread *t, uint64_t was) {
  if ((was & PML__STREAM_FREE) != 0) __atomic_store_n(&t->guard, was, __ATOMIC_RELEASE);
}
static inline void pml__stream_unguard(struct pml__stream_thread *t) {
  __atomic_store_n(&t->guard, t->free, __ATOMIC_RELEASE);
}

/*
 * pml__stream_suspend - stop delivering the thread's events by fast functions until pml__stream_resume(). For adapters
 * that change lists of the thread outside of a delivery: functions that they call meanwhile check these lists
 * themselves. Neither function affects a thread that has learnt no consumers.
 */
#define PML__STREAM_KNOWS_ANY(generation) ((generation) << 1 != 0)
static inline void pml__stream_set_free(struct pml__stream_thread *t, uint64_t generation) {
  t->free = generation;
  atomic_signal_fence(memory_order_seq_cst);
  if (!pml__stream_is_guarded(t)) pml__stream_unguard(t);
}
static inline void pml__stream_suspend(struct pml__stream_thread *t) {
  if (PML__STREAM_KNOWS_ANY(t->free)) pml__stream_set_free(t, PML__STREAM_FREE);
}
static inline void pml__stream_resume(struct pml__stream_thread *t) {
  if (PML__STREAM_KNOWS_ANY(t->learnt)) pml__stream_set_free(t, t->learnt);
}

/*
 * pml__stream_open_place - begin a delivery in which a communication is written to the place that is returned, with
 * ticks of the counter. End it with pml__stream_unguard(). NULL without a place: emit the event.
 */
static inline struct pml_stream_place *pml__stream_open_place(struct pml__stream_thread *t) {
  if (PML_UNLIKELY(pml__stream_is_guarded(t))) return NULL;
  __atomic_store_n(&t->guard, PML__STREAM_EMITTING, __ATOMIC_RELAXED);
  atomic_signal_fence(memory_order_seq_cst);
  struct pml_stream_place *place = __atomic_load_n(&t->place, __ATOMIC_RELAXED);
  if (PML_UNLIKELY(place == NULL)) pml__stream_unguard(t);
  return place;
}

/* ---- delivery (pml_stream_deliver.c) ---- */

/*
 * pml__stream_emit_inline - pml__stream_emit(), for a constant @kind: calls the only consumer from here.
 * pml__stream_emit_guarded - the same after pml__stream_guard(), which returned @was; pml__stream_emit_by_list - to any
 * number of consumers.
 * pml__stream_emit_enter, pml__stream_emit_leave - pml__stream_emit() of an event without values, by fast functions
 * where all consumers have them and calls are not counted. @ticks are not 0. They return 0.
 * pml__stream_complete - deliver @e to the consumers that have not had it from fast functions, all registers being
 * saved, and end the delivery.
 * pml__stream_prepare_rest - prepare these consumers for the enter that pml__stream_complete() delivers next. True: no
 * consumer has had it, so that its clock may be read again.
 */
void pml__stream_emit_by_list(enum pml_stream_kind kind, const struct pml_stream_event *e, uint64_t was);
static inline void pml__stream_emit_guarded(struct pml__stream_thread *t, enum pml_stream_kind kind,
                                            const struct pml_stream_event *e, uint64_t was) {
  const struct pml__stream_one *one = &t->one[kind];
  if (PML_LIKELY((was & PML__STREAM_FREE) != 0) && PML_LIKELY(pml__stream_knows(kind, one->generation))) {
    one->call(one->data, e);
    pml__stream_unguard(t);
  } else {
    pml__stream_emit_by_list(kind, e, was);
  }
}
static inline void pml__stream_emit_inline(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct pml__stream_thread *t = pml__stream_self;
  pml__stream_emit_guarded(t, kind, e, pml__stream_guard(t, PML__STREAM_EMITTING));
}
int pml__stream_emit_enter(pml_region_t region, uint64_t ticks);
int pml__stream_emit_leave(pml_region_t region, uint64_t ticks);
void pml__stream_complete(enum pml_stream_kind kind, const struct pml_stream_event *e);
bool pml__stream_prepare_rest(pml_region_t region);

/*
 * pml__stream_with - call @call, guarded, with what the calling thread has for consumer @id, which receives enters. For
 * data that no event carries. Nothing where the thread has nothing for it, as in a forked child, or is in a consumer.
 * No lock, no allocation.
 */
void pml__stream_with(uint64_t id, void (*call)(void *data, void *arg), void *arg);

/* The thread left its consumers by a longjmp: the delivery is over. */
void pml__stream_abandon(void);

/* Call `returned` of the consumers of @t, a block of the calling thread. Returns false if no consumer has @call, or if
 * a delivery to them is under way. No lock. */
bool pml__stream_return(struct pml__stream_thread *t, const struct pml_stream_call *call, uint64_t ticks);

/* ---- delivery in general registers (pml_stream_gpr.c) ---- */

/*
 * pml__stream_fast_several - the fast function of several consumers; @data is a struct pml__stream_several.
 * pml__stream_enter_counted, pml__stream_leave_counted - the same of an intercepted call, with its counters; @data is
 * the thread's block. At an enter the clock is read again, after the counters.
 */
pml_stream_fast pml__stream_fast_several, pml__stream_enter_counted, pml__stream_leave_counted;
pml_stream_fast_values pml__stream_without_values; /* to the fast function of a struct pml__stream_known */
pml__stream_read pml__stream_read_none;

/*
 * pml__stream_count_calls - add values to all enters and leaves. @counter sets the values of an event, on its thread,
 * in the delivery; fast functions get intercepted calls with the values of the set that the calling thread registered.
 * Returns 0 or -EDEADLK (called by a consumer). Takes the stream's lock. pml__stream_count_by - register @set for the
 * calling thread; @read reads it into @value, and @metrics are its names. pml__stream_count_no_more - unregister the
 * calling thread's set, which is about to be closed.
 *
 * While no set is registered, and whenever @read fails, `event` delivers the thread's calls.
 */
int pml__stream_count_calls(pml__stream_counter *counter);
static inline bool pml__stream_is_counting(void) {
  return PML_UNLIKELY(__atomic_load_n(&pml__stream_counter_in_use, __ATOMIC_ACQUIRE) != NULL);
}
void pml__stream_count_by(pml__stream_read *read, void *set, const struct pml_stream_metrics *metrics, uint64_t *value);
void pml__stream_count_no_more(void);

/* ---- threads (pml_stream.c) ---- */

/*
 * pml__stream_thread_begin - the calling thread's block, from now on, in this process; not guarded. NULL: no memory.
 * pml__stream_extra_begin, pml__stream_extra_end - a block for the calls on another stack than the thread's own: to
 * consumers it is one more thread of the same number. NULL: no memory.
 */
struct pml__stream_thread *pml__stream_thread_begin(void);
struct pml__stream_thread *pml__stream_extra_begin(void);
void pml__stream_extra_end(struct pml__stream_thread *t);

/* Whether the stubs may deliver events of calls themselves: the clock is read by an instruction, and calls are
 * recorded. By one thread at a time; no lock. */
void pml__stream_allow_stubs(bool may);

#endif
