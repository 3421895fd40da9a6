/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_call.h - list of open intercepted calls, shared by the fast and the slow path. Internal.
 *
 * pml_call_gpr.c begins and ends most calls, in general registers only; pml_call.c the others, with all registers
 * saved. The inline functions here are compiled into both.
 *
 * The address that a recorded call returns to does not depend on the list of open calls. A return slot replaces the
 * return address of a call, and belongs to that one address for ever (struct pml_arch_slot): all calls from one place
 * share one slot, and every return through it, later, twice, on another stack or thread, in a copy of a stack, in a
 * child, continues where it would have without recording. So slots are never reused for other addresses, and pmlua
 * needs no knowledge of stacks, of setjmp() and similar functions, or of which frames still live; there are as many
 * slots as places in the code that make calls. The return address of a tail call is itself a slot, so the slot of the
 * tail call leads there. Rejected: a slot for each open call needs proof that no copy of the call will return, which is
 * impossible once stacks can be copied; slots that check the stack pointer and wait before reuse only make the failure
 * rarer.
 *
 * The list of open calls only serves the measurement. A thread has a list of frames, which it takes from a common
 * supply in chunks: first the frames of its open calls, from the outermost to `open`, then the free frames. The first
 * frame belongs to no call, and is outside of all calls. A call moves `open` to the next frame of the list, and a
 * return to the previous one, each by a single store. A return ends the call whose frame has its stack pointer and its
 * slot; without such a frame there is no event. A frame is over when its call returned, or when it is below the current
 * stack pointer.
 *
 * If a program copies stacks, as Python's greenlet does, a frame below the stack pointer may belong to a call whose
 * stack was copied away. It also gets its leave: another call at its place is the only sign that it is gone, and its
 * return is the only sign that it is back. When a call without a frame returns, the consumers get its slot and stack
 * pointer. A profile remembers the calls that were left (substrate/profile), counts such a call as returned and adds
 * the rest of its time. A trace shows such a call until its stack was displaced; calls that it makes later are in the
 * call that is open then. Returns that have a frame do not cost more.
 *
 * Each machine stack has a separate list and stream, a struct pml__stream_thread, so consumers see it as a further
 * thread. Calls nest on it as on any thread, independently of other stacks; the time of a call includes the time for
 * which its stack is inactive, as for a thread that waits. A stream is reused for another stack when no call is open on
 * it. The C library gives the bounds of a thread's first stack, and sigaltstack(2) gives the bounds of an alternate
 * stack. Any other stack is assumed to reach from 1 KiB above its first call to 16 KiB below. If that is wrong, a call
 * has no caller in the profile. Calls on a stack inside a frame of the thread's first stack look as if a longjmp ended
 * the outer calls, until one of these returns. Sections and other adapters' events stay with the thread.
 *
 * While a thread changes its lists, or delivers an event, it is marked by a stack pointer just below the call's: in the
 * delivery guard of the thread (base/stream/pml_stream_private.h) if fast functions get the event, otherwise in `busy`,
 * which suspends fast delivery. Calls made meanwhile, by a consumer, an allocator or an interrupting signal handler, go
 * to their functions unrecorded, because the lists have one user at a time; calls on another stack are recorded even
 * so, if a handler switched to it during a delivery (pml_call.c says when). A handler may leave with a longjmp; then
 * the stack pointer shows that no code is inside any more, and the list is intact: an interrupted operation of several
 * stores can at worst lose a frame.
 *
 * A call is open from before its enter is delivered until after its leave was delivered. So a call that a longjmp ends
 * in between gets a leave when that is detected, even if its enter was not delivered, or if a leave was: consumers
 * ignore every leave that is not of their innermost call. In any other order a consumer could stay inside a call for
 * ever.
 */
#ifndef PML_CALL_H
#define PML_CALL_H

#include "adapter/arch/pml_arch.h"
#include "base/pml_clock.h"
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
  uint32_t names;  /* part of the hash of its name and library */
  uintptr_t enter; /* atomic: where its thunk jumps to: pml__arch_enter(), or the target, and no call is recorded */
};
_Static_assert(sizeof(struct pml__call_function) == PML_ARCH_FUNCTION_BYTES &&
                   offsetof(struct pml__call_function, enter) == PML_ARCH_FUNCTION_ENTER &&
                   offsetof(struct pml__call_function, target) == 0,
               "thunks and stubs know functions");

/* ---- life ---- */

int pml__call_prepare(void);
/* Calls that were not recorded: too many under way, or from too many places; made while the thread was at its lists. */
void pml__call_stats(uint64_t *deep, uint64_t *nested);
void pml__call_forked(void);    /* reset the counts in the child */
void pml__call_switch(bool on); /* record calls, or let them go to their functions */
bool pml__call_is_on(void);
void pml__call_confine(bool without_clock); /* as pml_intercept_confine() */

/*
 * Calls that wrappers make, on the same lists. Between claim and release the thread is at them, and nothing else is
 * recorded on it; false: it was already. begin emits @e as an enter, at the stack pointer @sp, and returns the call's
 * frame, NULL: too many are under way; end emits @e as its leave. Both fill in the ticks and, where calls are counted,
 * the counts, which take the place of other values.
 */
#define PML__CALL_HERE                                                                                                 \
  ((uintptr_t)__builtin_dwarf_cfa()) /* above all that this function calls, as no other address is */
bool pml__call_claim(uintptr_t sp);
void pml__call_release(void);
struct pml__call_frame *pml__call_begin(struct pml_stream_event *e, uintptr_t sp);
/* The same for a function that the compiler inlined into the innermost call's: it has the same stack pointer. */
struct pml__call_frame *pml__call_begin_inlined(struct pml_stream_event *e);
/* The innermost call on the stack of @sp, or its list's first frame; NULL: no frame is left. */
const struct pml__call_frame *pml__call_innermost(uintptr_t sp);
/* The innermost call of @region that a wrapper or a function reported, on the stack of @sp; NULL: none is open. */
struct pml__call_frame *pml__call_find(pml_region_t region, uintptr_t sp);
/* Whether call @p of @region is open; false: it had its leave before it returned now, or it began on another thread. */
bool pml__call_is_open(const struct pml__call_frame *p, pml_region_t region, uintptr_t sp);
void pml__call_end(struct pml__call_frame *p, struct pml_stream_event *e);

/*
 * The provider of events' values: for @e, or none; a thread ends; no system calls but reads from here on. NULL: none.
 * An enter may open the thread's counters, a leave never does: they would have counted nothing of the call.
 * @fast: threads also register their sets by pml__stream_count_by().
 */
struct pml__call_counting {
  void (*read)(enum pml_stream_kind kind, struct pml_stream_event *e);
  void (*thread_ends)(void);
  void (*confine)(void);
  bool fast;
};
int pml__call_count(const struct pml__call_counting *counting); /* for good; 0 or -EDEADLK: called by a consumer */

/* ---- open calls ---- */

#define PML__CALL_BELOW 16u    /* between the call's stack pointer and `busy`: the stubs' frames are deeper */
#define PML__CALL_PREEMPTED 2u /* `busy` of a thread that blocks signals before it uses its lists (pml_call.c) */

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
  if (PML_LIKELY(!pml__stream_is_guarded(s))) return 0;
  return s->here && s->guard % 2 == 0 ? (uintptr_t)s->guard : 0;
}
/* The lists are in use by @busy: this thread further up its stack, or another. */
static inline bool pml__call_is_busy(const struct pml__call_thread *t, uintptr_t busy, uintptr_t sp) {
  return busy != 0 && !(pml__call_own(t, busy) && pml__call_own(t, sp) && busy < sp);
}

/* In between, events that are emitted by pml__stream_self are of the stack in use. */
static inline struct pml__stream_thread *pml__call_use_stream(struct pml__call_thread *t) {
  struct pml__stream_thread *self = pml__stream_self;
  if (PML_UNLIKELY(t->stack != NULL)) pml__stream_self = t->stream;
  return self;
}
static inline void pml__call_restore_stream(struct pml__call_thread *t, struct pml__stream_thread *self) {
  if (PML_UNLIKELY(t->stack != NULL))
    pml__stream_self = self;
  else
    t->stream = pml__stream_self; /* which may have begun */
}

static inline void pml__call_set_busy(struct pml__call_thread *t, struct pml__stream_thread *s, uintptr_t sp) {
  t->busy = sp;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pml__stream_suspend(s);
}
static inline void pml__call_end_busy(struct pml__call_thread *t, struct pml__stream_thread *s) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->busy = t->idle;
  pml__stream_resume(s);
}

/* ---- return slots ---- */

#define PML__CALL_NO_SLOT (&pml__call_table.known[0]) /* belongs to no return address */
#define PML__CALL_HASH 0x9e3779b1u
#define PML__CALL_PROBES 32u

static inline uint32_t pml__call_hash(uintptr_t back) {
  return (uint32_t)back * PML__CALL_HASH >> 15;
}

/* The slot of @back; NULL: it may have none yet. The return address is stored last, with release: a thread that sees it
 * also sees the other fields. */
static inline const struct pml__call_known *pml__call_find_slot(uintptr_t back) {
  uint32_t i = pml__call_hash(back);
  for (uint32_t n = 0; n < PML__CALL_PROBES; n++, i = (i + 1) % PML__CALL_KNOWN) {
    const struct pml__call_known *k = &pml__call_table.known[i];
    if (PML_LIKELY(__atomic_load_n(&k->back, __ATOMIC_ACQUIRE) == back)) return PML_LIKELY(back != 0) ? k : NULL;
    if (__atomic_load_n(&k->code, __ATOMIC_RELAXED) == 0) return NULL;
  }
  return NULL;
}

/* The same, made if missing. NULL: too many slots, or too long a chain of tail calls. No lock. */
const struct pml__call_known *pml__call_take_slot(uintptr_t back);
void pml__call_prepare_slots(void);

/* ---- frames ---- */

/*
 * @p: the thread's first free frame, t->open->inner; then the thread knows its stack. @known: PML__CALL_NO_SLOT: the
 * call is a wrapper's, which returns by itself.
 *
 * A signal handler that leaves by longjmp may come between any two stores, and the list is used thereafter. So the
 * stores keep the order in which they stand, here, below, and in stubs.S: nothing reads a frame before it is open.
 */
static inline void pml__call_open(struct pml__call_thread *t, struct pml__call_frame *p, pml_region_t region,
                                  const struct pml__call_known *known, uintptr_t sp) {
  p->sp = sp;
  p->known = known;
  p->region = region;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->open = p;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Whether @p is of the call at @sp that returns to the slot at @code. */
static inline bool pml__call_is_at(const struct pml__call_frame *p, uintptr_t code, uintptr_t sp) {
  return PML_LIKELY(p->known->code == code) && PML_LIKELY(p->sp == sp);
}

/* The innermost call, which had its leave, ends: its frame is the first free one. */
static inline void pml__call_close(struct pml__call_thread *t, struct pml__call_frame *p) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->open = p->outer;
}

/* The common supply of free frames (pml_call_stack.c): take a chunk, NULL: all are in use; give back @head and those
 * inwards of it. No lock; any thread. */
struct pml__call_frame *pml__call_more_frames(void);
void pml__call_give_back(struct pml__call_frame *head);

/* Whether @p, which is not a list's first frame, is a call of @region that a wrapper or a function reported. */
static inline bool pml__call_is_reported(const struct pml__call_frame *p, pml_region_t region) {
  return p->known == PML__CALL_NO_SLOT && p->region == region;
}

/* ---- fast path of calls that wrappers and instrumented functions report ---- */

/*
 * pml__call_begin_fast - begin a delivery for a call at @sp. False, with nothing changed, in rare cases, such as no
 * free frame, or a call ended by a longjmp. pml__call_end_fast - the same for the end of the innermost call, @p.
 * pml__call_emit - emit its event, without values, and end the delivery. errno is preserved for the program, because
 * the function may be called to return it. pml__call_emit_slow - the same where a fast function declined the event.
 */
static inline bool pml__call_begin_fast(const struct pml__call_thread *t, struct pml__stream_thread *s, uintptr_t sp) {
  uint64_t was = pml__stream_guard(s, sp - PML__CALL_BELOW);
  if (PML_LIKELY(pml__stream_knows(PML_STREAM_ENTER, was)) && PML_LIKELY(t->open->inner != NULL) &&
      PML_LIKELY(t->open->sp > sp) && PML_LIKELY(sp >= t->from))
    return true;
  pml__stream_restore(s, was);
  return false;
}

static inline bool pml__call_end_fast(const struct pml__call_thread *t, struct pml__stream_thread *s,
                                      const struct pml__call_frame *p, uintptr_t sp) {
  uint64_t was = pml__stream_guard(s, sp - PML__CALL_BELOW);
  if (PML_LIKELY(pml__stream_knows(PML_STREAM_LEAVE, was)) && PML_LIKELY(t->open == p) && PML_LIKELY(p->sp == sp))
    return true;
  pml__stream_restore(s, was);
  return false;
}

void pml__call_emit_slow(struct pml__call_thread *t, enum pml_stream_kind kind, pml_region_t region, uint64_t ticks);
static inline void pml__call_emit(struct pml__call_thread *t, struct pml__stream_thread *s, enum pml_stream_kind kind,
                                  pml_region_t region) {
  uint64_t ticks = pml_clock_ticks();
  ticks = s->known[kind].call(s->known[kind].data, region, ticks);
  if (PML_LIKELY(ticks == 0))
    pml__stream_unguard(s);
  else
    pml__call_emit_slow(t, kind, region, ticks);
}

/* ---- other stacks than the thread's own (pml_call_stack.c) ---- */

struct pml__call_stack {
  struct pml__call_frame *open; /* the innermost call's while the stack is not in use; as of a thread */
  uintptr_t lo, hi;
  struct pml__stream_thread *stream;
  struct pml__call_stack *next; /* in the thread's list */
  bool taken;                   /* atomic: owned by a thread */
  bool learnt;                  /* inside a frame of the thread's first stack: pml__call_learn() */
  bool suspended;               /* in a delivery, while calls on other stacks are recorded */
};

/*
 * pml__call_go_to - make the stack that @sp is on the one in use; in a claim. False: there are too many, or no memory.
 * pml__call_switch_to - make @to that, NULL: the thread's own.
 * pml__call_is_elsewhere - @sp is neither on the stack in use nor on an alternate one: a handler has switched stacks.
 * pml__call_find_stack - set the bounds of the calling thread's stack, unless it is the first thread. False: unknown.
 * pml__call_learn - the call that was last taken for left returned: where that was seen there is a stack inside a frame
 * of the thread's own, as from now on is known.
 * pml__call_leave_stacks - the thread ends: @give_back gets the frames of each.
 */
bool pml__call_go_to(struct pml__call_thread *t, uintptr_t sp);
void pml__call_switch_to(struct pml__call_thread *t, struct pml__call_stack *to);
bool pml__call_is_elsewhere(const struct pml__call_thread *t, uintptr_t sp);
bool pml__call_find_stack(struct pml__call_thread *t);
void pml__call_learn(struct pml__call_thread *t);
void pml__call_leave_stacks(struct pml__call_thread *t, void (*give_back)(struct pml__call_frame *open));
extern __attribute__((visibility("hidden"))) bool pml__call_confined; /* no system calls */

/* Calls that were left inside call @p, the thread's own, end: the next report concerns call @p. In a claim. */
void pml__call_end_inside(struct pml__call_frame *p);

#endif
