/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_bench.h - cost of a function call, for C and for pml.bench() in Lua.
 *
 *     static void root(void *arg) {
 *       double result = sqrt(*(double *)arg);
 *       pml_bench_keep(&result);
 *     }
 *     struct pml_bench b;
 *     double x = 2;
 *     if (pml_bench_run(root, &x, 0.5, &b) == 0) report(b.median_ns, b.low_ns, b.high_ns);
 */
#ifndef PML_BENCH_H
#define PML_BENCH_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

/* Times are of one call; all but @empty_ns are without what the loop takes. */
struct pml_bench {
  double median_ns;
  double low_ns, high_ns; /* 95 % interval of the median */
  double min_ns, max_ns;
  double empty_ns;     /* cost of a call of an empty function in the same loop, which was subtracted */
  uint64_t iterations; /* calls in a sample */
  uint64_t samples;
};

/*
 * pml_bench_run - call @f with @arg, again and again, for about @seconds, and measure what a call costs.
 * @b: the caller's; all zero on failure.
 *
 * A sample is the time of as many calls as take 0.1 ms or 1/400 of @seconds; the number is found first, which warms up.
 * Samples of @f and of an empty function, called in the same way, alternate, at least five of each. A compiler drops
 * results of @f that are not used: pass them to pml_bench_keep().
 *
 * Returns 0, -EINVAL (no function, seconds not positive) or -ENOMEM. Any thread; @f runs in it.
 */
PML_API int pml_bench_run(void (*f)(void *arg), void *arg, double seconds, struct pml_bench *b);

/*
 * pml_bench_keep - a barrier against optimisation: the compiler must have made what @value points to, and may not take
 * any memory for what it was before. No instruction but for stores of values that were in registers.
 */
static inline void pml_bench_keep(const void *value) {
  __asm__ volatile("" : : "r"(value) : "memory");
}

PML_END_DECLS

#endif
