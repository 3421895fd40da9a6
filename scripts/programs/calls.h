/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/programs/calls.h - a function in a separate library that does almost nothing, and a clock for its time. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>
#include <time.h>

#define CALLS_API __attribute__((visibility("default")))

CALLS_API uint64_t calls_work(uint64_t x); /* x + 1 */

/* The cpu's counter, which pmlua also reads; without one, the clock of the kernel's vDSO page. */
static inline uint64_t calls_clock(void) {
#if defined __x86_64__
  return __builtin_ia32_rdtsc();
#elif defined __aarch64__
  uint64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

#endif
