/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/programs/counted.h - the kernels that counted_kernels.c provides to counted.c. */
#ifndef COUNTED_H
#define COUNTED_H

#include <stddef.h>

/* a and b are inputs, c is the result; n elements or, in a matrix kernel, n times n, row by row. */
typedef void counted_function(double *restrict c, const double *restrict a, const double *restrict b, double d,
                              size_t n);

struct counted_kernel {
  const char *name; /* NULL: the end */
  int matrix;
  counted_function *run;
};

/* The first does nothing, to count the call itself. */
extern const struct counted_kernel counted_kernels[];

#endif
