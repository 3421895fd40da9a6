/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_call.h - which intercepted calls are open: what both ways in and out share.
 * Internal.
 *
 * A call is begun and ended with general registers only (pml_call_gpr.c), which is the rule; where that does not
 * do, with all registers saved (pml_call.c). What is inline here is compiled into both.
 *
 * A thread has a row of pads, which it takes from all in chunks: those of its open calls, from the outermost to `open`,
 * and behind these the free ones. The first is of no call, and is further out than all. A call takes the next pad of
 * the row, and a return the one before: each is one store, to `open`. A pad is used again only when its call cannot
 * return any more: it returned, or it is on the thread's own stack below where that stack is now. For calls on other
 * stacks this is unknown before they return, in whatever order; then a pad is moved from among the open ones.
 *
 * While a thread changes its lists, or hands out an event, a stack pointer just below that of the call says so: where
 * consumers take events plainly as the mark of the thread's pass (base/stream/pml_stream_private.h), which is all that
 * such a call looks at; else as `busy`, which holds the thread back from the plain way. Calls made then, by a consumer,
 * by an allocator, by a signal handler that interrupted, go to their functions unrecorded: the lists have one user at a
 * time. A handler may leave with a longjmp; then the stack tells that no code is inside it any more, and the row is
 * whole: what takes more than one store can at worst lose a pad.
 *
 * A call is open before its enter is handed out, and until its leave was. So one that is left by a longjmp in between
 * gets a leave when that is seen, though its enter, or another leave, may have been handed out or not: consumers ignore
 * a leave of what is not their innermost call. In any other order a consumer could be left inside a call for good.
 */
#ifndef PML_CALL_H
#define PML_CALL_H

#include "adapter/arch/pml_arch.h"
#include "base/pml_region.h"
#include "base/stream/pml_stream_private.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- functions ---- */

#define PML__CALL_BLOCK 1024u  /* functions that share a piece of thunks */
#define PML__CALL_BLOCKS 1024u /* of them */

struct pml__call_function {
  uintptr_t target;
  pml_region_t region;
  uint32_t names; /* of the hash of its name and library */
};
_Static_assert(sizeof(struct pml__call_function) == PML_ARCH_FUNCTION_BYTES &&
                   offsetof(struct pml__call_function, target) == 0,
               "thunks and stubs know functions");

/* ---- life ---- */

int pml__call_prepare(void);
void pml__call_stats(uint64_t *deep, uint64_t *nested); /* calls that were not recorded, and why */
void pml__call_forked(void);                            /* counts begin again in the child */
void pml__call_switch(bool on);                         /* calls are recorded, or go to their functions as they are */
void pml__call_confine(bool without_clock);             /* as pml_intercept_confine() */

/*
 * Calls that wrappers make, on the same lists. Between claim and let_go the thread is at them, and nothing else is
 * recorded on it; false: it was already. begin raises @e as an enter, at the stack pointer @sp, and gives the call's
 * pad, NULL: too many are under way; end raises @e as its leave. Both fill in the ticks and, where calls are counted,
 * the counts, which take the place of other values.
 */
#define PML__CALL_HERE                                                                                                 \
  ((uintptr_t)__builtin_dwarf_cfa()) /* above all that this function calls, as no other address is */
bool pml__call_claim(uintptr_t sp);
void pml__call_let_go(void);
struct pml__call_pad *pml__call_begin(struct pml_stream_event *e, uintptr_t sp);
void pml__call_end(struct pml__call_pad *p, struct pml_stream_event *e);

/*
 * The provider of events' values: for @e, or none; a thread ends; no system calls but reads from here on. NULL: none.
 * @plainly: threads offer theirs by pml__stream_count_by(), too.
 */
struct pml__call_counting {
  void (*read)(struct pml_stream_event *e);
  void (*thread_ends)(void);
  void (*confine)(void);
  bool plainly;
};
int pml__call_count(const struct pml__call_counting *counting); /* for good; 0 or -EDEADLK: called by a consumer */

/* ---- open calls ---- */

#define PML__CALL_BELOW 16u /* between the call's stack pointer and `busy`: the stubs' frames are deeper */

#define pml__call_self pml__stream_own.call

#pragma GCC visibility push(hidden)                         /* no detour over the table of addresses */
extern const struct pml__call_counting *pml__call_counting; /* atomic */
extern uint64_t pml__call_nested;                           /* atomic */
extern bool pml__call_plain; /* atomic: calls are recorded; their clock, and counts, are read with general registers */
#pragma GCC visibility pop

static inline bool pml__call_own(const struct pml__call_thread *t, uintptr_t sp) {
  return sp - t->lo < t->hi - t->lo;
}

/* The stack pointer of the code that is using the lists, or that was when a longjmp left it; 0: none. */
static inline uintptr_t pml__call_busy(const struct pml__call_thread *t, const struct pml__stream_thread *s) {
  if (PML_UNLIKELY(t->busy != 0)) return t->busy;
  if (PML_LIKELY(!pml__stream_in_pass(s))) return 0;
  return s->here && s->pass % 2 == 0 ? (uintptr_t)s->pass : 0;
}
/* The lists are in use by @busy: this thread further up its stack, or another. */
static inline bool pml__call_is_busy(const struct pml__call_thread *t, uintptr_t busy, uintptr_t sp) {
  return busy != 0 && !(pml__call_own(t, busy) && pml__call_own(t, sp) && busy < sp);
}

static inline void pml__call_set_busy(struct pml__call_thread *t, struct pml__stream_thread *s, uintptr_t sp) {
  t->busy = sp;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pml__stream_hold(s);
}
static inline void pml__call_end_busy(struct pml__call_thread *t, struct pml__stream_thread *s) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->busy = 0;
  pml__stream_let_go(s);
}

/*
 * Unwinding leads from a pad to the code that made the call at once, also where a tail call returns to a pad: two pads
 * at one stack pointer would be one to libgcc.
 */
static inline bool pml__call_is_pad(uintptr_t address) {
  return address - (uintptr_t)pml__arch_pads < (uintptr_t)PML_ARCH_PADS * PML_ARCH_PAD_BYTES;
}
static inline uint32_t pml__call_number(const struct pml__call_pad *p) {
  return (uint32_t)(p - pml__call_table.pad);
}

/*
 * @p: the thread's first free pad, t->open->inner; then the thread knows its stack.
 * @back 0, known when this is compiled: the call is a wrapper's, which returns by itself.
 *
 * A signal handler that leaves by longjmp may come between any two stores, and the row is used thereafter. So the
 * stores keep the order in which they stand, here, below, and in stubs.S: nothing reads a pad before it is open, and
 * only an open pad is marked as a tail call's.
 */
static inline void pml__call_open(struct pml__call_thread *t, struct pml__call_pad *p, pml_region_t region,
                                  uintptr_t back, uintptr_t sp) {
  bool tail = !__builtin_constant_p(back) && pml__call_is_pad(back);
  struct pml__call_pad *to = tail ? pml_arch_pad_of(back) : NULL;
  pml_arch_slot(p)->address = PML_UNLIKELY(tail) ? pml_arch_slot(to)->address : back;
  pml_arch_slot(p)->sp = sp;
  pml_arch_what(p)->region = region;
  pml_arch_what(p)->tail = PML_UNLIKELY(tail) ? pml__call_number(to) : 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->open = p;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (PML_UNLIKELY(tail)) pml_arch_what(p)->code |= PML__CALL_TAIL;
}

/* Where call @p, not a wrapper's, returns to. */
static inline uintptr_t pml__call_back(struct pml__call_pad *p) {
  uint32_t tail = pml_arch_what(p)->tail;
  return PML_UNLIKELY(tail != 0) ? pml_arch_pad_return(&pml__call_table.pad[tail]) : pml_arch_slot(p)->address;
}

static inline void pml__call_unmark(struct pml__call_pad *p) {
  pml_arch_what(p)->code &= ~(uintptr_t)PML__CALL_TAIL;
}

/* The innermost call, which had its leave, ends: its pad is the first free one. */
static inline void pml__call_close(struct pml__call_thread *t, struct pml__call_pad *p) {
  if (PML_UNLIKELY(pml_arch_what(p)->tail != 0)) pml__call_unmark(p);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->open = p->outer;
}

/* Calls that were left inside call @p, the thread's own, end: the next report concerns call @p. In a claim. */
void pml__call_end_inside(struct pml__call_pad *p);

#endif
