/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/lua/count/kernels.c - calls the kernels of scripts/workloads/kernels, which are counted while this is not, and
 * says for each width, precision, kernel and number of elements: flops, bytes loaded and stored.
 */
#include "kernels.h"
#include "counts.h"

#include <stdio.h>

#define NAME(id, name, flops, loads, stores) #name,
static const char *const kernel_name[] = {KERNELS_LIST(NAME)};

static double a[KERNELS_PEAK_STEP], b[KERNELS_PEAK_STEP], c[KERNELS_PEAK_STEP], d[1];

static void call(const struct kernels_build *k, int precision, int kernel, size_t n) {
  uint64_t flops = counted(PML_BYFL_FLOP_COUNT), loaded = counted(PML_BYFL_LOAD_COUNT);
  uint64_t stored = counted(PML_BYFL_STORE_COUNT);
  k->function[precision][kernel](a, b, c, d, n);
  printf("%s %d %s %zu %lu %lu %lu\n", k->name, precision, kernel_name[kernel], n,
         (unsigned long)(counted(PML_BYFL_FLOP_COUNT) - flops), (unsigned long)(counted(PML_BYFL_LOAD_COUNT) - loaded),
         (unsigned long)(counted(PML_BYFL_STORE_COUNT) - stored));
}

int main(void) {
  const struct kernels_build *build[] = {&kernels_scalar, &kernels_128, &kernels_256};
  for (int w = 0; w < 3; w++) {
    if (build[w]->missing() != NULL) continue;
    for (int p = 0; p < KERNELS_PRECISIONS; p++)
      for (int k = 0; k < KERNELS_COUNT; k++) {
        for (size_t n = 1; n <= 50 && k != KERNELS_PEAK; n++) call(build[w], p, k, n);
        if (k == KERNELS_PEAK) call(build[w], p, k, KERNELS_PEAK_STEP);
      }
  }
  return 0;
}
