/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_section_cache.c - a log's sections in memory, by label. */
#include "read/section/pml_section_cache.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct pml__section_definition *section_at(const void *at) {
  return *(const struct pml__section_definition *const *)at;
}

static int order_of(const struct pml__section_definition *s, const char *label, const char *interface) {
  int order = strcmp(s->label, label);
  return order != 0 ? order : strcmp(s->interface, interface);
}

/* Equal sections are in the order of definition, because a search for one finds the first. */
static int by_label(const void *a, const void *b) {
  const struct pml__section_definition *x = section_at(a), *y = section_at(b);
  int order = order_of(x, y->label, y->interface);
  return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static bool keeps_durations(const struct pml__section_reader *b) {
  for (size_t i = 0; i < b->sections.n; i++)
    if (section_at(&b->sections.at[i])->record != PML_SECTION_NO_RECORD) return true;
  return false;
}

int pml__section_cache_open(struct pml__section_cache *c, const char *path) {
  *c = (struct pml__section_cache){0};
  int err = pml__section_reader_open(&c->reader, path, NULL, NULL);
  if (err == 0) err = pml__section_reader_sorted(&c->reader, &c->rows);
  if (err == 0 && keeps_durations(&c->reader)) err = pml__section_reader_durations(&c->reader, false);
  const size_t n = c->reader.sections.n;
  if (err == 0) c->label = malloc((n + 1) * sizeof *c->label);
  if (err == 0 && c->label == NULL) err = -ENOMEM;
  if (err == 0 && n > 0) memcpy(c->label, c->reader.sections.at, n * sizeof *c->label);
  if (err == 0 && n > 0) qsort(c->label, n, sizeof *c->label, by_label);
  const struct pml__log_head head = c->reader.log.head;
  pml__log_cells_drop(&c->reader.cells);
  pml__log_read_close(&c->reader.log); /* a report may have as many caches as there are processes */
  c->reader.log.head = head;           /* rows need its clock */
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory to read it", path) : err;
}

void pml__section_cache_close(struct pml__section_cache *c) {
  pml__section_reader_close(&c->reader);
  pml__section_drop(&c->rows);
  free(c->label);
  c->label = NULL;
}

static size_t first_labelled(const struct pml__section_cache *c, const char *label, const char *interface) {
  size_t i;
  PML__ARRAY_SEARCH(i, c->reader.sections.n, order_of(section_at(&c->label[i]), label, interface) < 0);
  return i;
}

/* Where the rows of the sections from @index on begin. */
static size_t first_row(const struct pml__section_cache *c, uint64_t index) {
  size_t i;
  PML__ARRAY_SEARCH(i, c->rows.n, ((const struct pml__section_stored *)c->rows.at[i])->entry.section->index < index);
  return i;
}

void pml__section_cache_view(const struct pml__section_cache *c, const char *label, const char *interface,
                             struct pml__section_reader *view) {
  const size_t i = first_labelled(c, label, interface);
  *view = c->reader;
  view->only = label;
  view->interface = interface;
  view->kept = &c->rows;
  view->sections = (struct pml__section_items){.at = &c->label[i]};
  if (i == c->reader.sections.n || !pml__section_is(section_at(&c->label[i]), label, interface)) return;
  view->sections.n = 1;
  view->first = first_row(c, section_at(&c->label[i])->index);
  view->end = first_row(c, (uint64_t)section_at(&c->label[i])->index + 1);
}
