/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_events.c - iteration over the events of a recording. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX (1u << 20)

struct thread {
  void *lane;  /* NULL: the thread has not begun, or has ended */
  size_t last; /* the last extent that begins with this thread */
  /* A collective operation that ends with the call around it, and its values; 0: no collective. */
  uint32_t collective; /* the lower half of the event */
  uint32_t inside;     /* open calls inside this call */
  uint64_t open;       /* open calls of the thread */
  uint64_t value[PML__LOG_CALL_VALUES];
};

struct listening {
  const struct pml_recording_reader *reader;
  const struct pml__recording_listener *to;
  struct thread *thread; /* [nthreads] by number */
  size_t nthreads;
  size_t extent;      /* the current extent */
  struct thread *in;  /* NULL: there is no place for the thread */
  void *now;          /* its lane, or NULL */
  uint64_t under_way; /* number of calls reported as open at the beginning of this extent */
  uint64_t moved_out; /* moved-out copies of this extent read so far; events after them must follow them */
  bool is_timed;      /* an event of this thread in this extent had a time; the last one: */
  uint64_t ticks;
  const struct pml__log_event
      *ahead; /* the next event with a time after the position last searched; NULL: not searched */
};

/* ---- threads ---- */

static int make_room(struct listening *l, uint32_t thread) {
  if (PML__ARRAY_ZEROS(l->thread, l->nthreads, (size_t)thread + 1)) return 0;
  return pml_fail(-ENOMEM, "no memory for %u threads of a recording", thread);
}

static int go_to(struct listening *l, uint64_t thread, int64_t tid) {
  l->in = NULL;
  l->now = NULL;
  l->is_timed = false;
  if (thread >= THREADS_MAX) return 0;
  int err = make_room(l, (uint32_t)thread);
  if (err < 0) return err;
  void **lane = &l->thread[thread].lane;
  if (*lane == NULL && l->to->begin == NULL)
    *lane = l->to->arg;
  else if (*lane == NULL)
    err = l->to->begin(l->to->arg, tid, lane);
  if (err < 0) return err;
  l->in = &l->thread[thread];
  l->now = l->in->lane;
  return err;
}

static int end_thread(const struct listening *l, const struct thread *t) {
  return t->lane != NULL && l->to->end != NULL ? l->to->end(l->to->arg, t->lane) : 0;
}

static void drop(const struct listening *l, struct thread *t) {
  if (t->lane != NULL && l->to->free != NULL) l->to->free(t->lane);
  t->lane = NULL;
}

/*
 * A thread reuses the extent of an ended one. All memory kept for the ended thread, such as the 4 MiB of an open event
 * file, is freed before the next thread allocates as much. In a damaged file, later events of the ended thread count as
 * another thread's.
 */
static int switch_thread(struct listening *l, uint64_t thread, int64_t tid) {
  struct thread *before = l->in;
  int err = 0;
  if (before != NULL && before != l->thread + thread && before->last <= l->extent) {
    err = end_thread(l, before);
    drop(l, before);
  }
  return err == 0 ? go_to(l, thread, tid) : err;
}

/* Find the last extent that begins with each thread. */
static int find_last(struct listening *l) {
  const struct pml__log_reader *log = &l->reader->log;
  int err = 0;
  for (size_t i = 0; i < log->n && err == 0; i++) {
    if (log->entry[i].kind != PML__LOG_EVENTS || log->entry[i].owner >= THREADS_MAX) continue;
    err = make_room(l, (uint32_t)log->entry[i].owner);
    if (err == 0) l->thread[log->entry[i].owner].last = i;
  }
  return err;
}

static int end_all(struct listening *l, int err) {
  for (size_t i = 0; i < l->nthreads && err == 0; i++) err = end_thread(l, &l->thread[i]);
  for (size_t i = 0; i < l->nthreads; i++) drop(l, &l->thread[i]);
  free(l->thread);
  return err;
}

/* ---- events ---- */

static int emit(const struct listening *l, const struct pml__recording_event *event) {
  return l->now != NULL && l->to->event != NULL ? l->to->event(l->to->arg, l->now, event) : 0;
}

static int emit_event(struct listening *l, const struct pml__log_event *e, enum pml_stream_kind kind) {
  const struct pml__recording_event event = {.ticks = e->ticks,
                                             .region = pml__recording_region(l->reader, (uint32_t)e->word),
                                             .kind = kind,
                                             .unreturned = e->word >> 32 == PML__LOG_LEFT};
  return event.region != 0 ? emit(l, &event) : 0;
}

/* Values of an undefined list are left out. */
static int emit_metric(struct listening *l, const struct pml__log_event *e) {
  uint32_t low = (uint32_t)e->word, number = PML__LOG_OF_LIST_LIST(low);
  const struct pml__recording_named *list = number < l->reader->nlists ? &l->reader->list[number] : NULL;
  const struct pml__recording_event event = {.ticks = e->ticks,
                                             .kind = PML_STREAM_METRIC,
                                             .values = (const uint64_t *)(e + 1),
                                             .list = number != 0 ? list : NULL};
  if (number != 0 && (list == NULL || list->name == NULL || list->is.n != PML__LOG_OF_LIST_N(low))) return 0;
  return emit(l, &event);
}

static int emit_openmp(struct listening *l, const struct pml__log_event *e) {
  const struct pml__recording_event event = {.ticks = e->ticks,
                                             .kind = PML_STREAM_OPENMP,
                                             .what = PML__LOG_COMMUNICATED_WHAT((uint32_t)e->word),
                                             .nvalues = PML__LOG_COMMUNICATED_N((uint32_t)e->word),
                                             .values = (const uint64_t *)(e + 1)};
  return emit(l, &event);
}

/* Emit values of the innermost call; results have the time of the leave that follows them. */
static int emit_values(struct listening *l, const struct pml__log_event *e, const struct pml__log_event *next,
                       const struct pml__log_event *end) {
  uint32_t low = (uint32_t)e->word;
  struct pml__recording_event event = {.kind = PML_STREAM_METRIC,
                                       .region = pml__recording_region(l->reader, PML__LOG_OF_CALL_REGION(low)),
                                       .ticks = e->ticks,
                                       .values = (const uint64_t *)(e + 1),
                                       .nvalues = PML__LOG_OF_CALL_N(low),
                                       .results = PML__LOG_OF_CALL_RESULTS(low)};
  uint64_t kind = next < end ? next->word >> 32 : 0;
  if (event.results && (kind == PML__LOG_LEAVE || kind == PML__LOG_LEFT || kind == PML__LOG_METRIC))
    event.ticks = next->ticks;
  return event.region != 0 ? emit(l, &event) : 0;
}

static int emit_communication(struct listening *l, const struct pml__log_event *e) {
  uint32_t low = (uint32_t)e->word;
  const struct pml__recording_communicated event = {.what = PML__LOG_COMMUNICATED_WHAT(low),
                                                    .code = PML__LOG_COMMUNICATED_CODE(low),
                                                    .ticks = e->ticks,
                                                    .values = (const uint64_t *)(e + 1),
                                                    .nvalues = PML__LOG_COMMUNICATED_N(low)};
  return l->now != NULL && l->to->communication != NULL ? l->to->communication(l->to->arg, l->now, &event) : 0;
}

/* ---- communications of a call ---- */

/* The next event with a time after @at. Between two such events it is searched once. */
static const struct pml__log_event *look_ahead(struct listening *l, const struct pml__log_event *at,
                                               const struct pml__log_event *end) {
  if (l->ahead != NULL && l->ahead > at) return l->ahead;
  while (at < end && at->word >> 32 == PML__LOG_CALL_COMMUNICATION) {
    size_t events = 1 + pml__log_values_behind(at->word);
    at += events < (size_t)(end - at) ? events : (size_t)(end - at);
  }
  return l->ahead = at;
}

/* The time of a completed communication: it completes after MPI's function, with the leave, which is the next event
 * unless the process was killed. */
static uint64_t ticks_behind(struct listening *l, const struct pml__log_event *e, const struct pml__log_event *end) {
  const struct pml__log_event *next = look_ahead(l, e, end);
  bool is = next < end && next->word != 0 && next->word >> 32 != PML__LOG_THREAD;
  return is ? next->ticks : l->ticks;
}

static bool is_after(uint32_t what) {
  return what == PML__LOG_RECEIVE || what == PML__LOG_IRECV_COMPLETE || what == PML__LOG_ISEND_COMPLETE ||
         what == PML__LOG_REQUEST_TESTED;
}

/* The begin and the end of a collective operation are one event; the end is emitted with the leave. */
static int begin_collective(struct listening *l, struct pml__recording_communicated *event, uint32_t low) {
  static const uint64_t blocks;
  struct thread *t = l->in;
  if (t->collective != 0) return 0;
  t->collective = low;
  t->inside = 0;
  memcpy(t->value, event->values, sizeof t->value);
  event->what = PML__LOG_COLLECTIVE_BEGIN;
  event->values = &blocks;
  event->nvalues = 1;
  return l->to->communication(l->to->arg, l->now, event);
}

static int end_collective(struct listening *l, const struct pml__log_event *leave) {
  struct thread *t = l->in;
  const struct pml__recording_communicated event = {.what = PML__LOG_COLLECTIVE_END,
                                                    .code = PML__LOG_COMMUNICATED_CODE(t->collective),
                                                    .ticks = leave->ticks,
                                                    .values = t->value,
                                                    .nvalues = PML__LOG_CALL_VALUES};
  t->collective = 0;
  return leave->word >> 32 == PML__LOG_LEAVE ? l->to->communication(l->to->arg, l->now, &event) : 0;
}

static int emit_of_call(struct listening *l, const struct pml__log_event *e, const struct pml__log_event *end) {
  uint32_t low = (uint32_t)e->word, what = PML__LOG_COMMUNICATED_WHAT(low);
  uint64_t value[PML__LOG_CALL_VALUES];
  struct pml__recording_communicated event = {.what = what, .values = value, .nvalues = pml__log_call_values(e, value)};
  bool collective = what == PML__LOG_COLLECTIVE_END;
  if (l->now == NULL || l->to->communication == NULL || !l->is_timed || event.nvalues == 0) return 0;
  event.code = collective ? PML__LOG_COMMUNICATED_CODE(low) : 0;
  event.ticks = is_after(what) ? ticks_behind(l, e, end) : l->ticks;
  return collective ? begin_collective(l, &event, low) : l->to->communication(l->to->arg, l->now, &event);
}

/* Track the calls inside a call with a collective operation, and end the operation with that call. */
static int follow_collective(struct listening *l, const struct pml__log_event *e) {
  struct thread *t = l->in;
  if (PML_LIKELY(t == NULL || t->collective == 0)) return 0;
  if (e->word >> 32 == PML__LOG_ENTER)
    t->inside++;
  else if (t->inside == 0)
    return end_collective(l, e);
  else
    t->inside--;
  return 0;
}

static void count_open(struct thread *t, bool enter) {
  if (t == NULL) return;
  if (enter)
    t->open++;
  else if (t->open > 0)
    t->open--;
}

static int emit_call(struct listening *l, const struct pml__log_event *e) {
  bool enter = e->word >> 32 == PML__LOG_ENTER;
  int err = follow_collective(l, e);
  count_open(l->in, enter);
  return err == 0 ? emit_event(l, e, enter ? PML_STREAM_ENTER : PML_STREAM_LEAVE) : err;
}

/* Open calls are emitted if earlier events are missing: the outer ones come first, as many as were open. Calls stored
 * only as a number count as open; their leaves are ignored. */
static int emit_under_way(struct listening *l, const struct pml__log_event *e) {
  const struct pml__log_event enter = {e->ticks, PML__LOG_WORD(PML__LOG_ENTER, e->word)};
  if (l->in == NULL) return 0;
  if ((uint32_t)e->word != PML__LOG_OUTER) return ++l->under_way > l->in->open ? emit_call(l, &enter) : 0;
  l->under_way = e->ticks;
  if (l->in->open < l->under_way) l->in->open = l->under_way;
  return 0;
}

/* A whole call may be inside a call with a collective operation, but never ends it. */
static int emit_whole(struct listening *l, const struct pml__log_event *e, uint64_t end) {
  const struct pml__log_event leave = {end, e->word};
  int err = emit_event(l, e, PML_STREAM_ENTER);
  return err == 0 ? emit_event(l, &leave, PML_STREAM_LEAVE) : err;
}

/* ---- extents ---- */

static void has_time(struct listening *l, uint64_t ticks) {
  l->is_timed = true;
  l->ticks = ticks;
}

/* Emit the consecutive whole calls from *@at on, and move *@at behind them. */
static int read_whole(struct listening *l, const struct pml__log_event **at, const struct pml__log_event *end) {
  int err = 0;
  for (; *at < end && PML__LOG_IS_WHOLE((*at)->word) && err == 0; ++*at) {
    uint64_t left = (*at)->ticks + PML__LOG_WHOLE_TICKS((*at)->word);
    err = emit_whole(l, *at, left);
    has_time(l, left);
  }
  return err;
}

/* Read events from @at to the end of this extent. */
static int read_events(struct listening *l, const struct pml__log_event *at, const struct pml__log_event *end) {
  int err = read_whole(l, &at, end);
  while (at < end && err == 0) {
    uint32_t low = (uint32_t)at->word;
    size_t values = pml__log_values_behind(at->word);
    if (values >= (size_t)(end - at)) return 0;
    switch (at->word >> 32) {
    case PML__LOG_ENTER:
    case PML__LOG_LEAVE:
    case PML__LOG_LEFT:
      err = emit_call(l, at);
      break;
    case PML__LOG_METRIC:
      if (values == 0 || (PML__LOG_OF_LIST_LIST(low) == 0 && low != l->to->nmetrics)) return 0;
      err = emit_metric(l, at);
      break;
    case PML__LOG_VALUES_OF_CALL:
      if (values == 0 || PML__LOG_OF_CALL_N(low) > PML_RECORDING_VALUES_MAX) return 0;
      err = emit_values(l, at, at + 1 + values, end);
      break;
    case PML__LOG_COMMUNICATION:
      err = emit_communication(l, at);
      break;
    case PML__LOG_CALL_COMMUNICATION:
      err = emit_of_call(l, at, end);
      break;
    case PML__LOG_OPENMP_EVENT:
      err = emit_openmp(l, at);
      break;
    case PML__LOG_UNDER_WAY:
      err = emit_under_way(l, at);
      break;
    case PML__LOG_THREAD:
      err = switch_thread(l, low, (int64_t)at->ticks);
      break;
    default:
      return 0;
    }
    if (at->word >> 32 != PML__LOG_CALL_COMMUNICATION && at->word >> 32 != PML__LOG_THREAD) has_time(l, at->ticks);
    at += 1 + values;
    if (err == 0) err = read_whole(l, &at, end);
  }
  return err;
}

static int read_extent(struct listening *l, size_t i) {
  const struct pml__log_entry *e = &l->reader->log.entry[i];
  uint64_t bytes;
  int err;
  struct pml__log_event *events = pml__log_read_extent(&l->reader->log, i, &bytes, &err);
  if (events == NULL && err == 0 && e->from != 0 && l->moved_out > 0)
    return pml_fail(-EAGAIN,
                    "%.300s: its process wrote over events while they were read; try again, or when it has ended",
                    l->reader->log.path);
  if (events == NULL) return err;
  l->moved_out += e->from != 0;
  size_t n = (size_t)bytes / sizeof *events;
  /* An extent that was reused names its thread in its first event, because its first thread may have no events left. */
  bool says = n > PML__EVENTS_FIRST && events[PML__EVENTS_FIRST].word >> 32 == PML__LOG_THREAD;
  l->extent = i;
  l->in = NULL;
  l->now = NULL;
  if (!says) err = go_to(l, e->owner, (int32_t)e->key);
  l->ahead = NULL;
  l->under_way = 0;
  if (err == 0 && n > PML__EVENTS_FIRST) err = read_events(l, events + PML__EVENTS_FIRST, events + n);
  free(events);
  return err;
}

int pml__recording_listen(const struct pml_recording_reader *r, const struct pml__recording_listener *to) {
  struct listening l = {.reader = r, .to = to};
  uint64_t done = 0;
  int err = find_last(&l);
  for (size_t i = 0; i < r->log.n && err == 0; i++) {
    if (r->log.entry[i].kind != PML__LOG_EVENTS) continue;
    err = read_extent(&l, i);
    done += r->log.entry[i].bytes;
    if (err == 0 && to->progress != NULL) err = to->progress(done, r->log.bytes, to->progress_arg);
  }
  return end_all(&l, err);
}

/* ---- metrics ---- */

/* Copy the lines of the note, one for each metric. */
static uint32_t names_of_metrics(const char *text, uint32_t n, char (*name)[PML__RECORDING_METRIC_BYTES]) {
  uint32_t found = 0;
  while (found < n && text != NULL && *text != '\0') {
    size_t bytes = strcspn(text, "\n");
    size_t keep = bytes < PML__RECORDING_METRIC_BYTES ? bytes : PML__RECORDING_METRIC_BYTES - 1;
    memcpy(name[found], text, keep);
    name[found++][keep] = '\0';
    text += bytes + (text[bytes] == '\n');
  }
  return found;
}

uint32_t pml__recording_metrics(const struct pml_recording_reader *r, char (*name)[PML__RECORDING_METRIC_BYTES]) {
  uint32_t n = r->head.nmetrics;
  return n <= PML_STREAM_METRICS_MAX && names_of_metrics(pml_recording_read_note(r, "events"), n, name) == n ? n : 0;
}
