/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_private.h - inline delivery of events, also in general registers only, for adapters that
 * run before the vector registers are saved. Internal.
 *
 * The inline functions are compiled with -mgeneral-regs-only in _gpr files. Ordering: see pml_stream.c.
 */
#ifndef PML_STREAM_PRIVATE_H
#define PML_STREAM_PRIVATE_H

#include "base/pml_own.h"
#include "base/pml_stream.h"

#include <stdatomic.h>

/* Reads the counts of calls, with general registers only. Not 0: it cannot now. */
typedef int pml__stream_read(void *set, uint64_t *value);

struct pml__stream_entry {
  void (*call)(void *data, const struct pml_stream_event *e);
  pml_stream_plain *plain;   /* may be NULL */
  pml_stream_valued *valued; /* may be NULL */
  uint64_t id;               /* of the consumer */
  uint32_t slot;
};

struct pml__stream_list {
  uint32_t n;          /* 0: consumers may come: a child is being looked at */
  bool plain;          /* all have plain functions, and are no more than are handed to plainly */
  bool sparing;        /* these are */
  bool valued;         /* and take events with values */
  bool counted;        /* calls are: pml__stream_count_calls() */
  uint64_t generation; /* of all kinds' lists that are published together, and of no others */
  struct pml__stream_entry at[PML_STREAM_CONSUMERS_MAX];
};

#define PML__STREAM_SEVERAL 4u /* consumers that are handed to plainly */

struct pml__stream_known {
  pml_stream_plain *plain;
  void *data;
};

/* Consumers of one list, all of them with plain functions, as a thread knows them. */
struct pml__stream_several {
  uint32_t n;
  uint32_t handed; /* of them, when one wanted more: those before it have the event */
  struct pml__stream_taker {
    struct pml__stream_known to;
    pml_stream_valued *valued; /* of a list that takes values; NULL after the last */
    void *valued_data;
  } at[PML__STREAM_SEVERAL + 1];
  uint64_t id[PML__STREAM_SEVERAL]; /* of the consumers */
};

/*
 * The values of a thread's `pass`. An event may be handed out plainly if the thread is in no consumer, is not held
 * back, and knows the consumers of the current generation; this one word answers all three.
 *
 * Without PML__STREAM_FREE it is in a pass, and the word says by whom: 0 and odd numbers say nothing more but for
 * PML__STREAM_TELLING; else it is a stack pointer of the call that is at it (adapter/arch/pml_call.h).
 */
#define PML__STREAM_FREE (UINT64_C(1) << 63) /* in no pass; and itself: it knows no generation */
#define PML__STREAM_RAISING 1u
#define PML__STREAM_TELLING(region) (uint32_t)(2 * (region) + 1) /* of pml__stream_tell() */
#define PML__STREAM_TOLD(pass) (pml_region_t)((pass) / 2)

/*
 * In memory that is cleared in a child: there the thread is in a pass and not here, so what is inline leads to
 * pml__stream_thread_begins() as a thread's first event does.
 */
struct pml__stream_thread {
  uint64_t pass; /* atomic, one writer */
  uint64_t free; /* what it is when the pass is over */
  /*
   * Of enters and of leaves, of generation @learnt: the plain function of the only consumer, or of all; and its data,
   * or the several. @called is the same of intercepted calls, whose counts it may read; then its data is this.
   */
  struct pml__stream_known called[2], known[2];
  uint64_t learnt; /* PML__STREAM_FREE: none. @free is the same unless the thread is held back */
  uint64_t slow;   /* atomic, one writer: passes that looked at a list */
  bool here;       /* in the list of threads; false for pml__stream_nobody and for a cleared block */
  atomic_bool taken;
  _Atomic uint64_t nested, refused; /* one writer */
  struct pml__stream_counts {
    pml__stream_read *read;
    void *set;
    uint64_t *value;
    struct pml_stream_event *event; /* the thread's, which has its metrics and values */
  } counts;                         /* of calls: pml__stream_count_by() */
  struct pml_stream_event told;     /* that pml__stream_tell() hands out; never with values */
  struct pml__stream_one {
    uint64_t generation; /* of the list that has one consumer; 0: not known to be so */
    void (*call)(void *data, const struct pml_stream_event *e);
    void *data;
    void (*ready)(void *data, pml_region_t region); /* its; NULL: it never gets ready */
  } one[PML_STREAM_KINDS];
  struct pml_stream_place *place; /* atomic: of the only consumer of communications; NULL: not known to be so */
  struct {
    uint64_t id; /* of the consumer that @data is for */
    void *data;
  } at[PML_STREAM_CONSUMERS_MAX];        /* before what is large: arm64 loads pairs up to 504 bytes away */
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

/* Used before a thread's first event and after its end, by any: in a pass for ever, whatever mark that has just now. */
extern struct pml__stream_thread pml__stream_nobody;
extern atomic_bool pml__stream_expedited;

/* Of the list in use, or what none has. Published as the list is: a thread in a pass may use the one or the other.
 */
extern _Atomic uint64_t pml__stream_generation[PML_STREAM_KINDS];

/* Of all kinds; published after their lists. And the same while intercepted calls may go by what stubs.S does; else
 * what none has. */
extern _Atomic uint64_t pml__stream_latest, pml__stream_sparing;

#pragma GCC visibility pop

/*
 * What a thread has, found by one load: its block, and its open calls (adapter/arch/pml_call.h), which a forked child
 * keeps.
 */
struct pml__call_frame;
struct pml__call_stack;
struct pml__call_thread {
  uintptr_t busy;
  struct pml__call_frame *open;    /* the innermost call's; PML__CALL_NONE: the stack has none yet */
  struct pml__stream_thread *lane; /* whose consumers get the events of calls on the stack in use */
  uintptr_t from;                  /* the stack in use is above */
  struct pml_stream_event event;   /* that is being handed out; region 0: without the call's counts */
  uintptr_t lo, hi;                /* its own stack; hi 0: not asked yet */
  struct pml__call_stack *stack;   /* in use; NULL: its own */
  struct pml__call_stack *others;  /* that it has had calls on */
  struct pml__call_frame *own;     /* `open` of its own stack while another is in use */
  struct pml__call_left {
    uintptr_t code, sp, by; /* slot and place of the innermost call that was last taken for left; seen at @by */
  } left;
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

/* By its thread, the only writer: a plain load is one with the test. */
static inline bool pml__stream_in_pass(const struct pml__stream_thread *t) {
  return (int64_t)t->pass >= 0;
}

/* False: the thread is already inside the consumers; that is counted. @t is not pml__stream_nobody. */
static inline bool pml__stream_begin_pass(struct pml__stream_thread *t) {
  if (PML_UNLIKELY(pml__stream_in_pass(t))) {
    pml__stream_count(&t->nested);
    return false;
  }
  pml__own_add_release(&t->slow, 1);
  if (PML_LIKELY(atomic_load_explicit(&pml__stream_expedited, memory_order_relaxed))) {
    __atomic_store_n(&t->pass, PML__STREAM_RAISING, __ATOMIC_RELEASE);
    atomic_signal_fence(memory_order_seq_cst);
  } else {
    (void)__atomic_exchange_n(&t->pass, PML__STREAM_RAISING, __ATOMIC_SEQ_CST);
  }
  return true;
}

static inline void pml__stream_end_pass(struct pml__stream_thread *t) {
  __atomic_store_n(&t->pass, t->free, __ATOMIC_RELEASE);
}

/*
 * pml__stream_begin_plainly - begin a pass with general registers only, in which no list is looked at but by
 * pml__stream_go_on(): where threads need a fence of their own nothing is known of consumers, and that has one. @mark:
 * what `pass` is meanwhile. Returns what it was: the thread may go by known[kind] if that is the generation in use,
 * pml__stream_knows(), which is looked at in the pass. If it is not even PML__STREAM_FREE there was a pass already,
 * which goes on: pml__stream_put_back().
 */
static inline uint64_t pml__stream_begin_plainly(struct pml__stream_thread *t, uint64_t mark) {
  uint64_t was = __atomic_load_n(&t->pass, __ATOMIC_RELAXED);
  __atomic_store_n(&t->pass, mark, __ATOMIC_RELAXED);
  atomic_signal_fence(memory_order_seq_cst);
  return was;
}
/* The same of a thread that is in none. */
static inline void pml__stream_begin_only(struct pml__stream_thread *t) {
  __atomic_store_n(&t->pass, PML__STREAM_RAISING, __ATOMIC_RELAXED);
  atomic_signal_fence(memory_order_seq_cst);
}
static inline bool pml__stream_knows(enum pml_stream_kind kind, uint64_t was) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  bool is; /* the load, which has acquire here, is one with the comparison, which compilers make of no atomic one */
  __asm__ volatile("cmpq %2, %1" : "=@cce"(is) : "m"(pml__stream_generation[kind]), "r"(was) : "memory");
  return is;
#else
  return atomic_load_explicit(&pml__stream_generation[kind], memory_order_acquire) == was;
#endif
}
static inline void pml__stream_put_back(struct pml__stream_thread *t, uint64_t was) {
  __atomic_store_n(&t->pass, was, __ATOMIC_RELEASE);
}

/*
 * Then the event, or that of an intercepted call, may be handed out. Not 0, the ticks: a consumer wants more than that.
 * The pass stays open, and pml__stream_go_on() must follow, with the same event, once all registers are saved; it ends
 * the pass.
 */
static inline uint64_t pml__stream_hand_plainly(struct pml__stream_thread *t, enum pml_stream_kind kind,
                                                pml_region_t region, uint64_t ticks) {
  return t->known[kind].plain(t->known[kind].data, region, ticks);
}
static inline uint64_t pml__stream_hand_call(struct pml__stream_thread *t, enum pml_stream_kind kind,
                                             pml_region_t region, uint64_t ticks) {
  return t->called[kind].plain(t->called[kind].data, region, ticks);
}

/*
 * pml__stream_hold - from now on nothing the thread does is handed out plainly, until pml__stream_let_go(). By
 * adapters that are at something of the thread outside of a pass; what they call then finds that out by its own means.
 * Neither does anything to a thread that knows no consumers anyway, as one that is not here.
 */
#define PML__STREAM_KNOWS_ANY(generation) ((generation) << 1 != 0)
static inline void pml__stream_hold(struct pml__stream_thread *t) {
  if (!PML__STREAM_KNOWS_ANY(t->free)) return;
  t->free = PML__STREAM_FREE;
  atomic_signal_fence(memory_order_seq_cst);
  if (!pml__stream_in_pass(t)) pml__stream_end_pass(t);
}
static inline void pml__stream_let_go(struct pml__stream_thread *t) {
  if (!PML__STREAM_KNOWS_ANY(t->learnt)) return;
  t->free = t->learnt;
  atomic_signal_fence(memory_order_seq_cst);
  if (!pml__stream_in_pass(t)) pml__stream_end_pass(t);
}

/*
 * pml__stream_begin_in_place - begin a pass in which a communication is written to the place that is returned, with
 * ticks of the counter. End it with pml__stream_end_pass(). NULL without a place: hand the event out.
 */
static inline struct pml_stream_place *pml__stream_begin_in_place(struct pml__stream_thread *t) {
  if (PML_UNLIKELY(pml__stream_in_pass(t))) return NULL;
  pml__stream_begin_only(t);
  struct pml_stream_place *place = __atomic_load_n(&t->place, __ATOMIC_RELAXED);
  if (PML_UNLIKELY(place == NULL)) pml__stream_end_pass(t);
  return place;
}

/* To as many as there are; a thread that is in the consumers already is counted. */
void pml__stream_raise_to_all(enum pml_stream_kind kind, const struct pml_stream_event *e);

/* The same of an enter or a leave, quicker where several consumers all have plain functions and it has no values. */
void pml__stream_raise_to_several(enum pml_stream_kind kind, const struct pml_stream_event *e);

/* A leave of a call that did not return, to the consumers of leaves. */
void pml__stream_raise_left(const struct pml_stream_event *e);

/*
 * pml__stream_with - in a pass, @call with what the calling thread has for consumer @id, which takes enters: beside an
 * event, for what no event carries. Nothing where the thread has nothing for it, as in a forked child, or is in the
 * consumers already. No lock, no allocation.
 */
void pml__stream_with(uint64_t id, void (*call)(void *data, void *arg), void *arg);

/*
 * pml__stream_lane_begins, pml__stream_lane_ends - a block for the calls on another stack than the thread's own: to
 * consumers it is one more thread of the same number. NULL: no memory.
 */
struct pml__stream_thread *pml__stream_lane_begins(void);
void pml__stream_lane_ends(struct pml__stream_thread *t);

/* The calling thread's, from now on, in this process; in no pass. NULL: no memory. */
struct pml__stream_thread *pml__stream_thread_begins(void);

/*
 * pml__stream_wanted, pml__stream_hand - pml_stream_wanted() and pml_stream_raise(), inline, for adapters that call
 * them as often as sections do: @kind is a constant, and of one consumer the function is called from here.
 * pml__stream_hand_to_one returns false if the event is still to be handed out, to several or to one not known yet.
 *
 * The generation goes for the list, as in pml__stream_knows(): loaded in the pass, with acquire. What is known is known
 * only with membarrier(2).
 */
static inline bool pml__stream_wanted(enum pml_stream_kind kind) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  bool is; /* as in pml__stream_knows() */
  __asm__ volatile("cmpq %2, %1" : "=@ccne"(is) : "m"(pml__stream_generation[kind]), "i"(-1));
  return is;
#else
  return atomic_load_explicit(&pml__stream_generation[kind], memory_order_relaxed) != PML__STREAM_NOBODYS;
#endif
}
static inline bool pml__stream_hand_to_one(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct pml__stream_thread *t = pml__stream_self;
  if (PML_UNLIKELY(pml__stream_in_pass(t))) return false;
  pml__stream_begin_only(t);
  const struct pml__stream_one *one = &t->one[kind];
  bool known = PML_LIKELY(pml__stream_knows(kind, one->generation));
  if (known) one->call(one->data, e);
  pml__stream_end_pass(t);
  return known;
}
static inline void pml__stream_hand(enum pml_stream_kind kind, const struct pml_stream_event *e) {
  if (!pml__stream_hand_to_one(kind, e)) pml__stream_raise_to_all(kind, e);
}

/* The same for pml_stream_ready(), of an event that is wanted. */
static inline void pml__stream_get_ready(pml_region_t region) {
  const struct pml__stream_one *one = &pml__stream_self->one[PML_STREAM_ENTER];
  if (PML_UNLIKELY(one->ready != NULL) || PML_UNLIKELY(!pml__stream_knows(PML_STREAM_ENTER, one->generation)))
    pml__stream_ready(region);
}

/*
 * pml__stream_tell - the same for an event without values, of an enter or a leave, by the plain functions where they
 * do. Its ticks are not 0.
 * pml__stream_tell_fully - in the pass. pml__stream_tell_otherwise - where it may have been another's before, @was as
 * of pml__stream_begin_plainly(). pml__stream_tell_to_all - as pml__stream_raise_to_all(). They return 0.
 */
int pml__stream_tell_fully(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks);
int pml__stream_tell_otherwise(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks, uint64_t was);
void pml__stream_tell_to_all(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks);
void pml__stream_go_on(enum pml_stream_kind kind, const struct pml_stream_event *e);
static inline int pml__stream_tell(enum pml_stream_kind kind, pml_region_t region, uint64_t ticks) {
  struct pml__stream_thread *t = pml__stream_self;
  uint64_t was = pml__stream_begin_plainly(t, PML__STREAM_TELLING(region));
  if (PML_LIKELY(pml__stream_knows(kind, was))) {
    ticks = pml__stream_hand_plainly(t, kind, region, ticks);
    if (PML_UNLIKELY(ticks != 0)) return pml__stream_tell_fully(kind, PML__STREAM_TOLD(t->pass), ticks);
    pml__stream_end_pass(t);
    __asm__("" : "+r"(ticks)); /* which is 0, and where that is returned */
    return (int)ticks;
  }
  if (PML_LIKELY((was & PML__STREAM_FREE) != 0) && pml__stream_knows(kind, t->one[kind].generation)) {
    t->told.ticks = ticks;
    t->told.region = region;
    t->one[kind].call(t->one[kind].data, &t->told);
  } else {
    return pml__stream_tell_otherwise(kind, region, ticks, was);
  }
  pml__stream_end_pass(t);
  return 0;
}

/* The plain functions of two sparing consumers and of any others; @several is a struct pml__stream_several. */
pml_stream_plain pml__stream_hand_two, pml__stream_hand_several;

/*
 * The same of an intercepted call with counts, which they read; of a thread's block. At an enter the clock is read
 * again, after the counts. pml__stream_hand_none hands out nothing: some consumer wants more.
 */
pml_stream_plain pml__stream_enter_counted, pml__stream_leave_counted, pml__stream_hand_none;
pml_stream_valued pml__stream_hand_no_values; /* to the plain function of a struct pml__stream_known */
pml__stream_read pml__stream_read_none;

/*
 * pml__stream_count_calls - from now on intercepted calls have counts, where they are handed out plainly: those of the
 * set that their thread named. Returns 0 or -EDEADLK: called by a consumer. Takes the stream's lock.
 * pml__stream_count_by - the calling thread's is @set, which @read reads to @value; they are what @metrics says.
 * pml__stream_count_no_more - its set is going.
 *
 * Until the one and after the other, and where @read cannot, its calls are handed out otherwise.
 */
int pml__stream_count_calls(void);
void pml__stream_count_by(pml__stream_read *read, void *set, const struct pml_stream_metrics *metrics, uint64_t *value);
void pml__stream_count_no_more(void);

/*
 * pml__stream_ready_in_pass - the same for an enter that was not handed out plainly, before pml__stream_go_on(). True:
 * no consumer has had it, so that its clock may be read again.
 */
bool pml__stream_ready_in_pass(pml_region_t region);

/*
 * pml__stream_spare - whether they may: the clock is read by an instruction, and calls are recorded. By one thread at a
 * time; no lock.
 */
void pml__stream_spare(bool may);

/* The thread left its consumers by a longjmp: the pass is over. */
void pml__stream_abandon(void);

#endif
