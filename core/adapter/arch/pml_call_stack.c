/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_call_stack.c - the supply of frames, and the machine stacks of a thread's recorded calls. */
#include "adapter/arch/pml_call.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#define STACKS 2048u /* in all threads, beside their own ones */
#define OF_THREAD_MAX 256u
#define LEARNT_MAX 16u
#define ABOVE 1024u /* the first call that is seen on a stack */
#define BELOW (16u * 1024)
#define NONE PML__CALL_NONE
#define DESCRIPTION_BYTES 2048u          /* at most the size of glibc's */
#define STACK_MAX ((uintptr_t)1 << 36)   /* limit for one thread */
#define THREAD_MAX ((uintptr_t)64 << 20) /* thread-local data behind the thread's description */
#define CHUNK 16u
#define MORE_FRAMES 229376u /* mapped when the frames of the table are used up */

bool pml__call_confined;

/* ---- frames ---- */

static uint32_t untouched = CHUNK; /* atomic: frames from here on were never used */
static uint64_t given_back;        /* atomic: lists that threads left: how often it changed << 32 | the first of one */
static uint32_t next_list[PML__CALL_FRAMES]; /* atomic: of a list's first frame, the first of the list behind it */

static struct more {
  struct pml__call_frame frame[MORE_FRAMES];
  uint32_t next_list[MORE_FRAMES];
} * more; /* atomic; NULL until then. Never unmapped */

/* Numbers of frames begin with the frames of the table. A thread with the number of another frame has seen `more`. */
static struct pml__call_frame *frame_at(uint32_t i) {
  if (PML_LIKELY(i < PML__CALL_FRAMES)) return &pml__call_table.frame[i];
  return &__atomic_load_n(&more, __ATOMIC_ACQUIRE)->frame[i - PML__CALL_FRAMES];
}

static uint32_t *next_of(uint32_t i) {
  if (PML_LIKELY(i < PML__CALL_FRAMES)) return &next_list[i];
  return &__atomic_load_n(&more, __ATOMIC_ACQUIRE)->next_list[i - PML__CALL_FRAMES];
}

static uint32_t number_of(const struct pml__call_frame *p) {
  uintptr_t i = ((uintptr_t)p - (uintptr_t)pml__call_table.frame) / sizeof *p;
  if (PML_LIKELY(i < PML__CALL_FRAMES)) return (uint32_t)i;
  return PML__CALL_FRAMES + (uint32_t)(p - __atomic_load_n(&more, __ATOMIC_ACQUIRE)->frame);
}

/* If several threads map them at once, one mapping stays. Fails within the limits that the program has set itself. */
static bool map_more(void) {
  struct more *none = NULL;
  if (__atomic_load_n(&more, __ATOMIC_ACQUIRE) != NULL) return true;
  if (__atomic_load_n(&pml__call_confined, __ATOMIC_RELAXED)) return false;
  int saved = errno;
  void *fresh = mmap(NULL, sizeof *more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved;
  if (fresh == MAP_FAILED) return false;
  if (!__atomic_compare_exchange_n(&more, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    (void)munmap(fresh, sizeof *more);
  return true;
}

/*
 * Free frames are given back and taken in lists of a chunk, so that threads which begin at once each find some.
 *
 * A thread that takes a list may read the successor of a frame that another thread has taken, used and given back
 * meanwhile: then the number of changes differs and the exchange fails.
 */
static void give_back_list(uint32_t head) {
  uint64_t seen = __atomic_load_n(&given_back, __ATOMIC_RELAXED), fresh;
  do {
    __atomic_store_n(next_of(head), (uint32_t)seen, __ATOMIC_RELAXED);
    fresh = ((seen >> 32) + 1) << 32 | head;
  } while (!__atomic_compare_exchange_n(&given_back, &seen, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void pml__call_give_back(struct pml__call_frame *head) {
  while (head != NULL) {
    struct pml__call_frame *last = head;
    for (uint32_t n = 1; n < CHUNK && last->inner != NULL; n++) last = last->inner;
    struct pml__call_frame *rest = last->inner;
    last->inner = NULL;
    give_back_list(number_of(head));
    head = rest;
  }
}

static uint32_t take_list(void) {
  uint64_t seen = __atomic_load_n(&given_back, __ATOMIC_ACQUIRE), fresh;
  do {
    if ((uint32_t)seen == 0) return 0;
    uint32_t next = __atomic_load_n(next_of((uint32_t)seen), __ATOMIC_RELAXED);
    fresh = ((seen >> 32) + 1) << 32 | next;
  } while (!__atomic_compare_exchange_n(&given_back, &seen, fresh, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
  return (uint32_t)seen;
}

__attribute__((noinline, cold)) struct pml__call_frame *pml__call_more_frames(void) {
  uint32_t head = take_list();
  if (head != 0) return frame_at(head);
  head = __atomic_load_n(&untouched, __ATOMIC_RELAXED);
  do
    if (head >= PML__CALL_FRAMES + MORE_FRAMES || (head >= PML__CALL_FRAMES && !map_more())) return NULL;
  while (!__atomic_compare_exchange_n(&untouched, &head, head + CHUNK, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  struct pml__call_frame *first = frame_at(head);
  for (uint32_t i = 0; i < CHUNK; i++) {
    first[i].known = PML__CALL_NO_SLOT;
    first[i].inner = i + 1 < CHUNK ? &first[i + 1] : NULL;
  }
  return first;
}

/* ---- stacks ---- */

/*
 * Find the stack of a thread other than the first one in the C library's description of the thread.
 * pthread_getattr_np() would call the program's allocator, which may be the function being called. The description
 * contains the beginning of the stack's block, its size and its guard's size side by side, and is itself at the block's
 * end, so no other words can be mistaken for these. If they are not found, the stack is unknown.
 */
bool pml__call_find_stack(struct pml__call_thread *t) {
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

static struct pml__call_stack table[STACKS];

static bool holds(const struct pml__call_stack *s, uintptr_t sp) {
  return sp - s->lo < s->hi - s->lo;
}

static bool is_idle(const struct pml__call_thread *t, const struct pml__call_stack *s) {
  const struct pml__call_frame *open = s == t->stack ? t->open : s->open;
  return !s->suspended && (open == NONE || open->outer == NONE);
}

/* The events of a thread that counts are read from one set, which the stack in use knows. */
void pml__call_switch_to(struct pml__call_thread *t, struct pml__call_stack *to) {
  struct pml__stream_thread *from = t->stream, *stream = to != NULL ? to->stream : pml__stream_self;
  if (to == t->stack) return;
  *(t->stack != NULL ? &t->stack->open : &t->own) = t->open;
  if (from->here && stream->here && from->counts.read != NULL) stream->counts = from->counts;
  pml__stream_resume(from);
  t->open = to != NULL ? to->open : t->own;
  t->from = to != NULL ? to->lo : t->lo;
  t->stream = stream;
  t->stack = to;
  pml__stream_suspend(stream);
}

static struct pml__call_stack *take_stack(void) {
  for (uint32_t i = 0; i < STACKS; i++) {
    bool free = false;
    if (!__atomic_load_n(&table[i].taken, __ATOMIC_RELAXED) &&
        __atomic_compare_exchange_n(&table[i].taken, &free, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return &table[i];
  }
  return NULL;
}

static struct pml__call_stack *new_stack(struct pml__call_thread *t) {
  uint32_t n = 0;
  for (struct pml__call_stack *s = t->others; s != NULL; s = s->next) n++;
  struct pml__stream_thread *stream = n < OF_THREAD_MAX ? pml__stream_extra_begin() : NULL;
  struct pml__call_stack *s = stream != NULL ? take_stack() : NULL;
  if (s == NULL && stream != NULL) pml__stream_extra_end(stream);
  if (s == NULL) return NULL;
  s->open = NONE;
  s->stream = stream;
  s->learnt = s->suspended = false;
  s->next = t->others;
  t->others = s;
  return s;
}

/* From @lo to @hi; one without open calls, or a new one. */
static bool begin_stack(struct pml__call_thread *t, uintptr_t lo, uintptr_t hi) {
  struct pml__call_stack *s = t->others;
  while (s != NULL && (s->learnt || !is_idle(t, s))) s = s->next;
  if (s == NULL) s = new_stack(t);
  if (s == NULL) return false;
  s->lo = lo;
  s->hi = hi;
  if (s != t->stack) {
    pml__call_switch_to(t, s);
  } else {
    t->from = lo;
  }
  if (t->open != NONE) t->open->sp = hi;
  return true;
}

/* Only the kernel can tell whether this is a handler's stack, because the thread's stack may be anywhere. */
static bool on_alternate(stack_t *on) {
  return !__atomic_load_n(&pml__call_confined, __ATOMIC_RELAXED) && sigaltstack(NULL, on) == 0 &&
         (on->ss_flags & SS_ONSTACK) != 0;
}

bool pml__call_is_elsewhere(const struct pml__call_thread *t, uintptr_t sp) {
  stack_t on;
  bool here = t->stack != NULL ? holds(t->stack, sp) : pml__call_own(t, sp);
  return !here && !on_alternate(&on);
}

bool pml__call_go_to(struct pml__call_thread *t, uintptr_t sp) {
  stack_t on;
  bool own = pml__call_own(t, sp);
  if (t->stack != NULL && holds(t->stack, sp)) return true;
  if (t->stack == NULL && own && (t->open == NONE || sp < t->open->sp)) return true;
  for (struct pml__call_stack *s = t->others; s != NULL; s = s->next) {
    if (!holds(s, sp) || (own && !s->learnt && is_idle(t, s))) continue;
    pml__call_switch_to(t, s);
    return true;
  }
  if (on_alternate(&on)) return begin_stack(t, (uintptr_t)on.ss_sp, (uintptr_t)on.ss_sp + on.ss_size);
  if (!own) return begin_stack(t, sp - BELOW, sp + ABOVE);
  pml__call_switch_to(t, NULL);
  return true;
}

void pml__call_learn(struct pml__call_thread *t) {
  uintptr_t by = t->unwound.by;
  uint32_t n = 0;
  for (struct pml__call_stack *s = t->others; s != NULL; s = s->next) {
    n += s->learnt;
    if (s->learnt && holds(s, by)) return;
  }
  if (by == 0 || !pml__call_own(t, by) || n == LEARNT_MAX) return;
  struct pml__call_stack *was = t->stack;
  if (!begin_stack(t, by - BELOW, by + ABOVE)) return;
  t->stack->learnt = true;
  pml__call_switch_to(t, was);
}

void pml__call_leave_stacks(struct pml__call_thread *t, void (*give_back)(struct pml__call_frame *open)) {
  pml__call_switch_to(t, NULL);
  while (t->others != NULL) {
    struct pml__call_stack *s = t->others;
    t->others = s->next;
    give_back(s->open);
    pml__stream_extra_end(s->stream);
    __atomic_store_n(&s->taken, false, __ATOMIC_RELEASE);
  }
}
