/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/memory.h - settings of libpmlua.so's allocator. */
#ifndef MEMORY_H
#define MEMORY_H

#include "base/pml_api.h"

#include <stddef.h>

/*
 * pml__memory_own - from now on pmlua allocates from a private heap, not the program's.
 * pml__memory_seal - from now on it makes no system calls for memory.
 */
PML__SHARED void pml__memory_own(void);
PML__SHARED void pml__memory_seal(void);

/* The functions that replace the C library's in libpmlua.so; those in libpmlua-read.so and in the command call
 * these. */
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t line, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
size_t __wrap_malloc_usable_size(void *block);
void __wrap_free(void *block);

struct pml__memory {
  void *(*malloc)(size_t bytes);
  void *(*calloc)(size_t n, size_t bytes);
  void *(*realloc)(void *block, size_t bytes);
  void *(*aligned_alloc)(size_t line, size_t bytes);
  char *(*strdup)(const char *text);
  char *(*strndup)(const char *text, size_t most);
  size_t (*malloc_usable_size)(void *block);
  void (*free)(void *block);
};
extern PML__SHARED const struct pml__memory pml__memory;

#endif
