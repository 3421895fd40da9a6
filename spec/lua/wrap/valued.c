/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/valued.c - the library behind valued.h. */
#include "valued.h"

double valued_mix(int n, double x, const char *text) {
  return n * x + (text[0] == 'a' ? 1 : 0);
}

long valued_next(long n) {
  return n + 1;
}
