/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_spool_stream.c - enters, leaves and values, into extents that each thread has for itself. */
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "substrate/pml_spool_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DEPTH 64u
#define DEPTH_MAX (1u << 20)
#define WORTH 256 /* events that must be left in an extent for another thread to go on in it */

/* A call under way. @enter: in the file, perhaps in an extent that is not mapped any more; NULL: left out. */
struct frame {
  struct pml__spool_event *enter;
  pml_region_t region;
};

/* One thread. */
struct pml__spool_track {
  struct pml_spool *spool;
  struct pml__spool_event *next, *end; /* next == end: there is no extent, or it is full */
  uint64_t *count;                     /* in the extent, or in the head */
  uint64_t last_ticks, beyond;         /* enters too deep for @frame: their leaves come first */
  struct frame *frame;
  uint32_t depth, capacity;
  bool full; /* no room, for good: what comes later would not be balanced */
  struct pml__spool_extent *extent;
  uint32_t thread;
  struct pml__spool_track *following;
};

/* In an extent one thread counts; in the head all that have none. */
static void count(struct pml__spool_track *t, enum pml__spool_counter which) {
  if (PML_LIKELY(t->extent != NULL))
    __atomic_store_n(&t->count[which], t->count[which] + 1, __ATOMIC_RELAXED);
  else
    __atomic_fetch_add(&t->count[which], 1, __ATOMIC_RELAXED);
}

static bool limited(const struct pml_spool_limits *l) {
  return l->max_depth != 0 || l->max_calls != 0;
}

/* ---- events ---- */

/* What was there before is zeros, or was taken back and is zeros again. */
static void put(struct pml__spool_track *t, uint64_t ticks, uint64_t word) {
  t->next->ticks = ticks;
  __atomic_store_n(&t->next->word, word, __ATOMIC_RELEASE);
  t->next++;
}

static void use(struct pml__spool_track *t, struct pml__spool_extent *e, size_t from) {
  struct pml__spool_event *events = (struct pml__spool_event *)(void *)e;
  t->extent = e;
  t->next = events + from;
  t->end = events + PML__SPOOL_EXTENT_EVENTS;
  t->count = e->count;
}

__attribute__((noinline, cold)) static bool more_room(struct pml__spool_track *t) {
  if (t->full) return false;
  struct pml__spool_extent *e = pml__spool_extent(t->spool, PML__SPOOL_EVENT_UNITS);
  if (e == NULL) {
    t->full = true;
    t->end = t->next;
    return false;
  }
  e->thread = t->thread;
  e->tid = (int32_t)pml_thread_self()->tid;
  __atomic_store_n(&e->kind, PML__SPOOL_EVENTS, __ATOMIC_RELEASE);
  pml__spool_unmap(t->extent);
  use(t, e, PML__SPOOL_FIRST_EVENT);
  return true;
}

static bool has_room(struct pml__spool_track *t, size_t events) {
  return PML_LIKELY((size_t)(t->end - t->next) >= events) || more_room(t);
}

static uint64_t lift(struct pml__spool_track *t, uint64_t ticks) {
  if (PML_LIKELY(ticks >= t->last_ticks)) return t->last_ticks = ticks;
  count(t, PML__SPOOL_LIFTED);
  return t->last_ticks;
}

/* How many events the values of @e take; those of other metrics take none. */
static size_t room_for_values(struct pml__spool_track *t, const struct pml_stream_event *e) {
  if (PML_LIKELY(e->metrics == NULL)) return 0;
  if (e->metrics == t->spool->metrics) return 1 + (e->metrics->n + 1) / 2;
  count(t, PML__SPOOL_UNRECORDED);
  return 0;
}

static void put_values(struct pml__spool_track *t, const struct pml_stream_event *e, uint64_t ticks) {
  struct pml__spool_event *at = t->next;
  uint64_t *value = (uint64_t *)(at + 1);
  for (uint32_t i = 0; i < e->metrics->n; i++) value[i] = e->values[i];
  for (int i = 0; i < 2; i++)
    __atomic_store_n(&t->spool->head->real[i], __atomic_load_n(&e->metrics->real[i], __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
  put(t, ticks, PML__SPOOL_WORD(PML__SPOOL_METRIC, e->metrics->n));
  t->next += (e->metrics->n + 1) / 2;
}

/* ---- limits ---- */

/* Whether a limit leaves this call out; the frame is counted already. */
static bool left_out(struct pml__spool_track *t, pml_region_t region) {
  const struct pml_spool_limits *l = &t->spool->limits;
  if (l->max_depth != 0 && t->depth + t->beyond > l->max_depth) {
    count(t, PML__SPOOL_DEEP);
    return true;
  }
  uint32_t *mark = &t->spool->mark[region];
  if (l->max_calls == 0) return false;
  if ((__atomic_load_n(mark, __ATOMIC_RELAXED) & ~PML__SPOOL_NAMED) < l->max_calls &&
      (__atomic_fetch_add(mark, 1, __ATOMIC_RELAXED) & ~PML__SPOOL_NAMED) < l->max_calls)
    return false;
  count(t, PML__SPOOL_OFTEN);
  return true;
}

/* Nothing was written since the call's enter, and the values there. */
static bool is_last(const struct pml__spool_track *t, const struct pml__spool_event *enter) {
  const struct pml_stream_metrics *m = t->spool->metrics;
  if (t->next == enter + 1) return true;
  return m != NULL && t->next == enter + 2 + (m->n + 1) / 2 && enter[1].word >> 32 == PML__SPOOL_METRIC;
}

/* The call recorded none inside and was short: its enter, and the values there, are taken back. */
static bool take_back(struct pml__spool_track *t, struct pml__spool_event *enter, const struct pml_stream_event *e) {
  if (!is_last(t, enter) || e->ticks - enter->ticks >= t->spool->limits.min_ticks) return false;
  for (struct pml__spool_event *at = t->next; at-- > enter;) {
    __atomic_store_n(&at->word, 0, __ATOMIC_RELEASE);
    at->ticks = 0;
  }
  t->next = enter;
  if (t->spool->limits.max_calls != 0) __atomic_fetch_sub(&t->spool->mark[e->region], 1, __ATOMIC_RELAXED);
  count(t, PML__SPOOL_SHORT);
  return true;
}

/* ---- calls ---- */

__attribute__((noinline, cold)) static bool deepen(struct pml__spool_track *t) {
  if (t->capacity == DEPTH_MAX) return false;
  struct frame *frame = realloc(t->frame, 2 * t->capacity * sizeof *frame);
  if (frame == NULL) return false;
  t->frame = frame;
  t->capacity *= 2;
  return true;
}

/* After an enter there is always an event left, so that the enter of a call that is taken back is in this extent. */
static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__spool_track *t = data;
  if (PML_UNLIKELY(t->beyond > 0 || (t->depth == t->capacity && !deepen(t)))) {
    t->beyond++;
    count(t, PML__SPOOL_DROPPED);
    return;
  }
  struct frame *f = &t->frame[t->depth++];
  *f = (struct frame){NULL, e->region};
  if (PML_UNLIKELY(e->region >= PML__SPOOL_MARKS)) {
    count(t, PML__SPOOL_DROPPED);
    return;
  }
  if (PML_UNLIKELY(limited(&t->spool->limits)) && left_out(t, e->region)) return;
  size_t values = room_for_values(t, e);
  if (!has_room(t, values + 2)) {
    count(t, PML__SPOOL_DROPPED);
    return;
  }
  if (PML_UNLIKELY((__atomic_load_n(&t->spool->mark[e->region], __ATOMIC_RELAXED) & PML__SPOOL_NAMED) == 0))
    pml_spool_name(t->spool, e->region);
  uint64_t ticks = lift(t, e->ticks);
  f->enter = t->next;
  put(t, ticks, PML__SPOOL_WORD(PML__SPOOL_ENTER, e->region));
  if (PML_UNLIKELY(values > 0)) put_values(t, e, ticks);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml__spool_track *t = data;
  if (PML_UNLIKELY(t->beyond > 0)) {
    t->beyond--;
    return;
  }
  if (PML_UNLIKELY(t->depth == 0 || t->frame[t->depth - 1].region != e->region)) {
    count(t, PML__SPOOL_UNMATCHED);
    return;
  }
  struct pml__spool_event *enter = t->frame[--t->depth].enter;
  if (PML_UNLIKELY(enter == NULL)) return;
  if (PML_UNLIKELY(t->spool->limits.min_ticks != 0) && take_back(t, enter, e)) return;
  size_t values = room_for_values(t, e);
  if (!has_room(t, values + 1)) return; /* the reader ends the call with the thread's last event */
  uint64_t ticks = lift(t, e->ticks);
  if (PML_UNLIKELY(values > 0)) put_values(t, e, ticks);
  put(t, ticks, PML__SPOOL_WORD(PML__SPOOL_LEAVE, e->region));
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  struct pml__spool_track *t = data;
  size_t values = room_for_values(t, e);
  if (values == 0) return;
  if (!has_room(t, values)) {
    count(t, PML__SPOOL_DROPPED);
    return;
  }
  put_values(t, e, lift(t, e->ticks));
}

/* ---- threads ---- */

static void free_track(struct pml__spool_track *t) {
  pml__spool_unmap(t->extent);
  free(t->frame);
  free(t);
}

/* A thread that ended left most of its extent unused. */
static struct pml__spool_track *spare(struct pml_spool *s) {
  pthread_mutex_lock(&s->lock);
  struct pml__spool_track *t = s->spare;
  if (t != NULL) s->spare = t->following;
  pthread_mutex_unlock(&s->lock);
  return t;
}

static struct pml__spool_track *new_track(struct pml_spool *s) {
  struct pml__spool_track *t = calloc(1, sizeof *t);
  if (t != NULL) t->frame = calloc(FIRST_DEPTH, sizeof *t->frame);
  if (t == NULL || t->frame == NULL) {
    free(t);
    return NULL;
  }
  t->spool = s;
  t->capacity = FIRST_DEPTH;
  t->count = s->head->count;
  return t;
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_spool *s = arg;
  struct pml__spool_track *t = spare(s);
  (void)thread;
  if (t == NULL) t = new_track(s);
  if (t == NULL) return NULL;
  t->thread = __atomic_add_fetch(&s->nthreads, 1, __ATOMIC_RELAXED);
  if (t->extent != NULL) put(t, (uint64_t)pml_thread_self()->tid, PML__SPOOL_WORD(PML__SPOOL_THREAD, t->thread));
  pthread_mutex_lock(&s->lock);
  t->following = s->tracks;
  s->tracks = t;
  pthread_mutex_unlock(&s->lock);
  return t;
}

static void thread_end(void *arg, void *data) {
  struct pml_spool *s = arg;
  struct pml__spool_track *t = data, **at = &s->tracks;
  pthread_mutex_lock(&s->lock);
  while (*at != t) at = &(*at)->following;
  *at = t->following;
  bool worth = t->extent != NULL && t->end - t->next >= WORTH;
  if (worth) {
    t->depth = 0;
    t->beyond = 0;
    t->last_ticks = 0;
    t->following = s->spare;
    s->spare = t;
  }
  pthread_mutex_unlock(&s->lock);
  if (!worth) free_track(t);
}

int pml_spool_trace(struct pml_spool *s, const struct pml_spool_limits *limits) {
  struct pml_stream_consumer c = {
      .thread_begin = thread_begin, .thread_end = thread_end, .event = {on_enter, on_leave, on_metric}, .arg = s};
  struct pml_stream_metrics *metrics = NULL;
  if (limits != NULL) s->limits = *limits;
  if (s->limits.nmetrics > 0) {
    int err = pml_stream_metrics(s->limits.metrics, s->limits.nmetrics, &metrics);
    if (err < 0) return err;
  }
  s->limits.metrics = NULL; /* of the caller */
  s->metrics = metrics;
  s->head->nmetrics = (uint32_t)s->limits.nmetrics;
  s->head->traced = 1;
  return pml_stream_add(&c, &s->consumer);
}

static void free_all(struct pml__spool_track *t) {
  for (struct pml__spool_track *next; t != NULL; t = next) {
    next = t->following;
    free_track(t);
  }
}

void pml__spool_trace_end(struct pml_spool *s) {
  if (s->consumer == 0) return;
  (void)pml_stream_remove(s->consumer); /* -ENOENT in a child: nothing comes there anyway */
  free_all(s->tracks);
  free_all(s->spare);
}
