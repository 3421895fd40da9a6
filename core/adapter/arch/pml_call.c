/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_call.c - slow path of intercepted calls, with all registers saved. */
#include "adapter/arch/pml_call.h"
#include "adapter/arch/pml_call_layout.h"
#include "base/pml_cancel.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel keeps that much below the top of the first thread's stack free of everything else. */
#define STACK_GAP ((uintptr_t)128 << 20)
#define NONE PML__CALL_NONE

#define AT(type, member, where) _Static_assert(offsetof(struct type, member) == (where), "as pml_call_layout.h says")
AT(pml__stream_own, call.open, OWN_OPEN);
AT(pml__stream_own, call.stream, OWN_STREAM);
AT(pml__stream_own, call.from, OWN_FROM);
AT(pml__stream_own, call.event.ticks, OWN_TICKS);
AT(pml__stream_thread, guard, THREAD_GUARD);
AT(pml__stream_thread, free, THREAD_FREE);
AT(pml__stream_thread, called[PML_STREAM_ENTER].call, ENTERS_FAST);
AT(pml__stream_thread, called[PML_STREAM_ENTER].data, ENTERS_DATA);
AT(pml__stream_thread, called[PML_STREAM_LEAVE].call, LEAVES_FAST);
AT(pml__stream_thread, called[PML_STREAM_LEAVE].data, LEAVES_DATA);
AT(pml__call_table, slot, 0);
AT(pml__call_table, known, KNOWN_AT);
AT(pml__call_known, back, KNOWN_BACK);
AT(pml__call_known, code, KNOWN_CODE);
AT(pml__call_frame, outer, FRAME_OUTER);
AT(pml__call_frame, inner, FRAME_INNER);
AT(pml__call_frame, sp, FRAME_SP);
AT(pml__call_frame, known, FRAME_KNOWN);
AT(pml__call_frame, region, FRAME_REGION);
AT(pml__call_function, region, FUNCTION_REGION);
_Static_assert(HASH == PML__CALL_HASH && KNOWN_SHIFT == 15 - 4 && KNOWN_MASK == (PML__CALL_KNOWN - 1) << 4 &&
                   PML__CALL_KNOWN == 1u << (32 - 15),
               "as pml__call_hash(), in entries of 16 bytes");

bool pml__call_plain;
static bool on, by_counter; /* atomic: calls are recorded; their clock, and counts, are read with general registers */

uint64_t pml__call_nested; /* atomic */
const struct pml__call_counting *pml__call_counting;
static uint64_t deep; /* atomic */
static pthread_key_t key;
static uintptr_t first_lo, first_hi; /* the first thread's stack */

/* ---- frames ---- */

/*
 * Append a chunk of frames to the list, which has no free one left. The first of a stack belongs to no call. Its stack
 * pointer is the end of the stack, so a call above it is seen to be on another: also where a handler switched stacks
 * between two instructions of the fast path, the first of which still loaded the stream of the stack before.
 */
static bool add_frames(struct pml__call_thread *t) {
  struct pml__call_frame *head = pml__call_more_frames(), *outer = t->open;
  if (head == NULL) return false;
  head->outer = outer;
  for (struct pml__call_frame *p = head; p->inner != NULL; p = p->inner) p->inner->outer = p;
  if (outer == NONE) {
    head->sp = t->stack != NULL ? t->stack->hi : t->lo != 0 ? t->hi : UINTPTR_MAX;
    t->open = head;
  } else {
    outer->inner = head;
  }
  return true;
}

/* ---- threads ---- */

__attribute__((noinline, cold)) static void thread_begins(struct pml__call_thread *t) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  bool first = here - first_lo < first_hi - first_lo;
  if (first || !pml__call_find_stack(t)) {
    t->lo = first ? first_lo : 0;
    t->hi = first ? first_hi : 1; /* unknown: no address is its own */
  }
  t->from = t->lo;
  (void)pthread_setspecific(key, t);
}

/* ---- events ---- */

static inline void make_event(struct pml__call_thread *t, enum pml_stream_kind kind, pml_region_t region) {
  const struct pml__call_counting *c = __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE);
  if (kind == PML_STREAM_ENTER) pml__stream_prepare(region);
  if (PML_UNLIKELY(c != NULL) && kind == PML_STREAM_ENTER) c->read(kind, &t->event);
  t->event.ticks = pml_clock_ticks();
  if (PML_UNLIKELY(c != NULL) && kind == PML_STREAM_LEAVE) c->read(kind, &t->event);
  t->event.region = region;
}

/* Counts take the place of the values that @e has: an event has one list of them. */
static void add_counts(enum pml_stream_kind kind, struct pml_stream_event *e) {
  const struct pml__call_counting *c = __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE);
  struct pml_stream_event counts = {0};
  if (PML_LIKELY(c == NULL)) return;
  c->read(kind, &counts);
  if (counts.metrics == NULL) return;
  e->metrics = counts.metrics;
  e->values = counts.values;
}

__attribute__((always_inline)) static inline void emit_event(struct pml__call_thread *t, enum pml_stream_kind kind,
                                                             pml_region_t region) {
  if (PML_UNLIKELY(!pml__stream_wanted(kind))) return;
  struct pml__stream_thread *self = pml__call_use_stream(t);
  make_event(t, kind, region);
  pml__stream_emit_inline(kind, &t->event);
  pml__call_restore_stream(t, self);
}

static void emit_unwound(struct pml__call_thread *t, const struct pml__call_frame *p) {
  const struct pml_stream_call call = {p->known != PML__CALL_NO_SLOT ? p->known->code : p->region, p->sp};
  t->event.unwound = &call;
  emit_event(t, PML_STREAM_LEAVE, p->region);
  t->event.unwound = NULL;
}

/* The call may have been unwound on any of the thread's stacks, because they change their bounds. */
static void emit_returned(struct pml__call_thread *t, uintptr_t slot, uintptr_t sp) {
  const struct pml_stream_call call = {slot, sp};
  uint64_t ticks = pml_clock_ticks();
  bool known = pml__stream_return(pml__stream_self, &call, ticks);
  for (struct pml__call_stack *s = t->others; s != NULL && !known; s = s->next)
    known = pml__stream_return(s->stream, &call, ticks);
}

/* Close the innermost calls of the stack in use that are below @sp: they ended without a return. */
__attribute__((noinline)) static void close_unwound(struct pml__call_thread *t, uintptr_t sp, uintptr_t back) {
  t->unwound.by = 0;
  while (t->open != NONE && t->open->outer != NONE) {
    struct pml__call_frame *p = t->open;
    /* At the same place: a tail call, which will return to the slot, or a later call. */
    if (p->sp > sp || (p->sp == sp && back == p->known->code + PML_ARCH_SLOT_RETURN)) return;
    if (t->unwound.by != sp) t->unwound = (struct pml__call_unwound){p->known->code, p->sp, sp};
    emit_unwound(t, p);
    pml__call_close(t, p);
  }
}

static void give_back_all(struct pml__call_frame *open) {
  while (open != NONE && open->outer != NONE) open = open->outer;
  if (open != NONE) pml__call_give_back(open);
}

/* The thread's open calls end. Calls on other stacks may return on another thread, where they are not recorded. */
static void thread_ends(void *arg) {
  struct pml__call_thread *t = arg;
  pml__call_set_busy(t, t->stream, (uintptr_t)__builtin_frame_address(0));
  pml__call_leave_stacks(t, give_back_all);
  close_unwound(t, UINTPTR_MAX, 0);
  struct pml__call_frame *open = t->open;
  t->open = NONE;
  give_back_all(open);
  if (pml__call_counting != NULL) pml__call_counting->thread_ends();
  t->hi = 0;
  pml__call_end_busy(t, t->stream);
}

static void count_one(uint64_t *counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Take over lists whose user left by a longjmp, which also left the stream. False: they are in use. */
__attribute__((noinline, cold)) static bool take_over(struct pml__call_thread *t, uintptr_t busy, uintptr_t sp) {
  if (pml__call_is_busy(t, busy, sp)) return false;
  struct pml__stream_thread *self = pml__call_use_stream(t);
  pml__stream_abandon();
  pml__call_restore_stream(t, self);
  t->event.unwound = NULL; /* it may have left emit_unwound() */
  return true;
}

/* Take the lists; false: they are in use. */
static inline bool take_lists(struct pml__call_thread *t, uintptr_t sp) {
  struct pml__stream_thread *s = t->stream;
  uintptr_t busy = pml__call_busy(t, s);
  if (PML_UNLIKELY(busy != 0) && !take_over(t, busy, sp)) return false;
  pml__call_set_busy(t, s, sp - PML__CALL_BELOW);
  return true;
}

static bool has_free_frame(struct pml__call_thread *t) {
  bool has = true;
  while (has && t->open->inner == NULL) has = add_frames(t);
  if (!has) count_one(&deep);
  return has;
}

__attribute__((noinline, cold)) static bool make_more_ready(struct pml__call_thread *t, uintptr_t back, uintptr_t sp) {
  if (t->hi == 0) thread_begins(t);
  if (!pml__call_go_to(t, sp)) {
    count_one(&deep);
    return false;
  }
  close_unwound(t, sp, back);
  return has_free_frame(t);
}

/* Before a call begins. False: too many calls are under way. A list with a free frame has a known stack. */
static inline bool make_ready(struct pml__call_thread *t, uintptr_t back, uintptr_t sp) {
  return PML_LIKELY(t->open->inner != NULL && t->open->sp > sp && sp >= t->from) || make_more_ready(t, back, sp);
}

/* The code of its slot; 0: none. */
static uintptr_t open_call(struct pml__call_thread *t, pml_region_t region, uintptr_t back, uintptr_t sp) {
  const struct pml__call_known *known = pml__call_take_slot(back);
  if (PML_UNLIKELY(known == NULL)) {
    count_one(&deep);
    return 0;
  }
  if (!make_ready(t, back, sp)) return 0;
  pml__call_open(t, t->open->inner, region, known, sp);
  emit_event(t, PML_STREAM_ENTER, region);
  return known->code;
}

/* ---- calls of threads that signal handlers preempt ---- */

/*
 * A signal handler may switch to another stack while a delivery is under way, as preemptive schedulers of fibers do.
 * The delivery continues later, unnoticed, so the lists must then be as it left them.
 *
 * Beside a suspended fast delivery, a call on another stack is recorded with all signals blocked, between a switch to
 * its stack and a switch back. A delivery with all registers saved may hold locks of its consumers, and one with counts
 * may be reading the set that all stacks read into: calls beside these are not recorded, but counted as nested. From
 * the first such call on, the thread blocks signals during all deliveries of these kinds, so no further one is
 * suspended. Then `idle` is PML__CALL_PREEMPTED, which take_lists() takes for lists in use, and where calls are counted
 * fast deliveries stay suspended. Such a delivery has two system calls more; threads that were never preempted in one
 * have none.
 */
struct held {
  struct pml__call_stack *stack; /* the suspended delivery's */
  struct pml_stream_event event;
  bool beside; /* such a delivery */
  int cancel;
};

static bool is_counted(void) {
  return __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE) != NULL;
}

static void end_beside(struct pml__call_thread *t, const struct held *h) {
  pml__call_switch_to(t, h->stack);
  if (h->stack != NULL) h->stack->suspended = false;
  t->event = h->event;
  pml__call_end_busy(t, t->stream);
}

/* Returns false, with nothing changed, unless a delivery is suspended that allows it. */
static bool begin_beside(struct pml__call_thread *t, uintptr_t sp, struct held *h) {
  if (t->busy != 0 || !t->stream->here || pml__call_confined || is_counted()) return false;
  h->stack = t->stack;
  h->event = t->event;
  h->beside = true;
  pml__call_set_busy(t, t->stream, sp - PML__CALL_BELOW);
  if (h->stack != NULL) h->stack->suspended = true;
  if (pml__call_go_to(t, sp) && t->stack != h->stack) return true;
  end_beside(t, h);
  return false;
}

static void let_signals(struct pml__call_thread *t, const struct held *h) {
  if (t->idle != 0 && is_counted()) pml__stream_suspend(t->stream);
  pml__cancel_again(h->cancel);
}

static void end_held(struct pml__call_thread *t, const struct held *h) {
  if (h->beside)
    end_beside(t, h);
  else
    pml__call_end_busy(t, t->stream);
  let_signals(t, h);
}

/* Take the lists with signals blocked. False: they are in use; the thread will block signals if it was preempted. */
__attribute__((noinline, cold)) static bool begin_held(struct pml__call_thread *t, uintptr_t sp, struct held *h) {
  h->cancel = pml__cancel_hold();
  h->beside = false;
  if (t->busy == PML__CALL_PREEMPTED) t->busy = 0;
  if (t->idle != 0 && take_lists(t, sp)) return true;
  if (begin_beside(t, sp, h)) return true;
  if (pml__call_is_elsewhere(t, sp)) t->idle = PML__CALL_PREEMPTED;
  if (t->busy == 0) t->busy = t->idle;
  let_signals(t, h);
  return false;
}

/* ---- calls ---- */

/* Whether it lacks its counts, and so has been delivered to no consumer. */
static bool lacks_counts(const struct pml__call_thread *t) {
  return t->event.region == 0 && __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE) != NULL;
}

/* Emit another event for a call that was begun or ended in the delivery, and end that delivery. */
static void emit_instead(struct pml__call_thread *t, enum pml_stream_kind kind, pml_region_t region) {
  pml__stream_unguard(t->stream);
  emit_event(t, kind, region);
}

/* To the consumers that have not had it. At an enter that none has had its counts and its clock may be newer. */
static void complete(struct pml__call_thread *t, enum pml_stream_kind kind, pml_region_t region) {
  if (kind == PML_STREAM_ENTER && pml__stream_prepare_rest(region)) {
    const struct pml__call_counting *c = __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE);
    if (PML_UNLIKELY(c != NULL)) c->read(kind, &t->event);
    t->event.ticks = pml_clock_ticks();
  }
  t->event.region = region;
  pml__stream_complete(kind, &t->event);
}

/* For the stubs, which have begun or ended the innermost call. */
__attribute__((noinline)) static void finish(struct pml__call_thread *t, enum pml_stream_kind kind, uintptr_t sp) {
  bool preempted = t->idle != 0;
  const struct held h = {.cancel = preempted ? pml__cancel_hold() : 0};
  pml_region_t region = t->open->region;
  pml__call_set_busy(t, t->stream, sp - PML__CALL_BELOW);
  if (lacks_counts(t)) {
    emit_instead(t, kind, region);
  } else {
    struct pml__stream_thread *self = pml__call_use_stream(t);
    complete(t, kind, region);
    pml__call_restore_stream(t, self);
  }
  if (kind == PML_STREAM_LEAVE) pml__call_close(t, t->open);
  if (PML_UNLIKELY(preempted))
    end_held(t, &h);
  else
    pml__call_end_busy(t, t->stream);
}

/* errno is the caller's: the call may be of a function that reads it. */
uintptr_t pml__call_enter_full(const struct pml__call_function *f, uintptr_t back, uintptr_t sp, uint32_t begun) {
  struct pml__call_thread *t = &pml__call_self;
  struct held held;
  uintptr_t code;
  int saved = errno;
  if (begun == PML__CALL_BEGUN) {
    code = t->open->known->code;
    finish(t, PML_STREAM_ENTER, sp);
  } else if (!__atomic_load_n(&on, __ATOMIC_RELAXED)) {
    return 0;
  } else if (take_lists(t, sp)) {
    code = open_call(t, f->region, back, sp);
    pml__call_end_busy(t, t->stream);
  } else if (begin_held(t, sp, &held)) {
    code = open_call(t, f->region, back, sp);
    end_held(t, &held);
  } else {
    count_one(&pml__call_nested);
    return 0;
  }
  errno = saved;
  return code;
}

static struct pml__call_frame *find_from(struct pml__call_frame *p, uintptr_t code, uintptr_t sp) {
  while (p != NONE && !pml__call_is_at(p, code, sp)) p = p->outer;
  return p != NONE ? p : NULL;
}

/* Find the open call of the slot at @code and at @sp, and make its stack the one in use. NULL: none, as for a frame
 * that returns once more, or that began on another thread. */
static struct pml__call_frame *find_call(struct pml__call_thread *t, uintptr_t code, uintptr_t sp) {
  struct pml__call_frame *p = find_from(t->open, code, sp);
  if (PML_LIKELY(p != NULL) || t->others == NULL) return p;
  if (t->stack != NULL && (p = find_from(t->own, code, sp)) != NULL) pml__call_switch_to(t, NULL);
  for (struct pml__call_stack *s = t->others; s != NULL && p == NULL; s = s->next)
    if (s != t->stack && (p = find_from(s->open, code, sp)) != NULL) pml__call_switch_to(t, s);
  return p;
}

void pml__call_end_inside(struct pml__call_frame *p) {
  struct pml__call_thread *t = &pml__call_self;
  if (PML_UNLIKELY(t->open != p)) close_unwound(t, p->sp - 1, 0);
}

static void end_call(struct pml__call_thread *t, struct pml__call_frame *p, uintptr_t code, uintptr_t sp) {
  if (PML_UNLIKELY(p == NULL)) {
    emit_returned(t, code, sp);
    if (t->unwound.code == code && t->unwound.sp == sp) pml__call_learn(t);
    return;
  }
  pml__call_end_inside(p);
  emit_event(t, PML_STREAM_LEAVE, p->region);
  pml__call_close(t, p);
}

uintptr_t pml__call_leave_full(uintptr_t code, uintptr_t sp, uint32_t begun) {
  struct pml__call_thread *t = &pml__call_self;
  struct held held;
  uintptr_t back = pml_arch_slot_of(code)->back;
  int saved = errno;
  if (begun == PML__CALL_BEGUN) {
    finish(t, PML_STREAM_LEAVE, sp);
  } else if (take_lists(t, sp)) {
    end_call(t, find_call(t, code, sp), code, sp);
    pml__call_end_busy(t, t->stream);
  } else if (begin_held(t, sp, &held)) {
    end_call(t, find_call(t, code, sp), code, sp);
    end_held(t, &held);
  } /* else it began before; its frame stays until it is seen to have been left */
  errno = saved;
  return back;
}

/* ---- calls of wrappers ---- */

/* Not beside a suspended delivery. */
__attribute__((noinline, cold)) static bool claim_held(struct pml__call_thread *t, uintptr_t sp) {
  struct held h;
  bool is = begin_held(t, sp, &h);
  if (is && !h.beside) {
    t->claimed = 1 + h.cancel;
    return true;
  }
  if (is) end_held(t, &h);
  count_one(&pml__call_nested);
  return false;
}

__attribute__((noinline, cold)) static void release_held(struct pml__call_thread *t) {
  const struct held h = {.cancel = t->claimed - 1};
  t->claimed = 0;
  end_held(t, &h);
}

bool pml__call_claim(uintptr_t sp) {
  return PML_LIKELY(take_lists(&pml__call_self, sp)) || claim_held(&pml__call_self, sp);
}

void pml__call_release(void) {
  struct pml__call_thread *t = &pml__call_self;
  if (PML_UNLIKELY(t->claimed != 0))
    release_held(t);
  else
    pml__call_end_busy(t, t->stream);
}

static struct pml__call_frame *begin_at(struct pml__call_thread *t, struct pml_stream_event *e, uintptr_t sp) {
  struct pml__call_frame *p = t->open->inner;
  pml__call_open(t, p, e->region, PML__CALL_NO_SLOT, sp);
  struct pml__stream_thread *self = pml__call_use_stream(t);
  pml_stream_prepare(e->region);
  add_counts(PML_STREAM_ENTER, e);
  e->ticks = pml_clock_ticks();
  pml_stream_emit(PML_STREAM_ENTER, e);
  pml__call_restore_stream(t, self);
  return p;
}

struct pml__call_frame *pml__call_begin(struct pml_stream_event *e, uintptr_t sp) {
  struct pml__call_thread *t = &pml__call_self;
  return PML_LIKELY(make_ready(t, 0, sp)) ? begin_at(t, e, sp) : NULL;
}

struct pml__call_frame *pml__call_begin_inlined(struct pml_stream_event *e) {
  struct pml__call_thread *t = &pml__call_self;
  return has_free_frame(t) ? begin_at(t, e, t->open->sp) : NULL;
}

const struct pml__call_frame *pml__call_innermost(uintptr_t sp) {
  struct pml__call_thread *t = &pml__call_self;
  if (t->hi == 0) thread_begins(t);
  return pml__call_go_to(t, sp) && has_free_frame(t) ? t->open : NULL;
}

struct pml__call_frame *pml__call_find(pml_region_t region, uintptr_t sp) {
  struct pml__call_thread *t = &pml__call_self;
  if (t->hi == 0 || !pml__call_go_to(t, sp)) return NULL;
  struct pml__call_frame *p = t->open;
  while (p != NONE && p->outer != NONE && !pml__call_is_reported(p, region)) p = p->outer;
  return p != NONE && p->outer != NONE ? p : NULL;
}

bool pml__call_is_on(void) {
  return __atomic_load_n(&on, __ATOMIC_RELAXED);
}

bool pml__call_is_open(const struct pml__call_frame *p, pml_region_t region, uintptr_t sp) {
  struct pml__call_thread *t = &pml__call_self;
  bool is = find_call(t, PML__CALL_NO_SLOT->code, sp) == p;
  if (PML_UNLIKELY(!is)) emit_returned(t, region, sp);
  return is;
}

void pml__call_end(struct pml__call_frame *p, struct pml_stream_event *e) {
  struct pml__call_thread *t = &pml__call_self;
  pml__call_end_inside(p);
  struct pml__stream_thread *self = pml__call_use_stream(t);
  e->ticks = pml_clock_ticks();
  add_counts(PML_STREAM_LEAVE, e);
  pml_stream_emit(PML_STREAM_LEAVE, e);
  pml__call_restore_stream(t, self);
  pml__call_close(t, p);
}

__attribute__((noinline, cold)) void pml__call_emit_slow(struct pml__call_thread *t, enum pml_stream_kind kind,
                                                         pml_region_t region, uint64_t ticks) {
  int saved = errno;
  pml__call_set_busy(t, t->stream, (uintptr_t)t->stream->guard);
  struct pml__stream_thread *self = pml__call_use_stream(t);
  t->event.ticks = ticks;
  complete(t, kind, region);
  pml__call_restore_stream(t, self);
  pml__call_end_busy(t, t->stream);
  errno = saved;
}

/* ---- life ---- */

/* glibc's name for the address that the first thread's stack began at. */
extern void *__libc_stack_end;

static struct pml__lock life; /* guards whether calls are plain */

static void choose_plain(void) {
  bool is = __atomic_load_n(&on, __ATOMIC_RELAXED) && __atomic_load_n(&by_counter, __ATOMIC_RELAXED);
  __atomic_store_n(&pml__call_plain, is, __ATOMIC_RELEASE);
  pml__stream_allow_stubs(is);
}

void pml__call_switch(bool to) {
  pml__lock_take(&life);
  __atomic_store_n(&on, to, __ATOMIC_RELEASE);
  choose_plain();
  pml__lock_leave(&life);
}

static void choose_clock(void) {
  bool is = pml__clock.kind == PML_CLOCK_COUNTER && (pml__call_counting == NULL || pml__call_counting->fast);
  __atomic_store_n(&by_counter, is, __ATOMIC_RELAXED);
  choose_plain();
}

void pml__call_confine(bool without_clock) {
  struct pml__call_thread *t = &pml__call_self;
  if (t->hi == 0) thread_begins(t);
  if (pml__call_counting != NULL) pml__call_counting->confine();
  pml__lock_take(&life);
  choose_clock();
  pml__lock_leave(&life);
  (void)pml_thread_self(); /* substrates ask for its id */
  __atomic_store_n(&pml__call_confined, true, __ATOMIC_RELAXED);
  if (without_clock) pml__call_set_busy(t, t->stream, 1); /* on no stack: busy for good */
}

int pml__call_count(const struct pml__call_counting *counting) {
  int err = pml__stream_count_calls(counting->read);
  if (err < 0) return err;
  pml__lock_take(&life);
  __atomic_store_n(&pml__call_counting, counting, __ATOMIC_RELEASE);
  choose_clock();
  pml__lock_leave(&life);
  return 0;
}

int pml__call_prepare(void) {
  static bool done;
  struct rlimit limit;
  pml__lock_take(&life);
  choose_clock();
  int err = done ? 0 : pthread_key_create(&key, thread_ends);
  if (err != 0 || done) {
    pml__lock_leave(&life);
    return err != 0 ? pml_fail(-err, "no key for the calls of threads") : 0;
  }
  uintptr_t bytes = STACK_GAP;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes) bytes = (uintptr_t)limit.rlim_cur;
  first_hi = (uintptr_t)__libc_stack_end;
  first_lo = first_hi - bytes;
  pml__call_prepare_slots();
  NONE->sp = UINTPTR_MAX; /* every call is inside */
  NONE->known = PML__CALL_NO_SLOT;
  (void)pml_clock_init(); /* an error concerns only PMLUA_CLOCK; there is always a clock */
  choose_clock();
  done = true;
  pml__lock_leave(&life);
  return 0;
}

void pml__call_stats(uint64_t *too_deep, uint64_t *nested) {
  *too_deep = __atomic_load_n(&deep, __ATOMIC_RELAXED);
  *nested = __atomic_load_n(&pml__call_nested, __ATOMIC_RELAXED);
}

void pml__call_forked(void) {
  __atomic_store_n(&deep, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&pml__call_nested, 0, __ATOMIC_RELAXED);
}
