/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/krylov/matrix.c - sparse matrices in compressed rows, and products with them. */
#include "solver.h"

#include <stdarg.h>
#include <stdio.h>

int krylov__fail(struct krylov_error *e, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->text, sizeof e->text, fmt, ap);
  va_end(ap);
  return code;
}

void krylov_matrix_free(struct krylov_matrix *a) {
  free(a->start);
  free(a->column);
  free(a->value);
  memset(a, 0, sizeof *a);
}

static int allocate(struct krylov_matrix *a, size_t rows, size_t columns, size_t n, struct krylov_error *e) {
  *a = (struct krylov_matrix){.rows = rows, .columns = columns, .nonzeros = n};
  a->start = calloc(rows + 1, sizeof *a->start);
  a->column = calloc(n + 1, sizeof *a->column); /* never of no bytes */
  a->value = calloc(n + 1, sizeof *a->value);
  if (a->start && a->column && a->value) return 0;
  krylov_matrix_free(a);
  krylov__fail(e, -ENOMEM, "no memory for a matrix of %zu rows and %zu entries", rows, n);
  return -ENOMEM;
}

/* Rows into columns; since the rows are walked in order, the new columns ascend. */
int krylov_matrix_transpose(const struct krylov_matrix *a, struct krylov_matrix *t, struct krylov_error *e) {
  int err = allocate(t, a->columns, a->rows, a->nonzeros, e);
  if (err) return err;
  for (size_t k = 0; k < a->nonzeros; k++) t->start[a->column[k] + 1]++;
  for (size_t i = 0; i < t->rows; i++) t->start[i + 1] += t->start[i];
  for (size_t i = 0; i < a->rows; i++)
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) {
      size_t to = t->start[a->column[k]]++;
      t->column[to] = (uint32_t)i;
      t->value[to] = a->value[k];
    }
  /* Each start has moved to the start of the next row. */
  memmove(t->start + 1, t->start, t->rows * sizeof *t->start);
  t->start[0] = 0;
  return 0;
}

/* Entries into rows, in the order of the entries. */
static void gather(struct krylov_matrix *a, const struct krylov_entry *entry, size_t n) {
  for (size_t k = 0; k < n; k++) a->start[entry[k].row + 1]++;
  for (size_t i = 0; i < a->rows; i++) a->start[i + 1] += a->start[i];
  for (size_t k = 0; k < n; k++) {
    size_t to = a->start[entry[k].row]++;
    a->column[to] = entry[k].column;
    a->value[to] = entry[k].value;
  }
  memmove(a->start + 1, a->start, a->rows * sizeof *a->start);
  a->start[0] = 0;
}

static void merge_doubles(struct krylov_matrix *a) {
  size_t to = 0, from = 0;
  for (size_t i = 0; i < a->rows; i++) {
    size_t first = to;
    for (; from < a->start[i + 1]; from++) {
      if (to > first && a->column[to - 1] == a->column[from]) {
        a->value[to - 1] += a->value[from];
        continue;
      }
      a->column[to] = a->column[from];
      a->value[to++] = a->value[from];
    }
    a->start[i + 1] = to;
  }
  a->nonzeros = to;
}

int krylov_matrix_build(struct krylov_matrix *a, size_t rows, size_t columns, const struct krylov_entry *entry,
                        size_t n, struct krylov_error *e) {
  struct krylov_matrix unsorted, transposed;
  int err = allocate(&unsorted, rows, columns, n, e);
  if (err) return err;
  gather(&unsorted, entry, n);
  /* Transposing twice sorts the columns in linear time. */
  err = krylov_matrix_transpose(&unsorted, &transposed, e);
  krylov_matrix_free(&unsorted);
  if (err) return err;
  err = krylov_matrix_transpose(&transposed, a, e);
  krylov_matrix_free(&transposed);
  if (err) return err;
  merge_doubles(a);
  return 0;
}

int krylov_matrix_open(struct krylov_matrix *a, const char *what, struct krylov_error *e) {
  int err = krylov_matrix_generate(a, what, e);
  return err == -ENOENT ? krylov_matrix_read(a, what, e) : err;
}

void krylov_matrix_multiply(const struct krylov_matrix *a, const double *x, double *y) {
  for (size_t i = 0; i < a->rows; i++) {
    double sum = 0;
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) sum += a->value[k] * x[a->column[k]];
    y[i] = sum;
  }
}

void krylov_matrix_multiply_transposed(const struct krylov_matrix *a, const double *x, double *y) {
  memset(y, 0, a->columns * sizeof *y);
  for (size_t i = 0; i < a->rows; i++)
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) y[a->column[k]] += a->value[k] * x[i];
}

double krylov_matrix_norm(const struct krylov_matrix *a) {
  double largest = 0;
  for (size_t i = 0; i < a->rows; i++) {
    double sum = 0;
    for (size_t k = a->start[i]; k < a->start[i + 1]; k++) sum += fabs(a->value[k]);
    largest = fmax(largest, sum);
  }
  return largest;
}
