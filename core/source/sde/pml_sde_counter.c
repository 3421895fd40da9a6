/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_counter.c - created counters: per-thread shards, summed by readers. */
#include "source/sde/pml_sde_private.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "record/log/pml_log_own.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * A lane is a thread's number, smallest first, given back when the thread ends: there are never more lanes than there
 * were threads at once. Shards are allocated in blocks that double, so that a counter that one thread uses has one.
 */
#define BLOCKS PML__SDE_BLOCKS
#define LANES ((1u << BLOCKS) - 1u)
#define NO_LANE BLOCKS /* block number of a thread beyond the last lane: it adds to the rest */

/* Data for slow paths only: @own is the first block if it is not in a log. */
struct shards {
  struct pml__sde_shard own;
  struct pml__sde_shard *_Atomic block[BLOCKS];
  _Atomic uint32_t blocks; /* 1: only the first */
  struct pml__sde_overflow *_Atomic overflow;
  struct pml_sde_counter *counter;
  struct pml__sde_fast *also;   /* atomic: a handle's copy of the block addresses, or NULL */
  struct pml_sde_counter *kept; /* next counter retained for its name */
  /* For a counter in a log. Under the logged counters' lock. */
  char *name; /* NULL: it is not */
  uint32_t number;
  unsigned mode;
  atomic_bool placed; /* it was looked for in this process's log */
  bool gone;          /* freed, but for those who read the log */
  int64_t inherited;  /* from the process that forked */
  int64_t at_fork;
  struct shards *next; /* next in the list of logged counters, which stay */
};

struct pml_sde_counter {
  struct pml__sde_counter_head head;
  struct shards *shards; /* NULL: it was cleared in a new child, before pml__process_look() */
};

static struct {
  struct pml__lock lock;
  struct shards *all; /* atomic */
} logged;

static struct shards *shards_of(struct pml_sde_counter *c) {
  if (PML_UNLIKELY(c->shards == NULL)) pml__process_look();
  return c->shards;
}

PML_THREAD_LOCAL struct pml__sde_lane pml__sde_lane __attribute__((tls_model("initial-exec"))) = {0, PML__SDE_HIGH};

/* Each store under the lock leaves the lanes as they may be: a child takes over what it finds. */
static struct pml__lock lanes_lock;
static uint64_t lanes_taken[(LANES + 63) / 64];
static pthread_key_t lane_key;

/*
 * The lock orders the last store of an ended thread before the first load of the thread that reuses its shards, which
 * continues from their values.
 */
static void lane_return(void *number_plus) {
  uintptr_t number = (uintptr_t)number_plus - 1;
  pml__lock_take(&lanes_lock);
  lanes_taken[number / 64] &= ~(UINT64_C(1) << number % 64);
  pml__lock_leave(&lanes_lock);
  pml__sde_lane =
      (struct pml__sde_lane){NO_LANE + 1, PML__SDE_HIGH}; /* destructors that run later still count: in the rest */
}

static void prepare(void) {
  (void)pthread_key_create(&lane_key, lane_return);
}

static void lane_take(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  pml__sde_lane = (struct pml__sde_lane){NO_LANE + 1, PML__SDE_HIGH};
  pml__lock_take(&lanes_lock);
  for (uint32_t w = 0; w < sizeof lanes_taken / sizeof lanes_taken[0]; w++) {
    if (lanes_taken[w] == UINT64_MAX) continue;
    uint32_t number = w * 64 + (uint32_t)__builtin_ctzll(~lanes_taken[w]);
    if (number >= LANES) break;
    if (pthread_setspecific(lane_key, (void *)(uintptr_t)(number + 1)) != 0) break; /* it would never be given back */
    lanes_taken[w] |= UINT64_C(1) << number % 64;
    uint32_t block = 31u - (uint32_t)__builtin_clz(number + 1);
    uint64_t at = number + 1 - (1u << block);
    pml__sde_lane = (struct pml__sde_lane){block + 1, at * sizeof(struct pml__sde_shard) + PML__SDE_HIGH};
    break;
  }
  pml__lock_leave(&lanes_lock);
}

/* ---- blocks of shards ---- */

static struct pml__sde_shard *new_block(const struct shards *s, uint32_t k) {
  size_t bytes = sizeof(struct pml__sde_shard) << k;
  struct pml__sde_shard *block =
      s->name != NULL ? (struct pml__sde_shard *)(void *)pml__log_cells(1u << k, PML__LOG_CELL_SHARE, s->number) : NULL;
  if (block != NULL) return block;
  block = aligned_alloc(_Alignof(struct pml__sde_shard), bytes);
  if (block != NULL) memset(block, 0, bytes);
  return block;
}

/*
 * Block @k of @s, allocated by the first thread that needs it; NULL: no memory. The number of blocks is raised before
 * the block is there, not after: who finds the block and counts in it may be read, or forked, while its maker is still
 * here.
 */
static struct pml__sde_shard *block_make(struct shards *s, uint32_t k) {
  struct pml__sde_shard *fresh = new_block(s, k), *there = NULL;
  if (fresh == NULL) return NULL;
  uint32_t blocks = atomic_load_explicit(&s->blocks, memory_order_relaxed);
  while (blocks <= k && !atomic_compare_exchange_weak_explicit(&s->blocks, &blocks, k + 1, memory_order_relaxed,
                                                               memory_order_relaxed)) {
  }
  atomic_store_explicit(&s->counter->head.single, NULL, memory_order_relaxed);
  if (!atomic_compare_exchange_strong_explicit(&s->block[k], &there, fresh, memory_order_acq_rel,
                                               memory_order_acquire)) {
    if (s->name == NULL) free(fresh);
    fresh = there;
  }
  return fresh;
}

/* ---- in a log ---- */

/* The first block is from now on @first, which has no counts yet. */
static void set_first(struct shards *s, struct pml__sde_shard *first) {
  atomic_store_explicit(&s->block[0], first, memory_order_release);
  atomic_store_explicit(&s->counter->head.single, first, memory_order_release);
}

/* Place the counter in this process's log, or, without room there, in private memory. */
static void place(struct shards *s) {
  pml__lock_take(&logged.lock);
  struct pml__log *log = atomic_load_explicit(&s->placed, memory_order_relaxed) ? NULL : pml__log_own();
  struct pml__log_counter d = {s->number, PML_SDE_CREATED, PML_TYPE_INT64, s->mode};
  const char *name = s->name;
  struct pml__log_cell *cell = log != NULL ? pml__log_cells(1, PML__LOG_CELL_SHARE, s->number) : NULL;
  if (cell != NULL && pml__log_define(log, PML__LOG_COUNTER, &d, sizeof d, &name, 1) == 0) {
    struct pml__sde_shard *first = (struct pml__sde_shard *)(void *)cell;
    atomic_store_explicit(&first->rest, atomic_load_explicit(&s->own.rest, memory_order_relaxed), memory_order_relaxed);
    set_first(s, first);
  }
  atomic_store_explicit(&s->placed, true, memory_order_release);
  pml__lock_leave(&logged.lock);
}

static uint64_t sum_of(struct shards *s);

static void before_fork(void) {
  for (struct shards *s = __atomic_load_n(&logged.all, __ATOMIC_ACQUIRE); s != NULL; s = s->next)
    s->at_fork = (int64_t)pml__sde_counter_value(s->counter);
}

/* The parent's count is the child's first value. The counter has no shards yet, and no place in the child's log. */
static void in_child(void) {
  for (struct shards *s = __atomic_load_n(&logged.all, __ATOMIC_ACQUIRE); s != NULL; s = s->next) {
    struct pml__sde_shard *first = atomic_load_explicit(&s->block[0], memory_order_relaxed);
    int64_t rest = atomic_load_explicit(&first->rest, memory_order_relaxed);
    int64_t value = (int64_t)(sum_of(s) + (uint64_t)rest + (uint64_t)s->inherited);
    if (pml__process_was_told()) value = s->at_fork;
    memset(&s->counter->head, 0, sizeof s->counter->head);
    memset(&s->own, 0, sizeof s->own);
    for (uint32_t k = 0; k < BLOCKS; k++) atomic_store_explicit(&s->block[k], NULL, memory_order_relaxed);
    atomic_store_explicit(&s->blocks, 1, memory_order_relaxed);
    atomic_store_explicit(&s->placed, false, memory_order_relaxed);
    atomic_store_explicit(&s->counter->head.rest, value, memory_order_relaxed);
    s->inherited = value;
    set_first(s, &s->own);
    __atomic_store_n(&s->counter->shards, s, __ATOMIC_RELEASE);
  }
}

static void watch(void) {
  (void)pml__process_watch(in_child);
  (void)pml__process_watch_before(before_fork);
}

/* An unregistered counter of that name, restarted at 0; or NULL. */
static struct shards *again(const char *name) {
  for (struct shards *s = logged.all; s != NULL; s = s->next)
    if (s->gone && strcmp(s->name, name) == 0) {
      s->gone = false;
      return s;
    }
  return NULL;
}

/* @s, which is new, is kept in the log. False: no memory. */
static bool keep_in_log(struct shards *s, const char *name, unsigned mode) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
  s->name = strdup(name);
  s->number = pml__log_number();
  s->mode = mode;
  if (s->name == NULL) return false;
  pml__lock_take(&logged.lock);
  s->next = logged.all;
  __atomic_store_n(&logged.all, s, __ATOMIC_RELEASE);
  pml__lock_leave(&logged.lock);
  return true;
}

void pml__sde_counter_log(struct pml_sde_counter *c) {
  struct shards *s = shards_of(c);
  if (s->name != NULL && !atomic_load_explicit(&s->placed, memory_order_acquire)) place(s);
}

/* ---- counting ---- */

/* Once per multiple, by the thread whose increment passed it. */
static void count_overflow(struct pml__sde_overflow *o, int64_t by) {
  int64_t before = atomic_fetch_add_explicit(&o->total, by, memory_order_relaxed);
  int64_t total = (int64_t)((uint64_t)before + (uint64_t)by);
  int64_t multiple = total / o->threshold;
  int64_t passed = atomic_load_explicit(&o->passed, memory_order_relaxed);
  while (multiple > passed)
    if (atomic_compare_exchange_weak_explicit(&o->passed, &passed, multiple, memory_order_relaxed,
                                              memory_order_relaxed)) {
      o->notify(total, o->arg);
      return;
    }
}

static inline void add(struct pml__sde_shard *shard, int64_t by) {
  uint64_t sum = (uint64_t)atomic_load_explicit(&shard->value, memory_order_relaxed) + (uint64_t)by;
  atomic_store_explicit(&shard->value, (int64_t)sum, memory_order_relaxed);
}

static void set_way(struct pml__sde_fast *fast, uint64_t k, uint64_t way) {
  if (fast != NULL) __atomic_store_n(&fast->block[k], way, __ATOMIC_SEQ_CST);
}

static void close_ways(struct pml__sde_fast *fast) {
  for (uint32_t k = 0; k < BLOCKS + 2; k++) set_way(fast, k, 0);
}

/*
 * The fast way is opened, then the threshold is checked, and whether the handle is still the counter's; a thread that
 * sets one or takes the other stores that, then closes the fast way. All sequentially consistent: the way does not stay
 * open.
 */
static void open_fast_way(struct shards *s, uint64_t k, struct pml__sde_shard *block) {
  struct pml__sde_fast *own = &s->counter->head.fast, *also = __atomic_load_n(&s->also, __ATOMIC_SEQ_CST);
  uint64_t way = (uintptr_t)block + PML__SDE_HIGH;
  set_way(own, k, way);
  set_way(also, k, way);
  bool watched = atomic_load_explicit(&s->overflow, memory_order_seq_cst) != NULL;
  if (watched) set_way(own, k, 0);
  if (watched || __atomic_load_n(&s->also, __ATOMIC_SEQ_CST) != also) set_way(also, k, 0);
}

void pml__sde_counter_also(struct pml_sde_counter *c, struct pml__sde_fast *fast) {
  struct pml__sde_fast *was = __atomic_exchange_n(&shards_of(c)->also, fast, __ATOMIC_SEQ_CST);
  if (was != NULL && was != fast) close_ways(was);
}

static void add_to_rest(struct shards *s, int64_t by) {
  struct pml__sde_shard *first = atomic_load_explicit(&s->block[0], memory_order_acquire);
  atomic_fetch_add_explicit(&s->counter->head.rest, by, memory_order_relaxed);
  atomic_fetch_add_explicit(&first->rest, by, memory_order_relaxed);
}

int pml__sde_increment_slowly(struct pml_sde_counter *c, int64_t by) {
  if (c == NULL) return -EINVAL;
  pml__sde_counter_log(c);
  struct shards *s = c->shards;
  if (pml__sde_lane.block == 0) lane_take();
  struct pml__sde_shard *block = NULL;
  uint64_t k = pml__sde_lane.block;
  if (k <= BLOCKS) {
    block = atomic_load_explicit(&s->block[k - 1], memory_order_acquire);
    if (block == NULL) block = block_make(s, (uint32_t)k - 1);
  }
  if (block == NULL)
    add_to_rest(s, by);
  else
    add(&block[(pml__sde_lane.at_bytes - PML__SDE_HIGH) / sizeof *block], by);
  struct pml__sde_overflow *o = atomic_load_explicit(&s->overflow, memory_order_acquire);
  if (o != NULL)
    count_overflow(o, by);
  else if (block != NULL)
    open_fast_way(s, k, block);
  return 0;
}

static uint64_t sum_of(struct shards *s) {
  uint64_t total = 0;
  uint32_t blocks = atomic_load_explicit(&s->blocks, memory_order_acquire);
  for (uint32_t k = 0; k < blocks; k++) {
    struct pml__sde_shard *block = atomic_load_explicit(&s->block[k], memory_order_acquire);
    for (uint32_t i = 0; block != NULL && i < 1u << k; i++)
      total += (uint64_t)atomic_load_explicit(&block[i].value, memory_order_relaxed);
  }
  return total;
}

uint64_t pml__sde_counter_sum(const struct pml_sde_counter *counter) {
  struct pml_sde_counter *c = (struct pml_sde_counter *)counter; /* atomics of C11 want it */
  uint64_t sum = sum_of(shards_of(c));
  return sum + (uint64_t)atomic_load_explicit(&c->head.rest, memory_order_relaxed);
}

int64_t pml_sde_counter_read(const struct pml_sde_counter *c) {
  return c != NULL ? (int64_t)pml__sde_counter_value(c) : 0;
}

/* Only their threads change shards, so a new value is set by a new rest. Concurrent changes of the rest count as
 * earlier. A threshold's total changes by the same amount; increments in between are in both. */
void pml__sde_counter_write(struct pml_sde_counter *c, int64_t value) {
  struct shards *s = shards_of(c);
  int64_t rest = atomic_load_explicit(&c->head.rest, memory_order_relaxed), fresh;
  do fresh = (int64_t)((uint64_t)value - sum_of(s));
  while (
      !atomic_compare_exchange_weak_explicit(&c->head.rest, &rest, fresh, memory_order_relaxed, memory_order_relaxed));
  struct pml__sde_shard *first = atomic_load_explicit(&s->block[0], memory_order_acquire);
  uint64_t own = (uint64_t)fresh - (uint64_t)rest + (uint64_t)s->inherited;
  atomic_fetch_add_explicit(&first->rest, (int64_t)own, memory_order_relaxed);
  s->inherited = 0; /* it is written over */
  struct pml__sde_overflow *o = atomic_load_explicit(&s->overflow, memory_order_acquire);
  if (o == NULL) return;
  atomic_fetch_add_explicit(&o->total, (int64_t)((uint64_t)fresh - (uint64_t)rest), memory_order_relaxed);
  atomic_store_explicit(&o->passed, value / o->threshold, memory_order_relaxed);
}

int pml_sde_counter_reset(struct pml_sde_counter *c) {
  if (c == NULL) return -EINVAL;
  pml__sde_counter_write(c, 0);
  return 0;
}

/*
 * Replaced thresholds stay until the counter is freed, because an increment may use one. NULL: remove the threshold.
 * Increments on the fast path are added to the total once that path is closed; only increments under way at that moment
 * may be missed.
 */
void pml__sde_counter_overflow(struct pml_sde_counter *c, struct pml__sde_overflow *o) {
  int64_t value = pml_sde_counter_read(c);
  if (o != NULL) {
    atomic_init(&o->total, value);
    atomic_init(&o->passed, value / o->threshold);
  }
  atomic_store_explicit(&shards_of(c)->overflow, o, memory_order_seq_cst);
  if (o == NULL) return;
  close_ways(&c->head.fast);
  close_ways(__atomic_load_n(&shards_of(c)->also, __ATOMIC_SEQ_CST));
  value = atomic_load_explicit(&o->total, memory_order_relaxed);
  int64_t missed = (int64_t)((uint64_t)pml_sde_counter_read(c) - (uint64_t)value);
  atomic_fetch_add_explicit(&o->total, missed, memory_order_relaxed);
}

static struct pml_sde_counter *new_counter(bool cleared) {
  size_t bytes = (sizeof(struct pml_sde_counter) + 63) / 64 * 64, rest = (sizeof(struct shards) + 63) / 64 * 64;
  struct pml_sde_counter *c = cleared ? pml__process_memory(bytes) : aligned_alloc(64, bytes);
  struct shards *s = aligned_alloc(64, rest);
  if (c == NULL || s == NULL) {
    if (!cleared) free(c);
    free(s);
    return NULL;
  }
  memset(c, 0, bytes);
  memset(s, 0, rest);
  atomic_init(&s->blocks, 1);
  s->counter = c;
  c->shards = s;
  set_first(s, &s->own);
  return c;
}

struct pml_sde_counter *pml__sde_counter_new(const char *name, unsigned mode) {
  if (!pml__log_asked()) return new_counter(false);
  pml__process_look();
  pml__lock_take(&logged.lock);
  struct shards *s = again(name);
  pml__lock_leave(&logged.lock);
  if (s != NULL) {
    pml__sde_counter_write(s->counter, 0);
    return s->counter;
  }
  struct pml_sde_counter *c = new_counter(true);
  if (c == NULL || keep_in_log(c->shards, name, mode)) return c;
  free(c->shards);
  return NULL;
}

bool pml__sde_counter_keep(struct pml_sde_counter **kept, struct pml_sde_counter *c) {
  struct shards *s = shards_of(c);
  if (s->name != NULL) return false;
  pml__sde_counter_overflow(c, NULL);
  s->kept = *kept;
  *kept = c;
  return true;
}

struct pml_sde_counter *pml__sde_counter_kept(struct pml_sde_counter **kept) {
  struct pml_sde_counter *c = *kept;
  if (c == NULL) return NULL;
  *kept = shards_of(c)->kept;
  pml__sde_counter_write(c, 0);
  return c;
}

void pml__sde_counter_free(struct pml_sde_counter *c) {
  if (c == NULL) return;
  struct shards *s = shards_of(c);
  if (s->name != NULL) {
    pml__lock_take(&logged.lock);
    pml__sde_counter_overflow(c, NULL);
    s->gone = true;
    pml__lock_leave(&logged.lock);
    return;
  }
  for (uint32_t k = 1; k < BLOCKS; k++) free(atomic_load_explicit(&s->block[k], memory_order_relaxed));
  free(s);
  free(c);
}
