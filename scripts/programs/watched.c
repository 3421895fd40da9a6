/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/watched.c - two OpenMP loops to observe from outside; the program does not know its observer.
 *
 *     watched chunks [REGIONS]       22 chunks with 506 calls to two small functions in each, scheduled statically
 *     watched critical ITERATIONS    a shared variable, written in a critical section, scheduled as in OMP_SCHEDULE
 *
 * It prints the seconds that the loop took. OMP_NUM_THREADS as usual.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS 22
#define CALLS 506

static double d_var;
static double block[CHUNKS][5][5], vector[CHUNKS][5];

__attribute__((noinline)) static void matmul_sub(double (*m)[5]) {
  double row[5];
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 5; j++) {
      row[j] = 0;
      for (int k = 0; k < 5; k++) row[j] += m[i][k] * m[k][j];
    }
    for (int j = 0; j < 5; j++) m[i][j] = row[j] / 5;
  }
}

__attribute__((noinline)) static void matvec_sub(double (*m)[5], double *v) {
  for (int i = 0; i < 5; i++) {
    double sum = 0;
    for (int k = 0; k < 5; k++) sum += m[i][k] * v[k];
    v[i] = sum / 5;
  }
}

static void chunks(void) {
#pragma omp parallel for schedule(static)
  for (int c = 0; c < CHUNKS; c++) {
    for (int i = 0; i < CALLS; i++) {
      matmul_sub(block[c]);
      matvec_sub(block[c], vector[c]);
    }
  }
}

static void critical(int iterations) {
#pragma omp parallel for schedule(runtime)
  for (int i = 0; i < iterations; i++) {
#pragma omp critical
    *(volatile double *)&d_var = 0.5 * i;
  }
}

int main(int argc, char **argv) {
  int n = argc > 2 ? atoi(argv[2]) : 1;
  if (argc < 2 || n < 1 || (strcmp(argv[1], "chunks") != 0 && strcmp(argv[1], "critical") != 0)) {
    fprintf(stderr, "usage: watched chunks [REGIONS] | critical ITERATIONS\n");
    return 2;
  }
  for (int c = 0; c < CHUNKS; c++)
    for (int i = 0; i < 5; i++) block[c][i][i] = vector[c][i] = c + i;
#pragma omp parallel
  {} /* threads are there before the clock runs */
  double start = omp_get_wtime();
  if (strcmp(argv[1], "critical") == 0)
    critical(n);
  else
    for (int i = 0; i < n; i++) chunks();
  printf("%.9f\n", omp_get_wtime() - start);
  return 0;
}
