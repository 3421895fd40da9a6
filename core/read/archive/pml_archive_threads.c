/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_threads.c - a process's events as locations, balanced and ordered per thread. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"
#include "read/otf2/write/pml_otf2_openmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct open_call {
  pml_region_t region;
  uint64_t ns;
};

/* An incomplete operation on a window. */
struct operation {
  uint32_t window, rank;
  uint64_t request;
};

/* One thread, with its open calls, the innermost last. */
struct lane {
  struct pml_otf2_location *location;
  uint64_t last_ns;
  struct open_call *open;
  size_t depth, capacity;
  bool collective; /* a blocking operation has begun */
  struct operation *operation;
  size_t noperations, operations;
  struct pml__otf2_openmp openmp;
};

struct writing {
  uint64_t end_ticks; /* end of the process; 0: unknown */
  struct pml__archive *a;
  struct pml__archive_process *p;
  const struct pml_recording_reader *r; /* NULL: threads have no names */
  struct pml__archive_metrics metrics;
  struct pml__archive_calls *calls;
  struct pml__otf2_teams *teams; /* OpenMP's teams; NULL: none */
  uint32_t nthreads;
  uint64_t real[4];                  /* a bit for each value of the recording's events that is a double */
  struct pml_otf2_location **by_ref; /* [nlocations] those that recorded the events; NULL: threads did */
  uint64_t nlocations;
  uint64_t *unrecorded; /* NULL: the log is another process's */
};

/* ---- threads ---- */

/* MPI's events belong to a rank's main thread or, if its log lacks that, to the first thread in it. */
static void set_location_of_rank(const struct writing *w, int64_t tid, const struct pml_otf2_location *l) {
  if (w->p->rank >= 0 && (w->nthreads == 1 || tid == w->p->pid)) w->a->mpi.location[w->p->index] = l->ref;
}

static int add_location(struct writing *w, int64_t tid, struct pml_otf2_location **location) {
  char key[48], name[320];
  snprintf(key, sizeof key, "thread.%lld", (long long)tid);
  const char *given = w->r != NULL ? pml_recording_read_note(w->r, key) : NULL;
  snprintf(name, sizeof name, "thread %lld%s%.256s", (long long)tid, given != NULL ? " " : "",
           given != NULL ? given : "");
  w->nthreads++;
  int err = pml__otf2_location_of(w->a->otf2, name, w->p->group, w->metrics.set, location);
  if (err == 0) set_location_of_rank(w, tid, *location);
  return err;
}

/* A log that does not come from these locations may name others, or one twice. */
static int begin_location(struct writing *w, int64_t ref, struct pml_otf2_location **location) {
  bool is = ref >= 0 && (uint64_t)ref < w->nlocations && w->by_ref[ref]->writer != NULL;
  *location = is ? w->by_ref[ref] : NULL;
  return is ? 0 : pml_fail(PML_EFORMAT, "a log of a trace has a location that the trace has not");
}

static int begin_thread(void *arg, int64_t tid, void **lane) {
  struct lane *t = calloc(1, sizeof *t);
  if (t == NULL) return pml_fail(-ENOMEM, "no memory for a thread of a trace");
  *lane = t;
  struct writing *w = arg;
  return w->by_ref != NULL ? begin_location(w, tid, &t->location) : add_location(w, tid, &t->location);
}

/* A process without a call gets its first thread, because readers treat an archive without a location as broken. */
static int add_first_thread(struct writing *w) {
  struct pml_otf2_location *silent;
  if (w->nthreads > 0) return 0;
  int err = add_location(w, w->p->pid, &silent);
  return err == 0 ? pml__otf2_location_done(w->a->otf2, silent) : err;
}

/* Calls that did not return end with the process or, if its end is unknown, with their thread's last event. */
static int end_thread(void *arg, void *lane) {
  const struct writing *w = arg;
  struct lane *t = lane;
  int err = 0;
  uint64_t end = w->end_ticks != 0 ? pml__archive_time(w->a, w->p, w->end_ticks) : 0;
  if (end > t->last_ns) t->last_ns = end;
  while (t->depth > 0 && err == 0) {
    w->a->story->open++;
    t->location->closed++;
    err = pml__otf2_write(w->a->otf2, t->location, PML__LOG_LEAVE, t->last_ns, t->open[--t->depth].region, NULL);
  }
  w->a->story->events += t->location->nevents;
  return err == 0 ? pml__otf2_location_done(w->a->otf2, t->location) : err;
}

static void free_thread(void *lane) {
  struct lane *t = lane;
  free(t->open);
  free(t->operation);
  free(t);
}

/* ---- calls ---- */

/* The time of @ticks, or of the previous event if that is later. */
static uint64_t time_of(const struct writing *w, struct lane *t, uint64_t ticks) {
  uint64_t ns = w->unrecorded != NULL ? ticks : pml__archive_time(w->a, w->p, ticks);
  if (ns >= t->last_ns) return t->last_ns = ns;
  t->location->lifted++;
  return t->last_ns;
}

static int enter(const struct writing *w, struct lane *t, const struct pml__recording_event *e) {
  if (!PML__ARRAY_ROOM(t->open, t->capacity, t->depth + 1))
    return pml_fail(-ENOMEM, "no memory for %zu calls at a time", t->depth);
  uint64_t ns = time_of(w, t, e->ticks);
  t->open[t->depth++] = (struct open_call){e->region, ns};
  return pml__otf2_write(w->a->otf2, t->location, PML__LOG_ENTER, ns, e->region, NULL);
}

static int leave(const struct writing *w, struct lane *t, const struct pml__recording_event *e) {
  if (t->depth == 0 || t->open[t->depth - 1].region != e->region) {
    t->location->unmatched++;
    return 0;
  }
  t->depth--;
  return pml__otf2_write(w->a->otf2, t->location, PML__LOG_LEAVE, time_of(w, t, e->ticks), e->region, NULL);
}

static int metric(const struct writing *w, struct lane *t, const struct pml__recording_event *e) {
  uint64_t value[PML__OTF2_METRICS_MAX];
  const uint64_t *real = e->list != NULL ? e->list->is.real : w->real;
  const struct pml__otf2_set *set = w->metrics.set;
  for (size_t i = 0; i < set->n; i++)
    value[i] = pml__archive_value(&set->metric[i], (real[i / 64] >> i % 64 & 1) != 0, e->values[i]);
  return pml__otf2_write(w->a->otf2, t->location, PML__LOG_METRIC, time_of(w, t, e->ticks), 0, value);
}

static int singles(const struct writing *w, struct lane *t, const struct pml__recording_event *e, uint32_t single) {
  const struct pml__log_list *l = &e->list->is;
  uint64_t ns = time_of(w, t, e->ticks);
  int err = 0;
  for (uint32_t i = 0; i < l->n && err == 0; i++)
    if (l->single[i / 64] >> i % 64 & 1)
      err = pml__otf2_write_single(w->a->otf2, t->location, ns, single++, e->values[i]);
  return err;
}

static int list_of_values(const struct writing *w, struct lane *t, const struct pml__recording_event *e) {
  const struct pml__archive_named *n = &w->metrics.named[e->list->is.number];
  if (n->doing == PML__ARCHIVE_LOSE && w->unrecorded != NULL) ++*w->unrecorded;
  if (n->doing == PML__ARCHIVE_SINGLES) return singles(w, t, e, n->first);
  return n->doing == PML__ARCHIVE_RECORD ? metric(w, t, e) : 0;
}

static int values_of_call(const struct writing *w, struct lane *t, const struct pml__recording_event *e) {
  const struct pml__archive_list *l = pml__archive_list_of(&w->metrics, e->region, e->results);
  if (l == NULL || l->n != e->nvalues || t->depth == 0 || t->open[t->depth - 1].region != e->region) return 0;
  uint64_t ns = time_of(w, t, e->ticks);
  int err = 0;
  for (uint32_t i = 0; i < l->n && err == 0; i++)
    err = pml__otf2_write_single(w->a->otf2, t->location, ns, l->single[i], e->values[i]);
  return err;
}

static int openmp(const struct writing *w, struct lane *t, const struct pml__recording_event *e) {
  if (w->unrecorded != NULL) return 0;
  return pml__otf2_openmp_event(w->a->otf2, t->location, w->teams, &t->openmp, time_of(w, t, e->ticks), e);
}

static int write_event(void *arg, void *lane, const struct pml__recording_event *e) {
  const struct writing *w = arg;
  switch (e->kind) {
  case PML_STREAM_ENTER:
    return enter(w, lane, e);
  case PML_STREAM_LEAVE:
    w->a->story->open += e->unreturned;
    return leave(w, lane, e);
  case PML_STREAM_OPENMP:
    return openmp(w, lane, e);
  default:
    if (e->list != NULL) return list_of_values(w, lane, e);
    return e->region != 0 ? values_of_call(w, lane, e) : metric(w, lane, e);
  }
}

/* ---- communication ---- */

/* Blocking collective operations do not overlap, and each begin has an end. */
static bool is_balanced(struct lane *t, const struct pml__otf2_communication *c) {
  bool begins = c->what == PML__LOG_COLLECTIVE_BEGIN;
  if ((!begins && c->what != PML__LOG_COLLECTIVE_END) || c->request != 0) return true;
  bool fits = t->collective != begins;
  t->collective = begins;
  return fits;
}

/* An operation on a window is complete when the window is next synchronised with its target, or with all. */
static int note_operation(struct lane *t, const struct pml__otf2_communication *c) {
  if (!PML__ARRAY_ROOM(t->operation, t->operations, t->noperations + 1))
    return pml_fail(-ENOMEM, "no memory for %zu operations of a window", t->noperations);
  t->operation[t->noperations++] = (struct operation){c->window, c->rank, c->request};
  return 0;
}

static int complete_operations(const struct writing *w, struct lane *t, const struct pml__otf2_communication *c,
                               uint64_t ns) {
  struct pml__otf2_communication done = {.what = PML__LOG_RMA, .code = PML__LOG_COMPLETE, .window = c->window};
  const bool all = c->rank == PML__LOG_NO_RANK || c->code == PML__LOG_WIN_DESTROY;
  size_t left = 0;
  int err = 0;
  for (size_t i = 0; i < t->noperations && err == 0; i++) {
    const struct operation *o = &t->operation[i];
    done.request = o->request;
    if (o->window == c->window && (all || o->rank == c->rank))
      err = pml__otf2_communicate(w->a->otf2, t->location, ns, &done);
    else
      t->operation[left++] = *o;
  }
  t->noperations = left;
  return err;
}

static int one_sided(const struct writing *w, struct lane *t, const struct pml__otf2_communication *c, uint64_t ns) {
  const bool ends = c->code == PML__LOG_COMPLETE || c->code == PML__LOG_FENCE_END || c->code == PML__LOG_WIN_DESTROY;
  int err = c->code <= PML__LOG_ATOMIC ? note_operation(t, c) : ends ? complete_operations(w, t, c, ns) : 0;
  return err == 0 && c->code != PML__LOG_COMPLETE ? pml__otf2_communicate(w->a->otf2, t->location, ns, c) : err;
}

static int write_communication(void *arg, void *lane, const struct pml__recording_communicated *e) {
  const struct writing *w = arg;
  struct lane *t = lane;
  struct pml__otf2_communication c;
  if (!pml__archive_take(w->a, w->p, e, &c) || !is_balanced(t, &c)) return 0;
  uint64_t ns = time_of(w, t, e->ticks);
  if (c.what == PML__LOG_RMA) return one_sided(w, t, &c, ns);
  int err = t->depth > 0 ? pml__archive_call_add(w->calls, w->p, &c, t->open[t->depth - 1].ns, ns) : 0;
  return err == 0 ? pml__otf2_communicate(w->a->otf2, t->location, ns, &c) : err;
}

/* ---- a process ---- */

static int report_progress(uint64_t done, uint64_t all, void *arg) {
  const struct pml__archive *a = arg;
  (void)all;
  return a->progress != NULL ? a->progress(a->done + done, a->all, a->progress_arg) : 0;
}

static int write_process(struct writing *w, const struct pml_recording_reader *r) {
  int err = pml__archive_metrics(r, w->a->otf2, NULL, &w->metrics);
  const struct pml__recording_listener l = {.begin = begin_thread,
                                            .event = write_event,
                                            .communication = write_communication,
                                            .end = end_thread,
                                            .free = free_thread,
                                            .progress = report_progress,
                                            .progress_arg = w->a,
                                            .nmetrics = err == 0 ? (uint32_t)w->metrics.set->n : 0,
                                            .arg = w};
  w->r = r;
  w->end_ticks = pml__recording_end_ticks(r);
  memcpy(w->real, r->head.real, sizeof r->head.real);
  if (err == 0) err = pml__otf2_teams_open(w->a->otf2, &w->teams, r, l.nmetrics, w->a->mpi.ncomms);
  if (err == 0) err = pml__recording_listen(r, &l);
  if (err == 0) err = add_first_thread(w);
  pml__archive_metrics_free(&w->metrics);
  return err;
}

int pml__archive_events(struct pml__archive *a, struct pml__archive_process *p, struct pml__archive_calls *calls) {
  struct writing w = {.a = a, .p = p, .calls = calls};
  struct pml_recording_reader *r;
  int err = pml_recording_read_open(&r, p->log->path);
  if (err == 0) err = write_process(&w, r);
  pml_recording_read_close(r);
  a->done += p->bytes;
  return err;
}

/* ---- this process ---- */

/* The counts of the log are the first thread's: its event buffer may have been passed to others. */
static void add_counts(struct pml_otf2_location *l, const struct pml_recording_reader *r) {
  l->dropped += r->count[PML__LOG_DROPPED];
  l->lifted += r->count[PML__LOG_LIFTED];
  l->unmatched += r->count[PML__LOG_UNMATCHED];
}

static int add_own(struct writing *w, const struct pml_recording_reader *r) {
  struct pml_otf2 *a = w->a->otf2;
  const struct pml__recording_listener l = {.begin = begin_thread,
                                            .event = write_event,
                                            .end = end_thread,
                                            .free = free_thread,
                                            .nmetrics = r->head.nmetrics == a->own.n ? r->head.nmetrics : 0,
                                            .arg = w};
  int err = pml__archive_metrics(r, a, &a->own, &w->metrics);
  memcpy(w->real, r->head.real, sizeof r->head.real);
  *w->unrecorded = r->count[PML__LOG_UNRECORDED];
  pml__mutex_take(&a->lock);
  struct pml_otf2_location **first = a->end;
  if (err == 0) err = pml__recording_listen(r, &l);
  if (*first != NULL) add_counts(*first, r);
  pml__mutex_leave(&a->lock);
  pml__archive_metrics_free(&w->metrics);
  return err;
}

static int add_log(struct writing *w, const char *path) {
  struct pml_recording_reader *r;
  int err = pml_recording_read_open(&r, path);
  if (err == 0) err = add_own(w, r);
  pml_recording_read_close(r);
  return err;
}

int pml__archive_add(struct pml_otf2 *a, const char *path, uint64_t *unrecorded) {
  struct pml_archive_story story = {0};
  struct pml__archive whole = {.otf2 = a, .story = &story};
  struct pml__archive_process p = {.rank = -1, .group = a->processes};
  struct writing w = {.a = &whole, .p = &p, .unrecorded = unrecorded};
  return add_log(&w, path);
}

int pml__archive_add_locations(struct pml_otf2 *a, const char *path, uint64_t *unrecorded) {
  struct pml_archive_story story = {0};
  struct pml__archive whole = {.otf2 = a, .story = &story};
  struct pml__archive_process p = {.rank = -1};
  struct writing w = {.a = &whole, .p = &p, .unrecorded = unrecorded};
  w.by_ref = calloc(a->nlocations + 1, sizeof *w.by_ref);
  if (w.by_ref == NULL) return pml_fail(-ENOMEM, "no memory for the locations of a trace");
  for (struct pml_otf2_location *l = a->first; l != NULL; l = l->next) w.by_ref[w.nlocations++] = l;
  int err = add_log(&w, path);
  free(w.by_ref);
  return err;
}
