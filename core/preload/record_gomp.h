/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/record_gomp.h - calls of gcc's OpenMP runtime libgomp, which has no OMPT, in a recorded process.
 *
 * These are gcc's binary interface (libgomp/libgomp_g.h). Loops with a static schedule are not recorded, because they
 * make no call. Tasks with detach, and regions, taskloops and loops with task reductions, are not recorded, because the
 * runtime writes to their data. A single without a barrier lasts until its thread's next barrier or loop. A team meets
 * at an additional barrier before the runtime's last one, which gives each thread's waiting time there.
 */
#ifndef PML_RECORD_GOMP_H
#define PML_RECORD_GOMP_H

#include "adapter/openmp/pml_openmp_private.h"

#include <stdatomic.h>

/* A function of the runtime, looked up at its first call. */
struct pml__gomp_function {
  const char *name;
  void *_Atomic found; /* for the whole process */
};

/*
 * pml__gomp_real - the runtime's function that the code at @caller would call: the next global one, or the one in the
 * runtime that the caller's library was loaded with. NULL: not found.
 * pml__gomp_self - the calling thread, if events are emitted for its calls; NULL: no memory, no consumer, or a runtime
 * with OMPT, such as libomp, which also has these functions.
 */
void *pml__gomp_real(struct pml__gomp_function *f, const void *caller);
struct pml__openmp_thread *pml__gomp_self(const void *caller);

/* A function of the runtime as @type at the place of the call. */
#define PML__GOMP_CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define PML__GOMP_REAL(type, function, caller)                                                                         \
  static struct pml__gomp_function function##_here = {#function, NULL};                                                \
  type *real = (type *)pml__gomp_real(&function##_here, (caller))

/* pml__gomp_barrier - wait in the runtime at the end of a construct: implicit at @code. */
void pml__gomp_barrier(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, void (*wait)(void),
                       const void *code);

/* pml__gomp_end_single - the single that the thread executes ends, if any. */
void pml__gomp_end_single(struct pml__openmp_thread *t);

/* pml__gomp_trips - iterations of a loop from @start to before @end. */
uint64_t pml__gomp_trips(long start, long end, long step);

#endif
