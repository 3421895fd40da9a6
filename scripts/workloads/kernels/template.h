/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/template.h - the kernels for one element type and one width; included once for each.
 *
 * The includer defines ELEMENT (double or float), its vector VEC_TYPE of LANES elements, VEC_LOAD(p), VEC_STORE(p, v),
 * VEC_SPLAT(x), VEC_FMA(x, y, z) = x * y + z, VEC_SQRT(x) and VEC_KEEP(v), all undefined at the end of this file; and,
 * for both elements, WIDTH, which ends the functions' names, TARGET, their attribute, and EACH_CHAIN(X), X(k) for each
 * chain of the peak.
 *
 * Loops are counted through an asm statement that says nothing to the machine: a compiler can neither vectorise nor
 * merge them, so that a build has the width that its name says, and a remainder is done one element at a time.
 */
#ifndef KERNELS_TEMPLATE_H
#define KERNELS_TEMPLATE_H

/* A loop of a few instructions that crosses a cache line may take a cycle more; clang has no attribute for that. */
#if defined(__clang__)
#define ALIGNED __attribute__((aligned(64)))
#else
#define ALIGNED __attribute__((aligned(64), optimize("align-loops=64")))
#endif

#define COUNTED(i) __asm__ volatile("" : "+r"(i))

#define PASTE_(x, y) x##y
#define PASTE(x, y) PASTE_(x, y)
#define NAME(x) PASTE(PASTE(PASTE(x##_, ELEMENT), _), WIDTH)

/* One element in place of a vector, for remainders. */
#define ONE_TYPE ELEMENT
#define ONE_LOAD(p) (*(p))
#define ONE_STORE(p, v) (*(p) = (v))
#define ONE_SPLAT(x) ((ELEMENT)(x))
#define ONE_FMA(x, y, z) PASTE(ELEMENT_FMA_, ELEMENT)(x, y, z)
#define ONE_SQRT(x) PASTE(ELEMENT_SQRT_, ELEMENT)(x)
#define ONE_KEEP(x) ELEMENT_KEEP(x)

#define EXPRESSION_add(K, x, y, d) ((x) + (y))
#define EXPRESSION_mult(K, x, y, d) ((x) * (y))
#define EXPRESSION_fma(K, x, y, d) K##_FMA(y, d, x)
#define EXPRESSION_divide(K, x, y, d) ((y) / (x))
#define EXPRESSION_sqrt(K, x, y, d) K##_SQRT(x)
#define EXPRESSION_mix(K, x, y, d) (K##_SPLAT(1) / K##_SQRT((x) * (x) + (y) * (y)))
#define EXPRESSION_copy(K, x, y, d) (x)

/* Operands that an expression does not use are not loaded. */
#define BOTH(K, p) K##_LOAD(p)
#define FIRST(K, p) K##_SPLAT(0)

#define STEP(name, K, SECOND)                                                                                          \
  {                                                                                                                    \
    K##_TYPE x = K##_LOAD(p + i), y = SECOND(K, q + i), z = K##_SPLAT(s);                                              \
    (void)y, (void)z;                                                                                                  \
    K##_STORE(r + i, EXPRESSION_##name(K, x, y, z));                                                                   \
  }

#define VECTORS(name, SECOND)                                                                                          \
  ALIGNED TARGET static void NAME(name)(const void *a, const void *b, void *c, const void *d, size_t n) {              \
    const ONE_TYPE *restrict p = a, *restrict q = b, s = *(const ONE_TYPE *)d;                                         \
    ONE_TYPE *restrict r = c;                                                                                          \
    size_t i = 0, whole = n / LANES * LANES;                                                                           \
    (void)q, (void)s;                                                                                                  \
    for (; i < whole; i += LANES) {                                                                                    \
      COUNTED(i);                                                                                                      \
      STEP(name, VEC, SECOND)                                                                                          \
    }                                                                                                                  \
    for (; i < n; i++) {                                                                                               \
      COUNTED(i);                                                                                                      \
      STEP(name, ONE, SECOND)                                                                                          \
    }                                                                                                                  \
  }

#define CHAIN_BEGIN(k) VEC_TYPE x##k = VEC_LOAD(p + (k)*LANES);
#define CHAIN_STEP(k) x##k = VEC_FMA(x##k, z, y);
#define CHAIN_COUNT(k) +1
#define CHAIN_KEEP(k) VEC_KEEP(x##k);
#define CHAINS (0 EACH_CHAIN(CHAIN_COUNT))

#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

VECTORS(add, BOTH)
VECTORS(mult, BOTH)
VECTORS(fma, BOTH)
VECTORS(divide, BOTH)
VECTORS(sqrt, FIRST)
VECTORS(mix, BOTH)
VECTORS(copy, FIRST)

/* Four loads to a turn, so that counting is not what limits it. */
ALIGNED TARGET static void NAME(load)(const void *a, const void *b, void *c, const void *d, size_t n) {
  const ONE_TYPE *p = a;
  size_t i = 0, whole = n / (4 * LANES) * (4 * LANES);
  (void)b, (void)c, (void)d;
  for (; i < whole; i += 4 * LANES) {
    COUNTED(i);
    VEC_TYPE x0 = VEC_LOAD(p + i), x1 = VEC_LOAD(p + i + LANES), x2 = VEC_LOAD(p + i + 2 * LANES),
             x3 = VEC_LOAD(p + i + 3 * LANES);
    VEC_KEEP(x0);
    VEC_KEEP(x1);
    VEC_KEEP(x2);
    VEC_KEEP(x3);
  }
  for (; i < n; i++) {
    COUNTED(i);
    ONE_TYPE x = p[i];
    ONE_KEEP(x);
  }
}

ALIGNED TARGET static void NAME(peak)(const void *a, const void *b, void *c, const void *d, size_t n) {
  const ONE_TYPE *p = a, *q = b, s = *(const ONE_TYPE *)d;
  VEC_TYPE y = VEC_SPLAT(*q), z = VEC_SPLAT(s);
  (void)c;
  EACH_CHAIN(CHAIN_BEGIN)
  for (size_t i = 0; i < n; i += CHAINS * LANES) {
    COUNTED(i);
    EACH_CHAIN(CHAIN_STEP)
  }
  EACH_CHAIN(CHAIN_KEEP)
}

#undef ELEMENT
#undef VEC_TYPE
#undef LANES
#undef VEC_LOAD
#undef VEC_STORE
#undef VEC_SPLAT
#undef VEC_FMA
#undef VEC_SQRT
#undef VEC_KEEP
