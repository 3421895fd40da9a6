/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/element.h - operations on one element, for both types, for the remainders of every build.
 *
 * The square root is the instruction itself: sqrt() would test for errno in every turn. Where the compiler counts
 * operations (KERNELS_COUNTED), which it cannot in assembly, it is compiled for code that ignores errno.
 */
#ifndef KERNELS_ELEMENT_H
#define KERNELS_ELEMENT_H

#include "kernels.h"

#if defined(__x86_64__)
#define ELEMENT_ROOT(type, letter, x)                                                                                  \
  __extension__({                                                                                                      \
    type root_;                                                                                                        \
    __asm__("vsqrts" letter " %1, %1, %0" : "=x"(root_) : "x"(x));                                                     \
    root_;                                                                                                             \
  })
#define ELEMENT_KEEP(x) __asm__ volatile("" : : "x"(x))
#elif defined(__aarch64__)
#define ELEMENT_ROOT(type, letter, x)                                                                                  \
  __extension__({                                                                                                      \
    type root_;                                                                                                        \
    __asm__("fsqrt %" letter "0, %" letter "1" : "=w"(root_) : "w"(x));                                                \
    root_;                                                                                                             \
  })
#define ELEMENT_KEEP(x) __asm__ volatile("" : : "w"(x))
#else
#define ELEMENT_KEEP(x) __asm__ volatile("" : : "m"(x))
#endif
#if defined(ELEMENT_ROOT) && !defined(KERNELS_COUNTED)
#define ELEMENT_SQRT_double(x) ELEMENT_ROOT(double, "d", x)
#define ELEMENT_SQRT_float(x) ELEMENT_ROOT(float, "s", x)
#else
#define ELEMENT_SQRT_double(x) __builtin_sqrt(x)
#define ELEMENT_SQRT_float(x) __builtin_sqrtf(x)
#endif
#define ELEMENT_FMA_double(x, y, z) __builtin_fma(x, y, z)
#define ELEMENT_FMA_float(x, y, z) __builtin_fmaf(x, y, z)

/* Twelve chains hide a latency of six cycles of two units, and leave room among sixteen registers. */
#define EACH_OF_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define EACH_OF_24(X) EACH_OF_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

/* The table of a build: functions are called name_double_width and name_float_width. */
#define FUNCTIONS_OF(type, width)                                                                                      \
  {                                                                                                                    \
    add_##type##_##width, mult_##type##_##width, fma_##type##_##width, divide_##type##_##width, sqrt_##type##_##width, \
        mix_##type##_##width, copy_##type##_##width, load_##type##_##width, peak_##type##_##width                      \
  }
#define FUNCTIONS(width)                                                                                               \
  { FUNCTIONS_OF(double, width), FUNCTIONS_OF(float, width) }

#endif
