/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/krylov.h - a small library of Krylov solvers that publishes events about its progress.
 *
 *     struct krylov_matrix a;
 *     struct krylov_error e;
 *     if (krylov_matrix_open(&a, "poisson2d:64", &e) < 0) puts(e.text);
 *     krylov_solve(&a, b, x, &options, &report, &e);
 *
 * Functions return 0 or a negative code (-EINVAL, -ENOMEM, -EDOM for an unusable matrix, -errno) with
 * a sentence in the error. A solver that does not converge is not an error: the report contains its outcome and the
 * reason. The values in b, x and the report are always finite. Events are under sde:::KRYLOV::, see telemetry.c.
 * Reentrant, but the events belong to the process: two solves at once share them.
 */
#ifndef KRYLOV_H
#define KRYLOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct krylov_error {
  char text[224];
};

/* Compressed rows; the columns of a row ascend. */
struct krylov_matrix {
  size_t rows, columns, nonzeros;
  size_t *start; /* [rows + 1] */
  uint32_t *column;
  double *value;
};

struct krylov_entry {
  uint32_t row, column;
  double value;
};

/* From entries in any order; those at the same place are added up. The entries stay the caller's. */
int krylov_matrix_build(struct krylov_matrix *a, size_t rows, size_t columns, const struct krylov_entry *entry,
                        size_t n, struct krylov_error *e);
/* From "poisson2d:N", "poisson3d:N", "convdiff2d:N[:C]", "convdiff3d:N[:C]" or the path of a Matrix Market file. */
int krylov_matrix_open(struct krylov_matrix *a, const char *what, struct krylov_error *e);
/* -ENOENT: @spec is no generator's name. */
int krylov_matrix_generate(struct krylov_matrix *a, const char *spec, struct krylov_error *e);
/* Matrix Market coordinates: real, integer or pattern; general, symmetric or skew-symmetric. Gzipped or not. */
int krylov_matrix_read(struct krylov_matrix *a, const char *path, struct krylov_error *e);
int krylov_matrix_parse(struct krylov_matrix *a, const char *text, size_t size, struct krylov_error *e);
int krylov_matrix_transpose(const struct krylov_matrix *a, struct krylov_matrix *t, struct krylov_error *e);
void krylov_matrix_free(struct krylov_matrix *a); /* a freed or zeroed one may be freed again */

void krylov_matrix_multiply(const struct krylov_matrix *a, const double *x, double *y);            /* y = A x */
void krylov_matrix_multiply_transposed(const struct krylov_matrix *a, const double *x, double *y); /* y = A' x */
double krylov_matrix_norm(const struct krylov_matrix *a); /* the largest sum of a row's absolute values */

#define KRYLOV_SOLVER_LIST(X)                                                                                          \
  X(BICG, "bicg")                                                                                                      \
  X(BICGSTAB, "bicgstab")                                                                                              \
  X(CG, "cg")                                                                                                          \
  X(CGS, "cgs")                                                                                                        \
  X(GMRES, "gmres")                                                                                                    \
  X(IDR, "idr")                                                                                                        \
  X(QMR, "qmr")                                                                                                        \
  X(TFQMR, "tfqmr")                                                                                                    \
  X(REFINE, "refine")                                                                                                  \
  X(LOBPCG, "lobpcg")

#define KRYLOV_OUTCOME_LIST(X)                                                                                         \
  X(CONVERGED, "converged")                                                                                            \
  X(ITERATIONS, "iterations") /* the maximum was reached without convergence */                                        \
  X(DRIFTED, "drifted")       /* its own residual converged, but the true one is more than 10 times larger */          \
  X(DIVERGED, "diverged")     /* the residual grew past options.stop times the initial one */                          \
  X(BREAKDOWN, "breakdown")   /* the recurrence cannot continue */                                                     \
  X(STOPPED, "stopped")       /* sde:::KRYLOV::Stop_I was set */                                                       \
  X(INTERRUPTED, "interrupted")

#define KRYLOV_ENUM(id, name) KRYLOV_##id,
enum krylov_solver { KRYLOV_SOLVER_LIST(KRYLOV_ENUM) KRYLOV_SOLVERS };
enum krylov_outcome { KRYLOV_OUTCOME_LIST(KRYLOV_ENUM) KRYLOV_OUTCOMES };
#undef KRYLOV_ENUM

const char *krylov_solver_name(enum krylov_solver solver);
const char *krylov_outcome_name(enum krylov_outcome outcome);
int krylov_solver_by_name(const char *name); /* -ENOENT */

#define KRYLOV_BLOCK_MAX 16u

struct krylov_options {
  enum krylov_solver solver;
  bool ilu;                      /* ILU(0): with the pattern of the matrix */
  double tolerance;              /* relative to |b|; LOBPCG: to the norm of A */
  size_t iterations;             /* at most */
  size_t restart;                /* GMRES: steps of a cycle; refine: most steps of a correction */
  size_t s;                      /* IDR: shadow vectors; LOBPCG: eigenpairs wanted; at most KRYLOV_BLOCK_MAX */
  double stop;                   /* diverged when the residual is this many times the initial one; 0: never */
  const volatile int *interrupt; /* may be NULL; non-zero ends the solve */
};

struct krylov_report {
  enum krylov_outcome outcome;
  char why[128]; /* a sentence when it did not converge */
  size_t iterations, spmv;
  double initial_residual, final_residual; /* 2-norms, by the solver's own account */
  double true_residual;                    /* |b - A x| at the end; LOBPCG: the largest |A x - lambda x| */
  double setup_s, runtime_s;               /* factorisation; solver without it */
  size_t neigenvalues;
  double eigenvalue[KRYLOV_BLOCK_MAX]; /* LOBPCG: the smallest ones, ascending */
};

/*
 * krylov_solve - A x = b from the x that is given; LOBPCG: the s smallest eigenvalues, b is not used and x takes the
 * first eigenvector. A zero b has the solution 0, without an iteration.
 *
 * -EDOM: the matrix is not square, has an empty row or column, ILU(0) meets a zero pivot, or LOBPCG's is not symmetric.
 */
int krylov_solve(const struct krylov_matrix *a, const double *b, double *x, const struct krylov_options *options,
                 struct krylov_report *report, struct krylov_error *e);

#endif
