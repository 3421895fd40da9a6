/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/qmr.c - quasi-minimal residuals: QMR without look-ahead, and TFQMR.
 *
 * QMR: R. Barrett et al., Templates (SIAM 1994), 2.3.6. TFQMR: R. Freund, SIAM J. Sci. Comput. 14 (1993). Both carry
 * b - A x along with x, so that what they report is a residual and not a bound of it.
 */
#include "solver.h"

struct qmr {
  size_t n;
  double *r, *v, *y, *w, *p, *q, *product, *d, *residual_part, *z;
  double rho, xi, gamma, eta, theta, epsilon, delta, beta;
};

/* Scale the Lanczos vectors and find the directions p and q. */
static const char *directions(struct krylov_solve *s, struct qmr *k, bool first) {
  if (!krylov__usable(k->rho) || !krylov__usable(k->xi)) return "a Lanczos vector vanishes";
  krylov__scale(k->n, 1 / k->rho, k->v);
  krylov__scale(k->n, 1 / k->rho, k->y);
  krylov__scale(k->n, 1 / k->xi, k->w);
  k->delta = krylov__dot(k->n, k->w, k->y);
  double from_p = first ? 0 : -k->xi * k->delta / k->epsilon, from_q = first ? 0 : -k->rho * k->delta / k->epsilon;
  if (!krylov__usable(k->delta) || !isfinite(from_p) || !isfinite(from_q)) return "the Lanczos vectors are orthogonal";
  krylov__precondition_transposed(s, k->w, k->z);
  krylov__add_to(k->n, k->y, from_p, k->p);
  krylov__add_to(k->n, k->z, from_q, k->q);
  return NULL;
}

/* The next Lanczos vectors; their lengths are the new rho and xi, the old rho is returned. */
static const char *lanczos(struct krylov_solve *s, struct qmr *k) {
  krylov__multiply(s, k->p, k->product);
  k->epsilon = krylov__dot(k->n, k->q, k->product);
  k->beta = k->epsilon / k->delta;
  if (!krylov__usable(k->epsilon) || !krylov__usable(k->beta)) return "the directions are orthogonal";
  for (size_t i = 0; i < k->n; i++) k->v[i] = k->product[i] - k->beta * k->v[i];
  krylov__precondition(s, k->v, k->y);
  krylov__multiply_transposed(s, k->q, k->z);
  krylov__add_to(k->n, k->z, -k->beta, k->w);
  return NULL;
}

/* The step that makes the quasi-residual smallest. */
static const char *minimise(struct krylov_solve *s, struct qmr *k, bool first) {
  double rho = krylov__norm(k->n, k->y), gamma = k->gamma, theta = k->theta;
  k->theta = rho / (gamma * fabs(k->beta));
  k->gamma = 1 / sqrt(1 + k->theta * k->theta);
  k->eta *= -k->rho * k->gamma * k->gamma / (k->beta * gamma * gamma);
  double keep = first ? 0 : theta * theta * k->gamma * k->gamma;
  if (!krylov__usable(k->gamma) || !krylov__usable(k->eta)) return "the quasi-residual cannot be reduced";
  k->rho = rho;
  k->xi = krylov__norm(k->n, k->w);
  for (size_t i = 0; i < k->n; i++) {
    k->d[i] = k->eta * k->p[i] + keep * k->d[i];
    k->residual_part[i] = k->eta * k->product[i] + keep * k->residual_part[i];
    s->x[i] += k->d[i];
    k->r[i] -= k->residual_part[i];
  }
  return NULL;
}

int krylov__qmr(struct krylov_solve *s) {
  size_t n = s->a->rows;
  struct qmr k = {.n = n, .gamma = 1, .eta = -1};
  double **vector[] = {&k.r, &k.v, &k.y, &k.w, &k.p, &k.q, &k.product, &k.d, &k.residual_part, &k.z};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) *vector[i] = s->work + i * n;
  bool on = krylov__begin(s, krylov__residual(s, k.r));
  krylov__copy(n, k.r, k.v);
  krylov__copy(n, k.r, k.w);
  krylov__precondition(s, k.v, k.y);
  k.rho = krylov__norm(n, k.y);
  k.xi = krylov__norm(n, k.w);
  for (bool first = true; on; first = false) {
    const char *why = directions(s, &k, first);
    if (!why) why = lanczos(s, &k);
    if (!why) why = minimise(s, &k, first);
    if (why) return krylov__breakdown(s, why);
    on = krylov__step(s, krylov__norm(n, k.r));
  }
  return 0;
}

struct tfqmr {
  size_t n;
  double *r, *shadow, *w, *v, *d, *ad; /* ad = A d: a step subtracts a multiple of it from the residual */
  double *y[2], *hat[2], *u[2];        /* the two directions of an iteration, M^-1 y, A M^-1 y */
  double rho, alpha, tau, theta, eta;
};

static void apply(struct krylov_solve *s, struct tfqmr *k, int which) {
  krylov__precondition(s, k->y[which], k->hat[which]);
  krylov__multiply(s, k->hat[which], k->u[which]);
}

static const char *half(struct krylov_solve *s, struct tfqmr *k, int which) {
  double keep = k->theta * k->theta * k->eta / k->alpha;
  if (!isfinite(keep)) return "the quasi-residual cannot be reduced";
  krylov__add(k->n, -k->alpha, k->u[which], k->w);
  krylov__add_to(k->n, k->hat[which], keep, k->d);
  krylov__add_to(k->n, k->u[which], keep, k->ad);
  k->theta = krylov__norm(k->n, k->w) / k->tau;
  double cosine = 1 / sqrt(1 + k->theta * k->theta);
  k->tau *= k->theta * cosine;
  k->eta = cosine * cosine * k->alpha;
  if (!isfinite(k->tau) || !isfinite(k->eta)) return "the quasi-residual cannot be reduced";
  krylov__add(k->n, k->eta, k->d, s->x);
  krylov__add(k->n, -k->eta, k->ad, k->r);
  return NULL;
}

static const char *iteration(struct krylov_solve *s, struct tfqmr *k) {
  double sigma = krylov__dot(k->n, k->shadow, k->v);
  k->alpha = k->rho / sigma;
  if (!krylov__usable(k->alpha)) return "the direction is orthogonal to the shadow";
  for (size_t i = 0; i < k->n; i++) k->y[1][i] = k->y[0][i] - k->alpha * k->v[i];
  const char *why = half(s, k, 0);
  if (why || k->tau <= 0) return why;
  apply(s, k, 1);
  return half(s, k, 1);
}

/* From one iteration to the next. */
static const char *turn(struct krylov_solve *s, struct tfqmr *k) {
  double rho = krylov__dot(k->n, k->shadow, k->w), beta = rho / k->rho;
  if (!krylov__usable(rho) || !isfinite(beta)) return "the residual is orthogonal to its shadow";
  k->rho = rho;
  for (size_t i = 0; i < k->n; i++) {
    k->y[0][i] = k->w[i] + beta * k->y[1][i];
    k->v[i] = beta * (k->u[1][i] + beta * k->v[i]);
  }
  apply(s, k, 0);
  krylov__add(k->n, 1, k->u[0], k->v);
  return NULL;
}

int krylov__tfqmr(struct krylov_solve *s) {
  size_t n = s->a->rows;
  struct tfqmr k = {.n = n};
  double **vector[] = {&k.r,    &k.shadow, &k.w,      &k.v,      &k.d,    &k.ad,
                       &k.y[0], &k.y[1],   &k.hat[0], &k.hat[1], &k.u[0], &k.u[1]};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) *vector[i] = s->work + i * n;
  k.tau = krylov__residual(s, k.r);
  k.rho = k.tau * k.tau;
  bool on = krylov__begin(s, k.tau);
  krylov__copy(n, k.r, k.shadow);
  krylov__copy(n, k.r, k.w);
  krylov__copy(n, k.r, k.y[0]);
  if (on) apply(s, &k, 0);
  krylov__copy(n, k.u[0], k.v);
  while (on) {
    const char *why = iteration(s, &k);
    on = !why && krylov__step(s, krylov__norm(n, k.r));
    if (on) why = turn(s, &k);
    if (why) return krylov__breakdown(s, why);
  }
  return 0;
}
