/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/krylov_eigen.c - LOBPCG finds the eigenvalues that Poisson's problem is known to have. */
#include "krylov.h"

#define PI 3.14159265358979323846

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sums of 2 - 2 cos(i pi / (n + 1)) over the directions, ascending. */
static void known(size_t n, size_t dimensions, double *out) {
  size_t count = 0, depth = dimensions == 3 ? n : 1;
  for (size_t i = 1; i <= n; i++)
    for (size_t j = 1; j <= n; j++)
      for (size_t k = 1; k <= depth; k++) {
        double h = PI / (double)(n + 1), sum = 4 - 2 * cos((double)i * h) - 2 * cos((double)j * h);
        if (dimensions == 3) sum += 2 - 2 * cos((double)k * h);
        out[count++] = sum;
      }
  qsort(out, count, sizeof *out, ascending);
}

static size_t finds(struct system *y, const char *what, const double *lambda, bool ilu) {
  const struct krylov_report *r = &y->report;
  int err = system_solve(y, KRYLOV_LOBPCG, ilu);
  CHECK(err == 0 && r->outcome == KRYLOV_CONVERGED && r->neigenvalues == y->options.s,
        "%s: %zu eigenvalues in %zu iterations (%s)", what, r->neigenvalues, r->iterations, err ? y->e.text : r->why);
  double worst = 0;
  for (size_t i = 0; i < r->neigenvalues; i++) worst = fmax(worst, fabs(r->eigenvalue[i] - lambda[i]));
  CHECK(worst < 1e-8, "%s: they are the analytic ones to %.2g, the least is %.9f", what, worst, r->eigenvalue[0]);
  double *image = calloc(y->a.rows, sizeof *image), norm = 0;
  if (image) {
    krylov_matrix_multiply(&y->a, y->x, image);
    for (size_t i = 0; i < y->a.rows; i++) norm += pow(image[i] - r->eigenvalue[0] * y->x[i], 2);
  }
  CHECK(image && sqrt(norm) <= 10 * r->true_residual + 1e-12, "%s: x is the first eigenvector, to %.2g", what,
        sqrt(norm));
  free(image);
  return r->iterations;
}

static void poisson(const char *what, size_t n, size_t dimensions, size_t pairs) {
  struct system y;
  double *lambda = calloc(n * n * (dimensions == 3 ? n : 1), sizeof *lambda);
  if (CHECK(lambda, "room") && system_open(&y, what)) {
    known(n, dimensions, lambda);
    y.options.s = pairs;
    size_t plain = finds(&y, what, lambda, false), ilu = finds(&y, what, lambda, true);
    CHECK(ilu < plain, "%s: ILU(0) reduces %zu iterations to %zu", what, plain, ilu);
    system_close(&y);
  }
  free(lambda);
}

int main(void) {
  poisson("poisson2d:20", 20, 2, 1);
  poisson("poisson2d:24", 24, 2, 6); /* pairs of equal ones among them */
  poisson("poisson3d:9", 9, 3, 4);
  struct system y;
  if (system_open(&y, "convdiff2d:8")) {
    CHECK(system_solve(&y, KRYLOV_LOBPCG, false) == -EDOM, "an unsymmetric matrix is refused: %s", y.e.text);
    system_close(&y);
  }
  if (system_open(&y, "poisson2d:2")) {
    CHECK(system_solve(&y, KRYLOV_LOBPCG, false) == -EINVAL, "more pairs than there is room for: %s", y.e.text);
    y.options.s = 1;
    CHECK(system_solve(&y, KRYLOV_LOBPCG, false) == 0 && fabs(y.report.eigenvalue[0] - 2) < 1e-8,
          "the least eigenvalue of the smallest matrix: %g %s", y.report.eigenvalue[0], y.report.why);
    system_close(&y);
  }
  return check_done();
}
