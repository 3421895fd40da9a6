/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read_series.c - metric values, resampled to time columns. */
#include "read/otf2/pml_otf2_over_time.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/otf2/pml_otf2_workers.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State of one worker. */
struct sampling {
  const struct pml_otf2_read *trace;
  const bool *wanted;       /* [nmetrics] */
  const uint64_t *boundary; /* [columns + 1] */
  size_t columns, column;
  size_t location, *series_of; /* [nmetrics] series + 1 of this location, or 0 */
  double *before;              /* [nmetrics] the last value before the window */
  struct pml_otf2_series *series;
  size_t n, capacity, first; /* first: of this location */
  uint64_t last, undefined, nans;
  bool refused;
};

static double value_of(OTF2_Type type, OTF2_MetricValue value) {
  if (type == OTF2_TYPE_DOUBLE) return value.floating_point;
  return type == OTF2_TYPE_INT64 ? (double)value.signed_int : (double)value.unsigned_int;
}

/* NULL: no memory. */
static struct pml_otf2_series *series_of(struct sampling *s, size_t metric) {
  if (s->series_of[metric] != 0) return &s->series[s->series_of[metric] - 1];
  s->refused = s->refused || !PML__ARRAY_ROOM(s->series, s->capacity, s->n + 1);
  if (s->refused) return NULL;
  struct pml_otf2_series *one = &s->series[s->n];
  *one = (struct pml_otf2_series){metric, s->location, calloc(s->columns, sizeof *one->sample)};
  s->refused |= one->sample == NULL;
  if (one->sample == NULL) return NULL;
  s->before[metric] = NAN;
  s->series_of[metric] = ++s->n;
  return one;
}

static void add(struct sampling *s, size_t metric, double value) {
  struct pml_otf2_series *one = series_of(s, metric);
  if (one == NULL) return;
  if (s->last < s->boundary[0]) {
    s->before[metric] = value;
    return;
  }
  struct pml_otf2_sample *sample = &one->sample[s->column];
  sample->least = sample->n == 0 ? value : fmin(sample->least, value);
  sample->most = sample->n == 0 ? value : fmax(sample->most, value);
  s->nans += value != value;
  sample->last = value;
  sample->n++;
}

static OTF2_CallbackCode on_metric(PML__OTF2_AT, OTF2_MetricRef id, uint8_t n, const OTF2_Type *type,
                                   const OTF2_MetricValue *value) {
  struct sampling *s = user;
  time = pml__otf2_time(s->trace, time);
  if (time > s->last) s->last = time;
  if (s->last > s->boundary[s->columns]) return OTF2_CALLBACK_INTERRUPT;
  while (s->column + 1 < s->columns && s->last >= s->boundary[s->column + 1]) s->column++;
  const struct pml__otf2_class *class = pml__otf2_class_of(s->trace, id);
  for (uint8_t i = 0; i < n && !s->refused; i++) {
    size_t metric = class != NULL && i < class->n ? class->metric[i] : PML_OTF2_NONE;
    if (metric == PML_OTF2_NONE)
      s->undefined++;
    else if (s->wanted[metric])
      add(s, metric, value_of(type[i], value[i]) * pml_otf2_read_metric(s->trace, metric)->scale);
  }
  return s->refused ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* ---- locations ---- */

static void begin(void *state, size_t location) {
  struct sampling *s = state;
  s->location = location;
  s->first = s->n;
  s->column = 0;
  s->last = 0;
}

/* A column without a value gets its predecessor's. */
static int end(void *state, size_t location, const struct pml__otf2_location_read *read) {
  struct sampling *s = state;
  (void)location, (void)read;
  for (size_t i = s->first; i < s->n; i++) {
    struct pml_otf2_series *one = &s->series[i];
    double last = s->before[one->metric];
    for (size_t k = 0; k < s->columns; k++) {
      if (one->sample[k].n > 0) last = one->sample[k].last;
      one->sample[k].last = last;
    }
    s->series_of[one->metric] = 0;
  }
  return s->refused ? -ENOMEM : 0;
}

static int by_place(const void *a, const void *b) {
  const struct pml_otf2_series *x = a, *y = b;
  if (x->location != y->location) return x->location < y->location ? -1 : 1;
  return (x->metric > y->metric) - (x->metric < y->metric);
}

static int answer(struct sampling *s, unsigned workers, struct pml_otf2_all_series *a) {
  size_t n = 0;
  for (unsigned k = 0; k < workers; k++) n += s[k].n;
  a->series = calloc(n + 1, sizeof *a->series);
  if (a->series == NULL) return -ENOMEM;
  for (unsigned k = 0; k < workers; k++) {
    for (size_t i = 0; i < s[k].n; i++) a->series[a->n++] = s[k].series[i];
    a->undefined += s[k].undefined;
    a->nans += s[k].nans;
    s[k].n = 0;
  }
  if (n > 0) qsort(a->series, n, sizeof *a->series, by_place);
  return 0;
}

static int ask(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct sampling *s, unsigned workers,
               struct pml_otf2_all_series *a) {
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  const struct pml__otf2_reading how = {.callbacks = c, .state = s, .size = sizeof *s, .begin = begin, .end = end};
  bool done = c != NULL;
  for (unsigned k = 0; done && k < workers; k++) {
    s[k].series_of = calloc(t->metrics.n + 1, sizeof *s[k].series_of);
    s[k].before = calloc(t->metrics.n + 1, sizeof *s[k].before);
    done = s[k].series_of != NULL && s[k].before != NULL;
  }
  if (done) OTF2_EvtReaderCallbacks_SetMetricCallback(c, on_metric);
  int err = done ? pml__otf2_read_locations(t, q, workers, &how) : -ENOMEM;
  OTF2_EvtReaderCallbacks_Delete(c);
  return err == 0 ? answer(s, workers, a) : err;
}

/* A pattern may also match the name without the scope. */
static bool matches(const struct pml_otf2_read_metric *m, const char *pattern) {
  if (pattern == NULL || fnmatch(pattern, m->name, 0) == 0) return true;
  char *name = m->own != NULL ? strndup(m->name, strlen(m->name) - strlen(m->scope) - strlen(" ()")) : NULL;
  bool same = name != NULL && fnmatch(pattern, name, 0) == 0;
  free(name);
  return same;
}

static bool *wanted_of(const struct pml_otf2_read *t, const char *pattern) {
  bool *wanted = calloc(t->metrics.n + 1, sizeof *wanted);
  for (size_t i = 0; wanted != NULL && i < t->metrics.n; i++) wanted[i] = matches(pml_otf2_read_metric(t, i), pattern);
  return wanted;
}

static void close_all(struct sampling *s, unsigned workers) {
  for (unsigned k = 0; s != NULL && k < workers; k++) {
    for (size_t i = 0; i < s[k].n; i++) free(s[k].series[i].sample);
    free(s[k].series);
    free(s[k].series_of);
    free(s[k].before);
  }
  free(s);
}

int pml_otf2_read_series(struct pml_otf2_read *t, const struct pml_otf2_question *q, const char *pattern,
                         struct pml_otf2_all_series *a) {
  *a = (struct pml_otf2_all_series){0};
  if (t->reading) return pml__otf2_busy(t);
  if (q->columns < 1 || q->columns > PML_OTF2_COLUMNS_MAX)
    return pml_fail(-EINVAL, "%.300s: there are 1 to %zu columns", t->path, PML_OTF2_COLUMNS_MAX);
  unsigned workers = pml__otf2_workers(t, q);
  bool *wanted = wanted_of(t, pattern);
  uint64_t *boundary = pml__otf2_boundaries(t, q, q->columns);
  struct sampling *s = calloc(workers, sizeof *s);
  int err = wanted != NULL && boundary != NULL && s != NULL ? 0 : -ENOMEM;
  for (unsigned k = 0; err == 0 && k < workers; k++)
    s[k] = (struct sampling){.trace = t, .wanted = wanted, .boundary = boundary, .columns = q->columns};
  if (err == 0) err = ask(t, q, s, workers, a);
  close_all(s, workers);
  free(wanted);
  free(boundary);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for the series of its metrics", t->path) : err;
}

void pml_otf2_series_close(struct pml_otf2_all_series *s) {
  for (size_t i = 0; i < s->n; i++) free(s->series[i].sample);
  free(s->series);
  *s = (struct pml_otf2_all_series){0};
}
