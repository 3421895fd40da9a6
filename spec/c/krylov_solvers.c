/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/krylov_solvers.c - every solver gets there, and is where it says it is. */
#include "krylov.h"

#define AGREE 10.0 /* reported and true residual, either way */
#define ROUNDING                                                                                                       \
  1e-10               /* of the first residual: what rounding may leave of one that falls at once, as those of CGS do */
#define SOLUTION 1e-4 /* largest error of a solution of ones */

static double worst(const struct system *y) {
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
  CHECK(r->final_residual <= target && r->spmv >= r->iterations && worst(y) < SOLUTION,
        "%s, %s, %s: the solution is right to %.2g after %zu products", what, name, with, worst(y), r->spmv);
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

int main(void) {
  solves("poisson2d:20", true);
  solves("poisson3d:8", true);
  solves("convdiff2d:20:10", false);
  solves("convdiff3d:8", false);
  small_ones();
  parameters();
  return check_done();
}
