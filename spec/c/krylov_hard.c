/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/krylov_hard.c - what cannot be solved ends with a sentence or an outcome, and nowhere in a NaN. */
#include "krylov.h"

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

static void options(void) {
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
  options();
  return check_done();
}
