/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/idr.c - IDR(s), the variant with bi-orthogonal residuals.
 *
 * M. van Gijzen, P. Sonneveld, Algorithm 913 (ACM TOMS 38, 2011); the smoothing angle 0.7 is theirs. An iteration is
 * one product with the matrix.
 */
#include "solver.h"

#define ANGLE 0.7

struct space {
  size_t n, s;
  double *p, *g, *u;                            /* [s][n] shadow vectors, residual differences, their directions */
  double *r, *v, *t;                            /* [n] */
  double m[KRYLOV_BLOCK_MAX][KRYLOV_BLOCK_MAX]; /* p' g, lower triangle */
  double f[KRYLOV_BLOCK_MAX];                   /* p' r */
  double omega;
};

/* Random and orthonormal; n >= s is seen to. */
static void choose_shadow(struct space *k) {
  uint64_t seed = 1;
  for (size_t i = 0; i < k->s; i++) {
    double *p = k->p + i * k->n;
    for (size_t j = 0; j < k->n; j++) p[j] = krylov__random(&seed);
    for (size_t j = 0; j < i; j++) krylov__add(k->n, -krylov__dot(k->n, p, k->p + j * k->n), k->p + j * k->n, p);
    double norm = krylov__norm(k->n, p);
    if (norm > 0) krylov__scale(k->n, 1 / norm, p);
    k->m[i][i] = 1;
  }
}

/* Direction k from the ones that are there: c solves the lower triangle from row k on. */
static void next_direction(struct krylov_solve *s, struct space *k, size_t at) {
  double c[KRYLOV_BLOCK_MAX] = {0};
  for (size_t i = at; i < k->s; i++) {
    c[i] = k->f[i];
    for (size_t j = at; j < i; j++) c[i] -= k->m[i][j] * c[j];
    c[i] /= k->m[i][i];
  }
  krylov__copy(k->n, k->r, k->v);
  for (size_t i = at; i < k->s; i++) krylov__add(k->n, -c[i], k->g + i * k->n, k->v);
  krylov__precondition(s, k->v, k->t);
  double *u = k->u + at * k->n;
  krylov__scale(k->n, c[at], u);
  krylov__add(k->n, k->omega, k->t, u);
  for (size_t i = at + 1; i < k->s; i++) krylov__add(k->n, c[i], k->u + i * k->n, u);
}

static void biorthogonalise(struct space *k, size_t at) {
  double *g = k->g + at * k->n, *u = k->u + at * k->n;
  for (size_t i = 0; i < at; i++) {
    double alpha = krylov__dot(k->n, k->p + i * k->n, g) / k->m[i][i];
    krylov__add(k->n, -alpha, k->g + i * k->n, g);
    krylov__add(k->n, -alpha, k->u + i * k->n, u);
  }
  for (size_t i = at; i < k->s; i++) k->m[i][at] = krylov__dot(k->n, k->p + i * k->n, g);
}

static bool inner_step(struct krylov_solve *s, struct space *k, size_t at) {
  next_direction(s, k, at);
  krylov__multiply(s, k->u + at * k->n, k->g + at * k->n);
  biorthogonalise(k, at);
  double beta = k->f[at] / k->m[at][at];
  if (!krylov__usable(k->m[at][at]) || !isfinite(beta)) {
    krylov__breakdown(s, "a residual difference is orthogonal to its shadow");
    return false;
  }
  krylov__add(k->n, -beta, k->g + at * k->n, k->r);
  krylov__add(k->n, beta, k->u + at * k->n, s->x);
  for (size_t i = at + 1; i < k->s; i++) k->f[i] -= beta * k->m[i][at];
  return krylov__step(s, krylov__norm(k->n, k->r));
}

/* Into the next smaller space. */
static bool reduce(struct krylov_solve *s, struct space *k) {
  krylov__precondition(s, k->r, k->v);
  krylov__multiply(s, k->v, k->t);
  double nt = krylov__norm(k->n, k->t), nr = krylov__norm(k->n, k->r), tr = krylov__dot(k->n, k->t, k->r);
  double angle = fabs(tr / (nt * nr));
  k->omega = tr / (nt * nt);
  if (angle < ANGLE) k->omega *= ANGLE / angle;
  if (!krylov__usable(k->omega)) {
    krylov__breakdown(s, "the residual is orthogonal to its product");
    return false;
  }
  krylov__add(k->n, k->omega, k->v, s->x);
  krylov__add(k->n, -k->omega, k->t, k->r);
  return krylov__step(s, krylov__norm(k->n, k->r));
}

int krylov__idr(struct krylov_solve *s) {
  size_t n = s->a->rows, shadows = s->options->s < n ? s->options->s : n;
  double *work = krylov__vectors(s, 3 * shadows + 3);
  if (!work) return -ENOMEM;
  struct space k = {.n = n, .s = shadows, .p = work, .g = work + shadows * n, .u = work + 2 * shadows * n, .omega = 1};
  k.r = work + 3 * shadows * n;
  k.v = k.r + n;
  k.t = k.v + n;
  choose_shadow(&k);
  bool on = krylov__begin(s, krylov__residual(s, k.r));
  while (on) {
    for (size_t i = 0; i < shadows; i++) k.f[i] = krylov__dot(n, k.p + i * n, k.r);
    for (size_t i = 0; on && i < shadows; i++) on = inner_step(s, &k, i);
    on = on && reduce(s, &k);
  }
  free(work);
  return 0;
}
