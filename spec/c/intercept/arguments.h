/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/arguments.h - calls with every class of arguments, and what they gave. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "library.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct results {
  long integers;
  double doubles, mixed, variable[3];
  struct two two;
  struct floats floats;
  struct pair pair;
  struct many many;
  long double extended;
  long double _Complex wide;
  float _Complex small;
  __int128 int128;
  int recursive, tail, was, is;
  double avx[4], avx512[8];
};

#ifdef __x86_64__
__attribute__((target("avx"))) static void call_avx(double *out) {
  wide4 v[9];
  for (int i = 0; i < 9; i++) v[i] = (wide4){i, 10 + i, 20 + i, 30 + i};
  wide4 r = lib_avx(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
  memcpy(out, &r, sizeof r);
}
__attribute__((target("avx512f"))) static void call_avx512(double *out) {
  wide8 v[9];
  for (int i = 0; i < 9; i++) v[i] = (wide8){i, 10 + i, 20 + i, 30 + i, 40 + i, 50 + i, 60 + i, 70 + i};
  wide8 r = lib_avx512(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
  memcpy(out, &r, sizeof r);
}
#endif

static void call_all(struct results *r) {
  const struct many many = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.5};
  memset(r, 0, sizeof *r);
  r->integers = lib_integers(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12);
  r->doubles = lib_doubles(.1, .2, .3, .4, .5, .6, .7, .8, .9, 1., 1.1, 1.2);
  r->mixed =
      lib_mixed(-1, 2, 3, 4, 5, (struct two){6, 7}, (struct floats){8, 9}, many, (struct pair){10, 11}, 12, "13");
  r->variable[0] = lib_variable("idids", 1, 2., 3, 4., "five");
  r->variable[1] = lib_variable("iiiiiiiidddddddddddlm", 1, 2, 3, 4, 5, 6, 7, 8, 1., 2., 3., 4., 5., 6., 7., 8., 9.,
                                10., 11., 12.L, many);
  r->variable[2] = lib_variable("");
  r->two = lib_two((struct two){3, 4}, 5);
  r->floats = lib_floats((struct floats){3, 4}, 5);
  r->pair = lib_pair((struct pair){3, 4}, 5);
  r->many = lib_many(many, 7);
  r->extended = lib_extended(1.25L, 3, 0x1p-60L);
  r->wide = lib_complex(1.5L + 2.5L * I, 3 - 4 * I);
  r->small = lib_small_complex(2 + 3 * I);
  r->int128 = lib_int128(3, (__int128)1 << 100, -5);
  r->recursive = lib_recursive(10);
  r->tail = lib_tail(20);
  errno = EDOM;
  r->was = lib_errno(ERANGE);
  r->is = errno;
  lib_nothing();
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx")) call_avx(r->avx);
  if (__builtin_cpu_supports("avx512f")) call_avx512(r->avx512);
#endif
}

static bool same(const struct results *a, const struct results *b) {
  return a->integers == b->integers && a->doubles == b->doubles && a->mixed == b->mixed &&
         memcmp(a->variable, b->variable, sizeof a->variable) == 0 && memcmp(&a->two, &b->two, sizeof a->two) == 0 &&
         memcmp(&a->floats, &b->floats, sizeof a->floats) == 0 && memcmp(&a->pair, &b->pair, sizeof a->pair) == 0 &&
         memcmp(&a->many, &b->many, sizeof a->many) == 0 && a->extended == b->extended && a->wide == b->wide &&
         a->small == b->small && a->int128 == b->int128 && a->recursive == b->recursive && a->tail == b->tail &&
         a->was == b->was && a->is == b->is && memcmp(a->avx, b->avx, sizeof a->avx) == 0 &&
         memcmp(a->avx512, b->avx512, sizeof a->avx512) == 0;
}

#endif
