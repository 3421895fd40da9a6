/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/workload.c - the library as a workload: one matrix, one solver, the probe after each phase.
 */
#include "../workload.h"
#include "krylov.h"

#include <math.h>
#include <stdlib.h>

enum { MATRIX, SOLVER, PRECONDITIONER, RHS, TOLERANCE, ITERATIONS, RESTART, S, STOP };
enum { LOAD, SOLVE, SITES };

struct system {
  struct krylov_matrix a;
  double *b, *x;
};

static int text_option(struct pml_workload_run *r, unsigned option, const char *const name[], unsigned *out) {
  for (*out = 0; name[*out]; ++*out)
    if (strcmp(r->text[option], name[*out]) == 0) return 0;
  return workload_fail(r, -EINVAL, "option %s is %.40s, it must be %s or %s%s%s",
                       option == RHS ? "rhs" : "preconditioner", r->text[option], name[0], name[1],
                       name[2] ? " or " : "", name[2] ? name[2] : "");
}

static int read_options(struct pml_workload_run *r, struct krylov_options *o, unsigned *rhs) {
  static const char *const preconditioner[] = {"none", "ilu0", NULL}, *const sides[] = {"product", "ones", "zero",
                                                                                        NULL};
  unsigned which = 0;
  int solver = krylov_solver_by_name(r->text[SOLVER]);
  if (solver < 0)
    return workload_fail(r, -EINVAL,
                         "option solver is %.40s, it must be bicg, bicgstab, cg, cgs, gmres, idr, qmr, "
                         "tfqmr, refine or lobpcg",
                         r->text[SOLVER]);
  o->solver = (enum krylov_solver)solver;
  int err = text_option(r, PRECONDITIONER, preconditioner, &which);
  o->ilu = which == 1;
  if (!err) err = text_option(r, RHS, sides, rhs);
  if (!err) err = workload_size(r, ITERATIONS, "iterations", 1, 1e9, &o->iterations);
  if (!err) err = workload_size(r, RESTART, "restart", 1, 10000, &o->restart);
  if (!err) err = workload_size(r, S, "s", 1, KRYLOV_BLOCK_MAX, &o->s);
  if (err) return err;
  o->tolerance = r->number[TOLERANCE];
  o->stop = r->number[STOP];
  o->interrupt = r->stop;
  if (!(o->tolerance > 0 && o->tolerance < 1))
    return workload_fail(r, -EINVAL, "option tolerance is %g, it must be above 0 and below 1", o->tolerance);
  if (!(o->stop >= 0 && isfinite(o->stop)))
    return workload_fail(r, -EINVAL, "option stop is %g, it must be 0 or more", o->stop);
  return 0;
}

/* b, of a solution of ones where not asked otherwise. Rectangular matrices are the solver's to refuse. */
static int make_system(struct pml_workload_run *r, struct system *y, unsigned rhs) {
  size_t n = y->a.rows > y->a.columns ? y->a.rows : y->a.columns;
  y->b = calloc(n, sizeof *y->b);
  y->x = calloc(n, sizeof *y->x);
  if (!y->b || !y->x) return workload_out_of_memory(r, 2.0 * (double)n * sizeof *y->b);
  for (size_t i = 0; i < n; i++) y->x[i] = 1;
  if (rhs == 0) krylov_matrix_multiply(&y->a, y->x, y->b);
  if (rhs == 1) memcpy(y->b, y->x, y->a.rows * sizeof *y->b);
  memset(y->x, 0, n * sizeof *y->x);
  return 0;
}

static void tell(struct pml_workload_run *r, const struct system *y, const struct krylov_report *p) {
  workload_result(r, "outcome", "", p->outcome);
  workload_result(r, "iterations", "", (double)p->iterations);
  workload_result(r, "products", "", (double)p->spmv);
  workload_result(r, "initial_residual", "", p->initial_residual);
  workload_result(r, "final_residual", "", p->final_residual);
  workload_result(r, "true_residual", "", p->true_residual);
  workload_result(r, "setup_time", "s", p->setup_s);
  workload_result(r, "solve_time", "s", p->runtime_s);
  workload_result(r, "rows", "", (double)y->a.rows);
  workload_result(r, "nonzeros", "", (double)y->a.nonzeros);
  if (p->neigenvalues > 0) workload_result(r, "eigenvalue", "", p->eigenvalue[0]);
}

static int run(struct pml_workload_run *r) {
  struct krylov_options options = {0};
  struct krylov_report report;
  struct krylov_error e = {""};
  struct system y = {0};
  unsigned rhs = 0;
  int err = read_options(r, &options, &rhs);
  if (err) return err;
  uint64_t enter = pml_clock_ticks();
  err = krylov_matrix_open(&y.a, r->text[MATRIX], &e);
  if (err) return workload_fail(r, err, "%s", e.text);
  err = make_system(r, &y, rhs);
  if (!err) err = workload_site_done(r, LOAD, SITES, enter);
  if (!err) {
    enter = pml_clock_ticks();
    err = krylov_solve(&y.a, y.b, y.x, &options, &report, &e);
    if (err) workload_fail(r, err, "%s", e.text);
  }
  if (!err) err = workload_site_done(r, SOLVE, SITES, enter);
  if (!err) tell(r, &y, &report);
  krylov_matrix_free(&y.a);
  free(y.b);
  free(y.x);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "krylov",
    .help = "a sparse linear system by a Krylov solver, with its residuals as sde:::KRYLOV:: events",
    .site = {"load", "solve"},
    .option = {[MATRIX] = {"matrix",
                           "poisson2d:N, poisson3d:N, convdiff2d:N[:C], convdiff3d:N[:C] or a Matrix Market "
                           "file, gzipped or not",
                           0, "poisson2d:64"},
               [SOLVER] = {"solver", "bicg, bicgstab, cg, cgs, gmres, idr, qmr, tfqmr, refine or lobpcg", 0, "cg"},
               [PRECONDITIONER] = {"preconditioner", "none or ilu0", 0, "none"},
               [RHS] = {"rhs", "right-hand side: product (of a vector of ones), ones or zero", 0, "product"},
               [TOLERANCE] = {"tolerance", "target residual, relative to the right-hand side", 1e-8, NULL},
               [ITERATIONS] = {"iterations", "limit of iterations", 1000, NULL},
               [RESTART] = {"restart", "iterations between restarts of gmres, or of a correction of refine", 50, NULL},
               [S] = {"s", "shadow vectors of idr, eigenpairs of lobpcg", 4, NULL},
               [STOP] = {"stop", "give up when the residual is this many times the first one; 0: never", 0, NULL}},
    .run = run,
};
