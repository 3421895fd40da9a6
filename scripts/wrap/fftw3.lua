-- SPDX-License-Identifier: BSD-3-Clause
-- FFTW 3 in double precision: sizes of plans, how many transforms one makes.
--
-- fftw3.h declares four precisions; the functions of single, long double and quadruple are in separate libraries. To wrap them,
-- put the name's letter into libs (-lfftw3f) and into the filter. Threads need -lfftw3_threads before -lfftw3.
--
--     pmlua wrap init --recipe fftw3

return {
  name = "fftw3",
  title = "FFTW 3",
  package = "libfftw3-dev",
  headers = { "fftw3.h" },
  libs = "-lfftw3",
  record = { "fftw_plan_dft_1d:n", "fftw_plan_dft_1d:sign", "fftw_plan_dft_2d:n0", "fftw_plan_dft_2d:n1",
    "fftw_plan_many_dft:howmany", "fftw_plan_many_dft:rank" },
  filter = [[
# other precisions, and threads, are other libraries
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE fftwf_* fftwl_* fftwq_*
  EXCLUDE fftw_init_threads fftw_plan_with_nthreads fftw_planner_nthreads fftw_cleanup_threads
  EXCLUDE fftw_make_planner_thread_safe fftw_threads_set_callback
SCOREP_REGION_NAMES_END
]],
  calls = { fftw_malloc = 2, fftw_free = 2, fftw_plan_dft_1d = 10, fftw_plan_dft_2d = 1, fftw_plan_many_dft = 1,
    fftw_execute = 12, fftw_destroy_plan = 12, fftw_cleanup = 1 },
  example = [[
/* Transforms of 64 to 1024 points there and back; one of a plane, and one of eight rows at a time. */
#include "headers.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 1024 };

static void run(fftw_plan plan) {
  fftw_execute(plan);
  fftw_destroy_plan(plan);
}

/* How far the signal is from itself after both ways. */
static double round_trip(fftw_complex *a, fftw_complex *b, int n) {
  double worst = 0;
  for (int i = 0; i < n; i++) a[i][0] = i % 7, a[i][1] = i % 3;
  run(fftw_plan_dft_1d(n, a, b, FFTW_FORWARD, FFTW_ESTIMATE));
  run(fftw_plan_dft_1d(n, b, a, FFTW_BACKWARD, FFTW_ESTIMATE));
  for (int i = 0; i < n; i++) {
    double re = fabs(a[i][0] / n - i % 7), im = fabs(a[i][1] / n - i % 3);
    if (re > worst) worst = re;
    if (im > worst) worst = im;
  }
  return worst;
}

int main(void) {
  fftw_complex *a = fftw_malloc(sizeof *a * MOST), *b = fftw_malloc(sizeof *b * MOST);
  double worst = 0;
  if (a == NULL || b == NULL) return 1;
  for (int n = 64; n <= MOST; n *= 2) {
    double error = round_trip(a, b, n);
    if (error > worst) worst = error;
  }
  for (int i = 0; i < MOST; i++) a[i][0] = 1, a[i][1] = 0;
  run(fftw_plan_dft_2d(32, 16, a, b, FFTW_FORWARD, FFTW_ESTIMATE));
  double sum = b[0][0];
  int n = 128;
  run(fftw_plan_many_dft(1, &n, 8, a, NULL, 1, n, b, NULL, 1, n, FFTW_FORWARD, FFTW_ESTIMATE));
  double first = b[7 * n][0];
  fftw_free(a);
  fftw_free(b);
  fftw_cleanup();
  printf("worst error below 1e-12: %d, %.0f points, %.0f to a row\n", worst < 1e-12, sum, first);
  return worst < 1e-12 && sum == 512 && first == 128 ? 0 : 1;
}
]],
}
