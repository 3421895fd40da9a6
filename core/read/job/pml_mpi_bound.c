/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/job/pml_mpi_bound.c - size limit of a job summary per rank. */
#include "read/job/pml_mpi_reduction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Functions of libraries other than MPI: those with the least time are omitted first. */
static bool is_spare(const struct pml_summary_row *row) {
  return row->kind == PML_SUMMARY_CALL && strncmp(row->name, "MPI_", 4) != 0;
}

static int by_time(const void *a, const void *b) {
  const double x = (*(const struct pml_summary_row *const *)a)->time.sum;
  const double y = (*(const struct pml_summary_row *const *)b)->time.sum;
  return (x < y) - (x > y);
}

/* The functions of @s that may be omitted, the longest time first; the caller frees the list. NULL: no memory. */
static const struct pml_summary_row **droppable_rows(const struct pml_summary *s, size_t *n) {
  const struct pml_summary_row *row, **all;
  size_t rows = 0;
  while (pml_summary_row(s, rows) != NULL) rows++;
  all = malloc((rows + 1) * sizeof(void *));
  *n = 0;
  for (size_t i = 0; all != NULL && (row = pml_summary_row(s, i)) != NULL; i++)
    if (is_spare(row)) all[(*n)++] = row;
  if (all != NULL) qsort(all, *n, sizeof(void *), by_time);
  return all;
}

static int add_left_out(struct pml_summary *to, const struct pml_summary_row *const *row, size_t n) {
  double calls = 0, self_ns = 0;
  for (size_t i = 0; i < n; i++) {
    calls += row[i]->calls.of.count;
    self_ns += row[i]->self.sum;
  }
  struct pml_summary_value value[] = {{"functions", false, (int64_t)n, pml_summary_one((double)n, 0)},
                                      {"calls", true, 0, pml_summary_one(calls, 0)}};
  const struct pml_summary_row left = {.kind = PML_SUMMARY_MPI,
                                       .name = "left out",
                                       .processes = 1,
                                       .self = pml_summary_one(self_ns, 0),
                                       .nvalues = 2,
                                       .value = value};
  return pml_summary_add(to, &left);
}

static int copy_ranks(struct pml_summary *to, const struct pml_summary *s) {
  int64_t first, last;
  int err = 0;
  for (size_t i = 0; err == 0 && pml_summary_range(s, i, &first, &last); i++) err = pml_summary_seen(to, first, last);
  return err;
}

/* Copy @s without the functions after the first @kept of @n. */
static int without(const struct pml_summary *s, const struct pml_summary_row *const *droppable, size_t n, size_t kept,
                   struct pml_summary **to) {
  const struct pml_summary_row *row;
  int err = pml_summary_open(to);
  if (err == 0) err = copy_ranks(*to, s);
  for (size_t i = 0; err == 0 && (row = pml_summary_row(s, i)) != NULL; i++)
    if (!is_spare(row)) err = pml_summary_add(*to, row);
  for (size_t i = 0; err == 0 && i < kept; i++) err = pml_summary_add(*to, droppable[i]);
  return err == 0 ? add_left_out(*to, droppable + kept, n - kept) : err;
}

static int pack_without(const struct pml_summary *s, const struct pml_summary_row *const *droppable, size_t n,
                        size_t kept, unsigned char **bytes, size_t *size) {
  struct pml_summary *part;
  *bytes = NULL;
  int err = without(s, droppable, n, kept, &part);
  if (err == 0) err = pml_summary_pack(part, bytes, size);
  pml_summary_close(part);
  return err;
}

/*
 * Bisects a few times between a fitting and a too large number of functions; if nothing fits, all of them are omitted.
 */
static int pack_most(const struct pml_summary *s, size_t most, unsigned char **bytes, size_t *size) {
  size_t n, fits = 0, too_many;
  const struct pml_summary_row **droppable = droppable_rows(s, &n);
  int err = droppable != NULL ? pack_without(s, droppable, n, 0, bytes, size) : -ENOMEM;
  too_many = n;
  while (err == 0 && *size <= most && too_many - fits > n / 64 + 1) {
    unsigned char *more;
    size_t middle = fits + (too_many - fits) / 2, larger;
    err = pack_without(s, droppable, n, middle, &more, &larger);
    if (err == 0 && larger <= most) {
      free(*bytes);
      *bytes = more;
      *size = larger;
      fits = middle;
    } else {
      free(more);
      too_many = middle;
    }
  }
  free(droppable);
  return err;
}

int pml__mpi_pack_within(const struct pml_summary *s, size_t most, unsigned char **bytes, size_t *size) {
  int err = pml_summary_pack(s, bytes, size);
  if (err < 0 || *size <= most) return err;
  unsigned char *whole = *bytes;
  err = pack_most(s, most, bytes, size);
  if (err == 0) free(whole);
  return err;
}
