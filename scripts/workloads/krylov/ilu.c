/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/krylov/ilu.c - incomplete LU without fill, row by row (Saad, Iterative Methods, 10.3.2). */
#include "solver.h"

#define NOWHERE SIZE_MAX

void krylov__ilu_close(struct krylov_ilu *m) {
  free(m->value);
  free(m->diagonal);
  m->value = NULL;
  m->diagonal = NULL;
}

/* Row i minus multiples of the rows above; @where says where row i has column j. */
static void eliminate(struct krylov_ilu *m, size_t i, const size_t *where) {
  const struct krylov_matrix *a = m->a;
  for (size_t k = a->start[i]; a->column[k] < i; k++) {
    size_t row = a->column[k];
    double f = m->value[k] /= m->value[m->diagonal[row]];
    for (size_t j = m->diagonal[row] + 1; j < a->start[row + 1]; j++)
      if (where[a->column[j]] != NOWHERE) m->value[where[a->column[j]]] -= f * m->value[j];
  }
}

static int factorise(struct krylov_ilu *m, size_t *where, struct krylov_error *e) {
  const struct krylov_matrix *a = m->a;
  for (size_t i = 0; i < a->rows; i++) where[i] = NOWHERE;
  for (size_t i = 0; i < a->rows; i++) {
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) where[a->column[k]] = k;
    m->diagonal[i] = where[i];
    if (where[i] == NOWHERE)
      return krylov__fail(e, -EDOM, "ILU(0): row %zu has no diagonal entry; reorder the rows or solve without", i + 1);
    eliminate(m, i, where);
    if (!krylov__usable(m->value[where[i]]))
      return krylov__fail(e, -EDOM, "ILU(0): the pivot of row %zu is %g; reorder the rows or solve without", i + 1,
                          m->value[where[i]]);
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) where[a->column[k]] = NOWHERE;
  }
  return 0;
}

int krylov__ilu_open(struct krylov_ilu *m, const struct krylov_matrix *a, struct krylov_error *e) {
  size_t *where = malloc(a->rows * sizeof *where);
  int err = -ENOMEM;
  *m = (struct krylov_ilu){a, malloc(a->nonzeros * sizeof *m->value), malloc(a->rows * sizeof *m->diagonal)};
  if (m->value && m->diagonal && where) {
    memcpy(m->value, a->value, a->nonzeros * sizeof *m->value);
    err = factorise(m, where, e);
  } else {
    krylov__fail(e, err, "ILU(0): no memory for %zu entries", a->nonzeros);
  }
  free(where);
  if (err) krylov__ilu_close(m);
  return err;
}

/* z = U^-1 L^-1 r; z may be r. */
void krylov__ilu_solve(const struct krylov_ilu *m, const double *r, double *z) {
  const struct krylov_matrix *a = m->a;
  for (size_t i = 0; i < a->rows; i++) {
    double sum = r[i];
    for (size_t k = a->start[i]; k < m->diagonal[i]; k++) sum -= m->value[k] * z[a->column[k]];
    z[i] = sum;
  }
  for (size_t i = a->rows; i-- > 0;) {
    double sum = z[i];
    for (size_t k = m->diagonal[i] + 1; k < a->start[i + 1]; k++) sum -= m->value[k] * z[a->column[k]];
    z[i] = sum / m->value[m->diagonal[i]];
  }
}

/* z = L^-T U^-T r: the same rows, walked as columns. */
void krylov__ilu_solve_transposed(const struct krylov_ilu *m, const double *r, double *z) {
  const struct krylov_matrix *a = m->a;
  if (z != r) krylov__copy(a->rows, r, z);
  for (size_t i = 0; i < a->rows; i++) {
    z[i] /= m->value[m->diagonal[i]];
    for (size_t k = m->diagonal[i] + 1; k < a->start[i + 1]; k++) z[a->column[k]] -= m->value[k] * z[i];
  }
  for (size_t i = a->rows; i-- > 0;)
    for (size_t k = a->start[i]; k < m->diagonal[i]; k++) z[a->column[k]] -= m->value[k] * z[i];
}
