/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_eventset_kernel_gpr.c - page reads of a single group, in general registers only. */
#include "source/kernel/pml_eventset_kernel_read.h"

static inline int cannot(struct pml_eventset *s, uint64_t *values, int tried) {
  (void)s, (void)values, (void)tried;
  return -1;
}

int pml__kernel_plain_read(void *set, uint64_t *values) {
  return pml__kernel_read_pages(set, values, false, cannot);
}

/* Where cores differ in kind. */
int pml__kernel_plain_read_restartable(void *set, uint64_t *values) {
  return pml__kernel_read_pages(set, values, true, cannot);
}
