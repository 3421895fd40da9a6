/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_recorder_cache.h - fast path of a push: the thread caches the ends of its last lanes.
 *
 * For the drop-in of libsde, whose handles outlive their recorders: a push can be on its way when the recorder is
 * freed, and who frees it must know. The pusher: takes the end out of its cell, and then loads the handle's key; at the
 * end it puts it back. Who frees: closes the handle, makes every running thread pass a full fence (membarrier), and
 * waits until no cell lacks its end. One of the two sees the other. A signal handler that interrupts a push finds the
 * end taken out, and goes the long way.
 */
#ifndef PML_RECORDER_CACHE_H
#define PML_RECORDER_CACHE_H

#include "record/pml_recorder.h"

#include <stdatomic.h>

PML_BEGIN_DECLS

#define PML__RECORDER_NEAR 8u /* cells of a thread; in initial-exec memory, of which there is little */

struct pml__recorder_cache_cell {
  uint64_t key;                   /* key of the cached handle */
  struct pml__recorder_tail *end; /* atomic: the thread's tail; the handle's @none while a push is under way */
  struct pml__recorder_tail *put; /* atomic: the value of @end outside of a push */
};
extern PML__SHARED PML_THREAD_LOCAL struct pml__recorder_cache_cell pml__recorder_cache_cells[PML__RECORDER_NEAR]
    __attribute__((tls_model("initial-exec")));

/*
 * Part of a handle. It may be in memory that is cleared in a child, and then fits no cell. Keys are never used twice:
 * opening and each reset of the recorder makes a new one.
 */
struct pml__recorder_cache {
  struct pml__recorder_tail none; /* first: an end without room, stored in the cell by a push under way */
  uint64_t key_less_8;            /* atomic */
  uintptr_t cell;                 /* offset of a thread's cell, from the thread pointer or from the first cell */
};

/*
 * pml__recorder_cache_make - @n, all 0, gets a place among a thread's cells; it is closed.
 * pml__recorder_cache_open - pushes to @n go to @r, if its elements have 8 bytes and all are kept; one @n for each @r.
 * pml__recorder_cache_close - no push that begins later finds a cell.
 * pml__recorder_cache_key - what pml__recorder_cache_fill() needs, to be loaded before a push to @r.
 * pml__recorder_cache_fill - after that push: the next one of this thread finds its cell. In no push of this thread.
 * pml__recorder_cache_busy - whether the thread whose cells begin at @cells may be in a push.
 * pml__recorder_cache_forget - the calling thread's cells are for nothing.
 */
PML__SHARED void pml__recorder_cache_make(struct pml__recorder_cache *n);
PML__SHARED void pml__recorder_cache_open(struct pml__recorder_cache *n, struct pml_recorder *r);
PML__SHARED void pml__recorder_cache_close(struct pml__recorder_cache *n);
PML__SHARED void pml__recorder_cache_fill(const struct pml__recorder_cache *n, const struct pml_recorder *r,
                                          uint64_t key);
PML__SHARED bool pml__recorder_cache_busy(struct pml__recorder_cache_cell *cells);
PML__SHARED void pml__recorder_cache_forget(void);
static inline uint64_t pml__recorder_cache_key(const struct pml__recorder_cache *n) {
  return __atomic_load_n(&n->key_less_8, __ATOMIC_ACQUIRE) + 8;
}

/*
 * Offsets of cells begin at the thread pointer if the compiler supports it; with GNU C's segment, a cell is then an
 * operand. The sanitizers must see the address of each access: with them, and with clang, offsets begin at the first
 * cell.
 */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PML__RECORDER_NEAR_ORIGIN ((uintptr_t)__builtin_thread_pointer())
#else
#define PML__RECORDER_NEAR_ORIGIN ((uintptr_t)pml__recorder_cache_cells)
#endif
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) &&   \
    !defined(__STRICT_ANSI__)
typedef __seg_fs struct pml__recorder_cache_cell pml__recorder_cache_cell_own;
#define PML__RECORDER_NEAR_CELL(n) ((pml__recorder_cache_cell_own *)(n)->cell)
#define PML__RECORDER_NEAR_PUT(c, is) (atomic_signal_fence(memory_order_seq_cst), (c)->end = (is)) /* as a release */
#else
typedef struct pml__recorder_cache_cell pml__recorder_cache_cell_own;
#define PML__RECORDER_NEAR_CELL(n) ((pml__recorder_cache_cell_own *)(PML__RECORDER_NEAR_ORIGIN + (n)->cell))
#define PML__RECORDER_NEAR_PUT(c, is) __atomic_store_n(&(c)->end, (is), __ATOMIC_RELEASE)
#endif

/*
 * Appends an element of @bytes. False: the long way has to. A size that is not 8 gives the key of no handle; that it is
 * by accident the distance of two keys in one cell takes objects of terabytes.
 */
static inline bool pml__recorder_cache_push(struct pml__recorder_cache *n, size_t bytes, const void *element) {
  pml__recorder_cache_cell_own *c = PML__RECORDER_NEAR_CELL(n);
  struct pml__recorder_tail *t = c->end;
  PML__RECORDER_NEAR_PUT(c, &n->none);
  atomic_signal_fence(memory_order_seq_cst);
  bool fits = __atomic_load_n(&n->key_less_8, __ATOMIC_RELAXED) + bytes == c->key;
  if (PML_UNLIKELY(!fits) || PML_UNLIKELY(t->at == t->end)) {
    PML__RECORDER_NEAR_PUT(c, t);
    return false;
  }
  __builtin_memcpy(t->at, element, 8);
  pml__own_move_release(t->at, 8);
  PML__RECORDER_NEAR_PUT(c, t);
  return true;
}

PML_END_DECLS

#endif
