/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/kernels/v256.c - the kernels in vectors of 256 bits. */
#include "element.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define EACH_CHAIN(X) EACH_OF_12(X)

#define ELEMENT double
#define VEC_TYPE __m256d
#define LANES 4
#define VEC_LOAD(p) _mm256_loadu_pd(p)
#define VEC_STORE(p, v) _mm256_storeu_pd(p, v)
#define VEC_SPLAT(x) _mm256_set1_pd(x)
#define VEC_FMA(x, y, z) _mm256_fmadd_pd(x, y, z)
#define VEC_SQRT(x) _mm256_sqrt_pd(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "x"(x))
#include "template.h"

#define ELEMENT float
#define VEC_TYPE __m256
#define LANES 8
#define VEC_LOAD(p) _mm256_loadu_ps(p)
#define VEC_STORE(p, v) _mm256_storeu_ps(p, v)
#define VEC_SPLAT(x) _mm256_set1_ps(x)
#define VEC_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define VEC_SQRT(x) _mm256_sqrt_ps(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "x"(x))
#include "template.h"

static const char *missing(void) {
  if (!__builtin_cpu_supports("avx2")) return "the cpu has no AVX2";
  if (!__builtin_cpu_supports("fma")) return "the cpu has no FMA";
  return NULL;
}

#else
static const char *missing(void) {
  return "there are no 256-bit kernels for this architecture";
}
#undef FUNCTIONS
#define FUNCTIONS                                                                                                      \
  {                                                                                                                    \
    {NULL}, {                                                                                                          \
      NULL                                                                                                             \
    }                                                                                                                  \
  }
#endif

const struct kernels_build kernels_256 = {"256", 256, missing, FUNCTIONS};
