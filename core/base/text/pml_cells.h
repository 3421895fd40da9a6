/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_cells.h - rows of cells as CSV, JSON or SQL values, in growing memory. Internal. */
#ifndef PML_CELLS_H
#define PML_CELLS_H

#include "base/text/pml_text.h"

#include <stdint.h>

enum pml__cells_form {
  PML__CELLS_CSV,   /* a line of cells; absent cells and infinities are empty; 15 digits */
  PML__CELLS_JSON,  /* objects of an array, a line for each cell; absent cells are left out; 15 or 17 digits */
  PML__CELLS_LINES, /* an object per line */
  PML__CELLS_SQL,   /* (1, 'a'), (2, NULL); 17 digits */
  PML__CELLS_FORMS
};

enum pml__cell_kind {
  PML__CELL_ABSENT,
  PML__CELL_WHOLE,
  PML__CELL_REAL,
  PML__CELL_TRUTH,
  PML__CELL_TEXT, /* in the form already, with its quotes */
  PML__CELL_CELLS /* an object of JSON */
};

struct pml__cells;

struct pml__cell {
  enum pml__cell_kind kind;
  union {
    int64_t whole;
    double real;
    bool truth;
    const char *text;
    const struct pml__cells *cells;
  };
};

struct pml__cells {
  size_t n;
  const char *const *name; /* as JSON writes it, with its quotes */
  const struct pml__cell *cell;
};

struct pml__cells_writer {
  enum pml__cells_form form;
  const char *indent;    /* JSON: before each object */
  struct pml__text text; /* the caller frees text.at */
  size_t rows;
};

/* pml__cells_write - append a row, with a separator after the previous row. Without memory text.failed is set. */
PML__SHARED void pml__cells_write(struct pml__cells_writer *w, const struct pml__cells *row);

#endif
