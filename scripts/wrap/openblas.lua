-- SPDX-License-Identifier: BSD-3-Clause
-- OpenBLAS by its C interface: the sizes of matrix products.
--
-- Programs that call the Fortran names (dgemm_) are not seen: cblas.h does not declare them. Another BLAS with cblas_*
-- needs its own flags. cblas_xerbla takes '...'; the functions of bfloat16 are in the header, but not in Debian's library.
--
--     pmlua wrap init --recipe openblas

return {
  name = "openblas",
  title = "OpenBLAS (CBLAS)",
  package = "libopenblas-dev",
  headers = { "cblas.h" },
  cflags = "$(pkg-config --cflags openblas)",
  libs = "$(pkg-config --libs openblas)",
  record = { "cblas_dgemm:M", "cblas_dgemm:N", "cblas_dgemm:K", "cblas_dgemv:m", "cblas_ddot:return" },
  filter = [[
# bfloat16, which Debian's library is built without
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE cblas_sb* cblas_dbf16tod
SCOREP_REGION_NAMES_END
]],
  calls = { openblas_set_num_threads = 1, cblas_dgemm = 5, cblas_dgemv = 5, cblas_ddot = 10, cblas_daxpy = 5,
    cblas_dnrm2 = 5 },
  example = [[
/* (A B) x against A (B x), with matrices of 10 to 50 rows. */
#include "headers.h"

#include <stdio.h>

enum { MOST = 50 };
static double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], x[MOST], y[MOST], z[MOST];

static double difference(int m, int n, int k) {
  for (int i = 0; i < m * k; i++) a[i] = i % 5;
  for (int i = 0; i < k * n; i++) b[i] = i % 7;
  for (int i = 0; i < n; i++) x[i] = i % 3;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
  cblas_dgemv(CblasRowMajor, CblasNoTrans, m, n, 1, c, n, x, 1, 0, z, 1);
  for (int i = 0; i < m; i++) {
    y[i] = 0;
    for (int j = 0; j < k; j++) {
      double bx = 0;
      for (int l = 0; l < n; l++) bx += b[j * n + l] * x[l];
      y[i] += a[i * k + j] * bx;
    }
  }
  double yy = cblas_ddot(m, y, 1, y, 1), zz = cblas_ddot(m, z, 1, z, 1);
  cblas_daxpy(m, -1, z, 1, y, 1);
  return cblas_dnrm2(m, y, 1) + (yy > zz ? yy - zz : zz - yy) / (yy + 1);
}

int main(void) {
  openblas_set_num_threads(1);
  double worst = 0;
  for (int m = 10; m <= MOST; m += 10) {
    double error = difference(m, m / 2, m / 5);
    if (error > worst) worst = error;
  }
  printf("equal: %d\n", worst < 1e-9);
  return worst < 1e-9 ? 0 : 1;
}
]],
}
