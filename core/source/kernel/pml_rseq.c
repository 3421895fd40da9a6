/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_rseq.c - detection of glibc's restartable sequence registration. */
#include "source/kernel/pml_rseq.h"

#include <stddef.h>

intptr_t pml__rseq_offset;

#if PML_RSEQ && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)

#include <sys/rseq.h>

/* Weak: a C library of before 2.35 has neither. */
extern __typeof__(__rseq_offset) __rseq_offset __attribute__((weak));
extern __typeof__(__rseq_size) __rseq_size __attribute__((weak));

/*
 * The size is 0 where the kernel refused the first thread. A thread that the C library did not make may have an area
 * that the kernel does not know: it says no cpu.
 */
bool pml__rseq_ready(void) {
  if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size == 0) return false;
  const volatile struct rseq *area = (const void *)((const char *)__builtin_thread_pointer() + __rseq_offset);
  if ((int32_t)area->cpu_id < 0) return false;
  __atomic_store_n(&pml__rseq_offset, (intptr_t)__rseq_offset, __ATOMIC_RELAXED); /* the same for all threads */
  return true;
}

#else

bool pml__rseq_ready(void) {
  return false;
}

#endif
