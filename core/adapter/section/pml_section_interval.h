/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section_interval.h - calls of sections that begin and end on different threads, or overlap.
 * Internal.
 *
 * Such a call has no place in a call tree. It is counted when it ends, by the thread that ends it.
 */
#ifndef PML_SECTION_INTERVAL_H
#define PML_SECTION_INTERVAL_H

#include "adapter/section/pml_section.h"

PML_BEGIN_DECLS

/*
 * pml_section_interval - count a call of @s from @from to @to, ticks of pml_clock. Its time is in the sums of @s only:
 * it contains no sections, and none contains it. Events of the section are not counted. Consumers of the stream get
 * PML_STREAM_INTERVAL instead of an enter and a leave. @to before @from, by a difference of clocks, counts as 0 ticks.
 *
 * Returns 0, -EINVAL (no section) or -ENOMEM. Thread-safe, not async-signal-safe. Cost: some 40 instructions; no lock,
 * allocation at a thread's first use of a section in a block of 64.
 */
PML__SHARED int pml_section_interval(struct pml_section *s, uint64_t from, uint64_t to);

PML_END_DECLS

#endif
