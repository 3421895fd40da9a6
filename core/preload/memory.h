/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/memory.h - settings of libpmlua.so's allocator. */
#ifndef MEMORY_H
#define MEMORY_H

#include "base/pml_api.h"

/*
 * pml__memory_own - from now on pmlua allocates from a private heap, not the program's.
 * pml__memory_seal - from now on it makes no system calls for memory.
 */
PML__SHARED void pml__memory_own(void);
PML__SHARED void pml__memory_seal(void);

#endif
