/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/recorder/pml_recorder_lane.c - per-thread chunks of a recorder: creation, adoption, reset, fork. */
#include "record/recorder/pml_recorder_lane.h"

#include "base/pml_error.h"
#include "base/pml_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 512 /* the smallest */
#define CELLS_LOG2_MAX 32
#define GROWTH 16 /* a chunk is at most a sixteenth of the elements so far */

static struct pml__recorder_cell no_cell; /* a cell of no epoch, for threads without cells */

PML_THREAD_LOCAL struct pml__recorder_cells pml__recorder_cells
    __attribute__((tls_model("initial-exec"))) = {&no_cell, 0};

static size_t count_of(const struct pml__recorder_cells *cells) {
  return cells->cell == &no_cell ? 0 : cells->mask / sizeof *cells->cell + 1;
}

static void *allocate(size_t bytes) {
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
void *(*pml__recorder_allocate)(size_t) = allocate;

/* --- slots: open recorders; opening, closing and threads that end take this lock, never a push ----------------------
 */

#define FIRST_BLOCK_LOG2 6 /* log2 of slots; each further block has as many as all previous blocks */
#define BLOCKS_MAX 26

/* It stays when its recorder closes: a reader may still be leaving it. */
struct slot {
  struct pml__lock reading;
  struct pml_recorder *recorder; /* atomic; NULL: free */
  uint32_t next_free;            /* as slots.free */
};

/* Each store leaves them as they may be, for a child that finds them so. */
static struct {
  struct pml__lock lock;
  struct slot *block[BLOCKS_MAX];
  uint32_t n;        /* that were ever taken */
  uint32_t free;     /* the number of the first free one plus 1; 0: all are taken */
  pthread_key_t key; /* its destructor gives a thread's lanes back */
  bool has_key;
  bool logs; /* PMLUA_REPORT is set */
  struct pml__recorder_cell
      *unused[CELLS_LOG2_MAX]; /* cells of ended threads, by size; the first cell has the address of the next block */
} slots;

/* The block of slot @i; @first: the slot that it begins with. */
static uint32_t block_of(uint32_t i, uint32_t *first) {
  uint32_t b = i >> FIRST_BLOCK_LOG2 == 0 ? 0 : 32 - (uint32_t)__builtin_clz(i >> FIRST_BLOCK_LOG2);
  *first = b == 0 ? 0 : 1u << (FIRST_BLOCK_LOG2 + b - 1);
  return b;
}

static struct slot *slot_at(uint32_t i) {
  uint32_t first, b = block_of(i, &first);
  return &slots.block[b][i - first];
}

static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

/* The look comes first: the watcher goes through the slots. */
static void lock_slots(void) {
  pml__process_look();
  pml__lock_take(&slots.lock);
}

void pml__recorder_read_begin(struct pml_recorder *r) {
  pml__process_look();
  pml__lock_take(&slot_at(r->slot)->reading);
}

void pml__recorder_read_end(struct pml_recorder *r) {
  pml__lock_leave(&slot_at(r->slot)->reading);
}

/* Relaxed: the number only has to be new; it reaches others with the recorder or the reset that it is stored in. */
uint64_t pml__recorder_new_epoch(void) {
  static uint64_t last;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Whether a cell is of the recorder that is in its slot now: epochs only grow, and a slot has one recorder at a time.
 */
static bool is_current(const struct pml_recorder *r, const struct pml__recorder_cell *cell) {
  return r != NULL && cell->tail != NULL && cell->epoch >= r->opened;
}

static struct pml__recorder_lane *lane_of(const struct pml__recorder_cell *cell) {
  return ((struct pml__recorder_mark *)cell->tail)->lane; /* the tail is its first member */
}

/* If streams are in a log, cells lie in memory that the kernel clears in every child, so its pushes find no cell, and
 * hence no stream of its parent. */
static void spare_cells(struct pml__recorder_cells cells) {
  size_t n = count_of(&cells);
  if (n == 0) return;
  struct pml__recorder_cell **list = &slots.unused[__builtin_ctzll(n)];
  cells.cell->tail = (struct pml__recorder_tail *)(void *)*list;
  *list = cells.cell;
}

static struct pml__recorder_cell *cleared_cells(size_t n) {
  lock_slots();
  struct pml__recorder_cell **list = &slots.unused[__builtin_ctzll(n)], *cell = *list;
  if (cell != NULL) *list = (struct pml__recorder_cell *)(void *)cell->tail;
  pml__lock_leave(&slots.lock);
  if (cell == NULL) return pml__process_memory(n * sizeof *cell);
  memset(cell, 0, n * sizeof *cell);
  return cell;
}

/* Room for @n, of which those that are there are copied. */
static struct pml__recorder_cell *more_cells(const struct pml__recorder_cells *cells, size_t n) {
  size_t had = count_of(cells);
  if (!slots.logs) return realloc(had > 0 ? cells->cell : NULL, n * sizeof *cells->cell);
  struct pml__recorder_cell *cell = cleared_cells(n);
  if (cell == NULL || had == 0) return cell;
  memcpy(cell, cells->cell, had * sizeof *cell);
  lock_slots();
  spare_cells(*cells);
  pml__lock_leave(&slots.lock);
  return cell;
}

/* Release: the next owner of the lane sees all that its last one did. */
static void give_back(const struct pml__recorder_cells *cells) {
  size_t n = count_of(cells);
  for (size_t i = 0; i < n && i < slots.n; i++)
    if (is_current(slot_at((uint32_t)i)->recorder, &cells->cell[i]))
      __atomic_store_n(&lane_of(&cells->cell[i])->owned, 0, __ATOMIC_RELEASE);
}

static void thread_ends(void *arg) {
  struct pml__recorder_cells mine = pml__recorder_cells;
  pml__recorder_cells = (struct pml__recorder_cells){&no_cell, 0}; /* a later destructor that pushes starts over */
  pml__recorder_cache_forget();
  lock_slots();
  give_back(&mine);
  if (slots.logs) spare_cells(mine);
  pml__lock_leave(&slots.lock);
  if (!slots.logs) free(arg);
}

/*
 * The quantiles of @r may be half updated by a reader that does not exist in the child. They are dropped without
 * freeing, and rebuilt by the next reader. No stream is pinned, because only that reader could have pinned it.
 */
static void abandon_quantiles(struct pml_recorder *r) {
  r->quantile = NULL;
  r->merged = NULL;
  r->epoch = 0;
  for (struct pml__recorder_lane *l = __atomic_load_n(&r->lanes, __ATOMIC_ACQUIRE); l != NULL;
       l = __atomic_load_n(&l->next, __ATOMIC_ACQUIRE)) {
    l->taken_epoch = 0;
    pml__recorder_unpin(l);
  }
}

/*
 * In the child, the streams of its thread are unchanged. The streams of the parent's other threads can be read up to
 * their count, but are never adopted, because their owner may have been anywhere.
 */
static void in_child(void) {
  for (uint32_t i = 0; i < slots.n; i++) {
    struct slot *s = slot_at(i);
    if (s->recorder != NULL && pml__lock_torn(&s->reading)) abandon_quantiles(s->recorder);
  }
  if (!slots.logs) return;
  pml__recorder_cells = (struct pml__recorder_cells){&no_cell, 0};
  memset(slots.unused, 0, sizeof slots.unused);
  pml__recorder_leave_log();
}

/* A failure here only costs memory: lanes of ended threads are not adopted then. */
static void prepare(void) {
  slots.logs = pml__log_asked();
  if (slots.logs) (void)pml__process_watch_before(pml__recorder_before_fork);
  slots.has_key = pthread_key_create(&slots.key, thread_ends) == 0;
  (void)pml__process_watch(in_child);
}

/* One more slot: -ENOMEM, or 0 with its number in *@i. */
static int add_slot(uint32_t *i) {
  uint32_t first, b = block_of(slots.n, &first);
  if (b == BLOCKS_MAX) return -ENOMEM;
  if (slots.block[b] == NULL) {
    size_t n = b == 0 ? 1u << FIRST_BLOCK_LOG2 : first;
    struct slot *block = calloc(n, sizeof *block);
    if (block == NULL) return -ENOMEM;
    __atomic_store_n(&slots.block[b], block, __ATOMIC_RELEASE);
  }
  *i = slots.n;
  __atomic_store_n(&slots.n, *i + 1, __ATOMIC_RELEASE);
  return 0;
}

static int find_slot(struct pml_recorder *r) {
  uint32_t i = slots.free - 1;
  if (slots.free == 0) {
    int err = add_slot(&i);
    if (err < 0) return err;
  } else {
    slots.free = slot_at(i)->next_free;
  }
  r->slot = i;
  __atomic_store_n(&slot_at(i)->recorder, r, __ATOMIC_RELEASE);
  return 0;
}

int pml__recorder_slot_take(struct pml_recorder *r) {
  pthread_once(&slots_once, prepare);
  lock_slots();
  int rc = find_slot(r);
  pml__lock_leave(&slots.lock);
  return rc;
}

void pml__recorder_slot_give(struct pml_recorder *r) {
  struct slot *s = slot_at(r->slot);
  lock_slots();
  s->recorder = NULL;
  s->next_free = slots.free;
  slots.free = r->slot + 1;
  pml__lock_leave(&slots.lock);
  pml__recorder_read_begin(r); /* the reads that are under way */
  pml__recorder_read_end(r);
}

/* --- pinning: a reader copies while its lane may want to start again ----------------------------------------------
 *
 * An owner whose stream is of an older epoch overwrites it. It first stores epoch 0 and then loads whether a reader is
 * inside; a reader first stores that it is inside and then loads the epoch. All four accesses are sequentially
 * consistent, so one of the two sees the other: either the reader leaves the stream alone, or the owner does and uses
 * another one. Neither side waits. The reader's unpin is a release and the owner's load an acquire, so the owner's
 * writes come after the reader's reads.
 */

bool pml__recorder_pin(struct pml__recorder_lane *lane, uint64_t epoch) {
  __atomic_store_n(&lane->pinned, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&lane->epoch, __ATOMIC_SEQ_CST) == epoch) return true;
  pml__recorder_unpin(lane);
  return false;
}

void pml__recorder_unpin(struct pml__recorder_lane *lane) {
  __atomic_store_n(&lane->pinned, 0, __ATOMIC_RELEASE);
}

/* Sequentially consistent for the readers' sake; in a log it is a plain store. */
static void set_epoch(struct pml__recorder_lane *lane, uint64_t epoch) {
  __atomic_store_n(&lane->epoch, epoch, __ATOMIC_SEQ_CST);
  __atomic_store_n(&lane->mark->epoch, epoch, __ATOMIC_RELEASE);
}

/* Empty @lane for @epoch, if no reader is inside. Chunks stay for the elements to come. */
static bool rewind_lane(struct pml__recorder_lane *lane, uint64_t epoch) {
  set_epoch(lane, 0);
  if (__atomic_load_n(&lane->pinned, __ATOMIC_SEQ_CST) != 0) return false;
  __atomic_store_n(&lane->mark->tail.at, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&lane->current, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&lane->added, 0, __ATOMIC_RELAXED);
  lane->mark->tail.end = NULL;
  lane->granted = 0;
  if (lane->sketch != NULL) pml_sketch_clear(lane->sketch);
  set_epoch(lane, epoch);
  return true;
}

static bool own(struct pml__recorder_lane *lane) {
  uint32_t none = 0;
  return __atomic_load_n(&lane->owned, __ATOMIC_RELAXED) == 0 &&
         __atomic_compare_exchange_n(&lane->owned, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void disown(struct pml__recorder_lane *lane) {
  __atomic_store_n(&lane->owned, 0, __ATOMIC_RELEASE);
}

static bool make_current(struct pml__recorder_lane *lane, uint64_t epoch) {
  return __atomic_load_n(&lane->epoch, __ATOMIC_RELAXED) == epoch || rewind_lane(lane, epoch);
}

static struct pml__recorder_lane *adopt(struct pml_recorder *r, uint64_t epoch) {
  struct pml__recorder_lane *l = __atomic_load_n(&r->lanes, __ATOMIC_ACQUIRE);
  for (; l != NULL; l = __atomic_load_n(&l->next, __ATOMIC_ACQUIRE)) {
    if (!own(l)) continue;
    if (make_current(l, epoch)) return l;
    disown(l);
  }
  return NULL;
}

/* Release, when it is linked: a reader that finds the lane finds it complete. */
static void append(struct pml_recorder *r, struct pml__recorder_lane *lane) {
  struct pml__recorder_lane **end = &r->lanes, *none = NULL;
  while (!__atomic_compare_exchange_n(end, &none, lane, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
    end = &none->next;
    none = NULL;
  }
}

static struct pml__recorder_lane *make(struct pml_recorder *r, uint64_t epoch) {
  struct pml__recorder_lane *lane = pml__recorder_allocate(sizeof *lane);
  if (lane == NULL) return NULL;
  memset(lane, 0, sizeof *lane);
  lane->owned = 1;
  lane->epoch = epoch;
  lane->mark = &lane->own;
  lane->own.lane = lane;
  if (r->options.keep == PML_KEEP_SKETCH &&
      pml_sketch_open(&lane->sketch, r->options.alpha, PML__RECORDER_BUCKETS) < 0) {
    free(lane);
    return NULL;
  }
  if (r->name != NULL && lane->sketch == NULL) pml__recorder_keep_lane(r, lane);
  append(r, lane);
  return lane;
}

/* The last one stays without a recorder. */
static bool grow_cells(struct pml__recorder_cells *cells, uint32_t slot) {
  size_t had = count_of(cells), n = had < 8 ? 8 : had;
  if (slot + (size_t)1 < had) return true;
  while (n <= slot + (size_t)1) n *= 2;
  struct pml__recorder_cell *cell = more_cells(cells, n);
  if (cell == NULL) return false;
  memset(cell + had, 0, (n - had) * sizeof *cell);
  *cells = (struct pml__recorder_cells){cell, (n - 1) * sizeof *cell};
  if (slots.has_key) (void)pthread_setspecific(slots.key, cell);
  return true;
}

struct pml__recorder_lane *pml__recorder_enter(struct pml_recorder *r, uint64_t epoch) {
  if (!grow_cells(&pml__recorder_cells, r->slot)) return NULL;
  struct pml__recorder_cell *cell = &pml__recorder_cells.cell[r->slot];
  if (is_current(r, cell)) {
    struct pml__recorder_lane *lane = lane_of(cell);
    if (cell->epoch == epoch) return lane;
    if (make_current(lane, epoch)) {
      cell->epoch = epoch;
      return lane;
    }
    *cell = (struct pml__recorder_cell){0, NULL};
    disown(lane);
  }
  struct pml__recorder_lane *lane = adopt(r, epoch);
  if (lane == NULL) lane = make(r, epoch);
  if (lane != NULL) *cell = (struct pml__recorder_cell){epoch, &lane->mark->tail};
  return lane;
}

void pml__recorder_free_lanes(struct pml_recorder *r) {
  for (struct pml__recorder_lane *l = r->lanes, *next; l != NULL; l = next) {
    next = l->next;
    for (struct pml__recorder_chunk *c = l->apart, *after; c != NULL; c = after) {
      after = c->next;
      free(c);
    }
    pml_sketch_close(l->sketch);
    free(l);
  }
  r->lanes = NULL;
}

/* --- room ----------------------------------------------------------------------------------------------------------
 */

void pml__recorder_dropped(struct pml_recorder *r) {
  struct pml__log_cell *cell = pml__recorder_cell(r);
  __atomic_fetch_add(&r->dropped, 1, __ATOMIC_RELAXED);
  if (cell != NULL) __atomic_fetch_add(&cell->more, 1, __ATOMIC_RELAXED);
}

static int drop(struct pml_recorder *r) {
  pml__recorder_dropped(r);
  return PML_EFULL;
}

static struct pml__recorder_chunk *new_chunk(struct pml__recorder_lane *lane, size_t element, uint64_t first) {
  uint64_t least = CHUNK_BYTES / element, capacity = 0;
  struct pml__recorder_chunk *c = pml__recorder_keep_chunk(lane, element, first, &capacity);
  bool apart = c == NULL;
  if (apart) {
    capacity = first / GROWTH;
    if (capacity < least) capacity = least;
    if (capacity == 0) capacity = 1;
    c = pml__recorder_allocate(sizeof *c + capacity * element);
  }
  if (c == NULL) return NULL;
  if (apart && lane->apart == NULL) lane->apart = c;
  c->next = NULL;
  c->first = first;
  c->capacity = capacity;
  c->bytes = sizeof *c + capacity * element;
  return c;
}

/*
 * The chunk for element @count: the next one of a lane that was rewound, or a new one. It is linked before the tail is
 * in it, and the tail moves with release, so that a reader that sees the tail there sees the chunk.
 */
static struct pml__recorder_chunk *next_chunk(struct pml__recorder_lane *lane, size_t element, uint64_t count) {
  struct pml__recorder_chunk **at = lane->current != NULL ? &lane->current->next : &lane->first;
  if (*at == NULL) *at = new_chunk(lane, element, count);
  if (*at == NULL) return NULL;
  __atomic_store_n(&lane->current, *at, __ATOMIC_RELEASE);
  __atomic_store_n(&lane->mark->tail.at, (char *)(*at)->data, __ATOMIC_RELEASE);
  return *at;
}

/* Between a chunk and the next one is a header, so that the end of one is not the beginning of another. */
static bool has(const struct pml__recorder_chunk *c, const char *at, size_t bytes) {
  return (uintptr_t)at - (uintptr_t)c->data <= c->capacity * bytes;
}

/* The chunk that is said to be the tail's is looked at first; if the owner is about to take another, the list has it.
 */
uint64_t pml__recorder_lane_count(const struct pml__recorder_lane *lane, size_t bytes) {
  if (lane->sketch != NULL) return __atomic_load_n(&lane->added, __ATOMIC_ACQUIRE);
  const char *at = __atomic_load_n(&lane->mark->tail.at, __ATOMIC_ACQUIRE);
  if (at == NULL) return 0;
  const struct pml__recorder_chunk *c = __atomic_load_n(&lane->current, __ATOMIC_ACQUIRE);
  if (c == NULL || !has(c, at, bytes))
    for (c = lane->first; !has(c, at, bytes);) c = c->next;
  return c->first + (uint64_t)(at - (const char *)c->data) / bytes;
}

/*
 * Reserve room under the cap, up to @want elements. The word is tagged with its epoch: the first request in a new epoch
 * counts from 0; a request for an old epoch takes no room of the new one, and no reader sees its elements. Relaxed:
 * only the word itself matters. The loop ends when no other thread changes the word first.
 */
static uint64_t grant(struct pml_recorder *r, uint64_t epoch, uint64_t want) {
  uint64_t word = __atomic_load_n(&r->granted, __ATOMIC_RELAXED), tag = epoch << PML__RECORDER_GRANT_BITS, got, used;
  do {
    int64_t newer = (int64_t)(tag - (word & ~PML__RECORDER_CAP_MAX)); /* tags wrap around */
    if (newer < 0) return want;
    used = newer > 0 ? 0 : word & PML__RECORDER_CAP_MAX;
    uint64_t left = r->options.cap - used, share = (left + GROWTH - 1) / GROWTH;
    got = want < share ? want : share;
    if (got == 0) return 0;
  } while (
      !__atomic_compare_exchange_n(&r->granted, &word, tag | (used + got), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return got;
}

int pml__recorder_more(struct pml_recorder *r, struct pml__recorder_lane *lane, uint64_t epoch) {
  size_t bytes = r->options.bytes;
  uint64_t count = pml__recorder_lane_count(lane, bytes);
  const struct pml__recorder_chunk *c = lane->current;
  uint64_t end = c != NULL ? c->first + c->capacity : 0;
  if (r->options.cap != 0 && count == lane->granted) {
    uint64_t got = grant(r, epoch, end > count ? end - count : 64);
    if (got == 0) return drop(r);
    lane->granted += got;
  }
  if (c == NULL || count == end) {
    c = next_chunk(lane, bytes, count);
    if (c == NULL) return drop(r);
    end = c->first + c->capacity;
  }
  uint64_t limit = r->options.cap != 0 && lane->granted < end ? lane->granted : end;
  lane->mark->tail.end = (char *)c->data + (limit - c->first) * bytes;
  return 0;
}
