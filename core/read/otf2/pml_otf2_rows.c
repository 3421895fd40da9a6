/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_rows.c - sums by column and location as rows, merged incrementally. */
#include "read/otf2/pml_otf2_walk.h"

#include "base/pml_array.h"
#include "record/quantile/pml_sketch.h"

#include <stdlib.h>

/* Rows between merges; a sketch has some 24 KB. */
#define ROWS ((size_t)4096)
#define ROWS_SKETCHED ((size_t)256)

/* ---- merge ---- */

static void join(struct pml__otf2_gathered *to, struct pml__otf2_gathered *from, bool *refused) {
  struct pml__otf2_sums *t = &to->sums, *s = &from->sums;
  t->calls += s->calls;
  t->unreturned += s->unreturned;
  t->inclusive += s->inclusive;
  t->exclusive += s->exclusive;
  if (s->least <= s->most && (t->least > t->most || s->most > t->most)) {
    t->most = s->most;
    t->most_began = s->most_began;
    to->most_location = from->most_location;
  }
  if (s->least < t->least) t->least = s->least;
  if (s->first < t->first) t->first = s->first;
  if (s->last > t->last) t->last = s->last;
  t->sent += s->sent;
  t->sent_bytes += s->sent_bytes;
  t->received += s->received;
  t->received_bytes += s->received_bytes;
  if (t->durations == NULL) {
    t->durations = s->durations;
  } else if (s->durations != NULL) {
    *refused |= pml_sketch_merge(t->durations, s->durations) < 0;
    pml_sketch_close(s->durations);
  }
  s->durations = NULL;
}

static int compare(size_t a, size_t b) {
  return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b) {
  const struct pml__otf2_gathered *x = a, *y = b;
  int order = compare(x->process, y->process);
  if (order == 0) order = compare(x->location, y->location);
  if (order == 0) order = compare(x->column, y->column);
  return order != 0 ? order : compare(x->item, y->item);
}

/* Rows with the same indices: of several equally long calls, the first location's counts, independent of the order of
 * rows. */
static int by_place_and_location(const void *a, const void *b) {
  const struct pml__otf2_gathered *x = a, *y = b;
  int order = by_place(a, b);
  return order != 0 ? order : compare(x->most_location, y->most_location);
}

void pml__otf2_rows_merge(struct pml__otf2_walk *w) {
  size_t n = 0;
  if (w->nrows > 0) qsort(w->row, w->nrows, sizeof *w->row, by_place_and_location);
  for (size_t i = 0; i < w->nrows; i++) {
    if (n > 0 && by_place(&w->row[n - 1], &w->row[i]) == 0)
      join(&w->row[n - 1], &w->row[i], &w->refused);
    else
      w->row[n++] = w->row[i];
  }
  w->nrows = w->merged = n;
}

static bool room(struct pml__otf2_walk *w, size_t more) {
  bool has = PML__ARRAY_ROOM(w->row, w->rows_capacity, w->nrows + more);
  w->refused |= !has;
  return has;
}

bool pml__otf2_rows_take(struct pml__otf2_walk *w, struct pml__otf2_walk *from) {
  if (!room(w, from->nrows)) return false;
  for (size_t i = 0; i < from->nrows; i++) w->row[w->nrows++] = from->row[i];
  from->nrows = 0;
  return true;
}

/* ---- a column ends ---- */

static void put(struct pml__otf2_walk *w, size_t item, const struct pml__otf2_sums *s) {
  unsigned by = w->question->by;
  if (w->nrows >= 2 * w->merged + (w->question->sketches ? ROWS_SKETCHED : ROWS)) pml__otf2_rows_merge(w);
  if (!room(w, 1)) {
    pml_sketch_close(s->durations);
    return;
  }
  bool with_process = by & (PML_OTF2_BY_PROCESS | PML_OTF2_BY_LOCATION);
  w->row[w->nrows++] =
      (struct pml__otf2_gathered){with_process ? pml_otf2_read_location(w->trace, w->location)->process : PML_OTF2_NONE,
                                  by & PML_OTF2_BY_LOCATION ? w->location : PML_OTF2_NONE,
                                  by & PML_OTF2_BY_COLUMN ? w->column : PML_OTF2_NONE,
                                  item,
                                  w->location,
                                  *s};
}

static bool says(const struct pml__otf2_sums *s) {
  return s->calls > 0 || s->inclusive > 0 || s->sent_bytes > 0 || s->received_bytes > 0 || s->sent > 0 ||
         s->received > 0;
}

static bool is_asked(const struct pml__otf2_walk *w, size_t item) {
  return w->by_path || (w->wanted[item] && says(&w->sums[item]));
}

static void put_items(struct pml__otf2_walk *w) {
  for (size_t i = 0; i < w->ntouched; i++) {
    struct pml__otf2_sums *s = &w->sums[w->touched[i]];
    if (is_asked(w, w->touched[i])) put(w, w->touched[i], s);
    *s = (struct pml__otf2_sums){0};
  }
}

/* One row with the sum of all. */
static void put_all(struct pml__otf2_walk *w) {
  struct pml__otf2_gathered all = {.sums = w->loose, .most_location = w->location};
  for (size_t i = 0; i < w->ntouched; i++) {
    struct pml__otf2_gathered one = {.sums = w->sums[w->touched[i]], .most_location = w->location};
    if (is_asked(w, w->touched[i])) join(&all, &one, &w->refused);
    w->sums[w->touched[i]] = (struct pml__otf2_sums){0};
  }
  all.sums.inclusive = w->topmost;
  if (says(&all.sums)) put(w, PML_OTF2_NONE, &all.sums);
  w->loose = (struct pml__otf2_sums){.least = UINT64_MAX, .first = UINT64_MAX};
}

void pml__otf2_rows_column(struct pml__otf2_walk *w) {
  if (w->by_path || w->by_region)
    put_items(w);
  else
    put_all(w);
  w->ntouched = 0;
  w->topmost = 0;
}
