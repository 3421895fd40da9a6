/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/kernels/v512.c - the kernels in vectors of 512 bits. */
#include "element.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define EACH_CHAIN(X) EACH_OF_24(X)

#define ELEMENT double
#define VEC_TYPE __m512d
#define LANES 8
#define VEC_LOAD(p) _mm512_loadu_pd(p)
#define VEC_STORE(p, v) _mm512_storeu_pd(p, v)
#define VEC_SPLAT(x) _mm512_set1_pd(x)
#define VEC_FMA(x, y, z) _mm512_fmadd_pd(x, y, z)
#define VEC_SQRT(x) _mm512_sqrt_pd(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "v"(x))
#include "template.h"

#define ELEMENT float
#define VEC_TYPE __m512
#define LANES 16
#define VEC_LOAD(p) _mm512_loadu_ps(p)
#define VEC_STORE(p, v) _mm512_storeu_ps(p, v)
#define VEC_SPLAT(x) _mm512_set1_ps(x)
#define VEC_FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define VEC_SQRT(x) _mm512_sqrt_ps(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "v"(x))
#include "template.h"

static const char *missing(void) {
  if (!__builtin_cpu_supports("avx512f")) return "the cpu has no AVX-512F";
  return NULL;
}

#else
static const char *missing(void) {
  return "there are no 512-bit kernels for this architecture";
}
#undef FUNCTIONS
#define FUNCTIONS                                                                                                      \
  {                                                                                                                    \
    {NULL}, {                                                                                                          \
      NULL                                                                                                             \
    }                                                                                                                  \
  }
#endif

const struct kernels_build kernels_512 = {"512", 512, missing, FUNCTIONS};
