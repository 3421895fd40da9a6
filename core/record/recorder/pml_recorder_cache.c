/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/recorder/pml_recorder_cache.c - thread-local cache of recorder handles. */
#include "record/pml_recorder_cache.h"
#include "record/recorder/pml_recorder_lane.h"

/* Both odd, as no key of a handle is; sizes are far less than their distance. */
#define CLOSED UINT64_C(1)
#define NO_KEY UINT64_C(0x5bd1e995cc9e2d51)

static struct pml__recorder_tail no_room;
#define EMPTY                                                                                                          \
  { NO_KEY, &no_room, &no_room }

PML_THREAD_LOCAL struct pml__recorder_cache_cell pml__recorder_cache_cells[PML__RECORDER_NEAR]
    __attribute__((tls_model("initial-exec"))) = {EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY};

/* Far from each other, for the sake of sizes that are added: multiples of an odd number. */
static uint64_t new_key(void) {
  static uint64_t last;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) * UINT64_C(0x9e3779b97f4a7c15) << 1;
}

void pml__recorder_cache_make(struct pml__recorder_cache *n) {
  static uint32_t made;
  uint32_t i = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) % PML__RECORDER_NEAR;
  n->cell = (uintptr_t)&pml__recorder_cache_cells[i] - PML__RECORDER_NEAR_ORIGIN;
  pml__recorder_cache_close(n);
}

void pml__recorder_cache_close(struct pml__recorder_cache *n) {
  __atomic_store_n(&n->key_less_8, CLOSED, __ATOMIC_SEQ_CST);
}

void pml__recorder_cache_open(struct pml__recorder_cache *n, struct pml_recorder *r) {
  uint64_t key = __atomic_load_n(&n->key_less_8, __ATOMIC_SEQ_CST);
  if (r->head.at_8 == PML__RECORDER_NOWHERE) return;
  if (__atomic_exchange_n(&r->near, n, __ATOMIC_SEQ_CST) == n && key != CLOSED && key != 0) return; /* it is open */
  __atomic_store_n(&n->key_less_8, new_key() - 8, __ATOMIC_SEQ_CST);
}

/*
 * After the new epoch was stored. A cell that is filled meanwhile has either the old key, or the stream in the new
 * epoch; a closed handle stays closed.
 */
void pml__recorder_cache_renew(struct pml_recorder *r) {
  struct pml__recorder_cache *n = __atomic_load_n(&r->near, __ATOMIC_SEQ_CST);
  if (n == NULL) return;
  uint64_t key = __atomic_load_n(&n->key_less_8, __ATOMIC_SEQ_CST), fresh = new_key() - 8;
  while (key != CLOSED &&
         !__atomic_compare_exchange_n(&n->key_less_8, &key, fresh, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}

/*
 * Handlers come between any two stores: they find a cell that fits nothing, or a whole one. One whose end was taken out
 * belongs to a push that this one interrupted.
 */
void pml__recorder_cache_fill(const struct pml__recorder_cache *n, const struct pml_recorder *r, uint64_t key) {
  struct pml__recorder_cache_cell *c = (struct pml__recorder_cache_cell *)(PML__RECORDER_NEAR_ORIGIN + n->cell);
  const struct pml__recorder_cells *mine = &pml__recorder_cells;
  const struct pml__recorder_cell *cell =
      (const struct pml__recorder_cell *)(const void *)((const char *)mine->cell + (r->head.at_8 & mine->mask));
  if (key == CLOSED + 8 || c->end != c->put) return;
  if (cell->epoch != __atomic_load_n(&r->head.epoch, __ATOMIC_RELAXED)) return;
  struct pml__recorder_tail *end = cell->tail;
  c->key = NO_KEY;
  atomic_signal_fence(memory_order_seq_cst);
  __atomic_store_n(&c->put, end, __ATOMIC_RELAXED);
  __atomic_store_n(&c->end, end, __ATOMIC_RELEASE);
  atomic_signal_fence(memory_order_seq_cst);
  c->key = key;
}

bool pml__recorder_cache_busy(struct pml__recorder_cache_cell *cells) {
  for (uint32_t i = 0; i < PML__RECORDER_NEAR; i++)
    if (__atomic_load_n(&cells[i].end, __ATOMIC_ACQUIRE) != __atomic_load_n(&cells[i].put, __ATOMIC_RELAXED))
      return true;
  return false;
}

void pml__recorder_cache_forget(void) {
  for (uint32_t i = 0; i < PML__RECORDER_NEAR; i++) pml__recorder_cache_cells[i].key = NO_KEY;
}
