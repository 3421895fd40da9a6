/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/gmres.c - GMRES(m): modified Gram-Schmidt, Givens rotations, preconditioned from the right.
 *
 * Y. Saad, Iterative Methods for Sparse Linear Systems (2003), 6.5 and 9.3.2.
 */
#include "solver.h"

struct cycle {
  size_t n, m;
  double *v;                 /* [m + 1][n] the basis */
  double *h;                 /* [m][m + 1] columns of the triangle that rotations make of the Hessenberg matrix */
  double *cosine, *sine, *g; /* [m], [m], [m + 1] */
  double *z, *w;             /* [n] */
};

/* A new basis vector and a new column of h. False: it is no longer numbers. */
static bool arnoldi(struct krylov_solve *s, struct cycle *c, size_t j) {
  double *h = c->h + j * (c->m + 1), *w = c->v + (j + 1) * c->n;
  krylov__precondition(s, c->v + j * c->n, c->z);
  krylov__multiply(s, c->z, w);
  for (size_t i = 0; i <= j; i++) {
    h[i] = krylov__dot(c->n, w, c->v + i * c->n);
    krylov__add(c->n, -h[i], c->v + i * c->n, w);
  }
  h[j + 1] = krylov__norm(c->n, w);
  if (!isfinite(h[j + 1])) return false;
  if (h[j + 1] > 0) krylov__scale(c->n, 1 / h[j + 1], w);
  return true;
}

/* Rotate the column's last entry away. False: the triangle is singular. */
static bool rotate(struct cycle *c, size_t j) {
  double *h = c->h + j * (c->m + 1);
  for (size_t i = 0; i < j; i++) {
    double t = c->cosine[i] * h[i] + c->sine[i] * h[i + 1];
    h[i + 1] = c->cosine[i] * h[i + 1] - c->sine[i] * h[i];
    h[i] = t;
  }
  double length = hypot(h[j], h[j + 1]);
  if (!krylov__usable(length)) return false;
  c->cosine[j] = h[j] / length;
  c->sine[j] = h[j + 1] / length;
  h[j] = length;
  c->g[j + 1] = -c->sine[j] * c->g[j];
  c->g[j] *= c->cosine[j];
  return true;
}

/* x += M^-1 V y with H y = g; @k columns. */
static void update(struct krylov_solve *s, struct cycle *c, size_t k) {
  for (size_t i = k; i-- > 0;) {
    for (size_t j = i + 1; j < k; j++) c->g[i] -= c->h[j * (c->m + 1) + i] * c->g[j];
    c->g[i] /= c->h[i * (c->m + 1) + i];
  }
  memset(c->w, 0, c->n * sizeof *c->w);
  for (size_t j = 0; j < k; j++) krylov__add(c->n, c->g[j], c->v + j * c->n, c->w);
  krylov__precondition(s, c->w, c->z);
  krylov__add(c->n, 1, c->z, s->x);
}

/* From the residual in v[0]. True: another cycle. */
static bool cycle(struct krylov_solve *s, struct cycle *c, double norm) {
  bool on = true;
  size_t k = 0;
  krylov__scale(c->n, 1 / norm, c->v);
  c->g[0] = norm;
  while (on && k < c->m) {
    if (!arnoldi(s, c, k) || !rotate(c, k)) {
      krylov__breakdown(s, "the Krylov space cannot grow and does not have the solution: the matrix is singular");
      on = false;
      break;
    }
    k++;
    on = krylov__step(s, fabs(c->g[k]));
  }
  update(s, c, k);
  return on;
}

int krylov__gmres(struct krylov_solve *s) {
  size_t n = s->a->rows, m = s->options->restart;
  if (m > n) m = n;
  if (m > s->most) m = s->most;
  double *work = krylov__vectors(s, m + 3), *small = m < 1u << 15 ? calloc((m + 4) * (m + 1), sizeof *small) : NULL;
  int err = -ENOMEM;
  if (work && small) {
    struct cycle c = {n,
                      m,
                      work,
                      small,
                      small + m * (m + 1),
                      small + (m + 1) * (m + 1),
                      small + (m + 2) * (m + 1),
                      work + (m + 1) * n,
                      work + (m + 2) * n};
    double norm = krylov__residual(s, c.v);
    bool on = krylov__begin(s, norm);
    while (on) {
      on = cycle(s, &c, norm);
      norm = krylov__residual(s, c.v);
      if (on && !krylov__usable(norm)) on = false, krylov__breakdown(s, "the residual of a restart is not a number");
    }
    err = 0;
  }
  free(work);
  free(small);
  return err;
}
