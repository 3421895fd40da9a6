/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_counter.c - created counters: a shard for each thread, summed by whoever reads. */
#include "source/sde/pml_sde_private.h"
/* core/source/sde/pml_sde_counter.c - created counters: a shard for each thread, summed by the reader. */

#include "base/pml_error.h"
#include "base/pml_process.h"

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

struct pml_sde_counter {
  struct pml__sde_counter_head head;
  struct pml__sde_shard *_Atomic block[BLOCKS]; /* the first one is in the head */
  struct pml__sde_overflow *_Atomic overflow;
};

PML_THREAD_LOCAL struct pml__sde_lane pml__sde_lane __attribute__((tls_model("initial-exec")));

/* Each store under the lock leaves the lanes as they may be: a child takes over what it finds. */
static struct pml__lock lanes_lock;
static uint64_t lanes_taken[(LANES + 63) / 64];
static pthread_key_t lane_key;

/*
 * The lock orders the last store of a thread that ended before the first load of the one that inherits its lane; that
 * thread goes on from the shards' values.
 */
static void lane_return(void *number_plus) {
  uintptr_t number = (uintptr_t)number_plus - 1;
  pml__lock_take(&lanes_lock);
  lanes_taken[number / 64] &= ~(UINT64_C(1) << number % 64);
  pml__lock_leave(&lanes_lock);
  pml__sde_lane =
      (struct pml__sde_lane){.block = NO_LANE + 1}; /* destructors that run later still count: in the rest */
}

static void prepare(void) {
  (void)pthread_key_create(&lane_key, lane_return);
}

static void lane_take(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  pml__sde_lane = (struct pml__sde_lane){.block = NO_LANE + 1};
  pml__lock_take(&lanes_lock);
  for (uint32_t w = 0; w < sizeof lanes_taken / sizeof lanes_taken[0]; w++) {
    if (lanes_taken[w] == UINT64_MAX) continue;
    uint32_t number = w * 64 + (uint32_t)__builtin_ctzll(~lanes_taken[w]);
    if (number >= LANES) break;
    if (pthread_setspecific(lane_key, (void *)(uintptr_t)(number + 1)) != 0) break; /* nobody would give it back */
    lanes_taken[w] |= UINT64_C(1) << number % 64;
    uint32_t block = 31u - (uint32_t)__builtin_clz(number + 1);
    uint64_t at = number + 1 - (1u << block);
    pml__sde_lane = (struct pml__sde_lane){.block = block + 1, .at_bytes = at * sizeof(struct pml__sde_shard)};
    break;
  }
  pml__lock_leave(&lanes_lock);
}

/*
 * Block @k of @c, allocated by the first thread that needs it; NULL: no memory. The number of blocks is raised before
 * the block is there, not after: who finds the block and counts in it may be read, or forked, while its maker is still
 * here.
 */
static struct pml__sde_shard *block_make(struct pml_sde_counter *c, uint32_t k) {
  size_t bytes = sizeof(struct pml__sde_shard) << k;
  struct pml__sde_shard *fresh = aligned_alloc(_Alignof(struct pml__sde_shard), bytes), *there = NULL;
  if (fresh == NULL) return NULL;
  memset(fresh, 0, bytes);
  uint32_t blocks = atomic_load_explicit(&c->head.blocks, memory_order_relaxed);
  while (blocks <= k && !atomic_compare_exchange_weak_explicit(&c->head.blocks, &blocks, k + 1, memory_order_relaxed,
                                                               memory_order_relaxed)) {
  }
  if (!atomic_compare_exchange_strong_explicit(&c->block[k], &there, fresh, memory_order_acq_rel,
                                               memory_order_acquire)) {
    free(fresh);
    fresh = there;
  }
  return fresh;
}

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

/*
 * The fast way is opened, then it is looked whether there is a threshold; who sets a threshold stores it, then closes
 * the fast way. All sequentially consistent: the way does not stay open.
 */
static void open_fast_way(struct pml_sde_counter *c, uint64_t k, struct pml__sde_shard *block) {
  __atomic_store_n(&c->head.fast.block[k], (uintptr_t)block, __ATOMIC_SEQ_CST);
  if (atomic_load_explicit(&c->overflow, memory_order_seq_cst) != NULL)
    __atomic_store_n(&c->head.fast.block[k], 0, __ATOMIC_SEQ_CST);
}

int pml__sde_increment_slowly(struct pml_sde_counter *c, int64_t by) {
  if (c == NULL) return -EINVAL;
  if (pml__sde_lane.block == 0) lane_take();
  struct pml__sde_shard *block = NULL;
  uint64_t k = pml__sde_lane.block;
  if (k <= BLOCKS) {
    block = atomic_load_explicit(&c->block[k - 1], memory_order_acquire);
    if (block == NULL) block = block_make(c, (uint32_t)k - 1);
  }
  if (block == NULL)
    atomic_fetch_add_explicit(&c->head.rest, by, memory_order_relaxed);
  else
    add(&block[pml__sde_lane.at_bytes / sizeof *block], by);
  struct pml__sde_overflow *o = atomic_load_explicit(&c->overflow, memory_order_acquire);
  if (o != NULL)
    count_overflow(o, by);
  else if (block != NULL)
    open_fast_way(c, k, block);
  return 0;
}

static uint64_t shards(struct pml_sde_counter *c) {
  uint64_t total = (uint64_t)atomic_load_explicit(&c->head.first.value, memory_order_relaxed);
  uint32_t blocks = atomic_load_explicit(&c->head.blocks, memory_order_acquire);
  for (uint32_t k = 1; k < blocks; k++) {
    struct pml__sde_shard *block = atomic_load_explicit(&c->block[k], memory_order_acquire);
    for (uint32_t i = 0; block != NULL && i < 1u << k; i++)
      total += (uint64_t)atomic_load_explicit(&block[i].value, memory_order_relaxed);
  }
  return total;
}

uint64_t pml__sde_counter_sum(const struct pml_sde_counter *counter) {
  struct pml_sde_counter *c = (struct pml_sde_counter *)counter; /* atomics of C11 want it */
  return shards(c) + (uint64_t)atomic_load_explicit(&c->head.rest, memory_order_relaxed);
}

int64_t pml_sde_counter_read(const struct pml_sde_counter *c) {
  return c != NULL ? (int64_t)pml__sde_counter_value(c) : 0;
}

/*
 * The shards belong to their threads: a new value is a new rest. What else changes the rest meanwhile came before. A
 * threshold's total moves by as much: increments that come between are in both.
 */
void pml__sde_counter_write(struct pml_sde_counter *c, int64_t value) {
  int64_t rest = atomic_load_explicit(&c->head.rest, memory_order_relaxed), fresh;
  do fresh = (int64_t)((uint64_t)value - shards(c));
  while (
      !atomic_compare_exchange_weak_explicit(&c->head.rest, &rest, fresh, memory_order_relaxed, memory_order_relaxed));
  struct pml__sde_overflow *o = atomic_load_explicit(&c->overflow, memory_order_acquire);
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
 * Those before stay until the counter goes: an increment may be in one. NULL: none from now on. What came by the fast
 * way until it was closed is added to the total then; only increments that are under way just now may be missed.
 */
void pml__sde_counter_overflow(struct pml_sde_counter *c, struct pml__sde_overflow *o) {
  int64_t value = pml_sde_counter_read(c);
  if (o != NULL) {
    atomic_init(&o->total, value);
    atomic_init(&o->passed, value / o->threshold);
  }
  atomic_store_explicit(&c->overflow, o, memory_order_seq_cst);
  if (o == NULL) return;
  for (uint32_t k = 0; k < BLOCKS + 2; k++) __atomic_store_n(&c->head.fast.block[k], 0, __ATOMIC_SEQ_CST);
  value = atomic_load_explicit(&o->total, memory_order_relaxed);
  int64_t missed = (int64_t)((uint64_t)pml_sde_counter_read(c) - (uint64_t)value);
  atomic_fetch_add_explicit(&o->total, missed, memory_order_relaxed);
}

struct pml_sde_counter *pml__sde_counter_new(void) {
  size_t bytes = (sizeof(struct pml_sde_counter) + 63) / 64 * 64;
  struct pml_sde_counter *c = aligned_alloc(64, bytes);
  if (c == NULL) return NULL;
  memset(c, 0, bytes);
  atomic_init(&c->head.blocks, 1);
  atomic_init(&c->block[0], &c->head.first);
  return c;
}

void pml__sde_counter_free(struct pml_sde_counter *c) {
  if (c == NULL) return;
  for (uint32_t k = 1; k < BLOCKS; k++) free(atomic_load_explicit(&c->block[k], memory_order_relaxed));
  free(c);
}
