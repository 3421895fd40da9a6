/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/recording/pml_recording_events.c - the events of a recording, extent after extent, for what makes
 * something of them.
 */
#include "base/pml_error.h"
#include "substrate/recording/pml_recording_read_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX (1u << 20)

struct listening {
  const struct pml_recording_reader *reader;
  const struct pml__recording_listener *to;
  void **track; /* [nthreads] by the thread's number; NULL: it has not begun */
  size_t nthreads;
  void *now; /* NULL: of a thread that there is no place for */
};

/* ---- threads ---- */

static int make_room(struct listening *l, uint32_t thread) {
  if (thread < l->nthreads) return 0;
  size_t n = l->nthreads == 0 ? 64 : l->nthreads;
  while (n <= thread) n *= 2;
  void **more = realloc(l->track, n * sizeof *more);
  if (more == NULL) return pml_fail(-ENOMEM, "no memory for %u threads of a recording", thread);
  memset(more + l->nthreads, 0, (n - l->nthreads) * sizeof *more);
  l->track = more;
  l->nthreads = n;
  return 0;
}

static int go_to(struct listening *l, uint64_t thread, int64_t tid) {
  l->now = NULL;
  if (thread >= THREADS_MAX) return 0;
  int err = make_room(l, (uint32_t)thread);
  if (err == 0 && l->track[thread] == NULL) err = l->to->begin(l->to->arg, tid, &l->track[thread]);
  if (err == 0) l->now = l->track[thread];
  return err;
}

static int end_all(struct listening *l, int err) {
  for (size_t i = 0; i < l->nthreads && err == 0; i++)
    if (l->track[i] != NULL) err = l->to->end(l->to->arg, l->track[i]);
  for (size_t i = 0; i < l->nthreads && l->to->free != NULL; i++)
    if (l->track[i] != NULL) l->to->free(l->track[i]);
  free(l->track);
  return err;
}

/* ---- events ---- */

static int hand_on(struct listening *l, const struct pml__log_event *e, enum pml_stream_kind kind) {
  const struct pml__recording_told told = {
      .ticks = e->ticks,
      .region = kind == PML_STREAM_METRIC ? 0 : pml__recording_region(l->reader, (uint32_t)e->word),
      .kind = kind,
      .unreturned = e->word >> 32 == PML__LOG_LEFT,
      .values = kind == PML_STREAM_METRIC ? (const uint64_t *)(e + 1) : NULL};
  if (l->now == NULL || (told.region == 0 && kind != PML_STREAM_METRIC)) return 0;
  return l->to->event(l->to->arg, l->now, &told);
}

static int hand_on_openmp(struct listening *l, const struct pml__log_event *e) {
  const struct pml__recording_told told = {.ticks = e->ticks,
                                           .kind = PML_STREAM_OPENMP,
                                           .what = PML__LOG_COMMUNICATED_WHAT((uint32_t)e->word),
                                           .nvalues = PML__LOG_COMMUNICATED_N((uint32_t)e->word),
                                           .values = (const uint64_t *)(e + 1)};
  return l->now != NULL ? l->to->event(l->to->arg, l->now, &told) : 0;
}

/* Those of the innermost call; results are of the time of the leave, which follows them. */
static int hand_on_values(struct listening *l, const struct pml__log_event *e, const struct pml__log_event *next,
                          const struct pml__log_event *end) {
  uint32_t low = (uint32_t)e->word;
  struct pml__recording_told told = {.kind = PML_STREAM_METRIC,
                                     .region = pml__recording_region(l->reader, PML__LOG_OF_CALL_REGION(low)),
                                     .ticks = e->ticks,
                                     .values = (const uint64_t *)(e + 1),
                                     .nvalues = PML__LOG_OF_CALL_N(low),
                                     .results = PML__LOG_OF_CALL_RESULTS(low)};
  uint64_t kind = next < end ? next->word >> 32 : 0;
  if (told.results && (kind == PML__LOG_LEAVE || kind == PML__LOG_LEFT || kind == PML__LOG_METRIC))
    told.ticks = next->ticks;
  return l->now != NULL && told.region != 0 ? l->to->event(l->to->arg, l->now, &told) : 0;
}

static int hand_on_communication(struct listening *l, const struct pml__log_event *e) {
  uint32_t low = (uint32_t)e->word;
  const struct pml__recording_communicated told = {.what = PML__LOG_COMMUNICATED_WHAT(low),
                                                   .code = PML__LOG_COMMUNICATED_CODE(low),
                                                   .ticks = e->ticks,
                                                   .values = (const uint64_t *)(e + 1),
                                                   .nvalues = PML__LOG_COMMUNICATED_N(low)};
  return l->now != NULL && l->to->communication != NULL ? l->to->communication(l->to->arg, l->now, &told) : 0;
}

/* Events from @at on, until there are no more in this extent. */
static int read_events(struct listening *l, const struct pml__log_event *at, const struct pml__log_event *end) {
  int err = 0;
  while (at < end && err == 0) {
    uint32_t low = (uint32_t)at->word;
    size_t values = 0;
    switch (at->word >> 32) {
    case PML__LOG_ENTER:
      err = hand_on(l, at, PML_STREAM_ENTER);
      break;
    case PML__LOG_LEAVE:
    case PML__LOG_LEFT:
      err = hand_on(l, at, PML_STREAM_LEAVE);
      break;
    case PML__LOG_METRIC:
      values = ((size_t)low + 1) / 2;
      if (low == 0 || low != l->to->nmetrics || values >= (size_t)(end - at)) return 0;
      err = hand_on(l, at, PML_STREAM_METRIC);
      break;
    case PML__LOG_VALUES_OF_CALL:
      values = ((size_t)PML__LOG_OF_CALL_N(low) + 1) / 2;
      if (values == 0 || PML__LOG_OF_CALL_N(low) > PML_RECORDING_VALUES_MAX || values >= (size_t)(end - at)) return 0;
      err = hand_on_values(l, at, at + 1 + values, end);
      break;
    case PML__LOG_COMMUNICATION:
      values = ((size_t)PML__LOG_COMMUNICATED_N(low) + 1) / 2;
      if (values >= (size_t)(end - at)) return 0;
      err = hand_on_communication(l, at);
      break;
    case PML__LOG_OPENMP_EVENT:
      values = ((size_t)PML__LOG_COMMUNICATED_N(low) + 1) / 2;
      if (values >= (size_t)(end - at)) return 0;
      err = hand_on_openmp(l, at);
      break;
    case PML__LOG_THREAD:
      err = go_to(l, low, (int64_t)at->ticks);
      break;
    default:
      return 0;
    }
    at += 1 + values;
  }
  return err;
}

static int read_extent(struct listening *l, size_t i) {
  const struct pml__log_entry *e = &l->reader->log.entry[i];
  uint64_t bytes;
  int err;
  struct pml__log_event *events = pml__log_read_extent(&l->reader->log, i, &bytes, &err);
  if (events == NULL) return err;
  size_t n = (size_t)bytes / sizeof *events;
  err = go_to(l, e->owner, (int32_t)e->key);
  if (err == 0 && n > PML__RECORDING_FIRST_EVENT) err = read_events(l, events + PML__RECORDING_FIRST_EVENT, events + n);
  free(events);
  return err;
}

int pml__recording_listen(const struct pml_recording_reader *r, const struct pml__recording_listener *to) {
  struct listening l = {.reader = r, .to = to};
  int err = 0;
  for (size_t i = 0; i < r->log.n && err == 0; i++) {
    if (r->log.entry[i].kind != PML__LOG_EVENTS) continue;
    err = read_extent(&l, i);
    if (err == 0 && to->progress != NULL) err = to->progress(r->log.entry[i].at, r->log.bytes, to->progress_arg);
  }
  return end_all(&l, err);
}

/* ---- metrics ---- */

/* Lines of the note, as many as there are metrics. */
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
