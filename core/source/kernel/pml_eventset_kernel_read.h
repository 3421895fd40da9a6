/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/pml_eventset_kernel_read.h - inline page reads of a single group, in general registers only.
 * Internal.
 */
#ifndef PML_EVENTSET_KERNEL_READ_H
#define PML_EVENTSET_KERNEL_READ_H

#include "base/pml_thread.h"
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_rdpmc.h"

/* Read a set whose events are the group's members in their order, with one try for each page. Returns 0; if a try
 * fails, calls @otherwise with the number of failed tries, and returns its result. */
static inline __attribute__((always_inline)) int
pml__kernel_read_pages(struct pml_eventset *s, uint64_t *values, bool restarts,
                       int (*otherwise)(struct pml_eventset *s, uint64_t *values, int tried)) {
  const struct pml__kernel_backend *k = (const struct pml__kernel_backend *)s->backend;
  const volatile struct perf_event_mmap_page **page = k->page;
  const uint64_t *base = s->base + k->group->values;
  uint32_t n = s->n, i = 0;
  if (PML_UNLIKELY(k->owner != pml_thread_id())) return otherwise(s, values, 0);
  do {
    struct pml_reading r;
    int rc = pml__rdpmc_try(page[i], &r, false, restarts);
    if (PML_UNLIKELY(rc <= 0)) return otherwise(s, values, -rc);
    values[i] = r.raw - base[i];
  } while (++i < n);
  return 0;
}

#endif
