/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/kernels/scalar.c - the kernels one element at a time. */
#include "element.h"

/* Fused multiply-adds are an extension on x86-64, and part of every arm64. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("fma")))
#else
#define TARGET
#endif
#define EACH_CHAIN(X) EACH_OF_12(X)
#define WIDTH scalar

#define ELEMENT double
#define VEC_TYPE double
#define LANES 1
#define VEC_LOAD(p) ONE_LOAD(p)
#define VEC_STORE(p, v) ONE_STORE(p, v)
#define VEC_SPLAT(x) ONE_SPLAT(x)
#define VEC_FMA(x, y, z) ONE_FMA(x, y, z)
#define VEC_SQRT(x) ONE_SQRT(x)
#define VEC_KEEP(x) ONE_KEEP(x)
#include "template.h"

#define ELEMENT float
#define VEC_TYPE float
#define LANES 1
#define VEC_LOAD(p) ONE_LOAD(p)
#define VEC_STORE(p, v) ONE_STORE(p, v)
#define VEC_SPLAT(x) ONE_SPLAT(x)
#define VEC_FMA(x, y, z) ONE_FMA(x, y, z)
#define VEC_SQRT(x) ONE_SQRT(x)
#define VEC_KEEP(x) ONE_KEEP(x)
#include "template.h"

static const char *missing(void) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) return "the cpu has no FMA";
#endif
  return NULL;
}

const struct kernels_build kernels_scalar = {"scalar", 0, missing, FUNCTIONS(scalar)};
