/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_recorder_log.h - counters and recorders in a log. Nothing in it is trusted. Internal. */
#ifndef PML_RECORDER_LOG_H
#define PML_RECORDER_LOG_H

#include "read/log/pml_log_read.h"
#include "record/quantile/pml_quantile.h"

#include <stdbool.h>

/* The cells of a log by number, kind and owner, and its extents of elements by recorder and lane. */
struct pml__log_cells {
  const struct pml__log_reader *log;
  struct pml__log_cell *cell;
  size_t n;
  size_t *elements; /* entries of the reader */
  size_t nelements;
};

/* Returns 0, -errno or -ENOMEM; drop it either way. @r is used until then. */
int pml__log_cells_read(struct pml__log_cells *c, const struct pml__log_reader *r);
void pml__log_cells_drop(struct pml__log_cells *c);

/* The first cell of @number that is of kind @what, and in @n how many follow it, itself included; NULL: none. */
const struct pml__log_cell *pml__log_cells_of(const struct pml__log_cells *c, uint32_t number,
                                              enum pml__log_cell_what what, size_t *n);

struct pml__recorder_left {
  uint64_t count, dropped;
  bool missing;                  /* others are not in the log: it could not grow */
  struct pml_quantile *quantile; /* of those that are; NULL: they are no numbers */
};

/*
 * pml__recorder_left - read recorder @d: its final elements, or the current ones if its process is still running.
 * Returns 0, -errno, -ENOMEM or PML_EFORMAT (its type is unknown); close @left->quantile either way.
 */
int pml__recorder_left(const struct pml__log_cells *c, const struct pml__log_recorder *d,
                       struct pml__recorder_left *left);

#endif
