/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_stream.c - conversion of stream events to a location's records. */
#include "substrate/trace/pml_otf2_stream.h"

#include "base/pml_bits.h"
#include "base/pml_cancel.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "base/pml_value.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_event.h"
#include "substrate/trace/pml_otf2_write.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values that belong to a single event, such as the arguments of a wrapped call: their metrics in the archive. Never
 * freed. */
struct singles {
  const struct pml_stream_metrics *of;
  uint32_t first;
  struct singles *next;
};

/* One thread. */
struct track {
  struct pml_otf2_stream *stream;
  struct pml_otf2_location *location;
  uint64_t unrecorded;                   /* atomic, one writer */
  const struct pml_stream_metrics *seen; /* metrics of the last values, and how to handle them */
  const struct singles *singles;
  enum { RECORD, SINGLES, IGNORE, LOSE } doing;
  struct track *next;
};

struct pml_otf2_stream {
  struct pml_otf2 *archive;
  const struct pml_stream_metrics *metrics; /* NULL: the archive has no metrics, or more than events can have */
  struct pml__mutex lock;                   /* guards the lists */
  struct track *tracks;
  struct singles *singles; /* atomic */
  uint64_t consumer;
};

static int64_t nearest(uint64_t bits) {
  double d = pml__as_double(bits);
  if (!pml_value_is_int64(d)) return d > 0 ? INT64_MAX : d < 0 ? INT64_MIN : 0;
  return llrint(d);
}

/* A double stays a double if the archive's metric is one. */
static uint64_t as_metric(const struct pml_otf2_metric *m, uint64_t bits) {
  if (m->real) return bits;
  return bits == PML_VALUE_ABSENT ? pml_value_absent(m->is_signed) : (uint64_t)nearest(bits);
}

/* The event has the archive's metrics, possibly followed by others that were not requested: in a program with compiler
 * counters, sections add compiler counts to the events that they name. */
static void learn(struct track *t, const struct pml_stream_metrics *m) {
  const struct pml_stream_metrics *own = t->stream->metrics;
  uint32_t n = own != NULL ? own->n : 0, asked = m->n;
  while (asked > 0 && pml_count_is_event(m->name[asked - 1])) asked--;
  t->seen = m;
  t->doing = asked == 0 ? IGNORE : LOSE;
  if (n == 0 || n > m->n || n < asked) return;
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(own->name[i], m->name[i]) != 0) return;
  t->doing = RECORD;
}

static const struct singles *find_singles(const struct pml_otf2_stream *s, const struct pml_stream_metrics *m) {
  const struct singles *found = __atomic_load_n(&s->singles, __ATOMIC_ACQUIRE);
  while (found != NULL && found->of != m) found = found->next;
  return found;
}

/* NULL: no value belongs to a single event, or no memory. */
static const struct singles *make_singles(struct pml_otf2_stream *s, const struct pml_stream_metrics *m) {
  struct pml_otf2_metric metric[PML_STREAM_METRICS_MAX];
  size_t n = 0;
  for (uint32_t i = 0; i < m->n; i++)
    if (pml_stream_metrics_single(m, i))
      metric[n++] = (struct pml_otf2_metric){
          .name = m->name[i], .mode = PML_OTF2_ABSOLUTE, .real = pml_stream_metrics_real(m, i), .is_signed = true};
  struct singles *made = n > 0 ? malloc(sizeof *made) : NULL;
  if (made == NULL) return NULL;
  *made = (struct singles){m, 0, s->singles};
  if (pml__otf2_add_singles(s->archive, metric, n, &made->first) < 0) {
    free(made);
    return NULL;
  }
  __atomic_store_n(&s->singles, made, __ATOMIC_RELEASE);
  return made;
}

static const struct singles *singles_of(struct pml_otf2_stream *s, const struct pml_stream_metrics *m) {
  const struct singles *found = find_singles(s, m);
  if (found != NULL || (m->single[0] | m->single[1]) == 0) return found;
  pml__mutex_take(&s->lock);
  found = find_singles(s, m);
  if (found == NULL) found = make_singles(s, m);
  pml__mutex_leave(&s->lock);
  return found;
}

static void record_singles(struct track *t, const struct pml_stream_event *e) {
  uint32_t at = t->singles->first;
  for (uint32_t i = 0; i < e->metrics->n; i++)
    if (pml_stream_metrics_single(e->metrics, i)) (void)pml__otf2_single(t->location, e->ticks, at++, e->values[i]);
}

static void record_values(struct track *t, const struct pml_stream_event *e) {
  uint64_t values[PML_STREAM_METRICS_MAX];
  const struct pml_stream_metrics *m = e->metrics;
  if (m != t->seen) {
    learn(t, m);
    t->singles = t->doing == LOSE ? singles_of(t->stream, m) : NULL;
    if (t->singles != NULL) t->doing = SINGLES;
  }
  if (t->singles != NULL) record_singles(t, e);
  if (t->doing == LOSE) __atomic_store_n(&t->unrecorded, t->unrecorded + 1, __ATOMIC_RELAXED);
  if (t->doing != RECORD) return;
  for (uint32_t i = 0; i < t->stream->metrics->n; i++)
    values[i] =
        pml_stream_metrics_real(m, i) ? as_metric(&t->stream->archive->own.metric[i], e->values[i]) : e->values[i];
  (void)pml_otf2_metric(t->location, e->ticks, values);
}

/* The location counts refused and dropped events. */
static void on_enter(void *data, const struct pml_stream_event *e) {
  struct track *t = data;
  (void)pml_otf2_enter(t->location, e->ticks, e->region);
  if (e->metrics != NULL) record_values(t, e);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct track *t = data;
  if (e->metrics != NULL) record_values(t, e);
  (void)pml_otf2_leave(t->location, e->ticks, e->region);
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  if (e->metrics != NULL) record_values(data, e);
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_otf2_stream *s = arg;
  struct track *t = calloc(1, sizeof *t);
  char name[48];
  (void)thread;
  snprintf(name, sizeof name, "thread %d", (int)pml_thread_self()->tid);
  if (t == NULL || pml_otf2_location(s->archive, name, &t->location) < 0) {
    free(t);
    return NULL;
  }
  t->stream = s;
  pml__mutex_take(&s->lock);
  t->next = s->tracks;
  s->tracks = t;
  pml__mutex_leave(&s->lock);
  return t;
}

/* Rename a metric to the event as counted here, perhaps NAME:u, as in the source of its values; other names stay. */
static int name_as_counted(struct pml_otf2_metric *m) {
  char permitted[PML_EVENT_NAME_MAX];
  if (pml_event_permitted(m->name, permitted) < 0 || strcmp(m->name, permitted) == 0) return 0;
  char *name = strdup(permitted);
  if (name == NULL) return pml_fail(-ENOMEM, "no memory for the name of a metric");
  free((char *)(uintptr_t)m->name);
  m->name = name;
  return 0;
}

/* The archive's metrics as metrics of events; NULL if no event can have them. */
static int archive_metrics(struct pml_otf2 *a, const struct pml_stream_metrics **out) {
  const char *name[PML_STREAM_METRICS_MAX];
  struct pml_stream_metrics *m = NULL;
  *out = NULL;
  if (a->own.n == 0 || a->own.n > PML_STREAM_METRICS_MAX) return 0;
  int err = 0;
  for (size_t i = 0; i < a->own.n && err == 0; i++) {
    err = name_as_counted(&a->own.metric[i]);
    name[i] = a->own.metric[i].name;
  }
  if (err == 0) err = pml_stream_metrics(name, a->own.n, &m);
  *out = m;
  return err;
}

int pml_otf2_stream_open(struct pml_otf2_stream **out, struct pml_otf2 *a) {
  *out = NULL;
  struct pml_otf2_stream *s = calloc(1, sizeof *s);
  if (s == NULL) return pml_fail(-ENOMEM, "no memory to record events in a trace");
  s->archive = a;
  pthread_mutex_init(&s->lock.mutex, NULL);
  struct pml_stream_consumer c = {
      .name = "trace", .thread_begin = thread_begin, .event = {on_enter, on_leave, on_metric}, .arg = s};
  int err = archive_metrics(a, &s->metrics);
  if (err == 0) err = pml_stream_add(&c, &s->consumer);
  if (err < 0) {
    pthread_mutex_destroy(&s->lock.mutex);
    free(s);
    return err;
  }
  *out = s;
  return 0;
}

void pml_otf2_stream_close(struct pml_otf2_stream *s) {
  if (s == NULL) return;
  (void)pml_stream_remove(s->consumer); /* -ENOENT in a child, which records nothing anyway */
  for (struct track *t = s->tracks, *next; t != NULL; t = next) {
    next = t->next;
    free(t);
  }
  for (struct singles *x = s->singles, *next; x != NULL; x = next) {
    next = x->next;
    free(x);
  }
  pthread_mutex_destroy(&s->lock.mutex);
  free(s);
}

uint64_t pml_otf2_stream_unrecorded(struct pml_otf2_stream *s) {
  uint64_t n = 0;
  if (pml__otf2_here(s->archive) < 0) return 0;
  pml__mutex_take(&s->lock);
  for (const struct track *t = s->tracks; t != NULL; t = t->next)
    n += __atomic_load_n(&t->unrecorded, __ATOMIC_RELAXED);
  pml__mutex_leave(&s->lock);
  return n;
}
