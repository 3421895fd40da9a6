/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_known.h - loops with known event counts, to verify counters. */
#ifndef PML_KNOWN_H
#define PML_KNOWN_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/*
 * pml_known_run - run @n rounds of the loop @name:
 *
 *   chain   10 instructions, 1 of them a branch; 8 wait for each other, a cycle each
 *   copy    4 instructions: a load, a store, 1 branch
 *   flops   4 instructions: an addition and a multiplication of doubles, 1 branch
 *   random  2 branches, one of which goes either way at random: half a misprediction
 *   touch   the first store to a page of memory: a page fault
 *   walk    a load of a line at random from memory four times as large as the last cache: a miss in each cache
 *   sleep   100 us without the processor: a context switch
 *
 * The overhead of a loop does not depend on @n, except for touch, which maps and unmaps @n pages. Returns 0, -EINVAL
 * (no such loop) or -ENOMEM. Thread-safe.
 */
PML__SHARED int pml_known_run(const char *name, uint64_t n);

PML_END_DECLS

#endif
