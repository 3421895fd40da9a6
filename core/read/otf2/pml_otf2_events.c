/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_events.c - batches of a location's events, and their merge by time. */
#include "read/otf2/pml_otf2_events.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/otf2/pml_otf2_cut.h"
#include "read/otf2/pml_otf2_kinds.h"
#include "read/otf2/write/pml_otf2_error.h"
#include "record/log/pml_log_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Records read at once: enough to amortise the call of libotf2, few enough to limit the memory of many locations. */
#define BATCH_MAX ((size_t)1024)
#define BATCH_MIN ((size_t)4)
#define BATCHES ((size_t)1 << 16) /* limit for all locations */
/* If all events of many locations fit into 256 MB, all are read at once, and no file stays open. */
#define WHOLE ((uint64_t)1 << 22)
/* Files that a program opens besides the trace's. */
#define OTHER_FILES ((rlim_t)64)

/* The events of a location that were read and not returned yet. */
struct stream {
  struct pml__otf2_subscriber other; /* first, because callbacks of other kinds get the stream */
  struct pml_otf2_events *of;
  struct pml__otf2_opened reader;
  size_t location, n, at, capacity;
  struct pml_otf2_event *event;
  uint64_t last;
  bool ended;
};

/* The time of a stream's next event. */
struct head {
  uint64_t time;
  struct stream *stream;
};

struct pml_otf2_events {
  struct pml_otf2_read *trace;
  OTF2_EvtReaderCallbacks *callbacks;
  uint64_t from, to;
  unsigned kinds;
  bool by_time, refused, advance; /* advance: the first head was returned */
  bool *wanted;                   /* [nregions] */
  size_t *location, nlocations;   /* the requested ones */
  size_t next, batch;             /* next: the location to open */
  size_t open, most_open;         /* open readers of libotf2, and their limit */
  struct stream *stream;          /* one for each location if ordered by time, otherwise one */
  struct head *head;              /* a heap: the first is the earliest */
  size_t nheads;
  size_t damaged; /* locations */
  uint64_t given; /* returned events */
  int why;        /* code and detail of the first damage */
  char said[PML_FAILURE_BYTES];
};

/* ---- records of libotf2 ---- */

#define AT PML__OTF2_AT

static bool grow(struct stream *s) {
  size_t first = (size_t)pml_otf2_read_location(s->of->trace, s->location)->events;
  if (first > s->of->batch) first = s->of->batch;
  bool has = PML__ARRAY_ROOM(s->event, s->capacity, s->capacity == 0 && first > 0 ? first : s->capacity + 1);
  s->of->refused |= !has;
  return has;
}

/* Room for a requested event, or NULL. Times of a location never go back. */
static struct pml_otf2_event *take(struct stream *s, enum pml_otf2_kind kind, uint64_t time) {
  const struct pml_otf2_events *e = s->of;
  time = pml__otf2_time(e->trace, time);
  if (time > s->last) s->last = time;
  if (s->last > e->to) s->ended = true;
  if (s->last < e->from || s->ended || !(e->kinds & 1u << kind)) return NULL;
  if (s->n == s->capacity && !grow(s)) return NULL;
  struct pml_otf2_event *event = &s->event[s->n++];
  *event = (struct pml_otf2_event){.time = s->last, .location = s->location, .kind = (uint8_t)kind};
  return event;
}

static void take_other(void *user, enum pml__otf2_kind_id kind, uint64_t time) {
  struct pml_otf2_event *event = take(user, PML_OTF2_OTHER, time);
  if (event == NULL) return;
  event->what = PML_OTF2_NONE;
  event->operation = (uint8_t)kind;
}
_Static_assert(PML__OTF2_NKINDS <= UINT8_MAX, "an event has room for the kind of its record");

static OTF2_CallbackCode take_region(struct stream *s, enum pml_otf2_kind kind, uint64_t time, OTF2_RegionRef id) {
  const struct pml_otf2_events *e = s->of;
  struct pml_otf2_event *event = take(s, kind, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->what = pml__otf2_find(&e->trace->regions, id);
  if (event->what != PML_OTF2_NONE && e->wanted[event->what]) return OTF2_CALLBACK_SUCCESS;
  s->n--;
  if (event->what == PML_OTF2_NONE)
    take_other(s, kind == PML_OTF2_ENTER ? PML__OTF2_KIND_Enter : PML__OTF2_KIND_Leave, time);
  return OTF2_CALLBACK_SUCCESS;
}

static size_t process_of(const struct stream *s, uint32_t rank, OTF2_CommRef comm) {
  size_t location = pml__otf2_peer(s->of->trace, s->location, rank, comm);
  return location != PML_OTF2_NONE ? pml_otf2_read_location(s->of->trace, location)->process : PML_OTF2_NONE;
}

static OTF2_CallbackCode take_message(struct stream *s, enum pml_otf2_kind kind, uint64_t time, uint32_t rank,
                                      OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request) {
  struct pml_otf2_event *event = take(s, kind, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->what = process_of(s, rank, comm);
  event->comm = comm;
  event->tag = tag;
  event->bytes = bytes;
  event->request = request;
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode take_request(struct stream *s, enum pml_otf2_request what, uint64_t time, uint64_t request) {
  struct pml_otf2_event *event = take(s, PML_OTF2_REQUEST, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->what = PML_OTF2_NONE;
  event->operation = (uint8_t)what;
  event->request = request;
  return OTF2_CALLBACK_SUCCESS;
}

/* @window: its number plus 1, or 0. */
static OTF2_CallbackCode take_collective(struct stream *s, uint64_t time, uint8_t operation, OTF2_CommRef comm,
                                         uint32_t root, uint64_t sent, uint64_t received, uint64_t request,
                                         uint32_t window) {
  struct pml_otf2_event *event = take(s, PML_OTF2_COLLECTIVE, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->what = root < OTF2_COLLECTIVE_ROOT_SELF ? process_of(s, root, comm) : PML_OTF2_NONE;
  event->members = pml__otf2_members(s->of->trace, comm);
  event->comm = comm;
  event->operation = operation;
  event->bytes = sent;
  event->received_bytes = received;
  event->request = request;
  event->window = window;
  return OTF2_CALLBACK_SUCCESS;
}

/* ---- windows ---- */

static OTF2_CommRef comm_of(const struct stream *s, OTF2_RmaWinRef window) {
  const struct pml__otf2_list *l = &s->of->trace->windows;
  size_t i = pml__otf2_find(l, window);
  return i != PML_OTF2_NONE ? ((const struct pml__otf2_window_of *)(const void *)l->at)[i].comm : OTF2_UNDEFINED_COMM;
}

static OTF2_CallbackCode on_notification(AT, OTF2_RmaWinRef window, uint32_t remote, OTF2_RmaSyncType type) {
  const struct stream *s = user;
  struct pml_otf2_event *event = type != OTF2_RMA_SYNC_TYPE_MEMORY ? take(user, PML_OTF2_NOTIFY, time) : NULL;
  if (type == OTF2_RMA_SYNC_TYPE_MEMORY) take_other(user, PML__OTF2_KIND_RmaSync, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->comm = comm_of(s, window);
  event->what = process_of(s, remote, event->comm);
  event->window = window + 1;
  event->out = type == OTF2_RMA_SYNC_TYPE_NOTIFY_OUT;
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode take_lock(struct stream *s, enum pml_otf2_lock what, uint64_t time, OTF2_RmaWinRef window,
                                   uint32_t remote, OTF2_LockType type) {
  struct pml_otf2_event *event = take(s, PML_OTF2_LOCK, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->comm = comm_of(s, window);
  event->what = process_of(s, remote, event->comm);
  event->window = window + 1;
  event->operation = (uint8_t)what;
  event->exclusive = type == OTF2_LOCK_EXCLUSIVE;
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode take_metrics(struct stream *s, uint64_t time, OTF2_MetricRef id, uint8_t n,
                                      const OTF2_Type *type, const OTF2_MetricValue *value) {
  const struct pml__otf2_class *class = pml__otf2_class_of(s->of->trace, id);
  for (uint8_t i = 0; i < n; i++) {
    struct pml_otf2_event *event = take(s, PML_OTF2_METRIC, time);
    if (event == NULL) break;
    event->what = class != NULL && i < class->n ? class->metric[i] : PML_OTF2_NONE;
    event->is_integer = type[i] != OTF2_TYPE_DOUBLE;
    memcpy(&event->value, &value[i], sizeof event->value);
  }
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode take_team(struct stream *s, enum pml_otf2_kind kind, uint64_t time, OTF2_CommRef comm) {
  struct pml_otf2_event *event = take(s, kind, time);
  if (event == NULL) return OTF2_CALLBACK_SUCCESS;
  event->what = PML_OTF2_NONE;
  event->members = pml__otf2_members(s->of->trace, comm);
  event->comm = comm;
  return OTF2_CALLBACK_SUCCESS;
}

/* Records with a specific callback: the kind of their event, the callback's expression, and its parameters. */
#define MESSAGE uint32_t rank, OTF2_CommRef comm, uint32_t tag, uint64_t bytes
#define MOVED uint32_t root, uint64_t sent, uint64_t received
#define LOCK OTF2_RmaWinRef window, uint32_t remote, PML__OTF2_UNUSED uint64_t lock
#define OWN(X)                                                                                                         \
  X(ENTER, Enter, take_region(user, PML_OTF2_ENTER, time, id), OTF2_RegionRef id)                                      \
  X(LEAVE, Leave, take_region(user, PML_OTF2_LEAVE, time, id), OTF2_RegionRef id)                                      \
  X(SEND, MpiSend, take_message(user, PML_OTF2_SEND, time, rank, comm, tag, bytes, 0), MESSAGE)                        \
  X(SEND, MpiIsend, take_message(user, PML_OTF2_SEND, time, rank, comm, tag, bytes, request), MESSAGE,                 \
    uint64_t request)                                                                                                  \
  X(RECEIVE, MpiRecv, take_message(user, PML_OTF2_RECEIVE, time, rank, comm, tag, bytes, 0), MESSAGE)                  \
  X(RECEIVE, MpiIrecv, take_message(user, PML_OTF2_RECEIVE, time, rank, comm, tag, bytes, request), MESSAGE,           \
    uint64_t request)                                                                                                  \
  X(COLLECTIVE, MpiCollectiveEnd, take_collective(user, time, operation, comm, root, sent, received, 0, 0),            \
    OTF2_CollectiveOp operation, OTF2_CommRef comm, MOVED)                                                             \
  X(COLLECTIVE, NonBlockingCollectiveComplete,                                                                         \
    take_collective(user, time, operation, comm, root, sent, received, request, 0), OTF2_CollectiveOp operation,       \
    OTF2_CommRef comm, MOVED, uint64_t request)                                                                        \
  X(COLLECTIVE, RmaCollectiveEnd,                                                                                      \
    take_collective(user, time, operation, comm_of(user, window), root, sent, received, 0, window + 1),                \
    OTF2_CollectiveOp operation, PML__OTF2_UNUSED OTF2_RmaSyncLevel level, OTF2_RmaWinRef window, MOVED)               \
  X(REQUEST, MpiIrecvRequest, take_request(user, PML_OTF2_RECEIVE_POSTED, time, request), uint64_t request)            \
  X(REQUEST, MpiIsendComplete, take_request(user, PML_OTF2_SEND_COMPLETE, time, request), uint64_t request)            \
  X(REQUEST, NonBlockingCollectiveRequest, take_request(user, PML_OTF2_COLLECTIVE_BEGUN, time, request),               \
    uint64_t request)                                                                                                  \
  X(LOCK, RmaRequestLock, take_lock(user, PML_OTF2_LOCK_REQUESTED, time, window, remote, type), LOCK,                  \
    OTF2_LockType type)                                                                                                \
  X(LOCK, RmaAcquireLock, take_lock(user, PML_OTF2_LOCK_ACQUIRED, time, window, remote, type), LOCK,                   \
    OTF2_LockType type)                                                                                                \
  X(LOCK, RmaReleaseLock, take_lock(user, PML_OTF2_LOCK_RELEASED, time, window, remote, OTF2_LOCK_SHARED), LOCK)       \
  X(METRIC, Metric, take_metrics(user, time, id, n, type, value), OTF2_MetricRef id, uint8_t n, const OTF2_Type *type, \
    const OTF2_MetricValue *value)                                                                                     \
  X(TEAM_BEGIN, ThreadTeamBegin, take_team(user, PML_OTF2_TEAM_BEGIN, time, comm), OTF2_CommRef comm)                  \
  X(TEAM_END, ThreadTeamEnd, take_team(user, PML_OTF2_TEAM_END, time, comm), OTF2_CommRef comm)

#define CALLBACK(kind, name, call, ...)                                                                                \
  static OTF2_CallbackCode on_##name(AT, __VA_ARGS__) {                                                                \
    return call;                                                                                                       \
  }
OWN(CALLBACK)

static OTF2_EvtReaderCallbacks *callbacks_of(unsigned kinds) {
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  const bool others = kinds & 1u << PML_OTF2_OTHER;
  if (c == NULL) return NULL;
  if (others) pml__otf2_other_kinds(c);
#define SET(kind, name, ...)                                                                                           \
  OTF2_EvtReaderCallbacks_Set##name##Callback(c, kinds & 1u << PML_OTF2_##kind ? on_##name : NULL);
  OWN(SET)
#undef SET
  if (others || kinds & 1u << PML_OTF2_NOTIFY) OTF2_EvtReaderCallbacks_SetRmaSyncCallback(c, on_notification);
  return c;
}

/* ---- streams ---- */

static int no_memory(const struct pml_otf2_events *e) {
  return pml_fail(-ENOMEM, "%.300s: no memory for its events", e->trace->path);
}

static void close_stream(struct stream *s) {
  pml__otf2_close_events(&s->reader);
}

/* Damage of a location ends its events, and is noted; other failures are returned. */
static int damaged(struct stream *s, int err) {
  struct pml_otf2_events *e = s->of;
  if (!pml__otf2_is_damage(err)) return err;
  if (e->damaged++ == 0) {
    e->why = err;
    (void)snprintf(e->said, sizeof e->said, "%s", pml_error_detail(err));
  }
  s->ended = true;
  return 0;
}

static int open_stream(struct stream *s, size_t location) {
  struct pml_otf2_events *e = s->of;
  s->location = location;
  s->n = s->at = 0;
  s->last = 0;
  s->ended = false;
  int err = pml__otf2_open_events(e->trace, location, e->callbacks, s, &s->reader);
  return err < 0 ? damaged(s, err) : 0;
}

/* Returns 1 if the stream has a next event, 0 at the end. */
static int fill(struct stream *s) {
  struct pml_otf2_events *e = s->of;
  while (s->at == s->n && !s->ended) {
    uint64_t n = 0;
    s->n = s->at = 0;
    OTF2_ErrorCode code = OTF2_Reader_ReadLocalEvents(s->reader.archive, s->reader.events, e->batch, &n);
    if (e->refused) return no_memory(e);
    if (!pml__otf2_is_fine(code)) {
      int err = damaged(s, pml__otf2_failed_read(e->trace, "read the events of", code));
      if (err < 0) return err;
    }
    if (n < e->batch && !s->ended) {
      int err = pml__otf2_was_cut(e->trace, s->location);
      if (err < 0) (void)damaged(s, err);
      s->ended = true;
    }
  }
  if (s->ended) close_stream(s);
  return s->at < s->n;
}

/* ---- the merge ---- */

static bool before(const struct head *a, const struct head *b) {
  return a->time != b->time ? a->time < b->time : a->stream < b->stream;
}

static void sift_down(struct head *head, size_t n, size_t i) {
  const struct head moved = head[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && before(&head[child + 1], &head[child])) child++;
    if (!before(&head[child], &moved)) break;
    head[i] = head[child];
  }
  head[i] = moved;
}

/* libotf2 keeps a file open, and a chunk in memory, for each location with unread events. */
static size_t most_open(const struct pml_otf2_read *t) {
  struct rlimit files;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t most = pages > 0 && page > 0 ? (uint64_t)pages / 4 * (uint64_t)page / (t->chunk + 1) : SIZE_MAX;
  bool limited = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
  if (limited && files.rlim_cur < most + OTHER_FILES)
    most = files.rlim_cur > OTHER_FILES ? files.rlim_cur - OTHER_FILES : 1;
  return most > 0 ? (size_t)most : 1;
}

static int too_many(const struct pml_otf2_events *e) {
  return pml_fail(-EMFILE,
                  "%.300s: too many long locations to be read in the order of time, here at most %zu; "
                  "ask for fewer locations, or for a shorter window",
                  e->trace->path, e->most_open);
}

static int open_heads(struct pml_otf2_events *e) {
  int err = 0;
  e->most_open = most_open(e->trace);
  for (size_t i = 0; i < e->nlocations && err >= 0; i++) {
    struct stream *s = &e->stream[i];
    err = open_stream(s, e->location[i]);
    if (err == 0) err = fill(s);
    if (err == 1) e->head[e->nheads++] = (struct head){s->event[s->at].time, s};
    if (err >= 0 && s->reader.archive != NULL && e->open++ == e->most_open) err = too_many(e);
  }
  for (size_t i = e->nheads / 2; i-- > 0;) sift_down(e->head, e->nheads, i);
  return err < 0 ? err : 0;
}

/* Move the stream of the last event to its new position in the heap, or remove it. */
static int advance(struct pml_otf2_events *e) {
  struct stream *s = e->head[0].stream;
  int more = ++s->at < s->n ? 1 : fill(s);
  if (more < 0) return more;
  if (more > 0)
    e->head[0].time = s->event[s->at].time;
  else
    e->head[0] = e->head[--e->nheads];
  if (e->nheads > 1) sift_down(e->head, e->nheads, 0);
  return 0;
}

static int next_by_time(struct pml_otf2_events *e, const struct pml_otf2_event **event) {
  int err = e->advance ? advance(e) : 0;
  e->advance = err == 0 && e->nheads > 0;
  if (!e->advance) return err;
  *event = &e->head[0].stream->event[e->head[0].stream->at];
  return 1;
}

static int next_of_location(struct pml_otf2_events *e, const struct pml_otf2_event **event) {
  struct stream *s = e->stream;
  while (s->at == s->n) {
    int more = s->reader.archive != NULL ? fill(s) : 0;
    if (more < 0) return more;
    if (more > 0) break;
    if (e->next == e->nlocations) return 0;
    int err = open_stream(s, e->location[e->next++]);
    if (err < 0) return err;
  }
  *event = &s->event[s->at++];
  return 1;
}

int pml_otf2_events_next(struct pml_otf2_events *e, const struct pml_otf2_event **event) {
  int more = e->by_time ? next_by_time(e, event) : next_of_location(e, event);
  e->given += more > 0;
  return more == 0 && e->given == 0 && e->damaged > 0 ? pml_fail(e->why, "%s", e->said) : more;
}

size_t pml_otf2_events_damaged(const struct pml_otf2_events *e) {
  return e->damaged;
}

/* ---- life ---- */

/* How many records are read at once, if the longest of the requested locations has @longest of all @events. */
static size_t batch_of(const struct pml_otf2_events *e, uint64_t longest, uint64_t events) {
  if (!e->by_time || e->nlocations <= BATCHES / BATCH_MAX) return BATCH_MAX;
  if (events <= WHOLE) return (size_t)longest + 1;
  return e->nlocations < WHOLE / BATCH_MAX   ? BATCH_MAX
         : e->nlocations < WHOLE / BATCH_MIN ? (size_t)WHOLE / e->nlocations
                                             : BATCH_MIN;
}

static int allocate(struct pml_otf2_events *e, const struct pml_otf2_question *q) {
  size_t n = e->trace->locations.n;
  uint64_t longest = 0, events = 0;
  e->location = calloc(n + 1, sizeof *e->location);
  for (size_t i = 0; e->location != NULL && i < n; i++) {
    if (!pml__otf2_asked(e->trace, q, i)) continue;
    const uint64_t has = pml_otf2_read_location(e->trace, i)->events;
    if (has > longest) longest = has;
    events = has > WHOLE || events > WHOLE ? WHOLE + 1 : events + has;
    e->location[e->nlocations++] = i;
  }
  size_t streams = e->by_time ? e->nlocations : 1;
  e->batch = batch_of(e, longest, events);
  e->wanted = pml__otf2_wanted(e->trace, q);
  e->stream = calloc(streams + 1, sizeof *e->stream);
  e->head = calloc(streams + 1, sizeof *e->head);
  e->callbacks = callbacks_of(e->kinds);
  for (size_t i = 0; e->stream != NULL && i < streams; i++)
    e->stream[i] = (struct stream){.other = {take_other}, .of = e};
  bool done = e->location != NULL && e->wanted != NULL && e->stream != NULL && e->head != NULL && e->callbacks != NULL;
  return done ? 0 : no_memory(e);
}

int pml_otf2_events_open(struct pml_otf2_events **out, struct pml_otf2_read *t, const struct pml_otf2_question *q,
                         bool by_time) {
  *out = NULL;
  if (t->reading) return pml__otf2_busy(t);
  struct pml_otf2_events *e = calloc(1, sizeof *e);
  if (e == NULL) return pml_fail(-ENOMEM, "%.300s: no memory for its events", t->path);
  e->trace = t;
  e->by_time = by_time;
  e->from = pml__otf2_first(t, q);
  e->to = pml__otf2_ticks(t, q->to_s);
  e->kinds = q->kinds != 0 ? q->kinds : (1u << PML_OTF2_NKINDS) - 1;
  t->reading = true;
  int err = allocate(e, q);
  if (err == 0 && by_time) err = open_heads(e);
  if (err < 0) {
    pml_otf2_events_close(e);
    return err;
  }
  *out = e;
  return 0;
}

void pml_otf2_events_close(struct pml_otf2_events *e) {
  if (e == NULL) return;
  for (size_t i = 0; e->stream != NULL && i < (e->by_time ? e->nlocations : 1); i++) {
    close_stream(&e->stream[i]);
    free(e->stream[i].event);
  }
  OTF2_EvtReaderCallbacks_Delete(e->callbacks);
  e->trace->reading = false;
  free(e->location);
  free(e->wanted);
  free(e->stream);
  free(e->head);
  free(e);
}

/* ---- meaning of numbers ---- */

const char *pml_otf2_record(const struct pml_otf2_event *event) {
  return pml__otf2_kind_name((enum pml__otf2_kind_id)event->operation);
}

double pml_otf2_read_seconds(const struct pml_otf2_read *t, uint64_t time) {
  double ticks = time >= t->start ? (double)(time - t->start) : -(double)(t->start - time);
  return ticks / (double)t->resolution;
}

const char *pml_otf2_happened(enum pml_otf2_request what) {
  static const char *const names[] = {"receive posted", "send complete", "collective begun"};
  return names[what];
}

const char *pml_otf2_locked(enum pml_otf2_lock what) {
  static const char *const names[] = {"requested", "acquired", "released"};
  return names[what];
}

const char *pml_otf2_operation(unsigned operation) {
#define NAME(id, name) name,
  static const char *const names[] = {PML__LOG_COLLECTIVES(NAME)};
#undef NAME
  static const char *const others[] = {"create_handle",
                                       "destroy_handle",
                                       "allocate",
                                       "deallocate",
                                       "create_handle_and_allocate",
                                       "destroy_handle_and_deallocate"};
  const unsigned n = sizeof names / sizeof *names, all = n + sizeof others / sizeof *others;
  return operation < n ? names[operation] : operation < all ? others[operation - n] : "";
}
