/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/krylov.h - systems for the specs of the Krylov library, and one solve of them. */
#ifndef SPEC_KRYLOV_H
#define SPEC_KRYLOV_H

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
static inline bool system_adopt(struct system *y) {
  size_t n = y->a.rows > y->a.columns ? y->a.rows : y->a.columns;
  y->b = calloc(n, sizeof *y->b);
  y->x = calloc(n, sizeof *y->x);
  if (!CHECK(y->b && y->x, "room for %zu unknowns", n)) return false;
  for (size_t i = 0; i < n; i++) y->x[i] = 1;
  krylov_matrix_multiply(&y->a, y->x, y->b);
  y->options = (struct krylov_options){.tolerance = 1e-8, .iterations = 1000, .restart = 50, .s = 4};
  return true;
}

static inline bool system_open(struct system *y, const char *what) {
  memset(y, 0, sizeof *y);
  return CHECK(krylov_matrix_open(&y->a, what, &y->e) == 0, "%s: %zu rows, %zu entries %s", what, y->a.rows,
               y->a.nonzeros, y->e.text) &&
         system_adopt(y);
}

static inline bool system_parse(struct system *y, const char *text) {
  memset(y, 0, sizeof *y);
  return CHECK(krylov_matrix_parse(&y->a, text, strlen(text), &y->e) == 0, "a matrix is read %s", y->e.text) &&
         system_adopt(y);
}

static inline void system_close(struct system *y) {
  krylov_matrix_free(&y->a);
  free(y->b);
  free(y->x);
}

static inline int system_solve(struct system *y, enum krylov_solver solver, bool ilu) {
  y->options.solver = solver;
  y->options.ilu = ilu;
  memset(y->x, 0, y->a.rows * sizeof *y->x);
  return krylov_solve(&y->a, y->b, y->x, &y->options, &y->report, &y->e);
}

/* Nothing that a solve leaves is a NaN or an infinity. */
static inline bool system_finite(const struct system *y) {
  const struct krylov_report *r = &y->report;
  bool finite = isfinite(r->initial_residual) && isfinite(r->final_residual) && isfinite(r->true_residual);
  for (size_t i = 0; i < y->a.rows; i++) finite = finite && isfinite(y->x[i]);
  return finite && r->outcome < KRYLOV_OUTCOMES;
}

#endif
