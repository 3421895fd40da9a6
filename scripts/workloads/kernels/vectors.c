/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/vectors.c - the kernels in vectors of 128 bits (AVX with FMA, or NEON), 256 and 512.
 *
 * They are one file because most of its compilation is reading the intrinsics' header.
 */
#include "element.h"

#define NO_FUNCTIONS                                                                                                   \
  {                                                                                                                    \
    {NULL}, {                                                                                                          \
      NULL                                                                                                             \
    }                                                                                                                  \
  }

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDTH 128
#define PREFIX _mm
#define DOUBLES __m128d
#define FLOATS __m128
#define TARGET __attribute__((target("fma")))
#define EACH_CHAIN(X) EACH_OF_12(X)
#include "x86.h"

#define WIDTH 256
#define PREFIX _mm256
#define DOUBLES __m256d
#define FLOATS __m256
#define TARGET __attribute__((target("avx2,fma")))
#define EACH_CHAIN(X) EACH_OF_12(X)
#include "x86.h"

#define WIDTH 512
#define PREFIX _mm512
#define DOUBLES __m512d
#define FLOATS __m512
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define EACH_CHAIN(X) EACH_OF_24(X)
#include "x86.h"

static const char *missing_128(void) {
  return __builtin_cpu_supports("fma") ? NULL : "the cpu has no FMA";
}
static const char *missing_256(void) {
  return __builtin_cpu_supports("avx2") ? missing_128() : "the cpu has no AVX2";
}
static const char *missing_512(void) {
  return __builtin_cpu_supports("avx512f") ? NULL : "the cpu has no AVX-512F";
}

const struct kernels_build kernels_128 = {"128", 128, missing_128, FUNCTIONS(128)};
const struct kernels_build kernels_256 = {"256", 256, missing_256, FUNCTIONS(256)};
const struct kernels_build kernels_512 = {"512", 512, missing_512, FUNCTIONS(512)};

#else
#if defined(__aarch64__)
#include <arm_neon.h>

#define TARGET
#define EACH_CHAIN(X) EACH_OF_24(X)
#define WIDTH 128

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

static const char *missing_128(void) {
  return NULL;
}
const struct kernels_build kernels_128 = {"128", 128, missing_128, FUNCTIONS(128)};

#else
static const char *missing_128(void) {
  return "there are no 128-bit kernels for this architecture";
}
const struct kernels_build kernels_128 = {"128", 128, missing_128, NO_FUNCTIONS};
#endif

static const char *missing_256(void) {
  return "there are no 256-bit kernels for this architecture";
}
static const char *missing_512(void) {
  return "there are no 512-bit kernels for this architecture";
}
const struct kernels_build kernels_256 = {"256", 256, missing_256, NO_FUNCTIONS};
const struct kernels_build kernels_512 = {"512", 512, missing_512, NO_FUNCTIONS};
#endif
