/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/tamm/check.c - is the contraction right? By spin orbitals, without tiles, tasks or DGEMMs. */
#include "tamm.h"
#include "telemetry.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A vector over two indices of spin orbitals. */
struct pair {
  char label[2];
  size_t n[2];
  double *v; /* [n[0] * n[1]] */
};

/* The two indices of @of that are in @also, or the two that are not. */
static int pair_open(struct pair *p, const struct tamm_tensor *of, const char *also, bool in) {
  unsigned k = 0;
  for (unsigned d = 0; d < TAMM_RANK && k < 2; d++) {
    if ((strchr(also, of->label[d]) != NULL) != in) continue;
    p->label[k] = of->label[d];
    p->n[k++] = of->space[d]->n;
  }
  p->v = calloc(p->n[0] * p->n[1], sizeof *p->v);
  return p->v ? 0 : -ENOMEM;
}

static size_t place(const struct tamm_tensor *t, char label) {
  return (size_t)(strchr(t->label, label) - t->label);
}

/* y = T x, T taken as a matrix of y's indices by x's. */
static void apply(const struct tamm_tensor *t, const struct pair *x, struct pair *y) {
  const size_t to[2] = {place(t, y->label[0]), place(t, y->label[1])};
  const size_t from[2] = {place(t, x->label[0]), place(t, x->label[1])};
  size_t at[TAMM_RANK];
  for (size_t p = 0; p < y->n[0]; p++)
    for (size_t q = 0; q < y->n[1]; q++) {
      double sum = 0;
      at[to[0]] = p;
      at[to[1]] = q;
      for (size_t r = 0; r < x->n[0]; r++)
        for (size_t s = 0; s < x->n[1]; s++) {
          at[from[0]] = r;
          at[from[1]] = s;
          sum += tamm_tensor_at(t, at) * x->v[r * x->n[1] + s];
        }
      y->v[p * y->n[1] + q] = sum;
    }
}

/* Numbers in [0.5, 1.5), so that none hides an element; G. Marsaglia's xorshift64. */
static void randomise(struct pair *x) {
  uint64_t state = 0x2545f4914f6cdd1du;
  for (size_t i = 0; i < x->n[0] * x->n[1]; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x->v[i] = (double)(state >> 11) * 0x1p-53 + 0.5;
  }
}

/* 2-norm of x - factor y, relative to the 2-norm of factor y. */
static double difference(const struct pair *x, const struct pair *y, double factor) {
  double off = 0, all = 0;
  for (size_t i = 0; i < x->n[0] * x->n[1]; i++) {
    double wanted = factor * y->v[i], d = x->v[i] - wanted;
    off += d * d;
    all += wanted * wanted;
  }
  return sqrt(off / all);
}

int tamm_check(const struct tamm_term *term, const struct tamm_tensor *a, const struct tamm_tensor *b,
               const struct tamm_tensor *c, double *error, struct tamm_error *e) {
  struct pair x = {.v = NULL}, of_b = {.v = NULL}, of_ab = {.v = NULL}, of_c = {.v = NULL};
  int err = pair_open(&x, b, term->c, true);
  if (!err) err = pair_open(&of_b, b, term->c, false);
  if (!err) err = pair_open(&of_ab, a, term->c, true);
  if (!err) err = pair_open(&of_c, a, term->c, true);
  if (!err) err = tamm__tell_open(e);
  if (!err) {
    randomise(&x);
    apply(b, &x, &of_b);
    apply(a, &of_b, &of_ab);
    apply(c, &x, &of_c);
    *error = difference(&of_c, &of_ab, term->factor);
    tamm__tell_check(term, *error);
  } else if (err == -ENOMEM) {
    tamm__fail(e, err, "no memory for the check of %s", term->name);
  }
  free(x.v);
  free(of_b.v);
  free(of_ab.v);
  free(of_c.v);
  return err;
}
