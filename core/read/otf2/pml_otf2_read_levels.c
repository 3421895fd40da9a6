/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read_levels.c - number of locations in given regions over time. */
#include "base/pml_error.h"
#include "read/otf2/pml_otf2_events.h"
#include "read/otf2/pml_otf2_over_time.h"
#include "read/otf2/pml_otf2_read_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct sweep {
  struct pml_otf2_levels *levels;
  const struct pml_otf2_read *trace;
  const uint64_t *boundary; /* [columns + 1] */
  size_t columns, column, level;
  uint64_t now;   /* time up to which all is accounted for; not before the window */
  bool fresh;     /* the column has no level yet */
  uint64_t *open; /* [nlocations] calls */
};

static double width(const struct sweep *s) {
  uint64_t ticks = s->boundary[s->column + 1] - s->boundary[s->column];
  return ticks > 0 ? (double)ticks : 1;
}

/* The level belongs to the column for @ticks. */
static void stay(struct sweep *s, uint64_t ticks) {
  struct pml_otf2_level *c = &s->levels->column[s->column];
  if (s->fresh || s->level < c->least) c->least = s->level;
  if (s->fresh || s->level > c->most) c->most = s->level;
  s->fresh = false;
  c->mean += (double)s->level * ((double)ticks / width(s));
  s->levels->spent_s[s->level] += (double)ticks / (double)s->trace->resolution;
}

/* The level is unchanged until @time; a level without duration belongs to no column. */
static void advance(struct sweep *s, uint64_t time) {
  while (s->now < time && s->now < s->boundary[s->columns]) {
    uint64_t end = s->boundary[s->column + 1];
    uint64_t to = time < end ? time : end;
    if (to > s->now) stay(s, to - s->now);
    s->now = to > s->now ? to : s->now;
    if (s->now < end) return;
    if (s->column + 1 == s->columns) return;
    s->column++;
    s->fresh = true;
  }
}

static void take(struct sweep *s, const struct pml_otf2_event *e) {
  advance(s, e->time);
  if (e->kind == PML_OTF2_ENTER) {
    s->level += s->open[e->location]++ == 0;
  } else if (s->open[e->location] > 0) {
    s->level -= --s->open[e->location] == 0;
  }
}

static int read_all(struct sweep *s, struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  struct pml_otf2_question all = *q;
  struct pml_otf2_events *events;
  const struct pml_otf2_event *e;
  all.from_s = -INFINITY;
  all.kinds = 1u << PML_OTF2_ENTER | 1u << PML_OTF2_LEAVE;
  int more = pml_otf2_events_open(&events, t, &all, true);
  if (more < 0) return more;
  while ((more = pml_otf2_events_next(events, &e)) > 0) take(s, e);
  pml_otf2_events_close(events);
  advance(s, s->boundary[s->columns]);
  return more;
}

int pml_otf2_read_levels(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct pml_otf2_levels *l) {
  *l = (struct pml_otf2_levels){0};
  if (t->reading) return pml__otf2_busy(t);
  if (q->columns < 1 || q->columns > PML_OTF2_COLUMNS_MAX)
    return pml_fail(-EINVAL, "%.300s: there are 1 to %zu columns", t->path, PML_OTF2_COLUMNS_MAX);
  struct pml_otf2_question finite = *q;
  finite.to_s = pml_otf2_read_end(t, q);
  uint64_t *boundary = pml__otf2_boundaries(t, &finite, q->columns);
  struct sweep s = {.levels = l, .trace = t, .boundary = boundary, .columns = q->columns, .fresh = true};
  for (size_t i = 0; i < t->locations.n; i++) l->locations += pml__otf2_asked(t, q, i);
  l->column = calloc(q->columns, sizeof *l->column);
  l->spent_s = calloc(l->locations + 1, sizeof *l->spent_s);
  s.open = calloc(t->locations.n + 1, sizeof *s.open);
  bool done = boundary != NULL && l->column != NULL && l->spent_s != NULL && s.open != NULL;
  if (done) s.now = boundary[0];
  int err = done ? read_all(&s, t, q) : -ENOMEM;
  free(s.open);
  free(boundary);
  if (err < 0) pml_otf2_levels_close(l);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for its concurrency", t->path) : err;
}

void pml_otf2_levels_close(struct pml_otf2_levels *l) {
  free(l->column);
  free(l->spent_s);
  *l = (struct pml_otf2_levels){0};
}
