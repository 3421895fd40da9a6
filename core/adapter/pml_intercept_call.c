/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_intercept_call.c - enters and leaves of intercepted calls, and which of them are open. */
#include "adapter/arch/pml_arch.h"
#include "adapter/pml_intercept_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_stream.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel keeps that much below the top of the first thread's stack free of everything else. */
#define STACK_GAP ((uintptr_t)128 << 20)
#define CHUNK 64u
#define NONE 0u /* pad 0 is never used */

/*
 * A thread has a list of its open calls, innermost first, and one of free pads, which it takes from all in chunks. A
 * pad is used again only when its call cannot return any more: it returned, or it is on the thread's own stack below
 * where that stack is now. Of calls on other stacks nobody can say that before they return, in whatever order.
 *
 * While a thread changes its lists, or hands out an event, `busy` is the stack pointer it does so at. Calls made then,
 * by a consumer, by an allocator, by a signal handler that interrupted, go to their functions unrecorded: the lists
 * have one user at a time. A handler may leave with a longjmp; then the stack tells that nobody is at it any more, and
 * the lists are whole: every change is one store, and can at worst lose a pad.
 */
static struct {
  uint32_t next; /* in the list it is in */
  pml_region_t region;
  uintptr_t back; /* where the call returns to: a pad, too, if it is the end of a recorded one (a tail call) */
} pad[PML_ARCH_PADS];

struct pml_arch_slot pml__arch_slot[PML_ARCH_PADS];

struct thread {
  uintptr_t busy;
  uintptr_t lo, hi; /* its own stack; hi 0: not asked yet */
  uint32_t open, free;
};
static PML_THREAD_LOCAL struct thread self __attribute__((tls_model("initial-exec")));

struct pml__intercept_function *pml__intercept_block[PML__INTERCEPT_BLOCKS];
bool pml__intercept_on;

static uint32_t untouched = CHUNK; /* atomic: pads from here on were never used */
static uint32_t given_back;        /* atomic: the list of those that threads left */
static uint64_t deep, nested;      /* atomic */
static pthread_key_t key;
static uintptr_t first_lo, first_hi; /* the first thread's stack */

/* ---- pads ---- */

static void give_back(uint32_t head) {
  if (head == NONE) return;
  uint32_t last = head;
  while (pad[last].next != NONE) last = pad[last].next;
  uint32_t seen = __atomic_load_n(&given_back, __ATOMIC_RELAXED);
  do pad[last].next = seen;
  while (!__atomic_compare_exchange_n(&given_back, &seen, head, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* All of what was given back, which cannot be confused with a list that is given back meanwhile; else a chunk. */
__attribute__((noinline, cold)) static uint32_t more_pads(void) {
  uint32_t head = __atomic_exchange_n(&given_back, NONE, __ATOMIC_ACQUIRE);
  if (head != NONE) return head;
  head = __atomic_load_n(&untouched, __ATOMIC_RELAXED);
  do
    if (head >= PML_ARCH_PADS) return NONE;
  while (!__atomic_compare_exchange_n(&untouched, &head, head + CHUNK, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  for (uint32_t i = head; i < head + CHUNK; i++) pad[i].next = i + 1 < head + CHUNK ? i + 1 : NONE;
  return head;
}

/* ---- threads ---- */

static bool own(const struct thread *t, uintptr_t sp) {
  return sp - t->lo < t->hi - t->lo;
}

/* Its calls on its own stack are over with it; those on others may be gone on with by another thread. */
static void thread_ends(void *arg) {
  struct thread *t = arg;
  t->busy = (uintptr_t)__builtin_frame_address(0);
  uint32_t open = t->open, free = t->free;
  t->open = t->free = NONE;
  while (open != NONE) {
    uint32_t i = open;
    open = pad[i].next;
    if (!own(t, pml__arch_slot[i].sp)) continue;
    pad[i].next = free;
    free = i;
  }
  give_back(free);
  t->hi = 0;
  t->busy = 0;
}

__attribute__((noinline, cold)) static void thread_begins(struct thread *t) {
  pthread_attr_t attr;
  void *lo;
  size_t bytes;
  t->lo = first_lo;
  t->hi = first_hi;
  if (gettid() != getpid()) {
    t->lo = 0;
    t->hi = 1; /* unknown: no address is its own */
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      if (pthread_attr_getstack(&attr, &lo, &bytes) == 0) {
        t->lo = (uintptr_t)lo;
        t->hi = (uintptr_t)lo + bytes;
      }
      pthread_attr_destroy(&attr);
    }
  }
  (void)pthread_setspecific(key, t);
}

/* ---- events ---- */

static void raise_event(enum pml_stream_kind kind, pml_region_t region) {
  struct pml_stream_event e = {.ticks = pml_clock_ticks(), .region = region};
  pml_stream_raise(kind, &e);
}

/* Somebody is at the lists: this thread further up its stack, or who knows. */
static bool is_busy(const struct thread *t, uintptr_t sp) {
  return t->busy != 0 && !(own(t, t->busy) && own(t, sp) && t->busy < sp);
}

static void release(struct thread *t, uint32_t i) {
  pad[i].next = t->free;
  t->free = i;
}

/* The innermost calls, as far as they are on the own stack and below @sp, were left without a return. */
static void close_left(struct thread *t, uintptr_t sp, uintptr_t address) {
  while (t->open != NONE && own(t, sp)) {
    uint32_t i = t->open;
    uintptr_t at = pml__arch_slot[i].sp;
    /* At the same place: a tail call, which will return to the pad, or a later call. */
    if (!own(t, at) || at > sp || (at == sp && address == pml_arch_pad(i))) return;
    t->open = pad[i].next;
    raise_event(PML_STREAM_LEAVE, pad[i].region);
    release(t, i);
  }
}

/*
 * Unwinding leads from a pad to the code that made the call at once, also where a tail call returns to a pad: two pads
 * at one stack pointer would be one to libgcc.
 */
static uintptr_t code_behind(uintptr_t address) {
  uintptr_t distance = address - (uintptr_t)pml__arch_pads;
  return distance < (uintptr_t)PML_ARCH_PADS * PML_ARCH_PAD_BYTES
             ? pml__arch_slot[distance / PML_ARCH_PAD_BYTES].address
             : address;
}

static void count_one(uint64_t *counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* A call at @sp that will return to @address is now the innermost; NONE: too many are under way. */
static inline uint32_t take_pad(struct thread *t, uintptr_t address, uintptr_t sp) {
  if (PML_UNLIKELY(t->hi == 0)) thread_begins(t);
  if (PML_UNLIKELY(t->open != NONE && pml__arch_slot[t->open].sp <= sp)) close_left(t, sp, address);
  uint32_t i = t->free;
  if (PML_UNLIKELY(i == NONE) && (i = t->free = more_pads()) == NONE) {
    count_one(&deep);
    return NONE;
  }
  t->free = pad[i].next;
  pml__arch_slot[i] = (struct pml_arch_slot){code_behind(address), sp};
  pad[i].back = address;
  pad[i].next = t->open;
  t->open = i;
  return i;
}

static void open_call(struct thread *t, const struct pml__intercept_function *f, uintptr_t *address, uintptr_t sp) {
  uint32_t i = take_pad(t, *address, sp);
  if (PML_UNLIKELY(i == NONE)) return;
  pad[i].region = f->region;
  raise_event(PML_STREAM_ENTER, f->region);
  *address = pml_arch_pad(i);
}

/* errno is the caller's: a function may be called to tell it. */
uintptr_t pml__intercept_enter(uint32_t function, uintptr_t *address, uintptr_t sp) {
  struct pml__intercept_function *block =
      __atomic_load_n(&pml__intercept_block[function / PML__INTERCEPT_BLOCK], __ATOMIC_RELAXED);
  const struct pml__intercept_function *f = &block[function % PML__INTERCEPT_BLOCK];
  struct thread *t = &self;
  if (!pml_stream_wanted(PML_STREAM_ENTER) || !__atomic_load_n(&pml__intercept_on, __ATOMIC_RELAXED)) return f->target;
  if (PML_UNLIKELY(is_busy(t, sp))) {
    count_one(&nested);
    return f->target;
  }
  int saved = errno;
  t->busy = (uintptr_t)__builtin_frame_address(0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  open_call(t, f, address, sp);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->busy = 0;
  errno = saved;
  return f->target;
}

/* Call @i is not the innermost: it leaves the list, and those left inside it with it. False: another thread began it.
 */
__attribute__((noinline, cold)) static bool take_out(struct thread *t, uint32_t i) {
  close_left(t, pml__arch_slot[i].sp - 1, 0);
  for (uint32_t *at = &t->open; *at != NONE; at = &pad[*at].next) {
    if (*at != i) continue;
    *at = pad[i].next;
    return true;
  }
  return false;
}

/* Call @i is over, and those that were left inside it. */
static inline bool take_call(struct thread *t, uint32_t i) {
  if (PML_UNLIKELY(t->open != i)) return take_out(t, i);
  t->open = pad[i].next;
  return true;
}

uintptr_t pml__intercept_leave(uintptr_t address, uintptr_t sp) {
  uint32_t i = (uint32_t)((address - (uintptr_t)pml__arch_pads) / PML_ARCH_PAD_BYTES);
  struct thread *t = &self;
  uintptr_t back = pad[i].back;
  if (PML_UNLIKELY(is_busy(t, sp))) return back; /* begun before; the pad is lost */
  int saved = errno;
  t->busy = (uintptr_t)__builtin_frame_address(0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  bool here = take_call(t, i);
  raise_event(PML_STREAM_LEAVE, pad[i].region);
  if (PML_LIKELY(here)) release(t, i);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->busy = 0;
  errno = saved;
  return back;
}

/* ---- calls of wrappers ---- */

bool pml__intercept_claim(uintptr_t sp) {
  struct thread *t = &self;
  if (PML_UNLIKELY(is_busy(t, sp))) {
    count_one(&nested);
    return false;
  }
  t->busy = (uintptr_t)__builtin_frame_address(0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return true;
}

void pml__intercept_let_go(void) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  self.busy = 0;
}

uint32_t pml__intercept_begin(struct pml_stream_event *e, uintptr_t sp) {
  struct thread *t = &self;
  uint32_t i = take_pad(t, 0, sp);
  if (PML_UNLIKELY(i == NONE)) return NONE;
  pad[i].region = e->region;
  e->ticks = pml_clock_ticks();
  pml_stream_raise(PML_STREAM_ENTER, e);
  return i;
}

void pml__intercept_end(uint32_t i, struct pml_stream_event *e) {
  struct thread *t = &self;
  bool here = take_call(t, i);
  e->ticks = pml_clock_ticks();
  pml_stream_raise(PML_STREAM_LEAVE, e);
  if (PML_LIKELY(here)) release(t, i);
}

/* ---- life ---- */

/* glibc's name for the address that the first thread's stack began at. */
extern void *__libc_stack_end;

int pml__intercept_calls_prepare(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool done;
  struct rlimit limit;
  pthread_mutex_lock(&lock);
  int err = done ? 0 : pthread_key_create(&key, thread_ends);
  if (err != 0 || done) {
    pthread_mutex_unlock(&lock);
    return err != 0 ? pml_fail(-err, "no key for the calls of threads") : 0;
  }
  uintptr_t bytes = STACK_GAP;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes) bytes = (uintptr_t)limit.rlim_cur;
  first_hi = (uintptr_t)__libc_stack_end;
  first_lo = first_hi - bytes;
  done = true;
  pthread_mutex_unlock(&lock);
  return 0;
}

void pml__intercept_calls_stats(struct pml_intercept_stats *s) {
  s->deep = __atomic_load_n(&deep, __ATOMIC_RELAXED);
  s->nested = __atomic_load_n(&nested, __ATOMIC_RELAXED);
}
