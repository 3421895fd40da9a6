/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section_thread.c - threads' statistics: created on demand, retained at thread exit, dropped
 * by fork.
 */
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENDED_MAX 256u
#define FIRST_FRAMES 16u
#define FIRST_BLOCKS 16u
#define FIRST_KNOWN 16u
#define PIECES 16u /* that are allocated at once */
#define LINE 64u   /* of the cache */

/* Used for open calls of a thread that was cast off, and for unknown sections: no mark and no epoch is 0. */
static struct {
  struct pml__section_stat stat;
  char others[PML__SECTION_BLOCK_BYTES - sizeof(struct pml__section_stat)];
  struct pml__section_own own;
} nowhere;

/* The state of a thread without statistics: an empty stack, and no block. Never written. */
static struct pml_section none;
static struct pml__section_frame bottom = {.section = &none, .stat = &nowhere.stat};
struct pml__section_labels pml__section_no_labels;
struct pml__section_thread pml__section_nobody = {.frame = &bottom};
PML_THREAD_LOCAL struct pml__section_mine pml__section_mine
    __attribute__((tls_model("initial-exec"))) = {.top = &bottom, .last = &bottom, .labels = &pml__section_no_labels};

PML_THREAD_LOCAL struct pml__section_thread *pml__section_self __attribute__((tls_model("initial-exec"))) =
    &pml__section_nobody;

static struct pml__section_thread *threads; /* newest first; those that ended are among them */
static struct pml__section_thread *earlier; /* the sum of those that ended and are not kept one by one */
static uint32_t nended;

static pthread_key_t key;
static bool has_key;

void pml_section_reset(void) {
  pml__section_lock_take();
  pml__section_renew();
  pml__section_log_reset(pml__section_epoch());
  pml__section_lock_leave();
}

struct pml__section_thread *pml__section_threads(void) {
  return threads;
}

/* ---- pieces of memory, of which pages are taken when they are written to ---- */

union piece {
  union piece *next; /* next piece of those given back */
  char bytes[PML__SECTION_PIECE_BYTES];
};

static struct pml__lock pieces_lock; /* the rest; taken last */
static union piece *fresh, *end, *given_back;

/* So many bytes are the kernel's own zeros in glibc, which leaves them untouched. */
static bool take_more(void) {
  char *at = calloc(1, PIECES * sizeof(union piece) + LINE);
  if (at == NULL) return false;
  fresh = (union piece *)(void *)(at + LINE - (uintptr_t)at % LINE);
  end = fresh + PIECES;
  return true; /* cppcheck-suppress memleak ; @fresh has it */
}

void *pml__section_piece(void) {
  pml__lock_take(&pieces_lock);
  union piece *piece = given_back;
  if (piece != NULL) {
    given_back = piece->next;
    memset(piece, 0, sizeof *piece);
  } else if (fresh != end || take_more()) {
    piece = fresh++;
  }
  pml__lock_leave(&pieces_lock);
  return piece;
}

void pml__section_give_back(void *bytes) {
  union piece *piece = bytes;
  if (piece == NULL) return;
  pml__lock_take(&pieces_lock);
  piece->next = given_back;
  given_back = piece;
  pml__lock_leave(&pieces_lock);
}

/* If a thread of the parent was changing the pieces, the child loses the remaining ones. */
void pml__section_pages_in_child(void) {
  if (pml__lock_torn(&pieces_lock)) fresh = end = given_back = NULL;
}

/* ---- a thread's end ---- */

static struct pml__section_stat *stat_of(struct pml__section_thread *t, const struct pml_section *s, bool locked);

static void free_thread(struct pml__section_thread *t) {
  for (uint32_t b = 0; b < t->nstats / PML__SECTION_BLOCK; b++) pml__section_free_block(t->block[b]);
  free(t->block);
  free(t->first);
  free(t->rows);
  free(t);
}

static void unlink_thread(const struct pml__section_thread *t) {
  struct pml__section_thread **at = &threads;
  while (*at != NULL && *at != t) at = &(*at)->next;
  if (*at != NULL) *at = t->next;
}

/* Add @from, which stands still, to @to, and empty it. False: no memory for the values. Who reads the log of a process
 * that ended in here finds an update that was cut short. */
static bool add(const struct pml_section *s, struct pml__section_stat *to, struct pml__section_stat *from) {
  struct pml__section_own *own = pml__section_own(from);
  pml__section_begin_update(to);
  bool added = own->value == NULL || pml__section_add_values(s, to, NULL, own->value);
  if (added) {
    pml__section_add(to, from);
    PML__SECTION_SET(from->epoch, 0);
    own->epoch = 0;
  }
  pml__section_end_update(to);
  return added;
}

/* Add all of @t to the sum; false: no memory, and @t is retained unchanged. */
static bool fold(struct pml__section_thread *t) {
  if (earlier == NULL) {
    earlier = calloc(1, sizeof *earlier);
    if (earlier == NULL) return false;
    earlier->ended = true;
    earlier->next = threads;
    threads = earlier;
  }
  for (uint32_t i = 0; i < t->nstats; i++) {
    struct pml__section_stat *from = pml__section_stat_at(t, i);
    if (from == NULL || pml__section_own(from)->epoch == 0) continue;
    const struct pml_section *s = pml__section_at(i);
    if (pml__section_own(from)->epoch != pml__section_mark(s, pml__section_epoch())) continue;
    struct pml__section_stat *to = stat_of(earlier, s, true);
    if (to == NULL || !add(s, to, from)) return false;
  }
  return true;
}

static void abandon_open(struct pml__section_thread *t) {
  for (; pml__section_mine.top > t->frame; pml__section_mine.top--) {
    struct pml__section_stat *stat = pml__section_stat_of(t, pml__section_mine.top->section);
    if (stat == NULL) continue;
    pml__section_begin_update(stat);
    PML__SECTION_SET(stat->misuse[PML_SECTION_ABANDONED], stat->misuse[PML_SECTION_ABANDONED] + 1);
    PML__SECTION_SET(stat->depth, 0);
    pml__section_end_update(stat);
  }
}

static void thread_ends(void *arg) {
  struct pml__section_thread *t = arg;
  pml__process_look();                      /* while the thread is known */
  pml__section_self = &pml__section_nobody; /* a later destructor that uses sections starts over */
  abandon_open(t);
  pml__section_close_sets(t);
  free(pml__section_mine.known);
  if (pml__section_mine.labels != &pml__section_no_labels) pml__section_give_back(pml__section_mine.labels);
  pml__section_mine = (struct pml__section_mine){.top = &bottom, .last = &bottom, .labels = &pml__section_no_labels};
  pml__section_lock_take();
  t->ended = true;
  if (nended < ENDED_MAX) {
    nended++;
  } else if (fold(t)) {
    unlink_thread(t);
    free_thread(t);
  }
  pml__section_lock_leave();
}

/* ---- forks ---- */

/*
 * The child starts from zero with its only thread. Open sections begin now, because the time before belongs to the
 * parent, as do the counters. The events of these calls are unread: the child opens a set at its next start, not in a
 * fork handler. The memory of other threads is left alone, and the lists are not read, because those threads may have
 * been changing them, also within the lock. The thread's sums may be in its parent's log, so it has none until it next
 * starts or stops a section.
 */
static void cast_off(struct pml__section_thread *t) {
  for (uint32_t b = 0; b < t->nstats / PML__SECTION_BLOCK; b++) t->block[b] = NULL;
  for (uint32_t i = 0; i < pml__section_mine.nknown; i++) pml__section_mine.known[i] = &nowhere.stat;
  for (struct pml__section_frame *f = t->frame + 1; f <= pml__section_mine.top; f++) f->stat = &nowhere.stat;
  t->adrift = true;
}

static void in_child(void) {
  struct pml__section_thread *t = pml__section_self;
  threads = earlier = NULL;
  nended = 0;
  pml__section_renew();
  pml__section_log_forget();
  if (t != &pml__section_nobody) {
    cast_off(t);
    t->next = NULL;
    threads = t;
    t->thread = pml_thread_id();
    t->stale_sets = true;
    uint64_t now = pml_clock_ticks();
    for (struct pml__section_frame *f = t->frame + 1; f <= pml__section_mine.top; f++) {
      f->ticks = now;
      f->child = 0;
      f->row = NULL;
    }
  }
}

/* After pml_thread's own watcher, which gives the child's thread its new id. */
void pml__section_prepare(void) {
  (void)pml_thread_self();
  has_key = pthread_key_create(&key, thread_ends) == 0;
  (void)pml__process_watch(in_child);
}

/* ---- making and growing ---- */

/* Calls that were open at the fork get sums; false: no memory. */
static bool settle(struct pml__section_thread *t) {
  for (struct pml__section_frame *f = t->frame + 1; t->adrift && f <= pml__section_mine.top; f++) {
    if (f->stat != &nowhere.stat) continue;
    struct pml__section_stat *stat = pml__section_stat_of(t, f->section);
    if (stat == NULL) return false;
    f->stat = stat;
    PML__SECTION_SET(stat->depth, stat->depth + 1);
  }
  t->adrift = false;
  return true;
}

void pml__section_settle(void) {
  if (pml__section_self != &pml__section_nobody) (void)pml__section_thread();
}

struct pml__section_thread *pml__section_thread(void) {
  pml__process_look();
  struct pml__section_thread *t = pml__section_self;
  if (t != &pml__section_nobody) return settle(t) ? t : NULL;
  t = calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  t->first = t->frame = calloc(FIRST_FRAMES, sizeof *t->frame);
  if (t->frame == NULL) {
    free(t);
    return NULL;
  }
  *t->frame = bottom;
  pml__section_mine.top = t->frame;
  pml__section_mine.last = t->frame + FIRST_FRAMES - 1;
  t->thread = pml_thread_self()->id;
  /* Without its destructor what the thread leaves open would not be told, and its event sets stay open. */
  if (has_key) (void)pthread_setspecific(key, t);
  pml__section_lock_take();
  t->next = threads;
  threads = t;
  pml__section_lock_leave();
  pml__section_self = t;
  return t;
}

/* Rows for @n frames, the first @have of which keep those that they have. */
static bool make_rows(struct pml__section_thread *t, size_t have, size_t n) {
  uint64_t *rows = malloc(n * PML_SECTION_EVENTS_MAX * sizeof *rows);
  if (rows == NULL) return false;
  if (t->rows != NULL) memcpy(rows, t->rows, have * PML_SECTION_EVENTS_MAX * sizeof *rows);
  for (size_t i = 0; i < have; i++) {
    struct pml__section_frame *f = &t->first[i];
    f->room = rows + (t->rows != NULL ? (size_t)(f->room - t->rows) : i * PML_SECTION_EVENTS_MAX);
    if (f->row != NULL) f->row = f->room;
  }
  free(t->rows);
  t->rows = rows;
  return true;
}

/* Half of the places or more are before the oldest: frames move there, and others' rows come up. */
static void slide(struct pml__section_thread *t) {
  struct pml__section_frame *to = t->first;
  for (struct pml__section_frame *f = t->frame; f <= pml__section_mine.top; f++, to++) {
    struct pml__section_frame gone = *to;
    *to = *f;
    *f = gone;
  }
  t->frame = t->first;
  pml__section_mine.top = to - 1;
}

static bool grow(struct pml__section_thread *t, size_t more) {
  size_t room = (size_t)(pml__section_mine.last - t->first) + 1, below = (size_t)(t->frame - t->first),
         top = (size_t)(pml__section_mine.top - t->first);
  struct pml__section_frame *first = realloc(t->first, more * sizeof *first);
  if (first == NULL) return false;
  memset(first + room, 0, (more - room) * sizeof *first);
  t->first = first;
  t->frame = first + below;
  pml__section_mine.top = first + top;
  pml__section_mine.last = first + more - 1;
  for (size_t i = room; t->rows != NULL && i < more; i++) first[i].room = t->rows + i * PML_SECTION_EVENTS_MAX;
  return true;
}

int pml__section_deepen(struct pml__section_thread *t, bool rows) {
  size_t room = (size_t)(pml__section_mine.last - t->first) + 1, below = (size_t)(t->frame - t->first);
  if ((size_t)(pml__section_mine.top - t->frame) >= PML_SECTION_DEPTH_MAX) return PML_EFULL;
  bool full = pml__section_mine.top == pml__section_mine.last, slides = full && below >= room / 2;
  size_t more = full && !slides ? room * 2 : room;
  if ((rows || t->rows != NULL) && (t->rows == NULL || more > room) && !make_rows(t, room, more)) return -ENOMEM;
  if (more > room && !grow(t, more)) return -ENOMEM;
  if (slides) slide(t);
  return 0;
}

/* Room for block @b. Under the lock, which all readers of other threads' arrays hold. */
static bool widen(struct pml__section_thread *t, uint32_t b) {
  uint32_t have = t->nstats / PML__SECTION_BLOCK, want = have == 0 ? FIRST_BLOCKS : have;
  if (b < have) return true;
  while (want <= b) want *= 2;
  struct pml__section_stat **block = calloc(want, sizeof(struct pml__section_stat *));
  if (block == NULL) return false;
  if (have > 0) memcpy(block, t->block, have * sizeof *block);
  free(t->block);
  t->block = block;
  t->nstats = want * PML__SECTION_BLOCK;
  return true;
}

struct pml__section_stat *pml__section_stat_at(struct pml__section_thread *t, uint32_t index) {
  if (index >= t->nstats) return NULL;
  struct pml__section_stat *block = PML__SECTION_GET(t->block[index / PML__SECTION_BLOCK]);
  return block != NULL ? &block[index % PML__SECTION_BLOCK] : NULL;
}

/* Clear statistics from before the last reset; calls under way stay. */
static void renew(const struct pml_section *s, struct pml__section_stat *stat) {
  struct pml__section_own *own = pml__section_own(stat);
  uint32_t now = pml__section_epoch(), mark = pml__section_mark(s, now);
  if (own->epoch == mark) return;
  double zero = 0;
  pml__section_begin_update(stat);
  PML__SECTION_SET(stat->calls.count, 0);
  PML__SECTION_SET(stat->calls.sum, 0);
  PML__SECTION_SET(stat->self, 0);
  PML__SECTION_SET(stat->calls.min, UINT64_MAX);
  PML__SECTION_SET(stat->calls.max, 0);
  PML__SECTION_SET(stat->calls.square[0], 0);
  PML__SECTION_SET(stat->calls.square[1], 0);
  __atomic_store(&stat->work, &zero, __ATOMIC_RELEASE);
  PML__SECTION_SET(stat->iterations, 0);
  PML__SECTION_SET(stat->recurred, 0);
  for (uint32_t i = 0; own->value != NULL && i < s->list->metrics->n; i++) PML__SECTION_SET(own->value[i], 0);
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) PML__SECTION_SET(stat->misuse[m], 0);
  PML__SECTION_SET(stat->epoch, now);
  pml__section_end_update(stat);
  own->set = NULL;
  own->epoch = mark;
}

/* Under the lock. */
static bool make_block(struct pml__section_thread *t, uint32_t b) {
  if (!widen(t, b)) return false;
  uint64_t owner = t == earlier ? 0 : t->thread;
  struct pml__section_stat *block = pml__section_block(owner, b * PML__SECTION_BLOCK);
  if (block == NULL) return false;
  PML__SECTION_SET(t->block[b], block);
  return true;
}

/* @locked: the caller has the lock. */
static struct pml__section_stat *stat_of(struct pml__section_thread *t, const struct pml_section *s, bool locked) {
  struct pml__section_stat *stat = pml__section_stat_at(t, s->index);
  if (stat == NULL) {
    if (!locked) pml__section_lock_take();
    bool made = make_block(t, s->index / PML__SECTION_BLOCK);
    if (!locked) pml__section_lock_leave();
    if (!locked) pml__section_log_notes();
    if (!made) return NULL;
    stat = pml__section_stat_at(t, s->index);
  }
  renew(s, stat);
  return stat;
}

/* Without memory it stays unknown, which only takes longer. */
static void know(uint32_t index, struct pml__section_stat *stat) {
  if (pml__clock.kind != PML_CLOCK_COUNTER) return;
  if (index >= pml__section_mine.nknown) {
    uint32_t n = pml__section_mine.nknown == 0 ? FIRST_KNOWN : pml__section_mine.nknown;
    while (n <= index) n *= 2;
    struct pml__section_stat **known = realloc(pml__section_mine.known, n * sizeof *known);
    if (known == NULL) return;
    for (uint32_t i = pml__section_mine.nknown; i < n; i++) known[i] = &nowhere.stat;
    pml__section_mine.known = known;
    pml__section_mine.nknown = n;
  }
  pml__section_mine.known[index] = stat;
}

struct pml__section_stat *pml__section_stat_of(struct pml__section_thread *t, const struct pml_section *s) {
  struct pml__section_stat *stat = stat_of(t, s, false);
  if (stat != NULL) know(s->index, stat);
  return stat;
}
