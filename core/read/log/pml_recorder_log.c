/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_recorder_log.c - elements of recorders in a log. */
#include "read/log/pml_recorder_log.h"

#include "base/pml_array.h"
#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static int compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int by_number(const void *a, const void *b) {
  const struct pml__log_cell *x = a, *y = b;
  int c = compare(x->number, y->number);
  if (c == 0) c = compare(x->what, y->what);
  return c != 0 ? c : compare(x->owner, y->owner);
}

static int take_cells(struct pml__log_cells *c, size_t i) {
  int err;
  uint64_t bytes;
  struct pml__log_cell *some = pml__log_read_extent(c->log, i, &bytes, &err);
  if (some == NULL) return err;
  size_t n = (size_t)(bytes / sizeof *some);
  struct pml__log_cell *all = realloc(c->cell, (c->n + n + 1) * sizeof *all);
  if (all == NULL) err = pml_fail(-ENOMEM, "no memory to read a log");
  if (all != NULL) c->cell = all;
  for (size_t k = 0; err == 0 && k < n; k++)
    if (some[k].what != PML__LOG_CELL_NONE) c->cell[c->n++] = some[k];
  free(some);
  return err;
}

static int by_recorder(const void *a, const void *b, void *log) {
  const struct pml__log_entry *entry = ((const struct pml__log_reader *)log)->entry;
  const struct pml__log_entry *x = &entry[*(const size_t *)a], *y = &entry[*(const size_t *)b];
  int c = compare(x->key, y->key);
  return c != 0 ? c : compare(x->owner, y->owner);
}

int pml__log_cells_read(struct pml__log_cells *c, const struct pml__log_reader *r) {
  *c = (struct pml__log_cells){.log = r, .elements = calloc(r->n + 1, sizeof(size_t))};
  int err = c->elements != NULL ? 0 : pml_fail(-ENOMEM, "no memory to read a log");
  for (size_t i = 0; i < r->n && err == 0; i++) {
    if (r->entry[i].kind == PML__LOG_CELLS) err = take_cells(c, i);
    if (r->entry[i].kind == PML__LOG_ELEMENTS) c->elements[c->nelements++] = i;
  }
  if (c->n > 0) qsort(c->cell, c->n, sizeof *c->cell, by_number);
  if (err == 0 && c->nelements > 0)
    qsort_r(c->elements, c->nelements, sizeof *c->elements, by_recorder, (void *)(uintptr_t)r);
  return err;
}

void pml__log_cells_drop(struct pml__log_cells *c) {
  free(c->cell);
  free(c->elements);
  *c = (struct pml__log_cells){0};
}

const struct pml__log_cell *pml__log_cells_of(const struct pml__log_cells *c, uint32_t number,
                                              enum pml__log_cell_what what, size_t *n) {
  size_t low;
  const struct pml__log_cell key = {.number = number, .what = what};
  PML__ARRAY_SEARCH(low, c->n, by_number(&c->cell[low], &key) < 0);
  for (*n = 0; low + *n < c->n && c->cell[low + *n].number == number && c->cell[low + *n].what == what;) ++*n;
  return *n > 0 ? &c->cell[low] : NULL;
}

/* ---- elements ---- */

/* A lane's extents of elements: those in places @from to @to of the cells' list. */
struct lane {
  const struct pml__log_cells *cells;
  uint64_t at;  /* the address behind the last element */
  size_t bytes; /* of an element */
  size_t from, to;
  uint64_t count;
  bool found; /* the extent that the address is in */
};

static bool is_before(const struct pml__log_entry *e, uint32_t number, uint64_t owner) {
  return e->key < number || (e->key == number && e->owner < owner);
}

static void find_extents(struct lane *l, const struct pml__log_recorder *d, uint64_t owner) {
  const struct pml__log_cells *c = l->cells;
  PML__ARRAY_SEARCH(l->from, c->nelements, is_before(&c->log->entry[c->elements[l->from]], d->number, owner));
  l->to = l->from;
  for (; l->to < c->nelements; l->to++) {
    const struct pml__log_entry *e = &c->log->entry[c->elements[l->to]];
    if (e->key != d->number || e->owner != owner) break;
  }
}

/* Extent @place: a copy, with @n elements in it at most; NULL: *@err says why, or nothing is wrong with the log. */
static struct pml__log_elements *read_elements(const struct lane *l, size_t place, uint64_t *n, int *err) {
  uint64_t bytes;
  struct pml__log_elements *all = pml__log_read_extent(l->cells->log, l->cells->elements[place], &bytes, err);
  if (all == NULL) return NULL;
  *n = bytes < sizeof *all ? 0 : (bytes - sizeof *all) / l->bytes;
  if (bytes < sizeof *all || all->capacity > *n || all->first > UINT64_MAX / 2) {
    free(all);
    return NULL;
  }
  *n = all->capacity;
  return all;
}

/* How many elements there are: the address of the next one is in one of the extents, or the log lacks some. */
static int count_elements(struct lane *l) {
  int err = 0;
  uint64_t n, most = 0;
  for (size_t i = l->from; i < l->to && !l->found && err == 0; i++) {
    const struct pml__log_entry *e = &l->cells->log->entry[l->cells->elements[i]];
    struct pml__log_elements *all = read_elements(l, i, &n, &err);
    if (all == NULL) continue;
    uint64_t behind = l->at - (e->address + sizeof *all);
    l->found = behind <= n * l->bytes;
    if (l->found) most = all->first + behind / l->bytes;
    if (!l->found && all->first + n > most) most = all->first + n;
    free(all);
  }
  l->count = most;
  return err;
}

static int take_elements(const struct lane *l, struct pml__recorder_left *left) {
  int err = 0;
  uint64_t n;
  for (size_t i = l->from; i < l->to && err == 0; i++) {
    struct pml__log_elements *all = read_elements(l, i, &n, &err);
    if (all == NULL) continue;
    uint64_t some = all->first >= l->count ? 0 : l->count - all->first;
    if (some > n) some = n;
    left->count += some;
    if (left->quantile != NULL && some > 0) err = pml_quantile_add(left->quantile, all + 1, (size_t)some);
    free(all);
  }
  return err;
}

static int take_lane(const struct pml__log_cells *c, const struct pml__log_recorder *d,
                     const struct pml__log_cell *cell, struct pml__recorder_left *left) {
  struct lane l = {.cells = c, .at = cell->value, .bytes = d->bytes};
  if (l.at == 0) return 0;
  find_extents(&l, d, cell->owner);
  int err = count_elements(&l);
  left->missing |= !l.found;
  return err == 0 ? take_elements(&l, left) : err;
}

int pml__recorder_left(const struct pml__log_cells *c, const struct pml__log_recorder *d,
                       struct pml__recorder_left *left) {
  static const uint32_t bytes[] = {
      [PML_TYPE_INT64] = 8, [PML_TYPE_INT32] = 4, [PML_TYPE_DOUBLE] = 8, [PML_TYPE_FLOAT] = 4};
  size_t n, lanes;
  *left = (struct pml__recorder_left){0};
  if (d->type > PML_TYPE_OTHER || d->bytes == 0 || (d->type < PML_TYPE_OTHER && d->bytes != bytes[d->type]))
    return pml_fail(PML_EFORMAT, "%.300s: damaged: a recorder has elements of an unknown type", c->log->path);
  int err = d->type == PML_TYPE_OTHER ? 0 : pml_quantile_open(&left->quantile, (enum pml_type)d->type, d->bytes, NULL);
  const struct pml__log_cell *of = pml__log_cells_of(c, d->number, PML__LOG_CELL_RECORDER, &n);
  const struct pml__log_cell *lane = pml__log_cells_of(c, d->number, PML__LOG_CELL_LANE, &lanes);
  if (of == NULL) return err;
  left->dropped = of->more;
  for (size_t i = 0; i < lanes && err == 0; i++)
    if (lane[i].epoch == of->epoch && (i == 0 || lane[i].owner != lane[i - 1].owner))
      err = take_lane(c, d, &lane[i], left);
  return err;
}
