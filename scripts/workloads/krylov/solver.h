/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/solver.h - what the solvers stand on: a solve under way, its vectors, its operators.
 *
 * A solver has three duties: krylov__begin() before the first step, krylov__step() after each, with the norm of the
 * residual that it believes in, and krylov__breakdown() instead of a division by nothing. Preconditioning is from the
 * right (or such that the recurrence carries b - A x), so that the residuals of all solvers mean the same.
 */
#ifndef KRYLOV_SOLVER_H
#define KRYLOV_SOLVER_H

#include "krylov.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct krylov_ilu {
  const struct krylov_matrix *a; /* the pattern */
  double *value;                 /* L below the diagonal (its own is 1), U from it on */
  size_t *diagonal;              /* where row i's diagonal entry is */
};

struct krylov_solve {
  const struct krylov_matrix *a;
  const struct krylov_ilu *m; /* NULL: no preconditioner */
  const double *b;
  double *x;
  double *work; /* zeroed vectors, as many as the solver has in the table of solve.c */
  const struct krylov_options *options;
  struct krylov_report *report;
  double target; /* the residual to get to */
  size_t most;   /* iterations */
  bool quiet;    /* an inner solve: its residuals are not told */
};

#define KRYLOV_REFINE_VECTORS 8 /* a residual, a correction, and the vectors of bicgstab */

int krylov__bicg(struct krylov_solve *s);
int krylov__bicgstab(struct krylov_solve *s);
int krylov__cg(struct krylov_solve *s);
int krylov__cgs(struct krylov_solve *s);
int krylov__gmres(struct krylov_solve *s);
int krylov__idr(struct krylov_solve *s);
int krylov__qmr(struct krylov_solve *s);
int krylov__tfqmr(struct krylov_solve *s);
int krylov__refine(struct krylov_solve *s);
int krylov__lobpcg(struct krylov_solve *s);

int krylov__ilu_open(struct krylov_ilu *m, const struct krylov_matrix *a, struct krylov_error *e);
void krylov__ilu_close(struct krylov_ilu *m);
void krylov__ilu_solve(const struct krylov_ilu *m, const double *r, double *z);
void krylov__ilu_solve_transposed(const struct krylov_ilu *m, const double *r, double *z);

__attribute__((format(printf, 3, 4))) int krylov__fail(struct krylov_error *e, int code, const char *fmt, ...);

/* The initial residual; false: it is good enough already. */
bool krylov__begin(struct krylov_solve *s, double residual);
/* Another iteration, and its residual. False: end, the report says why. */
bool krylov__step(struct krylov_solve *s, double residual);
/* The outcome is a breakdown, unless there is one already. Always 0. */
int krylov__breakdown(struct krylov_solve *s, const char *why);

void krylov__multiply(struct krylov_solve *s, const double *x, double *y);
void krylov__multiply_transposed(struct krylov_solve *s, const double *x, double *y);
void krylov__precondition(const struct krylov_solve *s, const double *r, double *z);
void krylov__precondition_transposed(const struct krylov_solve *s, const double *r, double *z);
double krylov__residual(struct krylov_solve *s, double *r); /* r = b - A x; its norm */

/* @count vectors of zeros, one after the other; free(). */
static inline double *krylov__vectors(const struct krylov_solve *s, size_t count) {
  size_t n = s->a->rows;
  return n <= SIZE_MAX / sizeof(double) / count ? calloc(n * count, sizeof(double)) : NULL;
}

/* Something that may be divided by. */
static inline bool krylov__usable(double v) {
  return isnormal(v);
}

static inline double krylov__dot(size_t n, const double *x, const double *y) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static inline double krylov__norm(size_t n, const double *x) {
  return sqrt(krylov__dot(n, x, x));
}

/* y += f x */
static inline void krylov__add(size_t n, double f, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) y[i] += f * x[i];
}

/* y = x + f y */
static inline void krylov__add_to(size_t n, const double *x, double f, double *y) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] + f * y[i];
}

static inline void krylov__scale(size_t n, double f, double *x) {
  for (size_t i = 0; i < n; i++) x[i] *= f;
}

static inline void krylov__copy(size_t n, const double *x, double *y) {
  memcpy(y, x, n * sizeof *x);
}

/* Numbers in [-0.5, 0.5), the same in every run: splitmix64. */
static inline double krylov__random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-53 - 0.5;
}

#endif
