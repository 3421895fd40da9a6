/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_cells.c - rows of cells as CSV, JSON or SQL values. */
#include "base/text/pml_cells.h"

#include "base/text/pml_number.h"

#include <math.h>
#include <string.h>

#define LINE_LONGEST 100u /* bytes of an object in one line, with its indent */

static void put(struct pml__text *t, const char *text) {
  pml__text_plain(t, text, strlen(text));
}

static void put_real(struct pml__text *t, enum pml__cells_form form, double v) {
  static const int digits[PML__CELLS_FORMS] = {
      [PML__CELLS_CSV] = 15,
      [PML__CELLS_JSON] = PML__NUMBER_EXACT,
      [PML__CELLS_LINES] = PML__NUMBER_EXACT,
      [PML__CELLS_SQL] = 17,
  };
  char *to = pml__text_room(t, PML__NUMBER_MAX);
  if (to != NULL) t->n += pml__number_text(to, v, digits[form]);
}

/* SQL reads a number beyond every double as an infinity. */
static void put_odd(struct pml__text *t, enum pml__cells_form form, double v) {
  if (form == PML__CELLS_CSV) return;
  if (form != PML__CELLS_SQL)
    put(t, "null");
  else
    put(t, isnan(v) ? "NULL" : v > 0 ? "9e999" : "-9e999");
}

static void put_whole(struct pml__text *t, int64_t v) {
  char *to = pml__text_room(t, PML__NUMBER_MAX);
  if (to != NULL) t->n += pml__number_whole(to, v);
}

static void put_truth(struct pml__text *t, enum pml__cells_form form, bool truth) {
  if (form == PML__CELLS_SQL)
    put(t, truth ? "1" : "0");
  else
    put(t, truth ? "true" : "false");
}

static void put_cells(struct pml__cells_writer *w, const struct pml__cells *o);

static void put_cell(struct pml__cells_writer *w, const struct pml__cell *c) {
  struct pml__text *t = &w->text;
  switch (c->kind) {
  case PML__CELL_ABSENT:
    if (w->form == PML__CELLS_SQL) put(t, "NULL");
    break;
  case PML__CELL_WHOLE:
    put_whole(t, c->whole);
    break;
  case PML__CELL_REAL:
    isfinite(c->real) ? put_real(t, w->form, c->real) : put_odd(t, w->form, c->real);
    break;
  case PML__CELL_TRUTH:
    put_truth(t, w->form, c->truth);
    break;
  case PML__CELL_TEXT:
    put(t, c->text);
    break;
  case PML__CELL_CELLS:
    put_cells(w, c->cells);
    break;
  }
}

/* ---- objects ---- */

static void put_break(struct pml__cells_writer *w, const char *deeper) {
  put(&w->text, "\n");
  put(&w->text, w->indent);
  put(&w->text, deeper);
}

/* Each member behind a line break and @deeper, or all in one line if that is NULL. */
static void put_object(struct pml__cells_writer *w, const struct pml__cells *o, const char *deeper) {
  bool any = false;
  put(&w->text, "{");
  for (size_t i = 0; i < o->n; i++) {
    if (o->cell[i].kind == PML__CELL_ABSENT) continue;
    if (any) put(&w->text, deeper != NULL ? "," : ", ");
    if (deeper != NULL) put_break(w, deeper);
    put(&w->text, o->name[i]);
    put(&w->text, ": ");
    put_cell(w, &o->cell[i]);
    any = true;
  }
  if (deeper != NULL) put_break(w, deeper + 2);
  put(&w->text, "}");
}

static void put_cells(struct pml__cells_writer *w, const struct pml__cells *o) {
  const size_t before = w->text.n;
  put_object(w, o, NULL);
  if (w->form != PML__CELLS_JSON || w->text.n - before + strlen(w->indent) + 2 <= LINE_LONGEST) return;
  w->text.n = before;
  put_object(w, o, "    ");
}

/* ---- rows ---- */

static void put_list(struct pml__cells_writer *w, const struct pml__cells *row) {
  for (size_t i = 0; i < row->n; i++) {
    if (i > 0) put(&w->text, ",");
    put_cell(w, &row->cell[i]);
  }
}

void pml__cells_write(struct pml__cells_writer *w, const struct pml__cells *row) {
  static const char *const between[PML__CELLS_FORMS] = {"", ",", "", ","};
  if (w->rows++ > 0) put(&w->text, between[w->form]);
  if (w->form == PML__CELLS_JSON) {
    if (w->rows > 1) put_break(w, "");
    put_object(w, row, "  ");
  } else if (w->form == PML__CELLS_LINES) {
    put_object(w, row, NULL);
    put(&w->text, "\n");
  } else {
    if (w->form == PML__CELLS_SQL) put(&w->text, "(");
    put_list(w, row);
    put(&w->text, w->form == PML__CELLS_SQL ? ")" : "\n");
  }
}
