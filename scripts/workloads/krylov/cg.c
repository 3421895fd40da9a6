/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/cg.c - conjugate gradients: CG, BiCG and CGS.
 *
 * Formulas: R. Barrett et al., Templates for the Solution of Linear Systems (SIAM 1994), 2.3.
 */
#include "solver.h"

int krylov__cg(struct krylov_solve *s) {
  size_t n = s->a->rows;
  double *r = s->work, *z = r + n, *p = z + n, *q = p + n;
  double rho = 1, before;
  bool on = krylov__begin(s, krylov__residual(s, r));
  for (bool first = true; on; first = false) {
    krylov__precondition(s, r, z);
    before = rho;
    rho = krylov__dot(n, r, z);
    if (!(rho > 0) || !krylov__usable(rho)) return krylov__breakdown(s, "the preconditioner is not positive definite");
    krylov__add_to(n, z, first ? 0 : rho / before, p);
    krylov__multiply(s, p, q);
    double curvature = krylov__dot(n, p, q), alpha = rho / curvature;
    if (!(curvature > 0) || !isfinite(alpha)) return krylov__breakdown(s, "the matrix is not positive definite");
    krylov__add(n, alpha, p, s->x);
    krylov__add(n, -alpha, q, r);
    on = krylov__step(s, krylov__norm(n, r));
  }
  return 0;
}

int krylov__bicg(struct krylov_solve *s) {
  size_t n = s->a->rows;
  double *r = s->work, *z = r + n, *p = z + n, *q = p + n;
  double *shadow = q + n, *sp = shadow + n, *sz = sp + n; /* sz: its preconditioned residual, then its product */
  double rho = 1;
  bool on = krylov__begin(s, krylov__residual(s, r));
  krylov__copy(n, r, shadow);
  for (bool first = true; on; first = false) {
    double before = rho;
    krylov__precondition(s, r, z);
    krylov__precondition_transposed(s, shadow, sz);
    rho = krylov__dot(n, z, shadow);
    double beta = first ? 0 : rho / before;
    if (!krylov__usable(rho) || !isfinite(beta))
      return krylov__breakdown(s, "the residual is orthogonal to its shadow");
    krylov__add_to(n, z, beta, p);
    krylov__add_to(n, sz, beta, sp);
    krylov__multiply(s, p, q);
    krylov__multiply_transposed(s, sp, sz);
    double alpha = rho / krylov__dot(n, sp, q);
    if (!krylov__usable(alpha)) return krylov__breakdown(s, "the direction is orthogonal to its shadow");
    krylov__add(n, alpha, p, s->x);
    krylov__add(n, -alpha, q, r);
    krylov__add(n, -alpha, sz, shadow);
    on = krylov__step(s, krylov__norm(n, r));
  }
  return 0;
}

int krylov__cgs(struct krylov_solve *s) {
  size_t n = s->a->rows;
  double *r = s->work, *shadow = r + n, *u = shadow + n, *p = u + n, *q = p + n, *hat = q + n, *v = hat + n;
  double rho = 1;
  bool on = krylov__begin(s, krylov__residual(s, r));
  krylov__copy(n, r, shadow);
  for (bool first = true; on; first = false) {
    double before = rho;
    rho = krylov__dot(n, shadow, r);
    double beta = first ? 0 : rho / before;
    if (!krylov__usable(rho) || !isfinite(beta))
      return krylov__breakdown(s, "the residual is orthogonal to its shadow");
    for (size_t i = 0; i < n; i++) {
      u[i] = r[i] + beta * q[i];
      p[i] = u[i] + beta * (q[i] + beta * p[i]);
    }
    krylov__precondition(s, p, hat);
    krylov__multiply(s, hat, v);
    double alpha = rho / krylov__dot(n, shadow, v);
    if (!krylov__usable(alpha)) return krylov__breakdown(s, "the direction is orthogonal to the shadow");
    for (size_t i = 0; i < n; i++) {
      q[i] = u[i] - alpha * v[i];
      u[i] += q[i];
    }
    krylov__precondition(s, u, hat);
    krylov__multiply(s, hat, v);
    krylov__add(n, alpha, hat, s->x);
    krylov__add(n, -alpha, v, r);
    on = krylov__step(s, krylov__norm(n, r));
  }
  return 0;
}
