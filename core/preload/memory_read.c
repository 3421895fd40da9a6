/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/memory_read.c - libpmlua-read.so and the command allocate and free memory as libpmlua.so does. */
#include "preload/memory.h"

void *__wrap_malloc(size_t bytes) {
  return pml__memory.malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
  return pml__memory.calloc(n, bytes);
}

void *__wrap_realloc(void *block, size_t bytes) {
  return pml__memory.realloc(block, bytes);
}

void *__wrap_aligned_alloc(size_t line, size_t bytes) {
  return pml__memory.aligned_alloc(line, bytes);
}

char *__wrap_strdup(const char *text) {
  return pml__memory.strdup(text);
}

char *__wrap_strndup(const char *text, size_t most) {
  return pml__memory.strndup(text, most);
}

size_t __wrap_malloc_usable_size(void *block) {
  return pml__memory.malloc_usable_size(block);
}

void __wrap_free(void *block) {
  pml__memory.free(block);
}
