/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_samples_left.c - samples of a run that was killed, from its log. */
#include "read/log/pml_samples_left.h"

#include "base/pml_error.h"
#include "read/log/pml_recorder_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t used(const uint64_t *value, size_t n) {
  size_t i = 0;
  while (i < n && value[i] != UINT64_MAX) i++;
  return i;
}

static int keep_longest(struct pml_samples_left *left, const uint64_t *value, size_t n, bool real) {
  if (n <= left->n) return 0;
  uint64_t *copy = realloc(left->value, n * sizeof *copy);
  if (copy == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  memcpy(copy, value, n * sizeof *copy);
  left->value = copy;
  left->n = n;
  left->real = real;
  return 0;
}

static int take_series(const struct pml__log_reader *r, size_t i, uint64_t visit, struct pml_samples_left *left) {
  uint64_t bytes;
  int err;
  struct pml__log_samples *head = pml__log_read_extent(r, i, &bytes, &err);
  if (head == NULL) return err;
  const uint64_t *value = (const uint64_t *)(head + 1);
  if (bytes > sizeof *head && head->visit == visit)
    err = keep_longest(left, value, used(value, (bytes - sizeof *head) / sizeof *value), head->real != 0);
  free(head);
  return err;
}

static int take_visit(const struct pml__log_reader *r, struct pml_samples_left *left) {
  struct pml__log_cells cells;
  uint64_t visit = 0;
  int err = pml__log_cells_read(&cells, r);
  for (size_t i = 0; i < cells.n && err == 0; i++) {
    const struct pml__log_cell *c = &cells.cell[i];
    if (c->what != PML__LOG_CELL_VISIT) continue;
    visit = c->value;
    *left = (struct pml_samples_left){.cell = c->number, .round = (uint32_t)c->owner, .planned = c->more};
  }
  for (size_t i = 0; i < r->n && err == 0 && visit != 0; i++)
    if (r->entry[i].kind == PML__LOG_SAMPLES) err = take_series(r, i, visit, left);
  pml__log_cells_drop(&cells);
  return err;
}

int pml_samples_left(const char *path, struct pml_samples_left *left) {
  struct pml__log_reader r;
  *left = (struct pml_samples_left){0};
  int err = pml__log_read_open(&r, path);
  if (err == 0) err = take_visit(&r, left);
  pml__log_read_close(&r);
  if (err == 0) return 0;
  free(left->value);
  left->value = NULL;
  return err;
}
