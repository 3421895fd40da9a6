/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_own.h - counters with a single writer and concurrent readers. Internal. */
#ifndef PML_OWN_H
#define PML_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * pml__own_add - by the owner. Others load it atomically, relaxed: each value is consistent by itself. One instruction
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

/*
 * Moves the owner's @pointer, of any type, which was @was and which no other thread reads. On x86-64 it takes one
 * instruction and no register.
 */
static inline void pml__own_move(void *pointer, const void *was, ptrdiff_t bytes) {
  typedef const char *__attribute__((may_alias)) any;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  (void)was;
  __asm__("addq %1, %0" : "+m"(*(any *)pointer) : "er"(bytes) : "cc");
#else
  *(any *)pointer = (const char *)was + bytes;
#endif
}

/* The owner's pointer once more: on x86-64 a load instead of a register that would have to be saved. */
#if defined(__x86_64__)
#define PML__OWN_AGAIN(pointer) __atomic_load_n(&(pointer), __ATOMIC_RELAXED)
#else
#define PML__OWN_AGAIN(pointer) (pointer)
#endif

/* Both of 32 bits. */
static inline void pml__own_add32(uint32_t *figure, uint32_t more) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__("addl %1, %0" : "+m"(*figure) : "er"(more) : "cc");
#else
  __atomic_store_n(figure, __atomic_load_n(figure, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
#endif
}

/* A pointer to bytes, moved on: who loads it with acquire sees what the owner stored before. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define pml__own_move_release(pointer, bytes)                                                                          \
  __asm__ volatile("addq %1, %0" : "+m"(pointer) : "er"((int64_t)(bytes)) : "cc", "memory")
#else
#define pml__own_move_release(pointer, bytes) __atomic_store_n(&(pointer), (pointer) + (bytes), __ATOMIC_RELEASE)
#endif

/* A number of 128 bits, low half first. Others see each half right for itself. */
static inline void pml__own_add128_release(uint64_t figure[2], uint64_t low, uint64_t high) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__ volatile("addq %2, %0\n\tadcq %3, %1"
                   : "+m"(figure[0]), "+m"(figure[1])
                   : "r"(low), "r"(high)
                   : "cc", "memory");
#else
  uint64_t sum = figure[0] + low;
  __atomic_store_n(&figure[1], figure[1] + high + (sum < low), __ATOMIC_RELEASE);
  __atomic_store_n(&figure[0], sum, __ATOMIC_RELEASE);
#endif
}

/* The square of @d to such a number. */
static inline void pml__own_add_square_release(uint64_t figure[2], uint64_t d) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  uint64_t low = d; /* compilers keep room for a product of 128 bits on the stack */
  __asm__ volatile("mulq %3\n\taddq %%rax, %0\n\tadcq %%rdx, %1"
                   : "+m"(figure[0]), "+m"(figure[1]), "+a"(low)
                   : "r"(d)
                   : "rdx", "cc", "memory");
#else
  __extension__ unsigned __int128 square = (unsigned __int128)d * d;
  pml__own_add128_release(figure, (uint64_t)square, (uint64_t)(square >> 64));
#endif
}

/* One less. Returns whether something is left. */
static inline bool pml__own_take32_release(uint32_t *figure) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  bool left;
  __asm__ volatile("subl $1, %0" : "+m"(*figure), "=@ccnz"(left) : : "memory");
  return left;
#else
  uint32_t rest = __atomic_load_n(figure, __ATOMIC_RELAXED) - 1;
  __atomic_store_n(figure, rest, __ATOMIC_RELEASE);
  return rest != 0;
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
