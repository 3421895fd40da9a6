/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_call.h - which intercepted calls are open: what both ways in and out share.
 * Internal.
 *
 * A call is begun and ended with general registers only (pml_intercept_gpr.c), which is the rule; where that does not
 * do, with all registers saved (pml_intercept_call.c). What is inline here is compiled into both.
 *
 * A thread has a list of its open calls, innermost first, and one of free pads, which it takes from all in chunks. A
 * pad is used again only when its call cannot return any more: it returned, or it is on the thread's own stack below
 * where that stack is now. Of calls on other stacks nobody can say that before they return, in whatever order.
 *
 * While a thread changes its lists, or hands out an event, `busy` is a stack pointer just below that of the call. Calls
 * made then, by a consumer, by an allocator, by a signal handler that interrupted, go to their functions unrecorded:
 * the lists have one user at a time. A handler may leave with a longjmp; then the stack tells that nobody is at it any
 * more, and the lists are whole: every change is one store, and can at worst lose a pad.
 */
#ifndef PML_INTERCEPT_CALL_H
#define PML_INTERCEPT_CALL_H

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_stream_private.h"

/* stubs.S counts on it. */
_Static_assert(sizeof(struct pml__intercept_function) == 16 && offsetof(struct pml__intercept_function, target) == 0 &&
                   PML__INTERCEPT_BLOCK == 1024,
               "stubs know functions");

#define PML__INTERCEPT_NONE 0u   /* pad 0 is never used */
#define PML__INTERCEPT_BEGUN 1u  /* a leave that only lacks its event */
#define PML__INTERCEPT_BELOW 16u /* between the call's stack pointer and `busy`: the stubs' frames are deeper */

struct pml__intercept_pad {
  uint32_t next; /* in the list it is in */
  pml_region_t region;
  uintptr_t back; /* where the call returns to: a pad, too, if it is the end of a recorded one (a tail call) */
};

struct pml__intercept_thread {
  uintptr_t busy;
  uintptr_t lo, hi;              /* its own stack; hi 0: not asked yet */
  uint32_t open, free;           /* lists of pads; no list ends with pad 0, which stands for the outermost call */
  struct pml_stream_event event; /* that is being handed out */
};

#pragma GCC visibility push(hidden) /* no detour over the table of addresses */
extern struct pml__intercept_pad pml__intercept_pad[PML_ARCH_PADS];
extern PML_THREAD_LOCAL struct pml__intercept_thread pml__intercept_self __attribute__((tls_model("initial-exec")));
extern uint64_t pml__intercept_nested; /* atomic */
extern bool pml__intercept_counter;    /* the clock is read by an instruction */
#pragma GCC visibility pop

static inline bool pml__intercept_own(const struct pml__intercept_thread *t, uintptr_t sp) {
  return sp - t->lo < t->hi - t->lo;
}

/* Somebody is at the lists: this thread further up its stack, or who knows. */
static inline bool pml__intercept_is_busy(const struct pml__intercept_thread *t, uintptr_t sp) {
  return t->busy != 0 && !(pml__intercept_own(t, t->busy) && pml__intercept_own(t, sp) && t->busy < sp);
}

static inline void pml__intercept_set_busy(struct pml__intercept_thread *t, uintptr_t sp) {
  t->busy = sp;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void pml__intercept_end_busy(struct pml__intercept_thread *t) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->busy = 0;
}

static inline const struct pml__intercept_function *pml__intercept_function(uint32_t function) {
  const struct pml__intercept_function *block =
      __atomic_load_n(&pml__intercept_block[function / PML__INTERCEPT_BLOCK], __ATOMIC_RELAXED);
  return &block[function % PML__INTERCEPT_BLOCK];
}

/*
 * Unwinding leads from a pad to the code that made the call at once, also where a tail call returns to a pad: two pads
 * at one stack pointer would be one to libgcc.
 */
static inline uintptr_t pml__intercept_code_behind(uintptr_t address) {
  uintptr_t distance = address - (uintptr_t)pml__arch_pads;
  return distance < (uintptr_t)PML_ARCH_PADS * PML_ARCH_PAD_BYTES
             ? pml__arch_slot[distance / PML_ARCH_PAD_BYTES].address
             : address;
}

/*
 * The thread has a free pad; then it also knows its stack.
 *
 * A signal handler that leaves by longjmp may come between any two stores, and the lists are used thereafter. So they
 * are made in the order in which they stand, here and below: a pad may be lost, it is never in two lists.
 */
static inline uint32_t pml__intercept_open(struct pml__intercept_thread *t, pml_region_t region, uintptr_t back,
                                           uintptr_t sp) {
  uint32_t i = t->free;
  struct pml__intercept_pad *p = &pml__intercept_pad[i];
  t->free = p->next;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pml__arch_slot[i].address = pml__intercept_code_behind(back);
  pml__arch_slot[i].sp = sp;
  p->back = back;
  p->region = region;
  p->next = t->open;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->open = i;
  return i;
}

/* Calls that were left inside call @i, the thread's own, end: what is told next is of call @i. In a claim. */
void pml__intercept_end_inside(uint32_t i);

/* Pad @i is in no list. */
static inline void pml__intercept_release(struct pml__intercept_thread *t, uint32_t i) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pml__intercept_pad[i].next = t->free;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->free = i;
}

#endif
