/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_event_buffer.c - enters, leaves and values, written into per-thread extents. */
#include "record/events/pml_event_buffer.h"
#include "base/pml_cancel.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "base/stream/pml_stream_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DEPTH 64u
#define DEPTH_MAX (1u << 20)
#define OF_CALL (2 * (1 + PML_RECORDING_VALUES_MAX / 2)) /* events: the most arguments and results of a call */
#define BEHIND (1 + PML_STREAM_METRICS_MAX / 2)          /* the most events behind the last */
_Static_assert(BEHIND >= OF_CALL, "values of an event are the most");
#define UNDER_WAY_MAX (PML__EVENTS_OF_EXTENT / 2) /* events that repeat the open calls */
/*
 * The fewest free events for which another thread continues in an extent. Where only the last events are kept, the
 * extent is moved out instead, because only such extents are given up.
 */
#define WORTH 256

/* ---- events ---- */

static bool first_extent(struct pml__event_buffer *b) {
  b->extent = pml__log_extent(b->recording->log, PML__LOG_EVENTS, b->tid, b->thread, PML__EVENTS_BYTES, 0, &b->entry);
  if (b->extent == NULL) return false;
  __atomic_store_n(&b->count, b->extent->count, __ATOMIC_RELEASE); /* others may read the counts */
  return true;
}

/* Clears whole cache lines by stores: memset() may use an instruction that clears many bytes, which simulators count
 * once for each. */
static void clear(char *at, const char *end) {
  for (; at < end; at += 64) memset(at, 0, 64);
}

/* Move the events out; the counts stay. The stores have the same order as in pml__log_move_out(). */
static bool empty_extent(struct pml__event_buffer *b) {
  struct pml__log_event *events = (struct pml__log_event *)(void *)b->extent + PML__EVENTS_FIRST;
  int out = pml__log_move_out(b->recording->log, b->entry, b->extent);
  if (out < 0) return false;
  if (out > 0) pml__events_count(b, PML__LOG_OLDER);
  __atomic_store_n(&events->word, 0, __ATOMIC_RELEASE);
  pml__log_moved_out(b->entry);
  clear((char *)events, (char *)b->place.next);
  return true;
}

/* Repeats the open calls, for a reader that finds no earlier extent. If there are too many, the outer ones are stored
 * as a number. */
static void put_under_way(struct pml__event_buffer *b) {
  uint64_t calls = 0, outer;
  for (const struct pml__events_frame *f = b->frame + 1; f <= b->top; f++) calls += f->enter != NULL;
  outer = calls > UNDER_WAY_MAX ? calls - UNDER_WAY_MAX : 0;
  if (outer > 0) pml__events_put(b, outer, PML__LOG_WORD(PML__LOG_UNDER_WAY, PML__LOG_OUTER), 0);
  for (const struct pml__events_frame *f = b->frame + 1; f <= b->top; f++) {
    if (f->enter == NULL) continue;
    if (outer == 0)
      pml__events_put(b, b->place.last_ticks, PML__LOG_WORD(PML__LOG_UNDER_WAY, pml__events_region_of(f)), 0);
    if (outer > 0) outer--;
  }
}

static bool make_room(struct pml__event_buffer *b) {
  bool again = b->extent != NULL;
  if (b->full) return false;
  if (!(again ? empty_extent(b) : first_extent(b))) {
    b->full = true;
    b->place.end = b->place.next;
    pml__events_choose_ends(b);
    return false;
  }
  for (struct pml__events_frame *f = b->frame + 1; f <= b->top; f++)
    if (f->enter != NULL) f->enter = pml__events_flushed;
  struct pml__log_event *events = (struct pml__log_event *)(void *)b->extent;
  b->place.next = events + PML__EVENTS_FIRST;
  b->place.end = events + PML__EVENTS_OF_EXTENT;
  if (again) pml__events_put(b, b->tid, PML__LOG_WORD(PML__LOG_THREAD, b->thread), 0);
  if (again && b->recording->limits.last_bytes != 0) put_under_way(b);
  pml__events_choose_ends(b);
  return true;
}

__attribute__((noinline)) static bool more_room(struct pml__event_buffer *b) {
  int cancel = pml__cancel_hold();
  bool more = make_room(b);
  pml__cancel_again(cancel);
  return more;
}

static bool has_room(struct pml__event_buffer *b, size_t events) {
  return PML_LIKELY((size_t)(b->place.end - b->place.next) >= events) || more_room(b);
}

/*
 * A list is published by the store of @lists, with release, once its definition is in the log and its members are set;
 * who loads @lists with acquire sees these.
 */
static struct pml__recording_list *find_list(const struct pml_recording *s, const struct pml_stream_metrics *m) {
  struct pml__recording_list *found = __atomic_load_n(&s->lists, __ATOMIC_ACQUIRE);
  while (found != NULL && found->of != m) found = found->next;
  return found;
}

static bool define_list(struct pml_recording *s, struct pml__recording_list *list) {
  const struct pml_stream_metrics *m = list->of;
  struct pml__log_list d = {list->number, m->n, {0}, {0}};
  for (int i = 0; i < 2; i++) {
    d.real[i] = __atomic_load_n(&m->real[i], __ATOMIC_RELAXED);
    __atomic_store_n(&list->real[i], d.real[i], __ATOMIC_RELAXED);
    d.single[i] = __atomic_load_n(&m->single[i], __ATOMIC_RELAXED);
  }
  return pml__log_define(s->log, PML__LOG_LIST, &d, sizeof d, m->name, m->n) >= 0;
}

static struct pml__recording_list *make_list(struct pml_recording *s, const struct pml_stream_metrics *m) {
  struct pml__recording_list *made = malloc(sizeof *made);
  if (made == NULL) return NULL;
  *made = (struct pml__recording_list){m, s->lists != NULL ? s->lists->number + 1 : 1, {0}, s->lists};
  if (made->number >= PML__LOG_LISTS_MAX || !define_list(s, made)) {
    free(made);
    return NULL;
  }
  __atomic_store_n(&s->lists, made, __ATOMIC_RELEASE);
  return made;
}

static bool has_types_of(const uint64_t *real, const struct pml_stream_metrics *m) {
  for (int i = 0; i < 2; i++)
    if (__atomic_load_n(&real[i], __ATOMIC_RELAXED) != __atomic_load_n(&m->real[i], __ATOMIC_RELAXED)) return false;
  return true;
}

/* The number of the metrics of @e; 0: of the recording's, or they have none. */
static uint32_t list_of(struct pml__event_buffer *b, const struct pml_stream_event *e) {
  struct pml_recording *s = b->recording;
  if (e->metrics == s->metrics || !s->limits.all_values) return 0;
  if (e->metrics == b->listed && has_types_of(b->listed_real, e->metrics)) return b->list;
  struct pml__recording_list *found = find_list(s, e->metrics);
  if (found == NULL || !has_types_of(found->real, e->metrics)) {
    pml__mutex_take(&s->lock);
    found = find_list(s, e->metrics);
    if (found == NULL)
      found = make_list(s, e->metrics);
    else if (!has_types_of(found->real, e->metrics))
      (void)define_list(s, found);
    pml__mutex_leave(&s->lock);
  }
  b->listed = e->metrics;
  for (int i = 0; i < 2 && found != NULL; i++) b->listed_real[i] = __atomic_load_n(&found->real[i], __ATOMIC_RELAXED);
  return b->list = found != NULL ? found->number : 0;
}

/* The number of events that the values of @e take; values of other metrics take none. */
static size_t room_for_values(struct pml__event_buffer *b, const struct pml_stream_event *e) {
  if (PML_LIKELY(e->metrics == NULL)) return 0;
  if (e->metrics == b->recording->metrics || list_of(b, e) != 0) return pml__events_of_values(e->metrics);
  pml__events_count(b, PML__LOG_UNRECORDED);
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
  struct pml__event_buffer *b = data;
  const struct of_call *c = arg;
  const struct pml__events_frame *f = b->top;
  const struct pml_stream_metrics *m = b->recording->metrics;
  size_t follow = (c->n + 1) / 2, leave = 1 + (m != NULL ? pml__events_of_values(m) : 0);
  if (b->overflow > 0 || f->enter == NULL || pml__events_region_of(f) != c->region) return;
  if (!has_room(b, 1 + follow + leave)) {
    pml__events_count(b, PML__LOG_DROPPED);
    return;
  }
  uint64_t *value = (uint64_t *)(b->place.next + 1);
  for (uint32_t i = 0; i < c->n; i++) value[i] = c->v[i].bits;
  pml__events_put(b, b->place.last_ticks,
                  PML__LOG_WORD(PML__LOG_VALUES_OF_CALL, PML__LOG_OF_CALL(c->results, c->n, c->region)), follow);
}

void pml__recording_trace_values(const struct pml_recording *s, pml_region_t region, bool results,
                                 const struct pml_recording_value *v, uint32_t n) {
  struct of_call c = {region, results, v, n};
  pml__stream_with(s->consumer, put_values_of_call, &c);
}

/* ---- calls ---- */

static void forget_regions(struct pml__events_frame *frame, size_t n) {
  for (size_t i = 0; i < n; i++) frame[i].word = PML__EVENTS_NO_REGION;
}

__attribute__((noinline, cold)) static bool deepen(struct pml__event_buffer *b) {
  size_t depth = (size_t)(b->top - b->frame), capacity = (size_t)(b->last - b->frame) * 2;
  if (capacity > DEPTH_MAX) return false;
  int cancel = pml__cancel_hold();
  struct pml__events_frame *frame = realloc(b->frame, (capacity + 2) * sizeof *frame);
  if (frame != NULL) {
    forget_regions(frame + depth + 1, capacity - depth + 1);
    b->frame = frame;
    b->top = frame + depth;
    b->last = frame + capacity;
  }
  pml__cancel_again(cancel);
  return frame != NULL;
}

static void prepare(void *data, pml_region_t region) {
  struct pml__event_buffer *b = data;
  const struct pml_stream_metrics *m = b->recording->metrics;
  if (b->overflow > 0 || region >= PML_REGIONS_MAX || (b->top == b->last && !deepen(b))) return;
  pml_recording_name(b->recording, region);
  (void)has_room(b, PML__EVENTS_OF_ENTER + (m != NULL ? 2 * pml__events_of_values(m) : 0) +
                        (b->recording->trace_values ? OF_CALL : 0));
}

/* Whether a fast function may handle the event; other adapters may emit events at tick 0. */
static bool is_plain(const struct pml_stream_event *e) {
  return e->metrics == NULL && e->ticks != 0 && !e->unwound;
}

static void on_leave(void *data, const struct pml_stream_event *e);

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__event_buffer *b = data;
  if (is_plain(e) && pml__events_enter_fast(b, e->region, e->ticks) == 0) return;
  if (b->overflow > 0 || (b->top == b->last && !deepen(b))) {
    b->overflow++;
    pml__events_choose_ends(b);
    pml__events_count(b, PML__LOG_DROPPED);
    return;
  }
  size_t values = room_for_values(b, e);
  pml_recording_name(b->recording, e->region);
  if (e->region >= PML_REGIONS_MAX || !has_room(b, values + PML__EVENTS_OF_ENTER)) {
    pml__events_leave_out(b, e->region);
    pml__events_count(b, PML__LOG_DROPPED);
    return;
  }
  if (pml__events_enter_fast(b, e->region, e->ticks) != 0 || values == 0) return;
  if (b->top->enter != NULL) pml__events_put_values(b, e, b->place.last_ticks, list_of(b, e));
}

/* Whether only values follow the call's enter: the values of the enter are one event, arguments and results one event
 * each. */
static bool is_last(const struct pml__event_buffer *b, const struct pml__log_event *enter) {
  const struct pml__log_event *at = enter + 1;
  if (b->place.next == at) return true;
  if (!pml__events_has_values(enter)) return false;
  if (at->word >> 32 == PML__LOG_METRIC) at += 1 + pml__log_values_behind(at->word);
  while (at < b->place.next && at->word >> 32 == PML__LOG_VALUES_OF_CALL) at += 1 + pml__log_values_behind(at->word);
  return at == b->place.next;
}

static bool take_back(struct pml__event_buffer *b, struct pml__log_event *enter, const struct pml_stream_event *e) {
  return b->recording->limits.min_ticks != 0 && is_last(b, enter) &&
         pml__events_take_back(b, enter, e->region, e->ticks);
}

/* Whether @region is open, and overlaps the calls inside it. */
static bool is_below(const struct pml__event_buffer *b, pml_region_t region) {
  const struct pml__events_frame *f = b->top;
  bool any = pml__region_may_overlap(region);
  unsigned most = PML__REGION_INSIDE;
  while (f > b->frame && pml__events_region_of(f) != region && most-- > 0 &&
         (any || pml__region_may_overlap(pml__events_region_of(f))))
    f--;
  return f > b->frame && pml__events_region_of(f) == region;
}

/* Leave the innermost call, end @e's, and enter the innermost again. */
static void leave_below(struct pml__event_buffer *b, const struct pml_stream_event *e) {
  struct pml_stream_event again = {.ticks = e->ticks, .region = pml__events_region_of(b->top)};
  on_leave(b, &again);
  on_leave(b, e);
  on_enter(b, &again);
}

static void end_call(struct pml__event_buffer *b, const struct pml_stream_event *e, enum pml__log_event_kind kind) {
  if (b->overflow > 0) {
    b->overflow--;
    pml__events_choose_ends(b);
    return;
  }
  const struct pml__events_frame *f = b->top;
  if (f == b->frame || pml__events_region_of(f) != e->region) {
    if (is_below(b, e->region))
      leave_below(b, e);
    else
      pml__events_count(b, PML__LOG_UNMATCHED);
    return;
  }
  bool kept = f->enter != NULL && !take_back(b, f->enter, e);
  size_t values = kept ? room_for_values(b, e) : 0;
  /* Without room the reader ends the call with the thread's last event. */
  if (!kept || !has_room(b, values + 1)) {
    b->top--;
    return;
  }
  uint64_t ticks = pml__events_lift(b, e->ticks);
  if (values > 0) pml__events_put_values(b, e, ticks, list_of(b, e));
  if (values > 0 || kind != PML__LOG_LEAVE)
    pml__events_put_leave(b, ticks, PML__LOG_WORD(kind, e->region));
  else
    pml__events_end_call(b, e->region, ticks);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  if (!is_plain(e) || pml__events_leave_fast(data, e->region, e->ticks) != 0)
    end_call(data, e, e->unwound ? PML__LOG_LEFT : PML__LOG_LEAVE);
}

/* Whether the event at @at is an enter or a leave whose call has begun, or ended, already. */
static bool has_moved(const struct pml__event_buffer *b, const struct pml__log_event *at) {
  const struct pml__events_frame *f = b->top;
  uint64_t kind = at->word >> 32;
  if (kind == PML__LOG_ENTER) return f > b->frame && f->enter == at;
  /* In a nested call of the same function this is unknown; then the leave stays. */
  return (kind == PML__LOG_LEAVE || kind == PML__LOG_LEFT) && (pml_region_t)f[1].word == (pml_region_t)at->word;
}

/* Completes an interrupted event if its call has begun or ended already, else removes it. The end of a whole call is
 * visible in its enter. */
static void repair(void *data) {
  struct pml__event_buffer *b = data;
  struct pml__log_event *next = b->place.next;
  if (b->top > b->frame && b->top->enter != NULL && PML__LOG_IS_WHOLE(b->top->enter->word)) b->top--;
  if (next == b->place.end) return;
  if (next->word != 0 && has_moved(b, next)) b->place.next = ++next;
  for (size_t i = 0; i < BEHIND && next + i < b->place.end; i++) {
    __atomic_store_n(&next[i].word, 0, __ATOMIC_RELEASE);
    next[i].ticks = 0;
  }
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  struct pml__event_buffer *b = data;
  size_t values = room_for_values(b, e);
  if (values == 0) return;
  if (!has_room(b, values)) {
    pml__events_count(b, PML__LOG_DROPPED);
    return;
  }
  pml__events_put_values(b, e, pml__events_lift(b, e->ticks), list_of(b, e));
}

/* Write an event of a call, which may have been omitted because of a limit. */
static void put_in_call(struct pml__event_buffer *b, const struct pml_stream_event *e, enum pml__log_event_kind kind) {
  const struct pml__log_event *pair = (const struct pml__log_event *)(const void *)e->values;
  size_t follow = (PML__LOG_COMMUNICATED_N(e->region) + (size_t)1) / 2;
  if (!has_room(b, 2 + follow)) {
    pml__events_count(b, PML__LOG_DROPPED);
    return;
  }
  for (size_t i = 0; i < follow; i++) b->place.next[1 + i] = pair[i];
  pml__events_put(b, pml__events_lift(b, e->ticks), PML__LOG_WORD(kind, e->region), follow);
}

static void on_communication(void *data, const struct pml_stream_event *e) {
  put_in_call(data, e, PML__LOG_COMMUNICATION);
}

static struct pml_stream_place *place(void *data) {
  return &((struct pml__event_buffer *)data)->place;
}

static void on_openmp(void *data, const struct pml_stream_event *e) {
  put_in_call(data, e, PML__LOG_OPENMP_EVENT);
}

/* ---- threads ---- */

static void free_buffer(struct pml__event_buffer *b) {
  if (b->entry != NULL) pml__log_unmap(b->recording->log, b->entry);
  free(b->frame);
  free(b);
}

/* Take the buffer of an ended thread, which left most of its extent unused. */
static struct pml__event_buffer *take_unused(struct pml_recording *s) {
  pml__mutex_take(&s->lock);
  struct pml__event_buffer *b = s->unused;
  if (b != NULL) s->unused = b->following;
  pml__mutex_leave(&s->lock);
  return b;
}

static struct pml__event_buffer *new_buffer(struct pml_recording *s) {
  struct pml__event_buffer *b = calloc(1, sizeof *b);
  if (b != NULL) b->frame = calloc(FIRST_DEPTH + 2, sizeof *b->frame);
  if (b == NULL || b->frame == NULL) {
    free(b);
    return NULL;
  }
  forget_regions(b->frame, FIRST_DEPTH + 2);
  b->recording = s;
  b->mark = s->mark;
  b->top = b->frame;
  b->last = b->frame + FIRST_DEPTH;
  b->count = s->head->count;
  return b;
}

static struct pml__event_buffer *begin_buffer(struct pml__event_buffer *b, uint32_t tid) {
  struct pml_recording *s = b->recording;
  b->thread = __atomic_add_fetch(&s->nthreads, 1, __ATOMIC_RELAXED);
  b->tid = tid;
  if (b->extent != NULL && has_room(b, 1)) pml__events_put(b, tid, PML__LOG_WORD(PML__LOG_THREAD, b->thread), 0);
  pml__mutex_take(&s->lock);
  b->following = s->buffers;
  s->buffers = b;
  pml__mutex_leave(&s->lock);
  return b;
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_recording *s = arg;
  struct pml__event_buffer *b = take_unused(s);
  (void)thread;
  if (b == NULL) b = new_buffer(s);
  return b != NULL ? begin_buffer(b, (uint32_t)pml_thread_self()->tid) : NULL;
}

static void thread_end(void *arg, void *data) {
  struct pml_recording *s = arg;
  struct pml__event_buffer *b = data, **at = &s->buffers;
  pml__mutex_take(&s->lock);
  while (*at != b) at = &(*at)->following;
  *at = b->following;
  bool worth = b->extent != NULL && !b->full;
  if (s->limits.last_bytes == 0) worth = worth && b->place.end - b->place.next >= WORTH;
  if (worth) {
    b->top = b->frame;
    b->overflow = 0;
    pml__events_choose_ends(b);
    b->place.last_ticks = 0;
    b->following = s->unused;
    s->unused = b;
  }
  pml__mutex_leave(&s->lock);
  if (!worth) free_buffer(b);
}

int pml_recording_trace(struct pml_recording *s, const struct pml_recording_limits *limits) {
  struct pml_stream_consumer c = {.name = "recorded trace",
                                  .thread_begin = thread_begin,
                                  .thread_end = thread_end,
                                  .prepare = prepare,
                                  .event = {on_enter, on_leave, on_metric, on_communication, on_openmp},
                                  .place = place,
                                  .repair = repair,
                                  .fast = {pml__events_enter_fast, pml__events_leave_fast},
                                  .fast_values = {pml__events_enter_fast_values, pml__events_leave_fast_values},
                                  .arg = s};
  struct pml_stream_metrics *metrics = NULL;
  if (limits != NULL) s->limits = *limits;
  if (s->limits.last_bytes != 0 && pml__log_keep_last(s->log, s->limits.last_bytes, PML__EVENTS_BYTES) < 0)
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

struct pml__event_buffer *pml__event_buffer_new(struct pml_recording *s, uint32_t tid) {
  struct pml__event_buffer *b = new_buffer(s);
  return b != NULL ? begin_buffer(b, tid) : NULL;
}

int pml__event_buffer_enter(struct pml__event_buffer *b, uint64_t ticks, pml_region_t region) {
  const struct pml_stream_event e = {.ticks = ticks, .region = region};
  on_enter(b, &e);
  return b->overflow == 0 && b->top->enter != NULL ? 0 : PML_EFULL;
}

int pml__event_buffer_leave(struct pml__event_buffer *b, uint64_t ticks, pml_region_t region) {
  const struct pml_stream_event e = {.ticks = ticks, .region = region};
  bool kept = b->overflow == 0 && b->top->enter != NULL;
  if (b->overflow == 0 && (b->top == b->frame || pml__events_region_of(b->top) != region)) {
    pml__events_count(b, PML__LOG_UNMATCHED);
    return -EINVAL;
  }
  on_leave(b, &e);
  if (kept && !b->full) return 0;
  pml__events_count(b, PML__LOG_DROPPED);
  return PML_EFULL;
}

int pml__event_buffer_values(struct pml__event_buffer *b, uint64_t ticks, const uint64_t *values, uint32_t n) {
  size_t follow = ((size_t)n + 1) / 2;
  if (!has_room(b, 1 + follow)) {
    pml__events_count(b, PML__LOG_DROPPED);
    return PML_EFULL;
  }
  uint64_t *at = (uint64_t *)(b->place.next + 1);
  for (uint32_t i = 0; i < n; i++) at[i] = values[i];
  pml__events_put(b, pml__events_lift(b, ticks), PML__LOG_WORD(PML__LOG_METRIC, PML__LOG_OF_LIST(0, n)), follow);
  return 0;
}

static void end_all(struct pml__event_buffer *b) {
  for (struct pml__event_buffer *next; b != NULL; b = next) {
    next = b->following;
    free_buffer(b);
  }
}

void pml__recording_trace_end(struct pml_recording *s) {
  if (s->consumer != 0) (void)pml_stream_remove(s->consumer);
  end_all(s->buffers);
  end_all(s->unused);
  for (struct pml__recording_list *l = s->lists, *next; l != NULL; l = next) {
    next = l->next;
    free(l);
  }
}
