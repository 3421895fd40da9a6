/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_events.h - event counts of intercepted calls: one event set per thread. */
#ifndef PML_INTERCEPT_EVENTS_H
#define PML_INTERCEPT_EVENTS_H

#include "base/pml_stream.h"

PML_BEGIN_DECLS

#define PML_INTERCEPT_EVENTS_MAX 16u

/*
 * pml_intercept_count - from the next pml_intercept_install() on, add the values of these events (names as for
 * pml_eventset_open()) to every enter and leave: counts of the thread since its first call, or the first call after a
 * fork. They are opened once here, to check that they can be. @metrics: their names in the stream; never freed. @lost:
 * called with a negative code on a thread whose calls have no values from then on: the counters cannot be opened (also
 * after pml_intercept_confine()), or cannot be read because the program has closed their descriptors (-EBADF). It may
 * be NULL, must be async-signal-safe, and is called by several threads at once.
 *
 * Returns 0, -EINVAL (none, too many), -EALREADY (it was called before), -EDEADLK (called by a consumer), or an error
 * of pml_eventset_open().
 *
 * Cost of a call: two reads of the set. A set of one source is read with general registers only if it consists of
 * events of the kernel in one group with pages, or of software-defined integers that are plain loads; with consumers
 * that accept values this way (pml_stream.h), no other registers are saved. Any other set requires saving all
 * registers; without a page to read, it takes two system calls for each event. Once a signal handler has switched to
 * another stack while a call of its thread was being counted, each enter and each leave of this thread takes two more
 * system calls, with a page as well: signals are blocked, because all stacks of a thread read into one array of values.
 * The descriptors are visible in the process; see pml_counter_read() for programs that close them.
 */
PML__SHARED int pml_intercept_count(const char *const *names, size_t n, void (*lost)(int err),
                                    const struct pml_stream_metrics **metrics);

PML_END_DECLS

#endif
