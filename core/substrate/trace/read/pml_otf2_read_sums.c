/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_read_sums.c - calls and times of an archive, by region, process and location. */
#include "substrate/trace/read/pml_otf2_read_private.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one region on one location, or of all regions there; in ticks. */
struct sums {
  uint64_t calls, unreturned, inclusive, exclusive, least, most;
  uint64_t open; /* calls under way */
  bool touched;  /* it is of this location */
};

struct frame {
  size_t region;
  uint64_t enter, inside; /* inside: time of the calls in it, in the window */
};

struct row {
  size_t process, location, region;
  struct sums sums;
};

/* One location at a time. */
struct walk {
  const struct pml_otf2_read *trace;
  const struct pml_otf2_question *question;
  struct pml_otf2_answer *answer;
  uint64_t from, to, last;
  uint64_t outermost;        /* ticks of calls that are inside no other */
  struct sums *sums;         /* [nregions] */
  size_t *touched, ntouched; /* [nregions] those of this location */
  bool *wanted;              /* [nregions] */
  struct frame *stack;
  size_t depth, capacity;
  struct row *row;
  size_t nrows, rows_capacity, merged; /* merged: how many rows there were after the last merge */
  bool refused;
};

static uint64_t in_window(const struct walk *w, uint64_t from, uint64_t to) {
  if (from < w->from) from = w->from;
  if (to > w->to) to = w->to;
  return to > from ? to - from : 0;
}

/* ---- events ---- */

/* Time of a location does not go back. */
static uint64_t at(struct walk *w, uint64_t time) {
  w->answer->events++;
  if (time < w->last) w->answer->backward++;
  if (time > w->last) w->last = time;
  return w->last;
}

static void pop(struct walk *w, uint64_t time, bool returned) {
  const struct frame f = w->stack[--w->depth];
  struct sums *s = &w->sums[f.region];
  uint64_t span = in_window(w, f.enter, time), whole = time - f.enter;
  s->exclusive += span - (f.inside < span ? f.inside : span);
  if (--s->open == 0) s->inclusive += span;
  if (f.enter >= w->from && f.enter <= w->to) {
    s->calls++;
    s->unreturned += !returned;
    if (returned && time <= w->to && whole < s->least) s->least = whole;
    if (returned && time <= w->to && whole > s->most) s->most = whole;
  }
  if (w->depth > 0)
    w->stack[w->depth - 1].inside += span;
  else
    w->outermost += span;
}

static bool push(struct walk *w, size_t region, uint64_t time) {
  if (w->depth == w->capacity) {
    size_t capacity = w->capacity == 0 ? 256 : 2 * w->capacity;
    struct frame *more = realloc(w->stack, capacity * sizeof *more);
    w->refused |= more == NULL;
    if (more == NULL) return false;
    w->stack = more;
    w->capacity = capacity;
  }
  w->stack[w->depth++] = (struct frame){region, time, 0};
  struct sums *s = &w->sums[region];
  if (!s->touched) {
    *s = (struct sums){.least = UINT64_MAX, .touched = true};
    w->touched[w->ntouched++] = region;
  }
  s->open++;
  return true;
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef id) {
  struct walk *w = user;
  (void)location, (void)position, (void)attributes;
  uint64_t now = at(w, time);
  size_t region = pml__otf2_find(&w->trace->regions, id);
  if (region == PML_OTF2_NONE) {
    w->answer->unknown++;
    return OTF2_CALLBACK_SUCCESS;
  }
  return push(w, region, now) ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* A leave of an outer call ends those in it. */
static OTF2_CallbackCode on_leave(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef id) {
  struct walk *w = user;
  (void)location, (void)position, (void)attributes;
  uint64_t now = at(w, time);
  size_t region = pml__otf2_find(&w->trace->regions, id);
  if (region == PML_OTF2_NONE) {
    w->answer->unknown++;
  } else if (w->sums[region].open == 0) {
    w->answer->unmatched++;
  } else {
    for (; w->stack[w->depth - 1].region != region; w->answer->unmatched++) pop(w, now, false);
    pop(w, now, true);
  }
  return OTF2_CALLBACK_SUCCESS;
}

/* ---- rows ---- */

static void join(struct sums *to, const struct sums *s) {
  to->calls += s->calls;
  to->unreturned += s->unreturned;
  to->inclusive += s->inclusive;
  to->exclusive += s->exclusive;
  if (s->least < to->least) to->least = s->least;
  if (s->most > to->most) to->most = s->most;
}

static int by_place(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  if (x->location != y->location) return x->location < y->location ? -1 : 1;
  return (x->region > y->region) - (x->region < y->region);
}

/* Rows of one place become one. */
static void merge(struct walk *w) {
  size_t n = 0;
  if (w->nrows > 0) qsort(w->row, w->nrows, sizeof *w->row, by_place);
  for (size_t i = 0; i < w->nrows; i++) {
    if (n > 0 && by_place(&w->row[n - 1], &w->row[i]) == 0)
      join(&w->row[n - 1].sums, &w->row[i].sums);
    else
      w->row[n++] = w->row[i];
  }
  w->nrows = w->merged = n;
}

static void put(struct walk *w, size_t location, size_t region, const struct sums *s) {
  unsigned by = w->question->by;
  if (w->nrows >= 2 * w->merged + 4096) merge(w);
  if (w->nrows == w->rows_capacity) {
    size_t capacity = w->rows_capacity == 0 ? 1024 : 2 * w->rows_capacity;
    struct row *more = realloc(w->row, capacity * sizeof *more);
    w->refused |= more == NULL;
    if (more == NULL) return;
    w->row = more;
    w->rows_capacity = capacity;
  }
  bool with_process = by & (PML_OTF2_BY_PROCESS | PML_OTF2_BY_LOCATION);
  w->row[w->nrows++] = (struct row){with_process ? pml_otf2_read_location(w->trace, location)->process : PML_OTF2_NONE,
                                    by & PML_OTF2_BY_LOCATION ? location : PML_OTF2_NONE, region, *s};
}

/* What is still open at the last event of a location ends there. */
static void end_location(struct walk *w, size_t location) {
  struct sums all = {.least = UINT64_MAX};
  while (w->depth > 0) pop(w, w->last, false);
  for (size_t i = 0; i < w->ntouched; i++) {
    struct sums *s = &w->sums[w->touched[i]];
    bool says = s->calls > 0 || s->inclusive > 0;
    if (says && w->wanted[w->touched[i]] && (w->question->by & PML_OTF2_BY_REGION)) put(w, location, w->touched[i], s);
    if (says && w->wanted[w->touched[i]]) join(&all, s);
    *s = (struct sums){0};
  }
  if (w->question->region == NULL) all.inclusive = w->outermost;
  if (!(w->question->by & PML_OTF2_BY_REGION) && (all.calls > 0 || all.inclusive > 0))
    put(w, location, PML_OTF2_NONE, &all);
  w->ntouched = 0;
  w->outermost = w->last = 0;
}

static int answer(struct walk *w) {
  double s = 1.0 / (double)w->trace->resolution;
  merge(w);
  w->answer->row = malloc((w->nrows + 1) * sizeof *w->answer->row);
  if (w->answer->row == NULL) return -ENOMEM;
  for (size_t i = 0; i < w->nrows; i++) {
    const struct row *r = &w->row[i];
    w->answer->row[i] = (struct pml_otf2_row){r->region,
                                              r->process,
                                              r->location,
                                              r->sums.calls,
                                              r->sums.unreturned,
                                              s * (double)r->sums.inclusive,
                                              s * (double)r->sums.exclusive,
                                              s * (double)r->sums.least,
                                              s * (double)r->sums.most};
  }
  w->answer->n = w->nrows;
  return 0;
}

/* ---- all locations ---- */

static bool open_walk(struct walk *w) {
  size_t n = w->trace->regions.n + 1;
  w->sums = calloc(n, sizeof *w->sums);
  w->touched = calloc(n, sizeof *w->touched);
  w->wanted = pml__otf2_wanted(w->trace, w->question);
  return w->sums != NULL && w->touched != NULL && w->wanted != NULL;
}

static void close_walk(struct walk *w) {
  free(w->sums);
  free(w->touched);
  free(w->wanted);
  free(w->stack);
  free(w->row);
}

static int walk_all(struct walk *w, struct pml_otf2_read *t, const OTF2_EvtReaderCallbacks *c) {
  int err = 0;
  for (size_t i = 0; i < t->locations.n && err == 0; i++) {
    if (!pml__otf2_asked(t, w->question, i)) continue;
    err = pml__otf2_read_events(t, i, c, w);
    end_location(w, i);
    if (w->refused) err = -ENOMEM;
  }
  return err == 0 ? answer(w) : err;
}

int pml_otf2_read_sums(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct pml_otf2_answer *a) {
  struct walk w = {
      .trace = t, .question = q, .answer = a, .from = pml__otf2_ticks(t, q->from_s), .to = pml__otf2_ticks(t, q->to_s)};
  *a = (struct pml_otf2_answer){0};
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  int err = c != NULL && open_walk(&w) ? 0 : -ENOMEM;
  if (err == 0) {
    OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_leave);
    err = walk_all(&w, t, c);
  }
  OTF2_EvtReaderCallbacks_Delete(c);
  close_walk(&w);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for the sums of its events", t->path) : err;
}
