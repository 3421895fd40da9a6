/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/tamm/dgemm.c - products of small matrices: an own kernel, or a BLAS that is found at run time. */
#include "tamm.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define ROWS 4
#define COLUMNS 4

/* Four columns of one row: GCC and Clang make of it what the processor has. */
typedef double row __attribute__((vector_size(COLUMNS * sizeof(double))));

/* ROWS x COLUMNS of c stay in registers while k runs: 2 * 16 operations per 8 loads. */
static void inner(size_t n, size_t k, size_t lda, const double *a, const double *b, double *c) {
  row sum[ROWS], of_b;
  for (int i = 0; i < ROWS; i++) memcpy(&sum[i], c + (size_t)i * n, sizeof sum[i]);
  for (size_t p = 0; p < k; p++) {
    memcpy(&of_b, b + p * n, sizeof of_b);
    for (int i = 0; i < ROWS; i++) sum[i] += a[(size_t)i * lda + p] * of_b;
  }
  for (int i = 0; i < ROWS; i++) memcpy(c + (size_t)i * n, &sum[i], sizeof sum[i]);
}

static void edge(size_t m, size_t n, size_t k, size_t lda, size_t ldb, const double *a, const double *b, double *c) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = c[i * ldb + j];
      for (size_t p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];
      c[i * ldb + j] = sum;
    }
}

void tamm_dgemm_own(size_t m, size_t n, size_t k, const double *a, const double *b, double *c) {
  size_t whole_m = m - m % ROWS, whole_n = n - n % COLUMNS;
  for (size_t j = 0; j < whole_n; j += COLUMNS)
    for (size_t i = 0; i < whole_m; i += ROWS) inner(n, k, k, a + i * k, b + j, c + i * n + j);
  if (whole_n < n) edge(m, n - whole_n, k, k, n, a, b + whole_n, c + whole_n);
  if (whole_m < m) edge(m - whole_m, whole_n, k, k, n, a + whole_m * k, b, c + whole_m * n);
}

/* --- BLAS --- */

typedef void fortran_dgemm(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                           const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
                           const double *beta, double *c, const int *ldc);
static fortran_dgemm *blas;

/* Fortran's matrices are column-major: its B' A' = C' is our row-major C = A B. */
static void dgemm_blas(size_t m, size_t n, size_t k, const double *a, const double *b, double *c) {
  const int rows = (int)m, columns = (int)n, depth = (int)k;
  const double one = 1;
  blas("N", "N", &columns, &rows, &depth, &one, b, &columns, a, &depth, &one, c, &columns);
}

int tamm_dgemm_load(const char *path, tamm_dgemm **f, struct tamm_error *e) {
  static const char *const usual[] = {"libopenblas.so.0", "libblas.so.3"};
  void *so = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  for (size_t i = 0; i < sizeof usual / sizeof *usual && !so && !*path; i++)
    so = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
  if (!so)
    return tamm__fail(e, -ENOENT, "no BLAS: %s cannot be loaded; install libopenblas0 or take the own kernel",
                      *path ? path : "neither libopenblas.so.0 nor libblas.so.3");
  fortran_dgemm *found = NULL;
  *(void **)&found = dlsym(so, "dgemm_");
  if (!found) {
    dlclose(so);
    return tamm__fail(e, -ENOENT, "no BLAS: %s has no dgemm_", *path ? path : "the library found");
  }
  /* One thread per call: the tasks are what runs in parallel. */
  void (*set_threads)(int) = NULL;
  *(void **)&set_threads = dlsym(so, "openblas_set_num_threads");
  if (set_threads) set_threads(1);
  blas = found;
  *f = dgemm_blas;
  return 0;
}
