/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/krylov_solvers.c - every solver of the Krylov library converges to the known solution; systems that cannot be
 * solved end with a sentence or an outcome. spec/scripts/residuals_spec.lua checks its events.
 */
#include "check.h"
#include "krylov/krylov.h"

#include <math.h>

struct system {
  struct krylov_matrix a;
  double *b, *x;
  struct krylov_options options;
  struct krylov_report report;
  struct krylov_error e;
};

/* A x = b whose solution is all ones. */
static bool system_adopt(struct system *y) {
  size_t n = y->a.rows > y->a.columns ? y->a.rows : y->a.columns;
  y->b = calloc(n, sizeof *y->b);
  y->x = calloc(n, sizeof *y->x);
  if (!CHECK(y->b && y->x, "room for %zu unknowns", n)) return false;
  for (size_t i = 0; i < n; i++) y->x[i] = 1;
  krylov_matrix_multiply(&y->a, y->x, y->b);
  y->options = (struct krylov_options){.tolerance = 1e-8, .iterations = 1000, .restart = 50, .s = 4};
  return true;
}

static bool system_open(struct system *y, const char *what) {
  memset(y, 0, sizeof *y);
  return CHECK(krylov_matrix_open(&y->a, what, &y->e) == 0, "%s: %zu rows, %zu entries %s", what, y->a.rows,
               y->a.nonzeros, y->e.text) &&
         system_adopt(y);
}

static bool system_parse(struct system *y, const char *text) {
  memset(y, 0, sizeof *y);
  return CHECK(krylov_matrix_parse(&y->a, text, strlen(text), &y->e) == 0, "a matrix is read %s", y->e.text) &&
         system_adopt(y);
}

static void system_close(struct system *y) {
  krylov_matrix_free(&y->a);
  free(y->b);
  free(y->x);
}

static int system_solve(struct system *y, enum krylov_solver solver, bool ilu) {
  y->options.solver = solver;
  y->options.ilu = ilu;
  memset(y->x, 0, y->a.rows * sizeof *y->x);
  return krylov_solve(&y->a, y->b, y->x, &y->options, &y->report, &y->e);
}

/* All results of a solve are finite. */
static bool system_finite(const struct system *y) {
  const struct krylov_report *r = &y->report;
  bool finite = isfinite(r->initial_residual) && isfinite(r->final_residual) && isfinite(r->true_residual);
  for (size_t i = 0; i < y->a.rows; i++) finite = finite && isfinite(y->x[i]);
  return finite && r->outcome < KRYLOV_OUTCOMES;
}

#define AGREE 10.0 /* reported and true residual, either way */
#define ROUNDING                                                                                                       \
  1e-10 /* limit of rounding errors, relative to the first residual, if the residual falls at once, as with CGS */
#define SOLUTION 1e-4 /* largest error of a solution of ones */

static double largest_error(const struct system *y) {
  double w = 0;
  for (size_t i = 0; i < y->a.rows; i++) w = fmax(w, fabs(y->x[i] - 1));
  return w;
}

static size_t converges(struct system *y, const char *what, enum krylov_solver solver, bool ilu) {
  const struct krylov_report *r = &y->report;
  const char *name = krylov_solver_name(solver), *with = ilu ? "with ILU(0)" : "plain";
  int err = system_solve(y, solver, ilu);
  if (!CHECK(err == 0 && r->outcome == KRYLOV_CONVERGED, "%s, %s, %s: converges in %zu iterations (%s%s %s)", what,
             name, with, r->iterations, krylov_outcome_name(r->outcome), err ? ": " : "", err ? y->e.text : r->why))
    return 0;
  double target = y->options.tolerance * r->initial_residual, low = r->final_residual / AGREE;
  CHECK(r->true_residual <= AGREE * fmax(r->final_residual, ROUNDING * r->initial_residual) && r->true_residual >= low,
        "%s, %s, %s: reports %.3g, the true residual is %.3g", what, name, with, r->final_residual, r->true_residual);
  CHECK(r->final_residual <= target && r->spmv >= r->iterations && largest_error(y) < SOLUTION,
        "%s, %s, %s: the solution is right to %.2g after %zu products", what, name, with, largest_error(y), r->spmv);
  return r->iterations;
}

static void solves(const char *what, bool symmetric) {
  struct system y;
  if (!system_open(&y, what)) return;
  for (int solver = 0; solver < KRYLOV_LOBPCG; solver++) {
    if (solver == KRYLOV_CG && !symmetric) continue;
    size_t plain = converges(&y, what, (enum krylov_solver)solver, false);
    size_t ilu = converges(&y, what, (enum krylov_solver)solver, true);
    if (solver == KRYLOV_REFINE) continue; /* its iterations are corrections: few either way */
    CHECK(ilu > 0 && ilu < plain, "%s, %s: ILU(0) reduces %zu iterations to %zu", what,
          krylov_solver_name((enum krylov_solver)solver), plain, ilu);
  }
  system_close(&y);
}

static void small_ones(void) {
  struct system y;
  if (!system_open(&y, "poisson2d:1")) return;
  for (int solver = 0; solver < KRYLOV_LOBPCG; solver++) {
    int err = system_solve(&y, (enum krylov_solver)solver, solver % 2 == 0);
    CHECK(err == 0 && y.report.outcome == KRYLOV_CONVERGED && fabs(y.x[0] - 1) < 1e-12, "one unknown, %s: %s %s",
          krylov_solver_name((enum krylov_solver)solver), krylov_outcome_name(y.report.outcome), y.report.why);
  }
  system_close(&y);
}

static void parameters(void) {
  struct system y;
  if (!system_open(&y, "convdiff2d:24:40")) return;
  size_t least = SIZE_MAX;
  for (y.options.restart = 5; y.options.restart <= 80; y.options.restart *= 4) {
    size_t n = converges(&y, "gmres of longer cycles", KRYLOV_GMRES, false);
    if (n < least) least = n;
  }
  y.options.restart = 1000000;
  size_t whole = converges(&y, "gmres without restart", KRYLOV_GMRES, false);
  CHECK(whole > 0 && whole <= least, "no cycle takes fewer iterations than the %zu without a restart", whole);
  for (y.options.s = 1; y.options.s <= KRYLOV_BLOCK_MAX; y.options.s *= 4)
    converges(&y, "idr with more shadows", KRYLOV_IDR, false);
  system_close(&y);
}

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

static void unfit(void) {
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
}

#define HEAD "%%MatrixMarket matrix coordinate real general\n"

static void ends_well(const char *what, const char *text, bool solvable) {
  struct system y;
  if (!system_parse(&y, text)) return;
  for (int solver = 0; solver < KRYLOV_LOBPCG; solver++)
    for (int ilu = 0; ilu < 2; ilu++) {
      if (!solvable)
        for (size_t i = 0; i < y.a.rows; i++) y.b[i] = (double)i + 1; /* not in the range */
      int err = system_solve(&y, (enum krylov_solver)solver, ilu);
      const struct krylov_report *r = &y.report;
      const char *name = krylov_solver_name((enum krylov_solver)solver);
      if (err)
        CHECK(err == -EDOM && *y.e.text, "%s, %s: refused: %s", what, name, y.e.text);
      else
        CHECK(system_finite(&y) && (r->outcome == KRYLOV_CONVERGED || *r->why) &&
                  (solvable || r->outcome != KRYLOV_CONVERGED),
              "%s, %s%s: %s after %zu: %s", what, name, ilu ? " + ILU(0)" : "", krylov_outcome_name(r->outcome),
              r->iterations, r->why);
    }
  system_close(&y);
}

static void refuses(const char *what, const char *text, const char *says) {
  struct system y;
  if (!system_parse(&y, text)) return;
  for (int solver = 0; solver < KRYLOV_SOLVERS; solver++) {
    int err = system_solve(&y, (enum krylov_solver)solver, false);
    CHECK(err == -EDOM && strstr(y.e.text, says), "%s, %s: %s", what, krylov_solver_name((enum krylov_solver)solver),
          y.e.text);
  }
  system_close(&y);
}

static void zero_right_hand_side(void) {
  struct system y;
  if (!system_open(&y, "convdiff2d:8")) return;
  for (int solver = 0; solver < KRYLOV_LOBPCG; solver++) {
    memset(y.b, 0, y.a.rows * sizeof *y.b);
    y.options.solver = (enum krylov_solver)solver;
    for (size_t i = 0; i < y.a.rows; i++) y.x[i] = 3;
    int err = krylov_solve(&y.a, y.b, y.x, &y.options, &y.report, &y.e);
    bool zero = true;
    for (size_t i = 0; i < y.a.rows; i++) zero = zero && y.x[i] == 0;
    CHECK(err == 0 && zero && y.report.outcome == KRYLOV_CONVERGED && y.report.iterations == 0,
          "b = 0, %s: x = 0 without an iteration", krylov_solver_name((enum krylov_solver)solver));
  }
  system_close(&y);
}

static void options_and_ends(void) {
  struct system y;
  if (!system_open(&y, "poisson2d:30")) return;
  y.options.iterations = 3;
  CHECK(system_solve(&y, KRYLOV_BICGSTAB, false) == 0 && y.report.outcome == KRYLOV_ITERATIONS &&
            y.report.iterations == 3,
        "three iterations are three");
  y.options.iterations = 1000;
  volatile int stop = 1;
  y.options.interrupt = &stop;
  CHECK(system_solve(&y, KRYLOV_QMR, false) == 0 && y.report.outcome == KRYLOV_INTERRUPTED && y.report.iterations == 1,
        "an interrupted solve ends after its iteration");
  y.options.interrupt = NULL;
  y.options.stop = 1e-3; /* any residual that is not far smaller */
  CHECK(system_solve(&y, KRYLOV_BICG, false) == 0 && y.report.outcome == KRYLOV_DIVERGED,
        "a residual that grows to the limit ends the solve after %zu", y.report.iterations);
  y.options.stop = 0;
  CHECK(system_solve(&y, KRYLOV_CG, false) == 0 && y.report.outcome == KRYLOV_CONVERGED, "it can be solved, though");
  int err = krylov_solve(&y.a, y.b, y.x, &y.options, &y.report, &y.e);
  CHECK(err == 0 && y.report.iterations == 0, "from its own solution it has nothing to do");
  const double bad[] = {0, -1, 1, NAN, INFINITY};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    y.options.tolerance = bad[i];
    CHECK(system_solve(&y, KRYLOV_CG, false) == -EINVAL, "tolerance %g: %s", bad[i], y.e.text);
  }
  y.options.tolerance = 1e-8;
  y.options.s = KRYLOV_BLOCK_MAX + 1;
  CHECK(system_solve(&y, KRYLOV_IDR, false) == -EINVAL, "%s", y.e.text);
  y.options.s = 4;
  y.b[3] = NAN;
  CHECK(system_solve(&y, KRYLOV_CG, false) == -EINVAL, "%s", y.e.text);
  system_close(&y);
}

int main(void) {
  solves("poisson2d:20", true);
  solves("poisson3d:8", true);
  solves("convdiff2d:20:10", false);
  solves("convdiff3d:8", false);
  small_ones();
  parameters();
  poisson("poisson2d:20", 20, 2, 1);
  poisson("poisson2d:24", 24, 2, 6); /* pairs of equal ones among them */
  poisson("poisson3d:9", 9, 3, 4);
  unfit();
  refuses("rectangular", HEAD "2 3 3\n1 1 1\n2 2 1\n1 3 1\n", "square");
  refuses("an empty row", HEAD "2 2 2\n1 1 1\n1 2 1\n", "row 2");
  refuses("a row of zeros", HEAD "2 2 3\n1 1 1\n1 2 1\n2 1 0\n", "row 2");
  refuses("an empty column", HEAD "2 2 2\n1 1 1\n2 1 1\n", "column 2");
  ends_well("singular", HEAD "3 3 7\n1 1 1\n1 2 -1\n2 1 -1\n2 2 2\n2 3 -1\n3 2 -1\n3 3 1\n", false);
  ends_well("two equal rows", HEAD "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n", false);
  ends_well("indefinite", HEAD "2 2 2\n1 1 1\n2 2 -1\n", true);
  ends_well("a rotation", HEAD "2 2 2\n1 2 1\n2 1 -1\n", true);
  ends_well("a cycle", HEAD "4 4 4\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n", true);
  ends_well("huge", HEAD "2 2 4\n1 1 1e150\n1 2 3e150\n2 1 -2e150\n2 2 1e150\n", true);
  ends_well("tiny", HEAD "2 2 3\n1 1 1e-160\n1 2 1e-160\n2 2 3e-160\n", true);
  ends_well("of all sizes", HEAD "3 3 5\n1 1 1e-300\n1 2 1\n2 2 1e-200\n2 3 1e200\n3 3 1e-10\n", true);
  ends_well("huge pivots", HEAD "2 2 4\n1 1 1e-300\n1 2 1e300\n2 1 1e300\n2 2 1\n", true);
  zero_right_hand_side();
  options_and_ends();
  return check_done();
}
