/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/count/kernels.c - kernels of the paper and of STREAM, compiled three times: without counting, counted at
 * source, counted at the end. TABLE is the name of the table of functions. */
#include "kernels.h"

#include <math.h>

#define KERNEL(name, expression)                                                                                       \
  static void name(const struct vectors *v, size_t n) {                                                                \
    double *restrict c = v->c;                                                                                         \
    const double *restrict a = v->a, *restrict b = v->b, d = v->d;                                                     \
    (void)b, (void)d;                                                                                                  \
    for (size_t i = 0; i < n; i++) c[i] = (expression);                                                                \
  }

KERNEL(add, a[i] + b[i])
KERNEL(mult, a[i] * b[i])
KERNEL(fma_, a[i] + b[i] * d)
KERNEL(divide, b[i] / a[i])
KERNEL(root, __builtin_sqrt(a[i]))
KERNEL(mix, 1 / __builtin_sqrt(a[i] * a[i] + b[i] * b[i]))
KERNEL(copy, a[i])
KERNEL(scale, d *a[i])

const struct kernel TABLE[] = {{"add", 0, add},
                               {"mult", 0, mult},
                               {"fma", 0, fma_},
                               {"divide", 0, divide},
                               {"sqrt", 0, root},
                               {"mix", 0, mix},
                               {"copy", 1, copy},
                               {"scale", 1, scale},
                               {"add", 1, add},
                               {"triad", 1, fma_},
                               {0}};
