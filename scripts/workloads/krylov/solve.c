/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/krylov/solve.c - the common frame of all solvers: checks, preparation, confirmation and report. */
#include "solver.h"
#include "telemetry.h"

#include <stdio.h>
#include <time.h>

#define TRUE_WITHIN 10.0 /* a true residual up to this many times the target confirms convergence */

static const struct {
  const char *name;
  size_t vectors; /* that it is given; 0: it makes its own */
  int (*run)(struct krylov_solve *s);
} solvers[] = {
    [KRYLOV_BICG] = {"bicg", 7, krylov__bicg},
    [KRYLOV_BICGSTAB] = {"bicgstab", 6, krylov__bicgstab},
    [KRYLOV_CG] = {"cg", 4, krylov__cg},
    [KRYLOV_CGS] = {"cgs", 7, krylov__cgs},
    [KRYLOV_GMRES] = {"gmres", 0, krylov__gmres},
    [KRYLOV_IDR] = {"idr", 0, krylov__idr},
    [KRYLOV_QMR] = {"qmr", 10, krylov__qmr},
    [KRYLOV_TFQMR] = {"tfqmr", 12, krylov__tfqmr},
    [KRYLOV_REFINE] = {"refine", KRYLOV_REFINE_VECTORS, krylov__refine},
    [KRYLOV_LOBPCG] = {"lobpcg", 0, krylov__lobpcg},
};

const char *krylov_solver_name(enum krylov_solver solver) {
  return (unsigned)solver < KRYLOV_SOLVERS ? solvers[solver].name : "unknown";
}

int krylov_solver_by_name(const char *name) {
  for (int i = 0; i < KRYLOV_SOLVERS; i++)
    if (strcmp(solvers[i].name, name) == 0) return i;
  return -ENOENT;
}

const char *krylov_outcome_name(enum krylov_outcome outcome) {
#define NAME(id, name) name,
  static const char *const names[] = {KRYLOV_OUTCOME_LIST(NAME)};
#undef NAME
  return (unsigned)outcome < KRYLOV_OUTCOMES ? names[outcome] : "unknown";
}

/* --- what solvers call --- */

void krylov__multiply(struct krylov_solve *s, const double *x, double *y) {
  krylov_matrix_multiply(s->a, x, y);
  s->report->spmv++;
  krylov__tell_spmv();
}

void krylov__multiply_transposed(struct krylov_solve *s, const double *x, double *y) {
  krylov_matrix_multiply_transposed(s->a, x, y);
  s->report->spmv++;
  krylov__tell_spmv();
}

void krylov__precondition(const struct krylov_solve *s, const double *r, double *z) {
  if (s->m)
    krylov__ilu_solve(s->m, r, z);
  else
    krylov__copy(s->a->rows, r, z);
}

void krylov__precondition_transposed(const struct krylov_solve *s, const double *r, double *z) {
  if (s->m)
    krylov__ilu_solve_transposed(s->m, r, z);
  else
    krylov__copy(s->a->rows, r, z);
}

double krylov__residual(struct krylov_solve *s, double *r) {
  krylov__multiply(s, s->x, r);
  krylov__add_to(s->a->rows, s->b, -1, r);
  return krylov__norm(s->a->rows, r);
}

static void finish(struct krylov_report *report, enum krylov_outcome outcome, const char *why) {
  report->outcome = outcome;
  snprintf(report->why, sizeof report->why, "%s", why);
}

int krylov__breakdown(struct krylov_solve *s, const char *why) {
  if (s->report->outcome == KRYLOV_OUTCOMES) finish(s->report, KRYLOV_BREAKDOWN, why);
  return 0;
}

static bool arrived(struct krylov_solve *s) {
  if (s->report->final_residual > s->target) return false;
  finish(s->report, KRYLOV_CONVERGED, "");
  return true;
}

bool krylov__begin(struct krylov_solve *s, double residual) {
  if (!isfinite(residual)) {
    krylov__breakdown(s, "the first residual is too large for a number");
    return false;
  }
  s->report->initial_residual = s->report->final_residual = residual;
  if (!s->quiet) krylov__tell_initial(residual);
  return !arrived(s);
}

bool krylov__step(struct krylov_solve *s, double residual) {
  struct krylov_report *report = s->report;
  if (!isfinite(residual)) { /* not told: a series has no NaN */
    krylov__breakdown(s, "the residual has become NaN");
    return false;
  }
  report->iterations++;
  report->final_residual = residual;
  bool wanted = s->quiet || krylov__tell_iteration(report->iterations, residual);
  double limit = s->options->stop * report->initial_residual;
  if (arrived(s)) return false;
  if (s->options->interrupt && *s->options->interrupt)
    finish(report, KRYLOV_INTERRUPTED, "interrupted");
  else if (!wanted)
    finish(report, KRYLOV_STOPPED, "Stop_I was set from outside");
  else if (limit > 0 && residual > limit)
    finish(report, KRYLOV_DIVERGED, "the residual has grown to the limit");
  else if (report->iterations >= s->most)
    finish(report, KRYLOV_ITERATIONS, "all iterations are used up");
  return report->outcome == KRYLOV_OUTCOMES;
}

/* --- checks --- */

static int check_shape(const struct krylov_matrix *a, struct krylov_error *e) {
  if (a->rows == 0) return krylov__fail(e, -EDOM, "the matrix has no rows");
  if (a->rows != a->columns)
    return krylov__fail(e, -EDOM, "the matrix is %zu x %zu; these solvers need a square one", a->rows, a->columns);
  bool *seen = calloc(a->columns, sizeof *seen);
  size_t column = 0;
  int err = 0;
  if (!seen) return krylov__fail(e, -ENOMEM, "no memory for %zu columns", a->columns);
  for (size_t i = 0; i < a->rows && !err; i++) {
    bool empty = true;
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) {
      if (a->value[k] == 0) continue;
      seen[a->column[k]] = true;
      empty = false;
    }
    if (empty) err = krylov__fail(e, -EDOM, "row %zu has no entry: the matrix is singular", i + 1);
  }
  while (!err && column < a->columns && seen[column]) column++;
  if (!err && column < a->columns)
    err = krylov__fail(e, -EDOM, "column %zu has no entry: the matrix is singular", column + 1);
  free(seen);
  return err;
}

/* Columns ascend in both, so equal means equal entry by entry. */
static int check_symmetric(const struct krylov_matrix *a, struct krylov_error *e) {
  struct krylov_matrix t;
  int err = krylov_matrix_transpose(a, &t, e);
  if (err) return err;
  bool same = memcmp(a->start, t.start, (a->rows + 1) * sizeof *a->start) == 0 &&
              memcmp(a->column, t.column, a->nonzeros * sizeof *a->column) == 0;
  double tiny = 1e-14 * krylov_matrix_norm(a);
  for (size_t k = 0; same && k < a->nonzeros; k++) same = fabs(a->value[k] - t.value[k]) <= tiny;
  krylov_matrix_free(&t);
  return same ? 0 : krylov__fail(e, -EDOM, "the matrix is not symmetric; lobpcg needs a symmetric one");
}

static int check_options(const struct krylov_matrix *a, const struct krylov_options *o, struct krylov_error *e) {
  if ((unsigned)o->solver >= KRYLOV_SOLVERS) return krylov__fail(e, -EINVAL, "unknown solver");
  if (!(o->tolerance > 0 && o->tolerance < 1))
    return krylov__fail(e, -EINVAL, "the tolerance is %g, it must be above 0 and below 1", o->tolerance);
  if (!(o->stop >= 0)) return krylov__fail(e, -EINVAL, "stop is %g, it must be 0 or more", o->stop);
  if (o->iterations == 0 || o->restart == 0)
    return krylov__fail(e, -EINVAL, "iterations and restart must be 1 or more");
  if (o->s == 0 || o->s > KRYLOV_BLOCK_MAX)
    return krylov__fail(e, -EINVAL, "s is %zu, it must be from 1 to %u", o->s, KRYLOV_BLOCK_MAX);
  if (o->solver == KRYLOV_LOBPCG && 3 * o->s > a->rows)
    return krylov__fail(e, -EINVAL, "lobpcg: s = %zu eigenpairs need %zu rows or more, the matrix has %zu", o->s,
                        3 * o->s, a->rows);
  return o->solver == KRYLOV_LOBPCG ? check_symmetric(a, e) : 0;
}

static int check_vectors(size_t n, const double *b, const double *x, struct krylov_error *e) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(b[i]) || !isfinite(x[i]))
      return krylov__fail(e, -EINVAL, "element %zu of b or x is not a finite number", i + 1);
  return 0;
}

/* --- the solve --- */

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Compare the solver's residual with the true one, which LOBPCG computes itself. */
static int confirm(struct krylov_solve *s, struct krylov_error *e) {
  struct krylov_report *report = s->report;
  size_t n = s->a->rows;
  if (s->options->solver == KRYLOV_LOBPCG) return 0;
  double *r = krylov__vectors(s, 1);
  if (!r) return krylov__fail(e, -ENOMEM, "no memory for %zu unknowns", n);
  krylov_matrix_multiply(s->a, s->x, r);
  krylov__add_to(n, s->b, -1, r);
  report->true_residual = krylov__norm(n, r);
  if (!isfinite(report->true_residual)) {
    finish(report, KRYLOV_BREAKDOWN, "the solution became too large for numbers; x is zero again");
    memset(s->x, 0, n * sizeof *s->x);
    report->true_residual = krylov__norm(n, s->b);
  }
  if (report->outcome == KRYLOV_CONVERGED && report->true_residual > TRUE_WITHIN * s->target) {
    finish(report, KRYLOV_DRIFTED, "");
    snprintf(report->why, sizeof report->why, "the solver believes %.3g, the true residual is %.3g",
             report->final_residual, report->true_residual);
  }
  free(r);
  return 0;
}

static int run(struct krylov_solve *s, struct krylov_error *e) {
  struct krylov_ilu m = {0};
  double start = now_s();
  int err = s->options->ilu ? krylov__ilu_open(&m, s->a, e) : 0;
  if (err) return err;
  s->m = s->options->ilu ? &m : NULL;
  s->report->setup_s = now_s() - start;
  krylov__tell_setup(s->report->setup_s);
  start = now_s();
  size_t vectors = solvers[s->options->solver].vectors;
  s->work = vectors > 0 ? krylov__vectors(s, vectors) : NULL;
  err = vectors > 0 && !s->work ? -ENOMEM : solvers[s->options->solver].run(s);
  free(s->work);
  s->report->runtime_s = now_s() - start;
  if (err == -ENOMEM) krylov__fail(e, err, "%s: no memory for its vectors", krylov_solver_name(s->options->solver));
  krylov__ilu_close(&m);
  s->m = NULL;
  return err ? err : confirm(s, e);
}

int krylov_solve(const struct krylov_matrix *a, const double *b, double *x, const struct krylov_options *options,
                 struct krylov_report *report, struct krylov_error *e) {
  struct krylov_solve s = {.a = a, .b = b, .x = x, .options = options, .report = report, .most = options->iterations};
  memset(report, 0, sizeof *report);
  report->outcome = KRYLOV_OUTCOMES; /* under way */
  int err = check_shape(a, e);
  if (!err) err = check_options(a, options, e);
  if (!err) err = check_vectors(a->rows, b, x, e);
  if (!err) err = krylov__tell_open(e);
  if (err) return err;
  krylov__tell_begin(a);
  double norm = options->solver == KRYLOV_LOBPCG ? krylov_matrix_norm(a) : krylov__norm(a->rows, b);
  s.target = options->tolerance * norm;
  if (!isfinite(norm)) return krylov__fail(e, -EDOM, "b or the matrix is too large: its norm is not a number");
  if (norm == 0) { /* only b can be zero here; nothing to iterate towards */
    memset(x, 0, a->rows * sizeof *x);
    krylov__begin(&s, 0);
  } else {
    err = run(&s, e);
  }
  if (!err) krylov__tell_end(report);
  return err;
}
