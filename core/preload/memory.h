/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/memory.h - settings of libpmlua.so's allocator. */
#ifndef MEMORY_H
#define MEMORY_H

#include "base/pml_api.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/*
 * pml__memory_own - from now on pmlua allocates from a private heap, not the program's.
 * pml__memory_seal - from now on it makes no system calls for memory.
 */
PML__SHARED void pml__memory_own(void);
PML__SHARED void pml__memory_seal(void);

/* The functions that replace the C library's in libpmlua.so; those in libpmlua-read.so and in the command call these.
 */
/* clang-format off */
#define PML__MEMORY_LIST(X)                                                                                            \
  X(malloc) X(calloc) X(realloc) X(aligned_alloc) X(strdup) X(strndup) X(malloc_usable_size) X(free)
/* clang-format on */
#define PML__MEMORY_WRAP(name) __typeof__(name) __wrap_##name;
PML__MEMORY_LIST(PML__MEMORY_WRAP)

struct pml__memory {
#define PML__MEMORY_MEMBER(name) __typeof__(name) *name;
  PML__MEMORY_LIST(PML__MEMORY_MEMBER)
#undef PML__MEMORY_MEMBER
};
extern PML__SHARED const struct pml__memory pml__memory;

#endif
