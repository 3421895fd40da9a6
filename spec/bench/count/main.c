/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/count/main.c - times the three builds of each kernel in turn: name, group and the best ns of each. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SMALL = 1000, LARGE = 4000000, CALLS = 40 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_calls(const struct kernel *k, const struct vectors *v, size_t n, int calls) {
  double begin = now_ns();
  for (int i = 0; i < calls; i++) k->run(v, n);
  return (now_ns() - begin) / calls;
}

int main(void) {
  const struct kernel *build[] = {plain, source, final};
  double *a = malloc(LARGE * sizeof *a), *b = malloc(LARGE * sizeof *b), *c = malloc(LARGE * sizeof *c);
  if (a == NULL || b == NULL || c == NULL) return 1;
  for (size_t i = 0; i < LARGE; i++) a[i] = 1 + (double)(i % 17) / 17, b[i] = 1 + (double)(i % 13) / 13, c[i] = 0;
  struct vectors v = {c, a, b, 0.5};
  for (size_t k = 0; plain[k].name != NULL; k++) {
    double best[] = {1e18, 1e18, 1e18};
    for (int round = 0; round < (plain[k].stream ? 15 : 400); round++)
      for (int w = 0; w < 3; w++) {
        double t = time_calls(&build[w][k], &v, plain[k].stream ? LARGE : SMALL, plain[k].stream ? 1 : CALLS);
        if (t < best[w]) best[w] = t;
      }
    printf("%s %s %.1f %.1f %.1f\n", plain[k].name, plain[k].stream ? "STREAM" : "kernel", best[0], best[1], best[2]);
  }
  return 0;
}
