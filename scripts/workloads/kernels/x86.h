/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/kernels/x86.h - the kernels of one width of x86's vectors; included once for each.
 *
 * The includer defines WIDTH in bits, PREFIX of the intrinsics, DOUBLES and FLOATS, the types of vectors, TARGET and
 * EACH_CHAIN (template.h), all undefined at the end of this file.
 */
#define ELEMENT double
#define VEC_TYPE DOUBLES
#define LANES (WIDTH / 64)
#define VEC_LOAD(p) PASTE(PREFIX, _loadu_pd)(p)
#define VEC_STORE(p, v) PASTE(PREFIX, _storeu_pd)(p, v)
#define VEC_SPLAT(x) PASTE(PREFIX, _set1_pd)(x)
#define VEC_FMA(x, y, z) PASTE(PREFIX, _fmadd_pd)(x, y, z)
#define VEC_SQRT(x) PASTE(PREFIX, _sqrt_pd)(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "v"(x))
#include "template.h"

#define ELEMENT float
#define VEC_TYPE FLOATS
#define LANES (WIDTH / 32)
#define VEC_LOAD(p) PASTE(PREFIX, _loadu_ps)(p)
#define VEC_STORE(p, v) PASTE(PREFIX, _storeu_ps)(p, v)
#define VEC_SPLAT(x) PASTE(PREFIX, _set1_ps)(x)
#define VEC_FMA(x, y, z) PASTE(PREFIX, _fmadd_ps)(x, y, z)
#define VEC_SQRT(x) PASTE(PREFIX, _sqrt_ps)(x)
#define VEC_KEEP(x) __asm__ volatile("" : : "v"(x))
#include "template.h"

#undef WIDTH
#undef PREFIX
#undef DOUBLES
#undef FLOATS
#undef TARGET
#undef EACH_CHAIN
