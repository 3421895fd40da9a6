/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_counter_private.h - what counters, groups and event sets agree upon. */
#ifndef PML_COUNTER_PRIVATE_H
#define PML_COUNTER_PRIVATE_H

#include "source/pml_counter.h"

#include <unistd.h>

/* It leads a group of several: one read(2) of it gives nr, enabled, running and a value per member. */
#define PML__OPEN_GROUP 0x100u

/* Most members of one group: every part of every event of the largest set. */
#define PML__GROUP_MAX 512u

/* What read(2) gives, in 64-bit words: times are words 1 and 2 in both forms, the value or values are not. */
#define PML__WORD_ENABLED 1u
#define PML__WORD_RUNNING 2u
#define PML__WORD_SINGLE_VALUE 0u /* value, enabled, running */
#define PML__WORD_GROUP_VALUES 3u /* nr, enabled, running, value... */

/*
 * pml__perf_read - read(2) all @bytes that a counter or group gives. Returns 0, or -errno; less than all, as 0 bytes
 * of an event that the kernel gave up, is -EIO: what stands in @to is no count then. Async-signal-safe.
 */
int pml__perf_read_again(int fd, void *to, size_t bytes, ssize_t got);

static inline int pml__perf_read(int fd, void *to, size_t bytes) {
  ssize_t got = read(fd, to, bytes);
  if (PML_LIKELY(got == (ssize_t)bytes)) return 0;
  return pml__perf_read_again(fd, to, bytes, got);
}

#endif
