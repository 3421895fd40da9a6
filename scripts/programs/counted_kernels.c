/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/counted_kernels.c - the kernels of kernel_sweep and of STREAM, and two on matrices, as plain loops
 * that a compiler may change as it likes. scripts/counted/kernels.lua has their operations, counted by hand.
 */
#include "counted.h"

#define KERNEL(name, body)                                                                                             \
  static void name(double *restrict c, const double *restrict a, const double *restrict b, double d, size_t n) {       \
    (void)a, (void)b, (void)c, (void)d, (void)n;                                                                       \
    body                                                                                                               \
  }
#define VECTOR(name, expression) KERNEL(name, for (size_t i = 0; i < n; i++) c[i] = (expression);)

KERNEL(nothing, )
VECTOR(add, a[i] + b[i])
VECTOR(mult, a[i] * b[i])
VECTOR(fma_, __builtin_fma(b[i], d, a[i]))
VECTOR(divide, b[i] / a[i])
VECTOR(root, __builtin_sqrt(a[i]))
KERNEL(
    mix, for (size_t i = 0; i < n; i++) {
      double x = a[i];
      double y = b[i];
      c[i] = 1 / __builtin_sqrt(x * x + y * y);
    })
VECTOR(copy, a[i])
VECTOR(scale, d *a[i])
VECTOR(triad, a[i] + d * b[i])
VECTOR(clear, 0)
KERNEL(sum, for (size_t i = 0; i < n; i++) c[0] += a[i];)

static void product(double *restrict c, const double *restrict a, const double *restrict b, double d, size_t n) {
  (void)d;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++)
      for (size_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* In place and without pivoting; Golub and Van Loan, Matrix Computations, algorithm 3.2.1. */
static void lu(double *restrict c, const double *restrict a, const double *restrict b, double d, size_t n) {
  (void)a, (void)b, (void)d;
  for (size_t k = 0; k < n; k++)
    for (size_t i = k + 1; i < n; i++) {
      c[i * n + k] /= c[k * n + k];
      for (size_t j = k + 1; j < n; j++) c[i * n + j] -= c[i * n + k] * c[k * n + j];
    }
}

const struct counted_kernel counted_kernels[] = {
    {"nothing", 0, nothing}, {"add", 0, add}, {"mult", 0, mult},       {"fma", 0, fma_},    {"divide", 0, divide},
    {"sqrt", 0, root},       {"mix", 0, mix}, {"copy", 0, copy},       {"scale", 0, scale}, {"triad", 0, triad},
    {"clear", 0, clear},     {"sum", 0, sum}, {"product", 1, product}, {"lu", 1, lu},       {0},
};
