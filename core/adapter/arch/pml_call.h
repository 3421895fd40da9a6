/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_call.h - which intercepted calls are open: what both ways in and out share.
 * Internal.
 *
 * A call is begun and ended with general registers only (pml_call_gpr.c), which is the rule; where that does not
 * do, with all registers saved (pml_call.c). What is inline here is compiled into both.
 *
 * A thread has a list of its open calls, innermost first, and one of free pads, which it takes from all in chunks. A
 * pad is used again only when its call cannot return any more: it returned, or it is on the thread's own stack below
 * where that stack is now. For calls on other stacks this is unknown before they return, in whatever order.
 *
 * While a thread changes its lists, or hands out an event, `busy` is a stack pointer just below that of the call. Calls
 * made then, by a consumer, by an allocator, by a signal handler that interrupted, go to their functions unrecorded:
 * the lists have one user at a time. A handler may leave with a longjmp; then the stack tells that no code is inside it
 * any more, and the lists are whole: every change is one store, and can at worst lose a pad.
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
 * number, 0: too many are under way; end raises @e as its leave. Both fill in the ticks and, where calls are counted,
 * the counts, which take the place of other values.
 */
bool pml__call_claim(uintptr_t sp);
void pml__call_let_go(void);
uint32_t pml__call_begin(struct pml_stream_event *e, uintptr_t sp);
void pml__call_end(uint32_t i, struct pml_stream_event *e);

/*
 * The provider of events' values: for @e, or none; a thread ends; no system calls but reads from here on. NULL: none.
 */
struct pml__call_counting {
  void (*read)(struct pml_stream_event *e);
  void (*thread_ends)(void);
  void (*confine)(void);
};
extern const struct pml__call_counting *pml__call_counting; /* atomic */

/* ---- open calls ---- */

#define PML__CALL_NONE 0u   /* pad 0 is never used */
#define PML__CALL_BEGUN 1u  /* a leave that only lacks its event */
#define PML__CALL_BELOW 16u /* between the call's stack pointer and `busy`: the stubs' frames are deeper */

struct pml__call_pad {
  uint32_t next; /* in the list it is in */
  pml_region_t region;
  uintptr_t back; /* where the call returns to: a pad, too, if it is the end of a recorded one (a tail call) */
};

struct pml__call_thread {
  uintptr_t busy;
  uintptr_t lo, hi;              /* its own stack; hi 0: not asked yet */
  uint32_t open, free;           /* lists of pads; no list ends with pad 0, which stands for the outermost call */
  struct pml_stream_event event; /* that is being handed out */
};

#pragma GCC visibility push(hidden) /* no detour over the table of addresses */
extern struct pml__call_pad pml__call_pad[PML_ARCH_PADS];
extern PML_THREAD_LOCAL struct pml__call_thread pml__call_self __attribute__((tls_model("initial-exec")));
extern uint64_t pml__call_nested; /* atomic */
extern bool pml__call_plain; /* atomic: calls are recorded, and reading the clock takes an instruction and no more */
#pragma GCC visibility pop

static inline bool pml__call_own(const struct pml__call_thread *t, uintptr_t sp) {
  return sp - t->lo < t->hi - t->lo;
}

/* The lists are in use: by this thread further up its stack, or by another. */
static inline bool pml__call_is_busy(const struct pml__call_thread *t, uintptr_t sp) {
  return t->busy != 0 && !(pml__call_own(t, t->busy) && pml__call_own(t, sp) && t->busy < sp);
}

static inline void pml__call_set_busy(struct pml__call_thread *t, uintptr_t sp) {
  t->busy = sp;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void pml__call_end_busy(struct pml__call_thread *t) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->busy = 0;
}

/*
 * Unwinding leads from a pad to the code that made the call at once, also where a tail call returns to a pad: two pads
 * at one stack pointer would be one to libgcc.
 */
static inline uintptr_t pml__call_code_behind(uintptr_t address) {
  uintptr_t distance = address - (uintptr_t)pml__arch_pads;
  return distance < (uintptr_t)PML_ARCH_PADS * PML_ARCH_PAD_BYTES
             ? pml__arch_slot[distance / PML_ARCH_PAD_BYTES].address
             : address;
}

/*
 * @i: the thread's first free pad, t->free; then it also knows its stack. @open: the innermost open call, t->open.
 * @back 0, known when this is compiled: the call is a wrapper's, which returns by itself.
 *
 * A signal handler that leaves by longjmp may come between any two stores, and the lists are used thereafter. So they
 * are made in the order in which they stand, here and below: a pad may be lost, it is never in two lists.
 */
static inline uint32_t pml__call_open(struct pml__call_thread *t, uint32_t i, uint32_t open, pml_region_t region,
                                      uintptr_t back, uintptr_t sp) {
  struct pml__call_pad *p = &pml__call_pad[i];
  t->free = p->next;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pml__arch_slot[i].address = __builtin_constant_p(back) && back == 0 ? 0 : pml__call_code_behind(back);
  pml__arch_slot[i].sp = sp;
  p->back = back;
  p->region = region;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* made one store, the two take more instructions */
  p->next = open;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->open = i;
  return i;
}

/* Calls that were left inside call @i, the thread's own, end: the next report concerns call @i. In a claim. */
void pml__call_end_inside(uint32_t i);

/* What belongs to the pad @at. */
static inline struct pml__call_pad *pml__call_pad_at(uintptr_t at) {
  uintptr_t distance = at - (uintptr_t)pml__arch_pads;
  _Static_assert(sizeof(struct pml__call_pad) == PML_ARCH_PAD_BYTES, "they are as far from each other");
  return (struct pml__call_pad *)(void *)((char *)pml__call_pad + distance);
}

/* Pad @i, of which @p is, is in no list. */
static inline void pml__call_release(struct pml__call_thread *t, struct pml__call_pad *p, uint32_t i) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  p->next = t->free;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->free = i;
}

#endif
