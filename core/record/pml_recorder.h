/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_recorder.h - a series with lock-free concurrent pushes and reads. */
#ifndef PML_RECORDER_H
#define PML_RECORDER_H

#include "base/pml_own.h"
#include "base/pml_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

enum pml_keep { PML_KEEP_ALL, PML_KEEP_SKETCH };

#define PML_RECORDER_BYTES_MAX (1u << 24) /* per element */

struct pml_recorder_options {
  enum pml_type type;
  size_t bytes;                               /* per element; 0: the type's size */
  int (*compare)(const void *, const void *); /* PML_TYPE_OTHER: for quantiles; may be NULL */
  enum pml_keep keep;                         /* PML_KEEP_SKETCH: not for PML_TYPE_OTHER */
  double alpha;                               /* PML_KEEP_SKETCH: relative error, 0: 0.01 */
  /*
   * PML_KEEP_ALL: limit of recorded elements over all threads, 0: no limit; further elements are dropped and counted. A
   * single thread reaches it exactly. Each thread reserves at most 1/16 of the remaining room, so a thread may be
   * refused while another, which stopped pushing, has room.
   */
  uint64_t cap;
};

struct pml_recorder; /* opaque; the inline push uses only its head */

/*
 * Returns 0, -EINVAL or -ENOMEM. Close does not wait: pushes must have ended, reads
 * may be under way (they end first), none may begin. Memory: 8 bytes per double plus at most 1/16 for chunks that are
 * not full yet, or 512 bytes per thread; once a quantile was asked for, 8 more per element for the sorted copy. A
 * sketch takes 50 KB per thread.
 */
PML_API int pml_recorder_open(struct pml_recorder **r, const struct pml_recorder_options *options);
PML_API void pml_recorder_close(struct pml_recorder *r);

/* pml_recorder_options - what it was opened with, defaults filled in. */
PML_API struct pml_recorder_options pml_recorder_options(const struct pml_recorder *r)
    PML_NAMESAKE(pml_recorder_options);

/*
 * pml_recorder_push - append one element, of the size the recorder was opened with.
 * pml_recorder_push_double - the same for a recorder of doubles, inline; -EINVAL for other types.
 *
 * Returns 0, PML_EFULL (cap reached, or no memory for a chunk: dropped and counted) or -EINVAL.
 * Cost: TLS look-up, a store, a pointer stored with release; no lock, no copy of earlier elements: 16 instructions
 * inline, 23 by a call, some 10 more for elements of another size than 8 bytes. A thread's first push, its first after
 * a reset, and one each time its series has grown by a sixteenth take a chunk from the allocator. Each thread is the
 * only writer of its stream, so threads do not disturb each other. Not from signal handlers that interrupt a push.
 */
PML_API int pml_recorder_push(struct pml_recorder *r, const void *element);

PML_API uint64_t pml_recorder_count(const struct pml_recorder *r);   /* elements kept, over all threads */
PML_API uint64_t pml_recorder_dropped(const struct pml_recorder *r); /* since open or reset */

/*
 * pml_recorder_copy - up to @n elements from the @first-th on into @out, thread after thread, in the order of pushing
 * within each. Returns how many; 0 if only a sketch is kept. Never stalls a push; readers take turns.
 */
PML_API size_t pml_recorder_copy(struct pml_recorder *r, size_t first, void *out, size_t n);

/*
 * pml_recorder_quantile - a quantile by libsde's index rule, see pml_quantile_at(); the value is widened, or a double
 * for a sketch. -ENOENT if the recorder is empty, -EINVAL for a percent above 100, PML_EMODE for PML_TYPE_OTHER,
 * -ENOMEM.
 * pml_recorder_value - the quantile of @share in 0..1 by the rule of all other quantiles (pml_quantile.h); the same
 * failures.
 * pml_recorder_quantile_bytes - the same for any type; PML_EMODE without an order, or if only a sketch is recorded.
 * pml_recorder_error - the current maximum relative error of quantiles; 0 if all elements are recorded.
 */
PML_API int pml_recorder_quantile(struct pml_recorder *r, unsigned percent, struct pml_value *out);
PML_API int pml_recorder_value(struct pml_recorder *r, double share, double *out);
PML_API int pml_recorder_quantile_bytes(struct pml_recorder *r, unsigned percent, void *out);
PML_API double pml_recorder_error(struct pml_recorder *r);
PML_API uint64_t pml_recorder_nans(struct pml_recorder *r);

/*
 * pml_recorder_reset - forget all elements, keep the memory. Pushes of other threads meanwhile are either before or
 * after. Wait-free.
 */
PML_API void pml_recorder_reset(struct pml_recorder *r);

/* --- what the inline push needs --------------------------------------------------------------------------------- */

/*
 * An epoch is a number that no other opening or reset of any recorder ever had. A thread's cell for a slot is good for
 * the epoch it was made in; anything else (another recorder in the slot, a reset, no lane yet) shows as a difference.
 */
struct pml__recorder_head {
  uint64_t epoch; /* atomic */
  uint64_t at;    /* of its cell among a thread's, in bytes */
  /* The same if it keeps all, and they have 8 bytes, or are doubles; else PML__RECORDER_NOWHERE. */
  uint64_t at_8, at_double;
};
#define PML__RECORDER_NOWHERE UINT64_MAX /* the last of a thread's cells, which no recorder has */

/* The end of a thread's lane; only its owner writes, others read @at. */
struct pml__recorder_tail {
  char *at;  /* atomic: where the next element goes; those before it are there to read. NULL: there is no chunk */
  char *end; /* where it needs the slow path */
};

struct pml__recorder_cell {
  uint64_t epoch;
  struct pml__recorder_tail *tail;
};

/* There are 2^n; a cell whose place lies behind the last one is found in another's place, and has not its epoch. */
struct pml__recorder_cells {
  struct pml__recorder_cell *cell;
  uint64_t mask; /* mask of slots */
};

extern PML_API PML_THREAD_LOCAL struct pml__recorder_cells pml__recorder_cells
    __attribute__((tls_model("initial-exec")));

PML_API int pml__recorder_push_double_slow(struct pml_recorder *r, double v);

/* The calling thread's tail with room for one more, or NULL: the slow path finds the reason. */
static inline struct pml__recorder_tail *pml__recorder_tail(const struct pml__recorder_head *h, uint64_t at) {
  const struct pml__recorder_cells *mine = &pml__recorder_cells;
  const struct pml__recorder_cell *cell =
      (const struct pml__recorder_cell *)(const void *)((const char *)mine->cell + (at & mine->mask));
  /* Relaxed: a thread that must see a reset was notified by other synchronisation, which also orders this load. */
  if (PML_UNLIKELY(cell->epoch != __atomic_load_n(&h->epoch, __ATOMIC_RELAXED))) return NULL;
  return PML_LIKELY(cell->tail->at != cell->tail->end) ? cell->tail : NULL;
}

/* An element of 8 bytes at @at's cell. False: the slow path has to. A reader that sees the tail moved sees it. */
static inline bool pml__recorder_push_8(const struct pml__recorder_head *h, uint64_t at, const void *element) {
  struct pml__recorder_tail *t = pml__recorder_tail(h, at);
  if (PML_UNLIKELY(t == NULL)) return false;
  __builtin_memcpy(t->at, element, 8);
  pml__own_move_release(t->at, 8);
  return true;
}

static inline int pml_recorder_push_double(struct pml_recorder *r, double v) {
  const struct pml__recorder_head *h = (const struct pml__recorder_head *)r;
  return PML_LIKELY(pml__recorder_push_8(h, h->at_double, &v)) ? 0 : pml__recorder_push_double_slow(r, v);
}

PML_END_DECLS

#endif
