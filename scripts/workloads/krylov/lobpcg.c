/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/lobpcg.c - the smallest eigenpairs of a symmetric matrix.
 *
 * A. Knyazev, LOBPCG (SIAM J. Sci. Comput. 23, 2001), on an orthonormal basis of [X, residuals, directions], which is
 * what keeps the small problem well conditioned. The residual of an iteration is the largest |A x - lambda x|.
 */
#include "solver.h"

#define BASIS_MAX (3 * KRYLOV_BLOCK_MAX)
#define DEPENDENT 1e-10 /* relative length that remains of a vector in the space */
#define SWEEPS 60

struct block {
  size_t n, k, count;                    /* count: vectors of the basis */
  double *basis, *image;                 /* [3k][n] orthonormal, and A times them; the first k are X */
  double *next, *next_image, *direction; /* [k][n] */
  double h[BASIS_MAX][BASIS_MAX], vectors[BASIS_MAX][BASIS_MAX];
  double lambda[BASIS_MAX];
};

/* Add what of @from is new to the basis; twice is enough (Parlett). False: it was in there, or is no vector. */
static bool extend(struct block *b, const double *from) {
  double *v = b->basis + b->count * b->n;
  if (v != from) krylov__copy(b->n, from, v);
  double length = krylov__norm(b->n, v);
  if (!krylov__usable(length)) return false;
  krylov__scale(b->n, 1 / length, v);
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < b->count; i++)
      krylov__add(b->n, -krylov__dot(b->n, v, b->basis + i * b->n), b->basis + i * b->n, v);
  length = krylov__norm(b->n, v);
  if (!(length > DEPENDENT)) return false;
  krylov__scale(b->n, 1 / length, v);
  b->count++;
  return true;
}

/* One rotation of Jacobi's: h[p][q] becomes 0. */
static void rotate(struct block *b, size_t p, size_t q) {
  double theta = (b->h[q][q] - b->h[p][p]) / (2 * b->h[p][q]);
  double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + hypot(theta, 1)), c = 1 / hypot(t, 1), s = t * c;
  for (size_t i = 0; i < b->count; i++) {
    double hp = b->h[i][p], hq = b->h[i][q];
    b->h[i][p] = c * hp - s * hq;
    b->h[i][q] = s * hp + c * hq;
  }
  for (size_t i = 0; i < b->count; i++) {
    double hp = b->h[p][i], hq = b->h[q][i], vp = b->vectors[i][p], vq = b->vectors[i][q];
    b->h[p][i] = c * hp - s * hq;
    b->h[q][i] = s * hp + c * hq;
    b->vectors[i][p] = c * vp - s * vq;
    b->vectors[i][q] = s * vp + c * vq;
  }
}

/* Eigenpairs of h by Jacobi's method. */
static void diagonalise(struct block *b) {
  size_t m = b->count;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < m; j++) b->vectors[i][j] = i == j;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double off = 0, all = 0;
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < m; j++) {
        all += b->h[i][j] * b->h[i][j];
        if (i != j) off += b->h[i][j] * b->h[i][j];
      }
    if (off <= 1e-32 * all) break;
    for (size_t p = 0; p < m; p++)
      for (size_t q = p + 1; q < m; q++)
        if (b->h[p][q] != 0) rotate(b, p, q);
  }
  for (size_t i = 0; i < m; i++) b->lambda[i] = b->h[i][i];
}

/* The k smallest first. */
static void sort(struct block *b) {
  for (size_t i = 0; i < b->k; i++) {
    size_t least = i;
    for (size_t j = i + 1; j < b->count; j++)
      if (b->lambda[j] < b->lambda[least]) least = j;
    double t = b->lambda[i];
    b->lambda[i] = b->lambda[least];
    b->lambda[least] = t;
    for (size_t j = 0; j < b->count; j++) {
      t = b->vectors[j][i];
      b->vectors[j][i] = b->vectors[j][least];
      b->vectors[j][least] = t;
    }
  }
}

/* Rayleigh-Ritz: the best X in the basis; the part of it that is not from the old X is the next direction. */
static void improve(struct block *b) {
  size_t n = b->n, k = b->k;
  for (size_t i = 0; i < b->count; i++)
    for (size_t j = i; j < b->count; j++) b->h[i][j] = b->h[j][i] = krylov__dot(n, b->basis + i * n, b->image + j * n);
  diagonalise(b);
  sort(b);
  memset(b->next, 0, 3 * k * n * sizeof *b->next);
  for (size_t c = 0; c < k; c++)
    for (size_t i = 0; i < b->count; i++) {
      double f = b->vectors[i][c];
      krylov__add(n, f, b->basis + i * n, b->next + c * n);
      krylov__add(n, f, b->image + i * n, b->next_image + c * n);
      if (i >= k) krylov__add(n, f, b->basis + i * n, b->direction + c * n);
    }
  krylov__copy(k * n, b->next, b->basis);
  krylov__copy(k * n, b->next_image, b->image);
}

/* The largest residual; the residuals are left in next. */
static double residuals(struct block *b) {
  double largest = 0;
  for (size_t c = 0; c < b->k; c++) {
    double *r = b->next + c * b->n;
    for (size_t i = 0; i < b->n; i++) r[i] = b->image[c * b->n + i] - b->lambda[c] * b->basis[c * b->n + i];
    double norm = krylov__norm(b->n, r);
    if (!(norm <= largest)) largest = norm;
  }
  return largest;
}

static void multiply(struct krylov_solve *s, struct block *b, size_t from) {
  for (size_t i = from; i < b->count; i++) krylov__multiply(s, b->basis + i * b->n, b->image + i * b->n);
}

/* [X, M^-1 R, directions]: as many of them as are independent. */
static void enlarge(struct krylov_solve *s, struct block *b) {
  b->count = b->k;
  for (size_t c = 0; c < b->k; c++) {
    krylov__precondition(s, b->next + c * b->n, b->next_image);
    extend(b, b->next_image);
  }
  for (size_t c = 0; c < b->k; c++) extend(b, b->direction + c * b->n);
  multiply(s, b, b->k);
}

static bool first_basis(struct block *b) {
  uint64_t seed = 1;
  for (size_t tries = 0; b->count < b->k && tries < 4 * b->k; tries++) {
    double *v = b->basis + b->count * b->n;
    for (size_t i = 0; i < b->n; i++) v[i] = krylov__random(&seed);
    extend(b, v);
  }
  return b->count == b->k;
}

static void iterate(struct krylov_solve *s, struct block *b) {
  if (!first_basis(b)) {
    krylov__breakdown(s, "no independent vectors to begin with");
    return;
  }
  multiply(s, b, 0);
  improve(b);
  double residual = residuals(b);
  bool on = krylov__begin(s, residual);
  while (on) {
    enlarge(s, b);
    if (b->count == b->k) {
      krylov__breakdown(s, "no new direction: the residuals are as small as they get");
      break;
    }
    improve(b);
    residual = residuals(b);
    on = krylov__step(s, residual);
  }
  struct krylov_report *report = s->report;
  report->neigenvalues = isfinite(residual) ? b->k : 0;
  for (size_t i = 0; i < report->neigenvalues; i++) report->eigenvalue[i] = b->lambda[i];
  report->true_residual = isfinite(residual) ? residual : report->final_residual;
  if (isfinite(residual)) krylov__copy(b->n, b->basis, s->x);
}

int krylov__lobpcg(struct krylov_solve *s) {
  size_t n = s->a->rows, k = s->options->s;
  struct block *b = calloc(1, sizeof *b);
  double *work = krylov__vectors(s, 9 * k);
  if (b && work) {
    b->n = n;
    b->k = k;
    b->basis = work;
    b->image = work + 3 * k * n;
    b->next = work + 6 * k * n;
    b->next_image = work + 7 * k * n;
    b->direction = work + 8 * k * n;
    iterate(s, b);
  }
  int err = b && work ? 0 : -ENOMEM;
  free(work);
  free(b);
  return err;
}
