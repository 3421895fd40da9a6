/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/kernels.h - basic arithmetic kernels, each written once and compiled for several widths.
 *
 * The six of K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific applications using
 * PMlib (2018), section IV-A, and what a roofline needs beside them: reading alone, copying, and multiply-adds that
 * never leave the registers.
 */
#ifndef PMLUA_KERNELS_H
#define PMLUA_KERNELS_H

#include <stddef.h>

/*
 * id, name, flops, loads and stores of one element, as the source has them: a fused multiply-add counts two, a division
 * and a square root one each. Bytes are what the source moves; lines that a store fetches first are not among them.
 */
#define KERNELS_LIST(X)                                                                                                \
  X(ADD, add, 1, 2, 1)       /* c = a + b */                                                                           \
  X(MULT, mult, 1, 2, 1)     /* c = a * b */                                                                           \
  X(FMA, fma, 2, 2, 1)       /* c = a + b * d, fused */                                                                \
  X(DIVIDE, divide, 1, 2, 1) /* c = b / a */                                                                           \
  X(SQRT, sqrt, 1, 1, 1)     /* c = sqrt(a) */                                                                         \
  X(MIX, mix, 5, 2, 1)       /* c = 1 / sqrt(a * a + b * b), not fused */                                              \
  X(COPY, copy, 0, 1, 1)     /* c = a */                                                                               \
  X(LOAD, load, 0, 1, 0)     /* a is read into registers */                                                            \
  X(PEAK, peak, 2, 0, 0)     /* x = x * d + b, fused, in registers; n must be a multiple of KERNELS_PEAK_STEP */

#define KERNELS_ENUM(id, name, flops, loads, stores) KERNELS_##id,
enum kernels_id { KERNELS_LIST(KERNELS_ENUM) KERNELS_COUNT };
#undef KERNELS_ENUM

/* A multiple of the elements that are in registers at once, in every build and precision. */
#define KERNELS_PEAK_STEP 384

enum kernels_precision { KERNELS_DOUBLE, KERNELS_SINGLE, KERNELS_PRECISIONS };

/* @a and @b hold n elements, @d one; @c takes n. The vectors may not overlap. No alignment is needed. */
typedef void kernels_function(const void *a, const void *b, void *c, const void *d, size_t n);

struct kernels_build {
  const char *name;             /* as the option: "scalar", "128", "256", "512" */
  unsigned bits;                /* of a vector; 0: one element at a time */
  const char *(*missing)(void); /* NULL, or why it cannot run here: a static text */
  kernels_function *function[KERNELS_PRECISIONS][KERNELS_COUNT];
};

extern const struct kernels_build kernels_scalar, kernels_128, kernels_256, kernels_512;

#endif
