/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read_sums.c - merge of the workers' sums. */
#include "base/pml_error.h"
#include "read/otf2/pml_otf2_walk.h"
#include "read/otf2/pml_otf2_workers.h"
#include "record/quantile/pml_sketch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- locations ---- */

static uint64_t all_of(const struct pml__otf2_counts *c) {
  uint64_t n = 0;
  for (size_t i = 0; i < PML__OTF2_NKINDS; i++) n += c->of[i];
  return n;
}

static void begin(void *state, size_t location) {
  pml__otf2_walk_begin(state, location);
}

static int end(void *state, size_t location, const struct pml__otf2_location_read *read) {
  struct pml__otf2_walk *w = state;
  const struct pml_otf2_read_location *l = pml_otf2_read_location(w->trace, location);
  uint64_t known = all_of(&w->kinds), got = known - w->known;
  w->known = known;
  if (w->trace->undefined[location])
    w->undefined++;
  else if (read->damaged || (!w->past && got < l->events))
    w->damaged++;
  if ((read->damaged || !w->past) && got < l->said) w->lost += l->said - got;
  if (got > l->said) w->uncounted += got - l->said;
  pml__otf2_walk_end(w);
  return w->refused ? -ENOMEM : 0;
}

/* ---- the answer ---- */

static bool join_workers(struct pml__otf2_walk *w, unsigned workers) {
  for (unsigned k = 1; k < workers; k++) {
    size_t *map = calloc(w[k].tree.n + 1, sizeof *map);
    bool done = map != NULL && pml__otf2_tree_join(&w->tree, &w[k].tree, map);
    for (size_t i = 0; done && w->by_path && i < w[k].nrows; i++) w[k].row[i].item = map[w[k].row[i].item];
    free(map);
    if (!done || !pml__otf2_rows_take(w, &w[k])) return false;
    for (size_t i = 0; i < PML__OTF2_NKINDS; i++) w->kinds.of[i] += w[k].kinds.of[i];
    w->unmatched += w[k].unmatched;
    w->backward += w[k].backward;
    w->unknown += w[k].unknown;
    w->outside += w[k].outside;
    w->damaged += w[k].damaged;
    w->undefined += w[k].undefined;
    w->lost += w[k].lost;
    w->uncounted += w[k].uncounted;
  }
  return true;
}

static bool order_paths(struct pml__otf2_walk *w) {
  size_t *map = calloc(w->tree.n + 1, sizeof *map);
  bool done = map != NULL && pml__otf2_tree_order(&w->tree, map);
  for (size_t i = 0; done && i < w->nrows; i++) w->row[i].item = map[w->row[i].item];
  free(map);
  return done;
}

static double span(const struct pml_otf2_read *t, uint64_t ticks) {
  return (double)ticks / (double)t->resolution;
}

static double moment(const struct pml_otf2_read *t, uint64_t time) {
  double ticks = time >= t->start ? (double)(time - t->start) : -(double)(t->start - time);
  return ticks / (double)t->resolution;
}

static struct pml_otf2_row row_of(const struct pml__otf2_walk *w, const struct pml__otf2_gathered *g) {
  const struct pml_otf2_read *t = w->trace;
  const struct pml__otf2_sums *s = &g->sums;
  return (struct pml_otf2_row){.region = w->by_path ? w->tree.node[g->item].region : g->item,
                               .process = g->process,
                               .location = g->location,
                               .column = g->column,
                               .path = w->by_path ? g->item : PML_OTF2_NONE,
                               .calls = s->calls,
                               .unreturned = s->unreturned,
                               .inclusive_s = span(t, s->inclusive),
                               .exclusive_s = span(t, s->exclusive),
                               .least_s = span(t, s->least),
                               .most_s = span(t, s->most),
                               .first_s = moment(t, s->first),
                               .last_s = moment(t, s->last),
                               .most_began_s = moment(t, s->most_began),
                               .most_location = g->most_location,
                               .sent = s->sent,
                               .sent_bytes = s->sent_bytes,
                               .received = s->received,
                               .received_bytes = s->received_bytes,
                               .durations = s->durations};
}

static int by_count(const void *a, const void *b) {
  const struct pml_otf2_kind_count *x = a, *y = b;
  if (x->events != y->events) return x->events > y->events ? -1 : 1;
  return strcmp(x->name, y->name);
}

static bool set_kinds(const struct pml__otf2_walk *w, struct pml_otf2_answer *a) {
  a->kind = calloc(PML__OTF2_NKINDS, sizeof *a->kind);
  for (size_t i = 0; a->kind != NULL && i < PML__OTF2_NKINDS; i++)
    if (w->kinds.of[i] > 0)
      a->kind[a->nkinds++] =
          (struct pml_otf2_kind_count){pml__otf2_kind_name((enum pml__otf2_kind_id)i), w->kinds.of[i]};
  if (a->kind != NULL && a->nkinds > 0) qsort(a->kind, a->nkinds, sizeof *a->kind, by_count);
  return a->kind != NULL;
}

static int answer(struct pml__otf2_walk *w, unsigned workers, struct pml_otf2_answer *a) {
  if (!join_workers(w, workers) || (w->by_path && !order_paths(w))) return -ENOMEM;
  pml__otf2_rows_merge(w);
  a->row = calloc(w->nrows + 1, sizeof *a->row);
  if (a->row == NULL || w->refused || !set_kinds(w, a)) return -ENOMEM;
  for (a->n = 0; a->n < w->nrows; a->n++) a->row[a->n] = row_of(w, &w->row[a->n]);
  w->nrows = 0; /* the answer owns the sketches */
  if (w->by_path) {
    a->path = w->tree.node;
    a->npaths = w->tree.n;
    w->tree.node = NULL;
  }
  a->events = w->kinds.of[PML__OTF2_KIND_Enter] + w->kinds.of[PML__OTF2_KIND_Leave];
  a->unmatched = w->unmatched;
  a->backward = w->backward;
  a->unknown = w->unknown;
  a->outside = w->outside;
  a->damaged = w->damaged;
  a->undefined = w->undefined;
  a->lost = w->lost;
  a->uncounted = w->uncounted;
  return 0;
}

/* ---- questions ---- */

static int check(const struct pml_otf2_question *q, const struct pml_otf2_read *t) {
  if ((q->by & PML_OTF2_BY_PATH) && (q->by & PML_OTF2_BY_REGION))
    return pml_fail(-EINVAL, "%.300s: rows are by path or by region, not by both", t->path);
  if ((q->by & PML_OTF2_BY_COLUMN) && (q->columns < 1 || q->columns > PML_OTF2_COLUMNS_MAX))
    return pml_fail(-EINVAL, "%.300s: there are 1 to %zu columns", t->path, PML_OTF2_COLUMNS_MAX);
  return 0;
}

static int ask(struct pml_otf2_read *t, struct pml__otf2_walk *w, unsigned workers, struct pml_otf2_answer *a) {
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  const struct pml__otf2_reading how = {.callbacks = c, .state = w, .size = sizeof *w, .begin = begin, .end = end};
  bool done = c != NULL;
  for (unsigned k = 0; done && k < workers; k++) done = pml__otf2_walk_open(&w[k]);
  if (done) pml__otf2_walk_callbacks(c);
  int err = done ? pml__otf2_read_locations(t, w->question, workers, &how) : -ENOMEM;
  if (err == 0) err = answer(w, workers, a);
  OTF2_EvtReaderCallbacks_Delete(c);
  return err;
}

int pml_otf2_read_sums(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct pml_otf2_answer *a) {
  *a = (struct pml_otf2_answer){0};
  int err = t->reading ? pml__otf2_busy(t) : check(q, t);
  if (err < 0) return err;
  unsigned workers = pml__otf2_workers(t, q);
  size_t columns = q->by & PML_OTF2_BY_COLUMN ? q->columns : 1;
  bool *wanted = pml__otf2_wanted(t, q);
  uint64_t *boundary = pml__otf2_boundaries(t, q, columns);
  struct pml__otf2_walk *w = calloc(workers, sizeof *w);
  err = wanted != NULL && boundary != NULL && w != NULL ? 0 : -ENOMEM;
  for (unsigned k = 0; err == 0 && k < workers; k++)
    w[k] =
        (struct pml__otf2_walk){.trace = t, .question = q, .wanted = wanted, .boundary = boundary, .columns = columns};
  if (err == 0) err = ask(t, w, workers, a);
  for (unsigned k = 0; w != NULL && k < workers; k++) pml__otf2_walk_close(&w[k]);
  free(w);
  free(wanted);
  free(boundary);
  if (err < 0) pml_otf2_answer_close(a);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for the sums of its events", t->path) : err;
}

void pml_otf2_answer_close(struct pml_otf2_answer *a) {
  for (size_t i = 0; i < a->n; i++) pml_sketch_close(a->row[i].durations);
  free(a->row);
  free(a->path);
  free(a->kind);
  *a = (struct pml_otf2_answer){0};
}
