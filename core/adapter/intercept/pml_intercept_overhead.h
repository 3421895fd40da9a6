/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_overhead.h - a limit for the cost of recorded functions: the most frequent ones
 * are no longer recorded.
 *
 * The cost is estimated from the numbers of calls and the cost of a call. Functions with a jump at their entry get
 * their code back. A function of a library costs two jumps after that, and a function compiled with
 * -finstrument-functions, or of an interpreter, a look-up. Sections, OpenMP and MPI stay recorded, and do not count.
 */
#ifndef PML_INTERCEPT_OVERHEAD_H
#define PML_INTERCEPT_OVERHEAD_H

#include "base/pml_region.h"

#include <stdbool.h>

PML_BEGIN_DECLS

/*
 * pml__overhead_begin - from now on, recorded functions may cost @share (0.05: 5%) of the processor time that the
 * process takes itself; each call costs @call_ns. Also restarts it in a child. pml__overhead_add - @region was called
 * @n more times, as a rule many. Functions are dropped if the cost is too high, not in the first 10 ms; true: some
 * were. May be called inside a delivery; one system call, and mprotect(2) where functions are dropped. Another thread's
 * call meanwhile returns false. pml__overhead_visit - call @visit with each dropped function. Any thread.
 */
PML__SHARED void pml__overhead_begin(double share, double call_ns);
PML__SHARED bool pml__overhead_add(pml_region_t region, uint64_t n);
PML__SHARED void pml__overhead_visit(void (*visit)(pml_region_t region, void *arg), void *arg);

PML_END_DECLS

#endif
