/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/recording/pml_recording_stream.c - enters, leaves and values, written into per-thread extents. */
#include "base/pml_cancel.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "base/stream/pml_stream_private.h"
#include "substrate/recording/pml_recording_track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DEPTH 64u
#define DEPTH_MAX (1u << 20)
#define OF_CALL (2 * (1 + PML_RECORDING_VALUES_MAX / 2)) /* events: the most arguments and results of a call */
#define BEHIND (1 + PML_STREAM_METRICS_MAX / 2)          /* the most events behind the last */
_Static_assert(BEHIND >= OF_CALL, "values of an event are the most");
#define UNDER_WAY_MAX (PML__RECORDING_EXTENT_EVENTS / 2) /* events that repeat the open calls */
/*
 * The fewest free events for which another thread continues in an extent. Where only the last events are kept, the
 * extent is moved out instead, because only such extents are given up.
 */
#define WORTH 256

/* ---- events ---- */

static bool first_extent(struct pml__recording_track *t) {
  t->extent =
      pml__log_extent(t->recording->log, PML__LOG_EVENTS, t->tid, t->thread, PML__RECORDING_EVENTS_BYTES, 0, &t->entry);
  if (t->extent == NULL) return false;
  __atomic_store_n(&t->count, t->extent->count, __ATOMIC_RELEASE); /* others may read the counts */
  return true;
}

/* Clears whole cache lines by stores: memset() may use an instruction that clears many bytes, which simulators count
 * once for each. */
static void clear(char *at, const char *end) {
  for (; at < end; at += 64) memset(at, 0, 64);
}

/* Move the events out; the counts stay. The stores have the same order as in pml__log_move_out(). */
static bool empty_extent(struct pml__recording_track *t) {
  struct pml__log_event *events = (struct pml__log_event *)(void *)t->extent + PML__RECORDING_FIRST_EVENT;
  int out = pml__log_move_out(t->recording->log, t->entry, t->extent);
  if (out < 0) return false;
  if (out > 0) pml__recording_count(t, PML__LOG_OLDER);
  __atomic_store_n(&events->word, 0, __ATOMIC_RELEASE);
  pml__log_moved_out(t->entry);
  clear((char *)events, (char *)t->place.next);
  return true;
}

/* Repeats the open calls, for a reader that finds no earlier extent. If there are too many, the outer ones are stored
 * as a number. */
static void put_under_way(struct pml__recording_track *t) {
  uint64_t calls = 0, outer;
  for (const struct pml__recording_frame *f = t->frame + 1; f <= t->top; f++) calls += f->enter != NULL;
  outer = calls > UNDER_WAY_MAX ? calls - UNDER_WAY_MAX : 0;
  if (outer > 0) pml__recording_put(t, outer, PML__LOG_WORD(PML__LOG_UNDER_WAY, PML__LOG_OUTER), 0);
  for (const struct pml__recording_frame *f = t->frame + 1; f <= t->top; f++) {
    if (f->enter == NULL) continue;
    if (outer == 0)
      pml__recording_put(t, t->place.last_ticks, PML__LOG_WORD(PML__LOG_UNDER_WAY, pml__recording_region_of(f)), 0);
    if (outer > 0) outer--;
  }
}

static bool make_room(struct pml__recording_track *t) {
  bool again = t->extent != NULL;
  if (t->full) return false;
  if (!(again ? empty_extent(t) : first_extent(t))) {
    t->full = true;
    t->place.end = t->place.next;
    pml__recording_choose_ends(t);
    return false;
  }
  for (struct pml__recording_frame *f = t->frame + 1; f <= t->top; f++)
    if (f->enter != NULL) f->enter = pml__recording_elsewhere;
  struct pml__log_event *events = (struct pml__log_event *)(void *)t->extent;
  t->place.next = events + PML__RECORDING_FIRST_EVENT;
  t->place.end = events + PML__RECORDING_EXTENT_EVENTS;
  if (again) pml__recording_put(t, t->tid, PML__LOG_WORD(PML__LOG_THREAD, t->thread), 0);
  if (again && t->recording->limits.last_bytes != 0) put_under_way(t);
  pml__recording_choose_ends(t);
  return true;
}

__attribute__((noinline)) static bool more_room(struct pml__recording_track *t) {
  int cancel = pml__cancel_hold();
  bool more = make_room(t);
  pml__cancel_again(cancel);
  return more;
}

static bool has_room(struct pml__recording_track *t, size_t events) {
  return PML_LIKELY((size_t)(t->place.end - t->place.next) >= events) || more_room(t);
}

/*
 * A list is published by the store of @lists, with release, once its definition is in the log and its members are set;
 * who loads @lists with acquire sees these.
 */
static const struct pml__recording_list *find_list(const struct pml_recording *s, const struct pml_stream_metrics *m) {
  const struct pml__recording_list *found = __atomic_load_n(&s->lists, __ATOMIC_ACQUIRE);
  while (found != NULL && found->of != m) found = found->next;
  return found;
}

static struct pml__recording_list *make_list(struct pml_recording *s, const struct pml_stream_metrics *m) {
  struct pml__recording_list *made = malloc(sizeof *made);
  struct pml__log_list d = {s->lists != NULL ? s->lists->number + 1 : 1, m->n, {0}, {0}};
  for (int i = 0; i < 2; i++) {
    d.real[i] = __atomic_load_n(&m->real[i], __ATOMIC_RELAXED);
    d.single[i] = __atomic_load_n(&m->single[i], __ATOMIC_RELAXED);
  }
  if (made == NULL || d.number >= PML__LOG_LISTS_MAX ||
      pml__log_define(s->log, PML__LOG_LIST, &d, sizeof d, m->name, m->n) < 0) {
    free(made);
    return NULL;
  }
  *made = (struct pml__recording_list){m, d.number, s->lists};
  __atomic_store_n(&s->lists, made, __ATOMIC_RELEASE);
  return made;
}

/* The number of the metrics of @e; 0: of the recording's, or they have none. */
static uint32_t list_of(struct pml__recording_track *t, const struct pml_stream_event *e) {
  struct pml_recording *s = t->recording;
  if (e->metrics == s->metrics || !s->limits.all_values) return 0;
  if (e->metrics == t->listed) return t->list;
  const struct pml__recording_list *found = find_list(s, e->metrics);
  if (found == NULL) {
    pml__mutex_take(&s->lock);
    found = find_list(s, e->metrics);
    if (found == NULL) found = make_list(s, e->metrics);
    pml__mutex_leave(&s->lock);
  }
  t->listed = e->metrics;
  return t->list = found != NULL ? found->number : 0;
}

/* The number of events that the values of @e take; values of other metrics take none. */
static size_t room_for_values(struct pml__recording_track *t, const struct pml_stream_event *e) {
  if (PML_LIKELY(e->metrics == NULL)) return 0;
  if (e->metrics == t->recording->metrics || list_of(t, e) != 0) return pml__recording_of_values(e->metrics);
  pml__recording_count(t, PML__LOG_UNRECORDED);
  return 0;
}

struct of_call {
  pml_region_t region;
  bool results;
  const struct pml_recording_value *v;
  uint32_t n;
};

/* The ticks are copied from the previous event; for results the reader uses the ticks of the leave, which follows in
 * the same extent. A call without an enter in the file has no values there. */
static void put_values_of_call(void *data, void *arg) {
  struct pml__recording_track *t = data;
  const struct of_call *c = arg;
  const struct pml__recording_frame *f = t->top;
  const struct pml_stream_metrics *m = t->recording->metrics;
  size_t follow = (c->n + 1) / 2, leave = 1 + (m != NULL ? pml__recording_of_values(m) : 0);
  if (t->beyond > 0 || f->enter == NULL || pml__recording_region_of(f) != c->region) return;
  if (!has_room(t, 1 + follow + leave)) {
    pml__recording_count(t, PML__LOG_DROPPED);
    return;
  }
  uint64_t *value = (uint64_t *)(t->place.next + 1);
  for (uint32_t i = 0; i < c->n; i++) value[i] = c->v[i].bits;
  pml__recording_put(t, t->place.last_ticks,
                     PML__LOG_WORD(PML__LOG_VALUES_OF_CALL, PML__LOG_OF_CALL(c->results, c->n, c->region)), follow);
}

void pml__recording_trace_values(const struct pml_recording *s, pml_region_t region, bool results,
                                 const struct pml_recording_value *v, uint32_t n) {
  struct of_call c = {region, results, v, n};
  pml__stream_with(s->consumer, put_values_of_call, &c);
}

/* ---- calls ---- */

static void forget_regions(struct pml__recording_frame *frame, size_t n) {
  for (size_t i = 0; i < n; i++) frame[i].word = PML__RECORDING_NO_REGION;
}

__attribute__((noinline, cold)) static bool deepen(struct pml__recording_track *t) {
  size_t depth = (size_t)(t->top - t->frame), capacity = (size_t)(t->last - t->frame) * 2;
  if (capacity > DEPTH_MAX) return false;
  int cancel = pml__cancel_hold();
  struct pml__recording_frame *frame = realloc(t->frame, (capacity + 2) * sizeof *frame);
  if (frame != NULL) {
    forget_regions(frame + depth + 1, capacity - depth + 1);
    t->frame = frame;
    t->top = frame + depth;
    t->last = frame + capacity;
  }
  pml__cancel_again(cancel);
  return frame != NULL;
}

static void prepare(void *data, pml_region_t region) {
  struct pml__recording_track *t = data;
  const struct pml_stream_metrics *m = t->recording->metrics;
  if (t->beyond > 0 || region >= PML__RECORDING_MARKS || (t->top == t->last && !deepen(t))) return;
  pml_recording_name(t->recording, region);
  (void)has_room(t, PML__RECORDING_OF_ENTER + (m != NULL ? 2 * pml__recording_of_values(m) : 0) +
                        (t->recording->trace_values ? OF_CALL : 0));
}

/* Whether a fast function may handle the event; other adapters may emit events at tick 0. */
static bool is_plain(const struct pml_stream_event *e) {
  return e->metrics == NULL && e->ticks != 0 && !e->unwound;
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__recording_track *t = data;
  if (is_plain(e) && pml__recording_enter_fast(t, e->region, e->ticks) == 0) return;
  if (t->beyond > 0 || (t->top == t->last && !deepen(t))) {
    t->beyond++;
    pml__recording_choose_ends(t);
    pml__recording_count(t, PML__LOG_DROPPED);
    return;
  }
  size_t values = room_for_values(t, e);
  pml_recording_name(t->recording, e->region);
  if (e->region >= PML__RECORDING_MARKS || !has_room(t, values + PML__RECORDING_OF_ENTER)) {
    pml__recording_leave_out(t, e->region);
    pml__recording_count(t, PML__LOG_DROPPED);
    return;
  }
  if (pml__recording_enter_fast(t, e->region, e->ticks) != 0 || values == 0) return;
  if (t->top->enter != NULL) pml__recording_put_values(t, e, t->place.last_ticks, list_of(t, e));
}

/* Whether only values follow the call's enter: the values of the enter are one event, arguments and results one event
 * each. */
static bool is_last(const struct pml__recording_track *t, const struct pml__log_event *enter) {
  const struct pml__log_event *at = enter + 1;
  if (t->place.next == at) return true;
  if (!pml__recording_has_values(enter)) return false;
  if (at->word >> 32 == PML__LOG_METRIC) at += 1 + ((size_t)PML__LOG_OF_LIST_N((uint32_t)at->word) + 1) / 2;
  while (at < t->place.next && at->word >> 32 == PML__LOG_VALUES_OF_CALL)
    at += 1 + ((size_t)PML__LOG_OF_CALL_N((uint32_t)at->word) + 1) / 2;
  return at == t->place.next;
}

static bool take_back(struct pml__recording_track *t, struct pml__log_event *enter, const struct pml_stream_event *e) {
  return t->recording->limits.min_ticks != 0 && is_last(t, enter) &&
         pml__recording_take_back(t, enter, e->region, e->ticks);
}

static void end_call(struct pml__recording_track *t, const struct pml_stream_event *e, enum pml__log_event_kind kind) {
  if (t->beyond > 0) {
    t->beyond--;
    pml__recording_choose_ends(t);
    return;
  }
  const struct pml__recording_frame *f = t->top;
  if (f == t->frame || pml__recording_region_of(f) != e->region) {
    pml__recording_count(t, PML__LOG_UNMATCHED);
    return;
  }
  bool kept = f->enter != NULL && !take_back(t, f->enter, e);
  size_t values = kept ? room_for_values(t, e) : 0;
  /* Without room the reader ends the call with the thread's last event. */
  if (!kept || !has_room(t, values + 1)) {
    t->top--;
    return;
  }
  uint64_t ticks = pml__recording_lift(t, e->ticks);
  if (values > 0) pml__recording_put_values(t, e, ticks, list_of(t, e));
  if (values > 0 || kind != PML__LOG_LEAVE)
    pml__recording_put_leave(t, ticks, PML__LOG_WORD(kind, e->region));
  else
    pml__recording_end_call(t, e->region, ticks);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  if (!is_plain(e) || pml__recording_leave_fast(data, e->region, e->ticks) != 0)
    end_call(data, e, e->unwound ? PML__LOG_LEFT : PML__LOG_LEAVE);
}

/* Whether the event at @at is an enter or a leave whose call has begun, or ended, already. */
static bool has_moved(const struct pml__recording_track *t, const struct pml__log_event *at) {
  const struct pml__recording_frame *f = t->top;
  uint64_t kind = at->word >> 32;
  if (kind == PML__LOG_ENTER) return f > t->frame && f->enter == at;
  /* In a nested call of the same function this is unknown; then the leave stays. */
  return (kind == PML__LOG_LEAVE || kind == PML__LOG_LEFT) && (pml_region_t)f[1].word == (pml_region_t)at->word;
}

/* Completes an interrupted event if its call has begun or ended already, else removes it. The end of a whole call is
 * visible in its enter. */
static void repair(void *data) {
  struct pml__recording_track *t = data;
  struct pml__log_event *next = t->place.next;
  if (t->top > t->frame && t->top->enter != NULL && PML__LOG_IS_WHOLE(t->top->enter->word)) t->top--;
  if (next == t->place.end) return;
  if (next->word != 0 && has_moved(t, next)) t->place.next = ++next;
  for (size_t i = 0; i < BEHIND && next + i < t->place.end; i++) {
    __atomic_store_n(&next[i].word, 0, __ATOMIC_RELEASE);
    next[i].ticks = 0;
  }
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  struct pml__recording_track *t = data;
  size_t values = room_for_values(t, e);
  if (values == 0) return;
  if (!has_room(t, values)) {
    pml__recording_count(t, PML__LOG_DROPPED);
    return;
  }
  pml__recording_put_values(t, e, pml__recording_lift(t, e->ticks), list_of(t, e));
}

/* Write an event of a call, which may have been omitted because of a limit. */
static void put_told(struct pml__recording_track *t, const struct pml_stream_event *e, enum pml__log_event_kind kind) {
  const struct pml__log_event *pair = (const struct pml__log_event *)(const void *)e->values;
  size_t follow = (PML__LOG_COMMUNICATED_N(e->region) + (size_t)1) / 2;
  if (!has_room(t, 2 + follow)) {
    pml__recording_count(t, PML__LOG_DROPPED);
    return;
  }
  for (size_t i = 0; i < follow; i++) t->place.next[1 + i] = pair[i];
  pml__recording_put(t, pml__recording_lift(t, e->ticks), PML__LOG_WORD(kind, e->region), follow);
}

static void on_communication(void *data, const struct pml_stream_event *e) {
  put_told(data, e, PML__LOG_COMMUNICATION);
}

static struct pml_stream_place *place(void *data) {
  return &((struct pml__recording_track *)data)->place;
}

static void on_openmp(void *data, const struct pml_stream_event *e) {
  put_told(data, e, PML__LOG_OPENMP_EVENT);
}

/* ---- threads ---- */

static void free_track(struct pml__recording_track *t) {
  if (t->entry != NULL) pml__log_unmap(t->recording->log, t->entry);
  free(t->frame);
  free(t);
}

/* Take the track of an ended thread, which left most of its extent unused. */
static struct pml__recording_track *spare(struct pml_recording *s) {
  pml__mutex_take(&s->lock);
  struct pml__recording_track *t = s->spare;
  if (t != NULL) s->spare = t->following;
  pml__mutex_leave(&s->lock);
  return t;
}

static struct pml__recording_track *new_track(struct pml_recording *s) {
  struct pml__recording_track *t = calloc(1, sizeof *t);
  if (t != NULL) t->frame = calloc(FIRST_DEPTH + 2, sizeof *t->frame);
  if (t == NULL || t->frame == NULL) {
    free(t);
    return NULL;
  }
  forget_regions(t->frame, FIRST_DEPTH + 2);
  t->recording = s;
  t->mark = s->mark;
  t->top = t->frame;
  t->last = t->frame + FIRST_DEPTH;
  t->count = s->head->count;
  return t;
}

static struct pml__recording_track *begin_track(struct pml__recording_track *t, uint32_t tid) {
  struct pml_recording *s = t->recording;
  t->thread = __atomic_add_fetch(&s->nthreads, 1, __ATOMIC_RELAXED);
  t->tid = tid;
  if (t->extent != NULL && has_room(t, 1)) pml__recording_put(t, tid, PML__LOG_WORD(PML__LOG_THREAD, t->thread), 0);
  pml__mutex_take(&s->lock);
  t->following = s->tracks;
  s->tracks = t;
  pml__mutex_leave(&s->lock);
  return t;
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_recording *s = arg;
  struct pml__recording_track *t = spare(s);
  (void)thread;
  if (t == NULL) t = new_track(s);
  return t != NULL ? begin_track(t, (uint32_t)pml_thread_self()->tid) : NULL;
}

static void thread_end(void *arg, void *data) {
  struct pml_recording *s = arg;
  struct pml__recording_track *t = data, **at = &s->tracks;
  pml__mutex_take(&s->lock);
  while (*at != t) at = &(*at)->following;
  *at = t->following;
  bool worth = t->extent != NULL && !t->full;
  if (s->limits.last_bytes == 0) worth = worth && t->place.end - t->place.next >= WORTH;
  if (worth) {
    t->top = t->frame;
    t->beyond = 0;
    pml__recording_choose_ends(t);
    t->place.last_ticks = 0;
    t->following = s->spare;
    s->spare = t;
  }
  pml__mutex_leave(&s->lock);
  if (!worth) free_track(t);
}

int pml_recording_trace(struct pml_recording *s, const struct pml_recording_limits *limits) {
  struct pml_stream_consumer c = {.name = "recorded trace",
                                  .thread_begin = thread_begin,
                                  .thread_end = thread_end,
                                  .prepare = prepare,
                                  .event = {on_enter, on_leave, on_metric, on_communication, on_openmp},
                                  .place = place,
                                  .repair = repair,
                                  .fast = {pml__recording_enter_fast, pml__recording_leave_fast},
                                  .fast_values = {pml__recording_enter_fast_values, pml__recording_leave_fast_values},
                                  .arg = s};
  struct pml_stream_metrics *metrics = NULL;
  if (limits != NULL) s->limits = *limits;
  if (s->limits.last_bytes != 0 && pml__log_keep_last(s->log, s->limits.last_bytes, PML__RECORDING_EVENTS_BYTES) < 0)
    return pml_fail(-ENOMEM, "no memory for the places of the last events");
  if (s->limits.nmetrics > 0) {
    int err = pml_stream_metrics(s->limits.metrics, s->limits.nmetrics, &metrics);
    if (err < 0) return err;
  }
  s->limits.metrics = NULL; /* it belongs to the caller */
  s->metrics = metrics;
  s->head->nmetrics = (uint32_t)s->limits.nmetrics;
  s->head->traced = 1;
  return pml_stream_add(&c, &s->consumer);
}

/* ---- events of a caller ---- */

struct pml__recording_track *pml__recording_track_new(struct pml_recording *s, uint32_t tid) {
  struct pml__recording_track *t = new_track(s);
  return t != NULL ? begin_track(t, tid) : NULL;
}

int pml__recording_track_enter(struct pml__recording_track *t, uint64_t ticks, pml_region_t region) {
  const struct pml_stream_event e = {.ticks = ticks, .region = region};
  on_enter(t, &e);
  return t->beyond == 0 && t->top->enter != NULL ? 0 : PML_EFULL;
}

int pml__recording_track_leave(struct pml__recording_track *t, uint64_t ticks, pml_region_t region) {
  const struct pml_stream_event e = {.ticks = ticks, .region = region};
  bool kept = t->beyond == 0 && t->top->enter != NULL;
  if (t->beyond == 0 && (t->top == t->frame || pml__recording_region_of(t->top) != region)) {
    pml__recording_count(t, PML__LOG_UNMATCHED);
    return -EINVAL;
  }
  on_leave(t, &e);
  if (kept && !t->full) return 0;
  pml__recording_count(t, PML__LOG_DROPPED);
  return PML_EFULL;
}

int pml__recording_track_values(struct pml__recording_track *t, uint64_t ticks, const uint64_t *values, uint32_t n) {
  size_t follow = ((size_t)n + 1) / 2;
  if (!has_room(t, 1 + follow)) {
    pml__recording_count(t, PML__LOG_DROPPED);
    return PML_EFULL;
  }
  uint64_t *at = (uint64_t *)(t->place.next + 1);
  for (uint32_t i = 0; i < n; i++) at[i] = values[i];
  pml__recording_put(t, pml__recording_lift(t, ticks), PML__LOG_WORD(PML__LOG_METRIC, PML__LOG_OF_LIST(0, n)), follow);
  return 0;
}

static void end_all(struct pml__recording_track *t) {
  for (struct pml__recording_track *next; t != NULL; t = next) {
    next = t->following;
    free_track(t);
  }
}

void pml__recording_trace_end(struct pml_recording *s) {
  if (s->consumer != 0) (void)pml_stream_remove(s->consumer);
  end_all(s->tracks);
  end_all(s->spare);
  for (struct pml__recording_list *l = s->lists, *next; l != NULL; l = next) {
    next = l->next;
    free(l);
  }
}
