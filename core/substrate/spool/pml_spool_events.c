/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/spool/pml_spool_events.c - the events of a spool, extent after extent, to whoever makes something of
 * them.
 */
#include "base/pml_error.h"
#include "substrate/spool/pml_spool_read_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX (1u << 20)

struct listening {
  const struct pml_spool_reader *reader;
  const struct pml__spool_listener *to;
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
  if (more == NULL) return pml_fail(-ENOMEM, "no memory for %u threads of a spool", thread);
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

static int hand_on(struct listening *l, const struct pml__spool_event *e, enum pml_stream_kind kind) {
  const struct pml__spool_told told = {
      .ticks = e->ticks,
      .region = kind == PML_STREAM_METRIC ? 0 : pml__spool_region(l->reader, (uint32_t)e->word),
      .kind = kind,
      .unreturned = e->word >> 32 == PML__SPOOL_LEFT,
      .values = kind == PML_STREAM_METRIC ? (const uint64_t *)(e + 1) : NULL};
  if (l->now == NULL || (told.region == 0 && kind != PML_STREAM_METRIC)) return 0;
  return l->to->event(l->to->arg, l->now, &told);
}

/* Those of the innermost call; results are of the time of the leave, which follows them. */
static int hand_on_values(struct listening *l, const struct pml__spool_event *e, const struct pml__spool_event *next,
                          const struct pml__spool_event *end) {
  uint32_t low = (uint32_t)e->word;
  struct pml__spool_told told = {.kind = PML_STREAM_METRIC,
                                 .region = pml__spool_region(l->reader, PML__SPOOL_OF_CALL_REGION(low)),
                                 .ticks = e->ticks,
                                 .values = (const uint64_t *)(e + 1),
                                 .nvalues = PML__SPOOL_OF_CALL_N(low),
                                 .results = PML__SPOOL_OF_CALL_RESULTS(low)};
  uint64_t kind = next < end ? next->word >> 32 : 0;
  if (told.results && (kind == PML__SPOOL_LEAVE || kind == PML__SPOOL_LEFT || kind == PML__SPOOL_METRIC))
    told.ticks = next->ticks;
  return l->now != NULL && told.region != 0 ? l->to->event(l->to->arg, l->now, &told) : 0;
}

/* Events from @at on, until there are no more in this extent. */
static int read_events(struct listening *l, const struct pml__spool_event *at, const struct pml__spool_event *end) {
  int err = 0;
  while (at < end && err == 0) {
    uint32_t low = (uint32_t)at->word;
    size_t values = 0;
    switch (at->word >> 32) {
    case PML__SPOOL_ENTER:
      err = hand_on(l, at, PML_STREAM_ENTER);
      break;
    case PML__SPOOL_LEAVE:
    case PML__SPOOL_LEFT:
      err = hand_on(l, at, PML_STREAM_LEAVE);
      break;
    case PML__SPOOL_METRIC:
      values = ((size_t)low + 1) / 2;
      if (low == 0 || low != l->to->nmetrics || values >= (size_t)(end - at)) return 0;
      err = hand_on(l, at, PML_STREAM_METRIC);
      break;
    case PML__SPOOL_VALUES:
      values = ((size_t)PML__SPOOL_OF_CALL_N(low) + 1) / 2;
      if (values == 0 || PML__SPOOL_OF_CALL_N(low) > PML_SPOOL_VALUES_MAX || values >= (size_t)(end - at)) return 0;
      err = hand_on_values(l, at, at + 1 + values, end);
      break;
    case PML__SPOOL_THREAD:
      err = go_to(l, low, (int64_t)at->ticks);
      break;
    default:
      return 0;
    }
    at += 1 + values;
  }
  return err;
}

static int read_part(struct listening *l, const struct pml__spool_part *p) {
  int err;
  struct pml__spool_extent *e = pml__spool_read_part(l->reader, p, &err);
  if (e == NULL) return err;
  const struct pml__spool_event *events = (const struct pml__spool_event *)(const void *)e;
  err = go_to(l, e->thread, e->tid);
  if (err == 0) err = read_events(l, events + PML__SPOOL_FIRST_EVENT, events + PML__SPOOL_EXTENT_EVENTS);
  free(e);
  return err;
}

int pml__spool_listen(const struct pml_spool_reader *r, const struct pml__spool_listener *to) {
  struct listening l = {.reader = r, .to = to};
  int err = 0;
  for (size_t i = 0; i < r->nparts && err == 0; i++) {
    if (r->part[i].kind != PML__SPOOL_EVENTS) continue;
    err = read_part(&l, &r->part[i]);
    if (err == 0 && to->progress != NULL) err = to->progress(r->part[i].at, r->bytes, to->progress_arg);
  }
  return end_all(&l, err);
}

/* ---- metrics ---- */

/* Lines "event<TAB>NAME" of the text, as many as there are metrics. */
static uint32_t names_of_metrics(const char *text, uint32_t n, char (*name)[PML__SPOOL_METRIC_BYTES]) {
  uint32_t found = 0;
  while (found < n && text != NULL && *text != '\0') {
    size_t bytes = strcspn(text, "\n");
    if (strncmp(text, "event\t", 6) == 0 && bytes > 6) {
      size_t keep = bytes - 6 < PML__SPOOL_METRIC_BYTES ? bytes - 6 : PML__SPOOL_METRIC_BYTES - 1;
      memcpy(name[found], text + 6, keep);
      name[found++][keep] = '\0';
    }
    text += bytes + (text[bytes] == '\n');
  }
  return found;
}

uint32_t pml__spool_metrics(const struct pml_spool_reader *r, char (*name)[PML__SPOOL_METRIC_BYTES]) {
  struct pml_spool_story story;
  uint32_t n = r->head.nmetrics;
  pml_spool_read_story(r, &story);
  return n <= PML_STREAM_METRICS_MAX && names_of_metrics(story.text, n, name) == n ? n : 0;
}
