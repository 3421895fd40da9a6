/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/count/kernels.h - what kernels.c gives main.c. */
#ifndef COUNT_KERNELS_H
#define COUNT_KERNELS_H

#include <stddef.h>

struct vectors {
  double *c;
  const double *a, *b;
  double d;
};

struct kernel {
  const char *name; /* NULL: the end */
  int stream;       /* on vectors that no cache holds */
  void (*run)(const struct vectors *v, size_t n);
};

extern const struct kernel plain[], source[], final[];

#endif
