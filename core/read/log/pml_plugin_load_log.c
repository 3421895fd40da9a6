/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_plugin_load_log.c - series of plugins, from the log of the process that collected them. */
#include "read/log/pml_plugin_load_log.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "source/plugin/pml_plugin_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An extent of series. */
struct part {
  uint32_t number;
  bool taken; /* already used by the first metric with this number */
  size_t entry;
};

struct loading {
  const struct pml__log_reader *log;
  struct part *part; /* by number, then in the order of writing */
  size_t nparts;
  struct pml_plugin_pair *pair;
  size_t room;
  struct pml_plugin_log_clock clock;
  pml_plugin_log_visit *visit;
  void *arg;
};

static int by_number(const void *a, const void *b) {
  const struct part *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return (x->entry > y->entry) - (x->entry < y->entry);
}

static int find_parts(struct loading *l) {
  const struct pml__log_reader *r = l->log;
  l->part = calloc(r->n + 1, sizeof *l->part);
  if (l->part == NULL) return pml_fail(-ENOMEM, "no memory to read a log");
  for (size_t i = 0; i < r->n; i++)
    if (r->entry[i].kind == PML__LOG_SERIES)
      l->part[l->nparts++] = (struct part){.number = r->entry[i].key, .entry = i};
  if (l->nparts == 0) return 0;
  qsort(l->part, l->nparts, sizeof *l->part, by_number);
  return 0;
}

static size_t first_of(const struct loading *l, uint32_t number) {
  size_t i;
  PML__ARRAY_SEARCH(i, l->nparts, l->part[i].number < number);
  return i;
}

static int take_part(struct loading *l, struct part *p, struct pml_plugin_series *s) {
  uint64_t bytes;
  int err;
  p->taken = true;
  struct pml__log_series *all = pml__log_read_extent(l->log, p->entry, &bytes, &err);
  if (all == NULL) return err;
  size_t n = bytes < sizeof *all ? 0 : (size_t)((bytes - sizeof *all) / sizeof *l->pair);
  if (!PML__ARRAY_ROOM(l->pair, l->room, s->n + n))
    err = pml_fail(-ENOMEM, "no memory for %zu values of %s", n, s->metric->name);
  if (err == 0 && n > 0) {
    memcpy(l->pair + s->n, all + 1, n * sizeof *l->pair);
    s->n += n;
    s->outside = all->outside;
    s->backwards = all->backwards;
  }
  free(all);
  return err;
}

static bool is_sound(const struct pml__log_measured *d) {
  return d->value < PML_PLUGIN_VALUES && d->mode < PML_MODES && d->binary <= 1 && d->tid >= 0 && d->exponent >= -1000 &&
         d->exponent <= 1000;
}

static int take_series(struct loading *l, const struct pml__log_measured *d, const char *const *text) {
  const struct pml_plugin_metric m = {.name = text[1],
                                      .description = text[3],
                                      .unit = text[2],
                                      .mode = (enum pml_mode)d->mode,
                                      .value = (enum pml_plugin_value)d->value,
                                      .binary = d->binary != 0,
                                      .exponent = d->exponent};
  struct pml_plugin_series s = {.metric = &m, .thread = d->thread, .tid = d->tid};
  int err = 0;
  for (size_t i = first_of(l, d->number); i < l->nparts && l->part[i].number == d->number && err == 0; i++)
    if (!l->part[i].taken) err = take_part(l, &l->part[i], &s);
  if (err < 0 || s.n == 0) return err;
  pml__plugin_sort(l->pair, s.n);
  s.pair = l->pair;
  return l->visit(text[0], &s, &l->clock, l->arg);
}

static int take_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct pml__log_measured d;
  const char *text[4];
  if (what != PML__LOG_MEASURED || bytes <= sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  at += sizeof d;
  bytes -= sizeof d;
  for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
    if ((text[i] = pml__log_text(&at, &bytes)) == NULL) return 0;
  return *text[0] != '\0' && *text[1] != '\0' && is_sound(&d) ? take_series(arg, &d, text) : 0;
}

static int visit_series(const struct pml__log_reader *log, pml_plugin_log_visit *visit, void *arg) {
  const struct pml__log_head *h = &log->head;
  struct loading l = {.log = log,
                      .clock = {h->clock, h->started_ticks, h->started_ns, 1e9 / h->ticks_per_second},
                      .visit = visit,
                      .arg = arg};
  int err = find_parts(&l);
  if (err == 0 && l.nparts > 0) err = pml__log_read_definitions(log, take_definition, &l);
  free(l.part);
  free(l.pair);
  return err;
}

int pml_plugin_load_series(const char *path, pml_plugin_log_visit *visit, void *arg) {
  struct pml__log_reader r;
  int err = pml__log_read_open(&r, path);
  if (err == 0) err = visit_series(&r, visit, arg);
  pml__log_read_close(&r);
  return err;
}
