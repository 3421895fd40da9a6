/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_call.c - enters and leaves of intercepted calls where all registers are saved:
 * what is rare.
 */
#include "adapter/arch/pml_call.h"
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
#define CHUNK 16u
#define DESCRIPTION_BYTES 2048u          /* of glibc's, or fewer */
#define STACK_MAX ((uintptr_t)1 << 36)   /* of one thread */
#define THREAD_MAX ((uintptr_t)64 << 20) /* behind where its description is: what is local to the thread */
#define NONE PML__CALL_NONE

struct pml_arch_slot pml__arch_slot[PML_ARCH_PADS];
struct pml__call_pad pml__call_pad[PML_ARCH_PADS];
PML_THREAD_LOCAL struct pml__call_thread pml__call_self __attribute__((tls_model("initial-exec")));

#define pad pml__call_pad

bool pml__call_plain;
static bool on, by_counter; /* atomic: calls are recorded; the clock is read by an instruction, and nothing else is */

static uint32_t untouched = CHUNK; /* atomic: pads from here on were never used */
static uint64_t given_back;        /* atomic: lists that threads left: how often it changed << 32 | the first of one */
static uint32_t next_list[PML_ARCH_PADS]; /* atomic: of a list's first pad, the first of the list behind it */
uint64_t pml__call_nested;                /* atomic */
const struct pml__call_counting *pml__call_counting;
static uint64_t deep; /* atomic */
static pthread_key_t key;
static uintptr_t first_lo, first_hi; /* the first thread's stack */

/* ---- pads ---- */

/*
 * Free pads are given back and taken in lists of a chunk, so that threads which begin at once each find some.
 *
 * A thread that takes a list may read what is behind a pad that another thread has taken, used and given back
 * meanwhile: then the number of changes is another one and the exchange fails.
 */
static void give_back_list(uint32_t head) {
  uint64_t seen = __atomic_load_n(&given_back, __ATOMIC_RELAXED), fresh;
  do {
    __atomic_store_n(&next_list[head], (uint32_t)seen, __ATOMIC_RELAXED);
    fresh = ((seen >> 32) + 1) << 32 | head;
  } while (!__atomic_compare_exchange_n(&given_back, &seen, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void give_back(uint32_t head) {
  while (head != NONE) {
    uint32_t last = head;
    for (uint32_t n = 1; n < CHUNK && pad[last].next != NONE; n++) last = pad[last].next;
    uint32_t rest = pad[last].next;
    pad[last].next = NONE;
    give_back_list(head);
    head = rest;
  }
}

static uint32_t take_list(void) {
  uint64_t seen = __atomic_load_n(&given_back, __ATOMIC_ACQUIRE), fresh;
  do {
    if ((uint32_t)seen == NONE) return NONE;
    uint32_t next = __atomic_load_n(&next_list[(uint32_t)seen], __ATOMIC_RELAXED);
    fresh = ((seen >> 32) + 1) << 32 | next;
  } while (!__atomic_compare_exchange_n(&given_back, &seen, fresh, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
  return (uint32_t)seen;
}

__attribute__((noinline, cold)) static uint32_t more_pads(void) {
  uint32_t head = take_list();
  if (head != NONE) return head;
  head = __atomic_load_n(&untouched, __ATOMIC_RELAXED);
  do
    if (head >= PML_ARCH_PADS) return NONE;
  while (!__atomic_compare_exchange_n(&untouched, &head, head + CHUNK, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  for (uint32_t i = head; i < head + CHUNK; i++) pad[i].next = i + 1 < head + CHUNK ? i + 1 : NONE;
  return head;
}

/* ---- threads ---- */

/* Its calls on its own stack are over with it; those on others may be gone on with by another thread. */
static void thread_ends(void *arg) {
  struct pml__call_thread *t = arg;
  t->busy = (uintptr_t)__builtin_frame_address(0);
  uint32_t open = t->open, free = t->free;
  t->open = t->free = NONE;
  while (open != NONE) {
    uint32_t i = open;
    open = pad[i].next;
    if (!pml__call_own(t, pml__arch_slot[i].sp)) continue;
    pad[i].next = free;
    free = i;
  }
  give_back(free);
  if (pml__call_counting != NULL) pml__call_counting->thread_ends();
  t->hi = 0;
  t->busy = 0;
}

/*
 * The stack of a thread that is not the first one, from the C library's description of the thread. Asked for it,
 * pthread_getattr_np() would call the program's allocator, which may be what is called just now. The description has
 * the beginning of the stack's block, its size and that of its guard side by side, and is itself at the block's end: so
 * no other words in it can be taken for them. Where none are found the stack is not known.
 */
static bool find_stack(struct pml__call_thread *t) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0), self = (uintptr_t)__builtin_thread_pointer();
#ifdef __x86_64__
  const uintptr_t *word = (const uintptr_t *)self; /* NOLINT(performance-no-int-to-ptr) */
#else
  const uintptr_t *word = (const uintptr_t *)(self - DESCRIPTION_BYTES); /* NOLINT(performance-no-int-to-ptr) */
#endif
  for (size_t i = 0; i + 2 < DESCRIPTION_BYTES / sizeof *word; i++) {
    uintptr_t lo = word[i], bytes = word[i + 1], guard = word[i + 2];
    if (bytes > STACK_MAX || guard >= bytes || guard % 4096 != 0 || here - lo >= bytes || self - lo >= bytes) continue;
    if (lo + bytes - self > THREAD_MAX) continue;
    t->lo = lo + guard;
    t->hi = lo + bytes;
    return true;
  }
  return false;
}

__attribute__((noinline, cold)) static void thread_begins(struct pml__call_thread *t) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  bool first = here - first_lo < first_hi - first_lo;
  if (first || !find_stack(t)) {
    t->lo = first ? first_lo : 0;
    t->hi = first ? first_hi : 1; /* unknown: no address is its own */
  }
  (void)pthread_setspecific(key, t);
}

void pml__call_confine(bool without_clock) {
  struct pml__call_thread *t = &pml__call_self;
  if (t->hi == 0) thread_begins(t);
  if (pml__call_counting != NULL) pml__call_counting->confine();
  (void)pml_thread_self();                     /* substrates ask for its id */
  if (without_clock) pml__call_set_busy(t, 1); /* on no stack: busy for good */
}

/* ---- events ---- */

static void make_event(struct pml__call_thread *t, enum pml_stream_kind kind, pml_region_t region) {
  const struct pml__call_counting *c = __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE);
  if (kind == PML_STREAM_ENTER) pml_stream_ready(region);
  if (PML_UNLIKELY(c != NULL) && kind == PML_STREAM_ENTER) c->read(&t->event);
  t->event.ticks = pml_clock_ticks();
  if (PML_UNLIKELY(c != NULL) && kind == PML_STREAM_LEAVE) c->read(&t->event);
  t->event.region = region;
}

/* Counts take the place of the values that @e has: an event has one list of them. */
static void add_counts(struct pml_stream_event *e) {
  const struct pml__call_counting *c = __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE);
  struct pml_stream_event counts = {0};
  if (PML_LIKELY(c == NULL)) return;
  c->read(&counts);
  if (counts.metrics == NULL) return;
  e->metrics = counts.metrics;
  e->values = counts.values;
}

static void raise_event(struct pml__call_thread *t, enum pml_stream_kind kind, pml_region_t region) {
  make_event(t, kind, region);
  pml_stream_raise(kind, &t->event);
}

/* The innermost calls, as far as they are on the own stack and below @sp, were left without a return. */
static void close_left(struct pml__call_thread *t, uintptr_t sp, uintptr_t address) {
  while (t->open != NONE && pml__call_own(t, sp)) {
    uint32_t i = t->open;
    uintptr_t at = pml__arch_slot[i].sp;
    /* At the same place: a tail call, which will return to the pad, or a later call. */
    if (!pml__call_own(t, at) || at > sp || (at == sp && address == pml_arch_pad_return(i))) return;
    t->open = pad[i].next;
    make_event(t, PML_STREAM_LEAVE, pad[i].region);
    pml__stream_raise_left(&t->event);
    pml__call_release(t, &pad[i], i);
  }
}

static void count_one(uint64_t *counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Take the lists; false: they are in use. A frame that left them by a longjmp was in the stream, too. */
static bool take_lists(struct pml__call_thread *t, uintptr_t sp) {
  if (PML_UNLIKELY(pml__call_is_busy(t, sp))) return false;
  if (PML_UNLIKELY(t->busy != 0)) pml__stream_abandon();
  pml__call_set_busy(t, sp - PML__CALL_BELOW);
  return true;
}

/* Before a call begins. False: too many are under way. */
static bool make_ready(struct pml__call_thread *t, uintptr_t back, uintptr_t sp) {
  if (PML_UNLIKELY(t->hi == 0)) thread_begins(t);
  close_left(t, sp, back);
  if (PML_LIKELY(t->free != NONE) || (t->free = more_pads()) != NONE) return true;
  count_one(&deep);
  return false;
}

static uint32_t open_call(struct pml__call_thread *t, pml_region_t region, uintptr_t back, uintptr_t sp) {
  if (!make_ready(t, back, sp)) return NONE;
  uint32_t i = pml__call_open(t, t->free, t->open, region, back, sp);
  raise_event(t, PML_STREAM_ENTER, region);
  return i;
}

/* errno is the caller's: a function may be called to tell it. */
uintptr_t pml__call_enter_full(const struct pml__call_function *f, uintptr_t back, uintptr_t sp, uint32_t i) {
  struct pml__call_thread *t = &pml__call_self;
  int saved = errno;
  if (i != NONE) {
    if (pml__stream_ready_in_pass(t->event.region)) t->event.ticks = pml_clock_ticks();
    pml__stream_go_on(PML_STREAM_ENTER, &t->event);
  } else if (!__atomic_load_n(&on, __ATOMIC_RELAXED)) {
    return 0;
  } else if (take_lists(t, sp)) {
    i = open_call(t, f->region, back, sp);
  } else {
    count_one(&pml__call_nested);
    return 0;
  }
  pml__call_end_busy(t);
  errno = saved;
  return i != NONE ? pml_arch_pad(i) : 0;
}

void pml__call_end_inside(uint32_t i) {
  struct pml__call_thread *t = &pml__call_self;
  if (PML_UNLIKELY(t->open != i)) close_left(t, pml__arch_slot[i].sp - 1, 0);
}

/* Call @i is not the innermost: it leaves the list, and those left inside it with it. False: another thread began it.
 */
__attribute__((noinline, cold)) static bool take_out(struct pml__call_thread *t, uint32_t i) {
  close_left(t, pml__arch_slot[i].sp - 1, 0);
  for (uint32_t *at = &t->open; *at != NONE; at = &pad[*at].next) {
    if (*at != i) continue;
    *at = pad[i].next;
    return true;
  }
  return false;
}

/* Call @i is over, and those that were left inside it. */
static bool take_call(struct pml__call_thread *t, uint32_t i) {
  if (PML_UNLIKELY(t->open != i)) return take_out(t, i);
  t->open = pad[i].next;
  return true;
}

uintptr_t pml__call_leave_full(uintptr_t at, uintptr_t sp, uint32_t begun) {
  uint32_t i = pml_arch_pad_of(at);
  struct pml__call_thread *t = &pml__call_self;
  uintptr_t back = pad[i].back;
  bool here = true;
  int saved = errno;
  if (begun == PML__CALL_BEGUN) {
    pml__stream_go_on(PML_STREAM_LEAVE, &t->event);
    here = false; /* the pad is free already */
  } else {
    if (!take_lists(t, sp)) return back; /* begun before; the pad is lost */
    here = take_call(t, i);
    raise_event(t, PML_STREAM_LEAVE, pad[i].region);
  }
  if (here) pml__call_release(t, &pad[i], i);
  pml__call_end_busy(t);
  errno = saved;
  return back;
}

/* ---- calls of wrappers ---- */

bool pml__call_claim(uintptr_t sp) {
  bool mine = take_lists(&pml__call_self, sp);
  if (PML_UNLIKELY(!mine)) count_one(&pml__call_nested);
  return mine;
}

void pml__call_let_go(void) {
  pml__call_end_busy(&pml__call_self);
}

uint32_t pml__call_begin(struct pml_stream_event *e, uintptr_t sp) {
  struct pml__call_thread *t = &pml__call_self;
  if (PML_UNLIKELY(!make_ready(t, 0, sp))) return NONE;
  uint32_t i = pml__call_open(t, t->free, t->open, e->region, 0, sp);
  pml_stream_ready(e->region);
  add_counts(e);
  e->ticks = pml_clock_ticks();
  pml_stream_raise(PML_STREAM_ENTER, e);
  return i;
}

void pml__call_end(uint32_t i, struct pml_stream_event *e) {
  struct pml__call_thread *t = &pml__call_self;
  bool here = take_call(t, i);
  e->ticks = pml_clock_ticks();
  add_counts(e);
  pml_stream_raise(PML_STREAM_LEAVE, e);
  if (PML_LIKELY(here)) pml__call_release(t, &pad[i], i);
}

/* ---- life ---- */

/* glibc's name for the address that the first thread's stack began at. */
extern void *__libc_stack_end;

static struct pml__lock life; /* guards whether calls are plain */

static void choose_plain(void) {
  __atomic_store_n(&pml__call_plain,
                   __atomic_load_n(&on, __ATOMIC_RELAXED) && __atomic_load_n(&by_counter, __ATOMIC_RELAXED),
                   __ATOMIC_RELEASE);
}

void pml__call_switch(bool to) {
  pml__lock_take(&life);
  __atomic_store_n(&on, to, __ATOMIC_RELEASE);
  choose_plain();
  pml__lock_leave(&life);
}

/* What reads counters needs all registers. */
static void choose_clock(void) {
  bool is = pml__clock.kind == PML_CLOCK_COUNTER && pml__call_counting == NULL;
  __atomic_store_n(&by_counter, is, __ATOMIC_RELAXED);
  choose_plain();
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
  pml__arch_slot[NONE].sp = UINTPTR_MAX; /* every call is inside */
  (void)pml_clock_init();                /* what it says is of PMLUA_CLOCK; there is a clock in any case */
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
