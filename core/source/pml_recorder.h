/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_recorder.h - a series that many threads push to without a lock, and anybody reads. */
#ifndef PML_RECORDER_H
#define PML_RECORDER_H

#include "source/pml_value.h"

#include <stdbool.h>
#include <stddef.h>

PML_BEGIN_DECLS

enum pml_keep { PML_KEEP_ALL, PML_KEEP_SKETCH };

struct pml_recorder_options {
  enum pml_type type;
  size_t bytes;                               /* of an element; 0: that of the type */
  int (*compare)(const void *, const void *); /* PML_TYPE_OTHER: for quantiles; may be NULL */
  enum pml_keep keep;
  double alpha; /* PML_KEEP_SKETCH: relative error, 0: 0.01 */
  uint64_t cap; /* most elements kept over all threads, 0: no limit; more are dropped and counted */
};

struct pml_recorder; /* opaque; the inline push knows only its slot */

/*
 * Returns 0, -EINVAL, -ENOMEM, PML_EFULL (too many recorders). Close waits for nobody: pushes must have ended, reads
 * may be under way (they end first). Memory: 8 bytes per double plus at most 1/16 for chunks that are not full yet.
 */
PML_API int pml_recorder_open(struct pml_recorder **r, const struct pml_recorder_options *options);
PML_API void pml_recorder_close(struct pml_recorder *r);

/*
 * pml_recorder_push - append one element, of the size the recorder was opened with.
 * pml_recorder_push_double - the same for a double, inline.
 *
 * Returns 0, PML_EFULL (cap reached, or no memory for a chunk: dropped and counted) or -EINVAL.
 * Cost: TLS look-up, store, release-increment: at most 25 instructions, no lock, no copy of what is there; every 2^k-th
 * push of a thread takes a chunk from the allocator. One writer per thread lane, so threads do not disturb each other.
 * Not from signal handlers that interrupt a push.
 */
PML_API int pml_recorder_push(struct pml_recorder *r, const void *element);

PML_API uint64_t pml_recorder_count(const struct pml_recorder *r); /* elements kept, over all threads */
PML_API uint64_t pml_recorder_dropped(const struct pml_recorder *r);

/*
 * pml_recorder_copy - up to @n elements from the @first-th on into @out, thread after thread, in the order of pushing
 * within each. Returns how many. Never stalls a push.
 */
PML_API size_t pml_recorder_copy(struct pml_recorder *r, size_t first, void *out, size_t n);

/* pml_recorder_quantile - by libsde's index rule, see pml_quantile_at(); the value widened. -ENOENT if empty. */
PML_API int pml_recorder_quantile(struct pml_recorder *r, unsigned percent, struct pml_value *out);
PML_API int pml_recorder_quantile_bytes(struct pml_recorder *r, unsigned percent, void *out); /* any type */
PML_API uint64_t pml_recorder_nans(struct pml_recorder *r);

/* pml_recorder_reset - forget all elements, keep the memory. Pushes of other threads meanwhile are either before or
 * after. */
PML_API void pml_recorder_reset(struct pml_recorder *r);

PML_END_DECLS

#endif
