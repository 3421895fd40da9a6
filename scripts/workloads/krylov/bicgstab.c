/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/bicgstab.c - stabilised BiCG, and iterative refinement, which corrects by it.
 *
 * H. van der Vorst, Bi-CGSTAB (SIAM J. Sci. Stat. Comput. 13, 1992), preconditioned from the right.
 */
#include "solver.h"

#include <float.h>

#define CORRECTION 1e-2 /* how far a correction of the refinement is solved */

struct state {
  size_t n;
  double *r, *shadow, *p, *v, *hat, *t;
  double rho, alpha, omega;
};

/* v, and r less its part along v: half an iteration. */
static const char *first_half(struct krylov_solve *s, struct state *k) {
  double rho = krylov__dot(k->n, k->shadow, k->r), beta = rho / k->rho * (k->alpha / k->omega);
  if (!krylov__usable(rho) || !isfinite(beta)) return "the residual is orthogonal to its shadow";
  k->rho = rho;
  for (size_t i = 0; i < k->n; i++) k->p[i] = k->r[i] + beta * (k->p[i] - k->omega * k->v[i]);
  krylov__precondition(s, k->p, k->hat);
  krylov__multiply(s, k->hat, k->v);
  k->alpha = rho / krylov__dot(k->n, k->shadow, k->v);
  if (!krylov__usable(k->alpha)) return "the direction is orthogonal to the shadow";
  krylov__add(k->n, k->alpha, k->hat, s->x);
  krylov__add(k->n, -k->alpha, k->v, k->r);
  return NULL;
}

/* A step of steepest descent. The residual may be gone already: then there is nothing to do. */
static const char *second_half(struct krylov_solve *s, struct state *k) {
  if (krylov__norm(k->n, k->r) <= s->target) return NULL;
  krylov__precondition(s, k->r, k->hat);
  krylov__multiply(s, k->hat, k->t);
  double omega = krylov__dot(k->n, k->t, k->r) / krylov__dot(k->n, k->t, k->t);
  if (!krylov__usable(omega)) return "the residual is orthogonal to its product";
  k->omega = omega;
  krylov__add(k->n, omega, k->hat, s->x);
  krylov__add(k->n, -omega, k->t, k->r);
  return NULL;
}

int krylov__bicgstab(struct krylov_solve *s) {
  size_t n = s->a->rows;
  double *work = s->work;
  struct state k = {n, work, work + n, work + 2 * n, work + 3 * n, work + 4 * n, work + 5 * n, 1, 1, 1};
  bool on = krylov__begin(s, krylov__residual(s, k.r));
  krylov__copy(n, k.r, k.shadow);
  while (on) {
    const char *why = first_half(s, &k);
    if (!why) why = second_half(s, &k);
    if (why) return krylov__breakdown(s, why);
    on = krylov__step(s, krylov__norm(n, k.r));
  }
  return 0;
}

/* A correction c from A c = r, not solved far; its iterations are counted as products only. Its vectors are behind c.
 */
static void correct(struct krylov_solve *s, const double *r, double *c) {
  struct krylov_report own = {.outcome = KRYLOV_OUTCOMES};
  struct krylov_solve inner = *s;
  memset(c, 0, (KRYLOV_REFINE_VECTORS - 1) * s->a->rows * sizeof *c);
  inner.b = r;
  inner.x = c;
  inner.work = c + s->a->rows;
  inner.report = &own;
  inner.target = fmax(CORRECTION * s->report->final_residual, DBL_MIN);
  inner.most = s->options->restart;
  inner.quiet = true;
  (void)krylov__bicgstab(&inner);
  s->report->spmv += own.spmv;
}

int krylov__refine(struct krylov_solve *s) {
  size_t n = s->a->rows;
  double *r = s->work, *c = r + n;
  bool on = krylov__begin(s, krylov__residual(s, r));
  while (on) {
    correct(s, r, c);
    double before = s->report->final_residual;
    krylov__add(n, 1, c, s->x);
    double residual = krylov__residual(s, r);
    if (!(residual < before)) { /* further corrections would be the same one */
      krylov__add(n, -1, c, s->x);
      return krylov__breakdown(s, "a correction makes the residual no smaller");
    }
    on = krylov__step(s, residual);
  }
  return 0;
}
