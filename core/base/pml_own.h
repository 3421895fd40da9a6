/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_own.h - figures that one thread changes and others may read. Internal. */
#ifndef PML_OWN_H
#define PML_OWN_H

#include <stdint.h>

/*
 * pml__own_add - by the owner. Others load it atomically, relaxed: what they see is right for itself. One instruction
 * on x86-64, where a compiler makes three of an atomic load and store. A signal handler either interrupts before it or
 * after it there; elsewhere what a handler adds may be lost. General registers only.
 */
static inline void pml__own_add(uint64_t *figure, uint64_t more) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__("addq %1, %0" : "+m"(*figure) : "er"(more) : "cc");
#else
  __atomic_store_n(figure, __atomic_load_n(figure, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
#endif
}

/* The same with release: a thread that loads it with acquire sees what the owner did before. */
static inline void pml__own_add_release(uint64_t *figure, uint64_t more) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__ volatile("addq %1, %0" : "+m"(*figure) : "er"(more) : "cc", "memory");
#else
  __atomic_store_n(figure, __atomic_load_n(figure, __ATOMIC_RELAXED) + more, __ATOMIC_RELEASE);
#endif
}

/* Both of 32 bits. */
static inline void pml__own_add32(uint32_t *figure, uint32_t more) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__("addl %1, %0" : "+m"(*figure) : "er"(more) : "cc");
#else
  __atomic_store_n(figure, __atomic_load_n(figure, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
#endif
}

/* Returns the sum. */
static inline uint32_t pml__own_add32_release(uint32_t *figure, uint32_t more) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__ volatile("addl %1, %0" : "+m"(*figure) : "er"(more) : "cc", "memory");
  return *figure;
#else
  uint32_t sum = __atomic_load_n(figure, __ATOMIC_RELAXED) + more;
  __atomic_store_n(figure, sum, __ATOMIC_RELEASE);
  return sum;
#endif
}

#endif
