/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_sde_log_read.c - counters and recorders in an untrusted log. */
#include "read/section/pml_sde_log_read.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "source/sde/pml_sde.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct event {
  const char *name; /* in @text */
  size_t order;
  bool recorder;
  union {
    struct pml__log_counter counter;
    struct pml__log_recorder series;
  };
};

struct events {
  struct event *at;
  char **text;
  size_t n, room, texts_room;
};

static int keep(struct events *e, const struct event *one, const char *name, size_t bytes) {
  if (!PML__ARRAY_ROOM(e->at, e->room, e->n + 1) || !PML__ARRAY_ROOM(e->text, e->texts_room, e->n + 1))
    return pml_fail(-ENOMEM, "no memory to read a log");
  char *copy = strndup(name, bytes);
  if (copy == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  e->at[e->n] = *one;
  e->at[e->n].name = e->text[e->n] = copy;
  e->at[e->n].order = e->n;
  e->n++;
  return 0;
}

static int take(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct event one = {.recorder = what == PML__LOG_RECORDER};
  size_t fixed = one.recorder ? sizeof one.series : sizeof one.counter;
  if ((what != PML__LOG_RECORDER && what != PML__LOG_COUNTER) || bytes <= fixed) return 0;
  memcpy(&one.counter, at, fixed);
  if (memchr(at + fixed, '\0', bytes - fixed) == NULL || (one.recorder && one.series.section != 0)) return 0;
  return keep(arg, &one, at + fixed, bytes - fixed);
}

static uint32_t number_of(const struct event *e) {
  return e->recorder ? e->series.number : e->counter.number;
}

static int by_number(const void *a, const void *b) {
  const struct event *x = a, *y = b;
  int c = (number_of(x) > number_of(y)) - (number_of(x) < number_of(y));
  return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

/* Cells are read once: of events with one number the first counts. */
static void drop_doubles(struct events *e) {
  size_t n = 0, all = e->n;
  if (all > 0) qsort(e->at, all, sizeof *e->at, by_number);
  for (size_t i = 0; i < all; i++)
    if (n == 0 || number_of(&e->at[i]) != number_of(&e->at[n - 1])) e->at[n++] = e->at[i];
  e->n = n;
}

/* The last of a name comes first. */
static int by_name(const void *a, const void *b) {
  const struct event *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  return c != 0 ? c : (x->order < y->order) - (x->order > y->order);
}

/* ---- counters ---- */

static const char *kind_name(uint32_t kind) {
  static const char *const name[] = {
      [PML_SDE_REGISTERED] = "variable", [PML_SDE_CALLBACK] = "callback", [PML_SDE_CREATED] = "created",
      [PML_SDE_GROUP] = "group",         [PML_SDE_SET] = "set",           [PML_SDE_PER_THREAD] = "compiler"};
  return kind < sizeof name / sizeof name[0] && name[kind] != NULL ? name[kind] : "event";
}

static int64_t since_start(const struct pml__log_head *h, uint64_t ticks) {
  double ns = (double)(int64_t)(ticks - h->started_ticks) * 1e9 / h->ticks_per_second;
  return ns >= 0 && ns < 9e18 ? (int64_t)ns : 0;
}

/* The value of a counter, and when it had it. */
struct value {
  uint64_t bits;
  bool real;
  int64_t as_of; /* -1: it is exact */
};

static bool value_of(const struct event *e, const struct pml__log_cells *c, struct value *v) {
  size_t n;
  const struct pml__log_cell *cell = pml__log_cells_of(c, e->counter.number, PML__LOG_CELL_SHARE, &n);
  *v = (struct value){0, false, -1};
  for (size_t i = 0; i < n; i++) v->bits += cell[i].value + cell[i].more;
  if (cell != NULL) return true;
  cell = pml__log_cells_of(c, e->counter.number, PML__LOG_CELL_SAMPLE, &n);
  if (cell == NULL || cell->more == 0) return false;
  *v = (struct value){cell->value, cell->epoch != 0, since_start(&c->log->head, cell->more)};
  return true;
}

/* ---- as a list ---- */

static int list_counter(struct pml__sde_left *left, const struct event *e, const struct pml__log_cells *c) {
  struct value v;
  if (!value_of(e, c, &v)) return 0;
  left->kind = kind_name(e->counter.kind);
  left->instant = (e->counter.mode & PML_SDE_INSTANT) != 0;
  left->real = v.real;
  left->bits = v.bits;
  left->as_of_ns = v.as_of;
  return 1;
}

static int list_recorder(struct pml__sde_left *left, const struct event *e, const struct pml__log_cells *c) {
  struct pml__recorder_left of;
  int err = pml__recorder_left(c, &e->series, &of);
  left->count = of.count;
  left->dropped = of.dropped;
  left->cut = of.missing;
  left->nans = of.quantile != NULL ? pml_quantile_nans(of.quantile) : 0;
  left->has_quantiles = err == 0 && of.quantile != NULL;
  for (unsigned i = 0; i < PML__QUANTILES && left->has_quantiles; i++)
    left->has_quantiles = pml_quantile_value(of.quantile, pml__quantile_share(i), &left->quantile[i]) == 0;
  pml_quantile_close(of.quantile);
  return err == 0 ? 1 : err;
}

static int list_event(const struct event *e, const struct pml__log_cells *c, void *arg) {
  struct pml__sde_log *list = arg;
  struct pml__sde_left left = {0};
  int found = e->recorder ? list_recorder(&left, e, c) : list_counter(&left, e, c);
  if (found <= 0) return found;
  if (!PML__ARRAY_ROOM(list->at, list->room, list->n + 1)) return pml_fail(-ENOMEM, "no memory to read a log");
  left.name = strdup(e->name);
  if (left.name == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  list->at[list->n++] = left;
  return 0;
}

/* ---- into a summary ---- */

struct adding {
  struct pml_summary *summary;
  int64_t number; /* the process's number */
};

static int add_counter(const struct adding *a, const struct event *e, const struct pml__log_cells *c) {
  struct value v;
  double d;
  if (!value_of(e, c, &v)) return 0;
  memcpy(&d, &v.bits, sizeof d);
  if (!v.real) d = (double)(int64_t)v.bits;
  if (d != d) return 0; /* neither the least nor the most of ranks */
  struct pml_summary_value value = {"value", v.real, v.real ? 0 : (int64_t)v.bits, pml_summary_one(d, a->number)};
  const struct pml_summary_row row = {.kind = PML_SUMMARY_COUNTER,
                                      .name = e->name,
                                      .detail = (e->counter.mode & PML_SDE_INSTANT) != 0 ? "level" : "",
                                      .processes = 1,
                                      .first = a->number,
                                      .nvalues = 1,
                                      .value = &value};
  return pml_summary_add(a->summary, &row);
}

static void add_element(double v, void *arg) {
  struct pml_summary_row *row = arg;
  pml_sums_add(&row->calls.of, v);
  row->calls.sum += v;
  pml_sketch_add(row->sketch, v);
}

static struct pml_summary_value count_of(const char *name, uint64_t n, int64_t process) {
  int64_t whole = n > INT64_MAX ? INT64_MAX : (int64_t)n;
  return (struct pml_summary_value){name, false, whole, pml_summary_one((double)n, process)};
}

static int add_recorder(const struct adding *a, const struct event *e, const struct pml__log_cells *c) {
  struct pml__recorder_left left;
  struct pml_sketch *sketch = NULL;
  int err = pml__recorder_left(c, &e->series, &left);
  if (err == 0) err = pml_summary_sketch(&sketch);
  struct pml_summary_value value[] = {count_of("elements", left.count, a->number),
                                      count_of("dropped", left.dropped, a->number)};
  struct pml_summary_row row = {.kind = PML_SUMMARY_RECORDER,
                                .name = e->name,
                                .processes = 1,
                                .first = a->number,
                                .calls = {{0}, 0, a->number, a->number},
                                .nvalues = left.dropped > 0 ? 2 : 1,
                                .value = value,
                                .sketch = sketch};
  if (err == 0 && left.quantile != NULL) pml_quantile_each(left.quantile, add_element, &row);
  if (err == 0) err = pml_summary_add(a->summary, &row);
  pml_sketch_close(sketch);
  pml_quantile_close(left.quantile);
  return err;
}

static int add_event(const struct event *e, const struct pml__log_cells *c, void *arg) {
  return e->recorder ? add_recorder(arg, e, c) : add_counter(arg, e, c);
}

/* ---- all ---- */

/* Each event, by name. */
static int visit(const struct pml__log_reader *r, const struct pml__log_cells *c,
                 int (*one)(const struct event *e, const struct pml__log_cells *c, void *arg), void *arg) {
  struct events e = {0};
  int err = pml__log_read_definitions(r, take, &e);
  size_t texts = e.n;
  drop_doubles(&e);
  if (e.n > 0) qsort(e.at, e.n, sizeof *e.at, by_name);
  for (size_t i = 0; i < e.n && err == 0; i++)
    if (i == 0 || strcmp(e.at[i].name, e.at[i - 1].name) != 0) err = one(&e.at[i], c, arg);
  for (size_t i = 0; i < texts; i++) free(e.text[i]);
  free(e.text);
  free(e.at);
  return err;
}

int pml__sde_log_read(struct pml__sde_log *list, const struct pml__log_reader *r, const struct pml__log_cells *c) {
  *list = (struct pml__sde_log){0};
  return visit(r, c, list_event, list);
}

void pml__sde_log_drop(struct pml__sde_log *list) {
  for (size_t i = 0; i < list->n; i++) free(list->at[i].name);
  free(list->at);
  *list = (struct pml__sde_log){0};
}

int pml__sde_log_summary(struct pml_summary *s, int64_t number, const struct pml__log_reader *r,
                         const struct pml__log_cells *c) {
  struct adding a = {s, number};
  return visit(r, c, add_event, &a);
}
