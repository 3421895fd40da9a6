/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/kernels/v128.c - the kernels in vectors of 128 bits: AVX with FMA, or NEON. */
#include "element.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("fma")))
#define EACH_CHAIN(X) EACH_OF_12(X)

#define ELEMENT double
#define VEC_TYPE __m128d
#define LANES 2
#define VEC_LOAD(p) _mm_loadu_pd(p)
#define VEC_STORE(p, v) _mm_storeu_pd(p, v)
#define VEC_SPLAT(x) _mm_set1_pd(x)
#define VEC_FMA(x, y, z) _mm_fmadd_pd(x, y, z)
#define VEC_SQRT(x) _mm_sqrt_pd(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "x"(x))
#include "template.h"

#define ELEMENT float
#define VEC_TYPE __m128
#define LANES 4
#define VEC_LOAD(p) _mm_loadu_ps(p)
#define VEC_STORE(p, v) _mm_storeu_ps(p, v)
#define VEC_SPLAT(x) _mm_set1_ps(x)
#define VEC_FMA(x, y, z) _mm_fmadd_ps(x, y, z)
#define VEC_SQRT(x) _mm_sqrt_ps(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "x"(x))
#include "template.h"

static const char *missing(void) {
  if (!__builtin_cpu_supports("fma")) return "the cpu has no FMA";
  return NULL;
}

#elif defined(__aarch64__)
#include <arm_neon.h>

#define TARGET
#define EACH_CHAIN(X) EACH_OF_24(X)

#define ELEMENT double
#define VEC_TYPE float64x2_t
#define LANES 2
#define VEC_LOAD(p) vld1q_f64(p)
#define VEC_STORE(p, v) vst1q_f64(p, v)
#define VEC_SPLAT(x) vdupq_n_f64(x)
#define VEC_FMA(x, y, z) vfmaq_f64(z, x, y)
#define VEC_SQRT(x) vsqrtq_f64(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "w"(x))
#include "template.h"

#define ELEMENT float
#define VEC_TYPE float32x4_t
#define LANES 4
#define VEC_LOAD(p) vld1q_f32(p)
#define VEC_STORE(p, v) vst1q_f32(p, v)
#define VEC_SPLAT(x) vdupq_n_f32(x)
#define VEC_FMA(x, y, z) vfmaq_f32(z, x, y)
#define VEC_SQRT(x) vsqrtq_f32(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "w"(x))
#include "template.h"

static const char *missing(void) {
  return NULL;
}

#else
static const char *missing(void) {
  return "there are no 128-bit kernels for this architecture";
}
#undef FUNCTIONS
#define FUNCTIONS                                                                                                      \
  {                                                                                                                    \
    {NULL}, {                                                                                                          \
      NULL                                                                                                             \
    }                                                                                                                  \
  }
#endif

const struct kernels_build kernels_128 = {"128", 128, missing, FUNCTIONS};
