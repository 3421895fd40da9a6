/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2.c - events of locations, and the beginning of an archive. */
#include "read/otf2/write/pml_otf2.h"

#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "read/otf2/write/pml_otf2_openmp.h"
#include "record/events/pml_event_buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- recording: the location's thread only ---- */

/* The usual case, as in pml_event_buffer_gpr.c; all else is in the *_rare functions, kept out of line. */
#define RARE __attribute__((noinline, cold))

/* A child has the event buffers of its parent, which it must not use. */
static bool is_usable(const struct pml_otf2_location *loc, pml_region_t region) {
  return pml__process_is(loc->process_number) && region != 0 && region <= pml_region_count();
}

RARE static int enter_rare(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  if (!is_usable(loc, region)) return -EINVAL;
  int err = pml__event_buffer_enter(loc->buffer, ticks, region);
  if (err == 0) pml__own_add(&loc->recorded, 1);
  return err;
}

int pml_otf2_enter(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  struct pml__event_buffer *t = loc->buffer;
  const struct pml__events_frame *f = t->top;
  struct pml__log_event *at = t->place.next;
  if (PML_UNLIKELY((pml_region_t)f[1].word != region || region == PML__EVENTS_NO_REGION || at >= t->enters_end ||
                   ticks < t->place.last_ticks || !pml__process_is(loc->process_number)))
    return enter_rare(loc, ticks, region);
  t->place.last_ticks = ticks;
  pml__events_put_enter(t, at, ticks, PML__OWN_AGAIN(f[1].word));
  pml__own_add(&loc->recorded, 1);
  return 0;
}

RARE static int leave_rare(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  if (!pml__process_is(loc->process_number)) return -EINVAL;
  int err = pml__event_buffer_leave(loc->buffer, ticks, region);
  if (err == 0) pml__own_add(&loc->recorded, 1);
  return err;
}

int pml_otf2_leave(struct pml_otf2_location *loc, uint64_t ticks, pml_region_t region) {
  struct pml__event_buffer *t = loc->buffer;
  const struct pml__events_frame *f = t->top;
  const struct pml__log_event *next = t->place.next;
  if (PML_UNLIKELY((pml_region_t)f->word != region || region == PML__EVENTS_NO_REGION || next >= t->leaves_end ||
                   ticks < t->place.last_ticks || !pml__process_is(loc->process_number)))
    return leave_rare(loc, ticks, region);
  t->place.last_ticks = ticks;
  pml__events_end_call(t, region, ticks);
  pml__own_add(&loc->recorded, 1);
  return 0;
}

RARE static int metric_rare(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values) {
  if (loc->nmetrics == 0 || !pml__process_is(loc->process_number)) return -EINVAL;
  int err = pml__event_buffer_values(loc->buffer, ticks, values, (uint32_t)loc->nmetrics);
  if (err == 0) pml__own_add(&loc->recorded, 1);
  return err;
}

int pml_otf2_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values) {
  struct pml__event_buffer *t = loc->buffer;
  struct pml__log_event *at = t->place.next;
  size_t n = loc->nmetrics, follow = (n + 1) / 2;
  if (PML_UNLIKELY(n == 0 || (size_t)(t->place.end - at) <= follow || ticks < t->place.last_ticks ||
                   !pml__process_is(loc->process_number)))
    return metric_rare(loc, ticks, values);
  uint64_t *value = (uint64_t *)(at + 1);
  for (size_t i = 0; i < n; i++) __atomic_store_n(&value[i], values[i], __ATOMIC_RELAXED); /* no call of memcpy() */
  t->place.last_ticks = ticks;
  pml__events_put(t, ticks, PML__LOG_WORD(PML__LOG_METRIC, PML__LOG_OF_LIST(0, n)), follow);
  pml__own_add(&loc->recorded, 1);
  return 0;
}

/* ---- writing: under the lock ---- */

static int remember(struct pml_otf2 *a, int err) {
  if (err < 0 && a->error == 0) {
    a->error = err;
    strncpy(a->error_text, pml_error_detail(err), sizeof a->error_text - 1);
  }
  return err;
}

/* Report the first failure again, because later failures may have replaced this thread's error detail. */
static int first_error(const struct pml_otf2 *a) {
  return a->error == 0 ? 0 : pml_fail(a->error, "%s", a->error_text);
}

/* Defines only recorded regions; references count from 0 without gaps. */
static int reference_of(struct pml_otf2 *a, pml_region_t region, uint32_t *ref) {
  if (!PML__ARRAY_ZEROS(a->region_ref, a->region_capacity, region + 1))
    return pml_fail(-ENOMEM, "no memory for the table of %u regions of the trace", region);
  if (a->region_ref[region] == 0) a->region_ref[region] = ++a->nregions;
  *ref = a->region_ref[region] - 1;
  return 0;
}

pml_region_t *pml__otf2_regions(const struct pml_otf2 *a) {
  pml_region_t *by_ref = calloc(a->nregions + 1, sizeof *by_ref);
  for (pml_region_t id = 1; by_ref != NULL && id < a->region_capacity; id++)
    if (a->region_ref[id] != 0) by_ref[a->region_ref[id] - 1] = id;
  return by_ref;
}

int pml__otf2_write(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks,
                    pml_region_t region, const uint64_t *values) {
  uint32_t ref = 0;
  int err = a->error;
  if (err == 0 && kind != PML__LOG_METRIC) err = remember(a, reference_of(a, region, &ref));
  return err == 0 ? remember(a, pml__otf2_event(a, loc, kind, ticks, ref, values)) : err;
}

int pml__otf2_here(const struct pml_otf2 *a) {
  return a->pid == getpid() ? 0 : pml_fail(PML_EMODE, "trace '%s' is another process's, which forked", a->dir);
}

/* An event buffer counts in its extent, whose zeros the store of @count published; until then in the log's head. */
void pml__otf2_counts(const struct pml_otf2_location *loc, uint64_t count[PML__LOG_COUNTERS]) {
  const uint64_t *from = loc->buffer != NULL ? __atomic_load_n(&loc->buffer->count, __ATOMIC_ACQUIRE) : NULL;
  bool has_extent = from != NULL && from != loc->buffer->recording->head->count;
  for (int i = 0; i < PML__LOG_COUNTERS; i++) count[i] = has_extent ? __atomic_load_n(&from[i], __ATOMIC_RELAXED) : 0;
}

static void add_stats(struct pml_otf2_stats *s, const uint64_t *count) {
  s->dropped += __atomic_load_n(&count[PML__LOG_DROPPED], __ATOMIC_RELAXED);
  s->lifted += __atomic_load_n(&count[PML__LOG_LIFTED], __ATOMIC_RELAXED);
  s->unmatched += __atomic_load_n(&count[PML__LOG_UNMATCHED], __ATOMIC_RELAXED);
}

void pml_otf2_stats(struct pml_otf2 *a, struct pml_otf2_stats *s) {
  *s = (struct pml_otf2_stats){0};
  if (a->pid != getpid()) return;
  pml__mutex_take(&a->lock);
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) {
    uint64_t count[PML__LOG_COUNTERS];
    pml__otf2_counts(loc, count);
    add_stats(s, count);
    s->written += loc->nrecords + __atomic_load_n(&loc->recorded, __ATOMIC_RELAXED);
    s->dropped += loc->dropped;
    s->lifted += loc->lifted;
    s->unmatched += loc->closed + loc->unmatched;
  }
  if (a->recording != NULL) add_stats(s, a->recording->head->count);
  pml__mutex_leave(&a->lock);
}

/* ---- life ---- */

static void free_location(struct pml_otf2_location *loc) {
  if (loc == NULL) return;
  free(loc->name);
  pml__otf2_series_free(loc->series);
  free(loc);
}

/* The archive takes over @loc. */
void pml__otf2_add_location(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  *a->end = loc;
  a->end = &loc->next;
  a->nlocations++;
}

struct pml_otf2_location *pml__otf2_location_new(void) {
  return calloc(1, sizeof(struct pml_otf2_location));
}

static struct pml_otf2_location *new_location(const struct pml_otf2 *a, const char *name,
                                              const struct pml__otf2_set *set) {
  struct pml_otf2_location *loc = pml__otf2_location_new();
  if (loc == NULL) return NULL;
  loc->set = set;
  loc->nmetrics = set->n;
  loc->ref = a->nlocations;
  loc->name = strdup(name);
  if (loc->name == NULL) {
    free_location(loc);
    return NULL;
  }
  return loc;
}

int pml__otf2_location_of(struct pml_otf2 *a, const char *name, struct pml__otf2_process *process,
                          const struct pml__otf2_set *set, struct pml_otf2_location **out) {
  *out = NULL;
  struct pml_otf2_location *loc = new_location(a, name, set);
  if (loc != NULL) loc->process = process;
  int err = loc == NULL ? pml_fail(-ENOMEM, "no memory for location '%s' of a trace", name)
                        : pml__otf2_create_location(a, loc);
  if (err < 0) {
    free_location(loc);
  } else {
    pml__otf2_add_location(a, loc);
    *out = loc;
  }
  return err;
}

/* Its events are in the archive's log, as of a thread whose tid is the location's reference. */
static int record(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  struct pml_recording *r = a->recording;
  int err = r == NULL ? pml__otf2_record(a, &r) : 0;
  if (err < 0 || r == NULL) return err;
  a->recording = r;
  r->head->nmetrics = (uint32_t)a->own.n;
  for (size_t i = 0; i < a->own.n && i < PML_STREAM_METRICS_MAX; i++)
    r->head->real[i / 64] |= (uint64_t)a->own.metric[i].real << i % 64;
  r->head->traced = 1;
  loc->process_number = pml__process();
  loc->buffer = pml__event_buffer_new(r, (uint32_t)loc->ref);
  return loc->buffer != NULL ? 0 : pml_fail(-ENOMEM, "no memory for location '%s' of a trace", loc->name);
}

static int add_location(struct pml_otf2 *a, const char *name, struct pml__otf2_process *process,
                        struct pml_otf2_location **out) {
  *out = NULL;
  if (name == NULL) return pml_fail(-EINVAL, "a location of a trace needs a name");
  int err = pml__otf2_here(a);
  if (err < 0) return err;
  pml__mutex_take(&a->lock);
  err = pml__otf2_location_of(a, name, process, &a->own, out);
  if (err == 0) err = record(a, *out);
  if (err < 0) *out = NULL;
  pml__mutex_leave(&a->lock);
  return err;
}

int pml_otf2_location(struct pml_otf2 *a, const char *name, struct pml_otf2_location **out) {
  return add_location(a, name, a->processes, out);
}

int pml__otf2_location_done(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  return remember(a, pml__otf2_close_writer(a, loc));
}

int pml__otf2_add_process(struct pml_otf2 *a, const char *name, const char *host, struct pml__otf2_process **out) {
  struct pml__otf2_process *p = calloc(1, sizeof *p);
  if (p != NULL) {
    p->name = strdup(name);
    p->host = strdup(host);
    p->ref = a->nprocesses++;
    *a->last_process = p;
    a->last_process = &p->next;
  }
  *out = p;
  return p != NULL && p->name != NULL && p->host != NULL ? 0 : pml_fail(-ENOMEM, "no memory for a process of a trace");
}

static int add_self(struct pml_otf2 *a) {
  char host[256], name[512];
  struct pml__otf2_process *self;
  snprintf(name, sizeof name, "%.400s (%ld)", program_invocation_short_name, (long)getpid());
  return pml__otf2_add_process(a, name, pml__otf2_machine(host, sizeof host), &self);
}

static void free_processes(struct pml_otf2 *a) {
  for (struct pml__otf2_process *p = a->processes, *next; p != NULL; p = next) {
    next = p->next;
    free(p->name);
    free(p->host);
    free(p);
  }
}

static void free_archive(struct pml_otf2 *a) {
  for (struct pml_otf2_location *loc = a->first, *next; loc != NULL; loc = next) {
    next = loc->next;
    free_location(loc);
  }
  pml__otf2_sets_free(a);
  pml__otf2_singles_free(a);
  free_processes(a);
  pml__otf2_teams_free(a->teams);
  free(a->region_ref);
  free(a->dir);
  pthread_mutex_destroy(&a->lock.mutex);
  free(a);
}

int pml__otf2_check_metrics(const struct pml_otf2_metric *metrics, size_t n) {
  if (n > PML__OTF2_METRICS_MAX)
    return pml_fail(-EINVAL, "a trace has at most %d metrics, not %zu", PML__OTF2_METRICS_MAX, n);
  for (size_t i = 0; i < n; i++) {
    if (metrics[i].name == NULL || metrics[i].name[0] == '\0')
      return pml_fail(-EINVAL, "metric %zu of the trace has no name", i + 1);
    if ((unsigned)metrics[i].mode >= PML_MODES)
      return pml_fail(-EINVAL, "metric '%s' of the trace has an unknown mode", metrics[i].name);
  }
  return 0;
}

static int new_archive(struct pml_otf2 **out, const char *dir) {
  struct pml_otf2 *a = calloc(1, sizeof *a);
  *out = a;
  if (a == NULL) return pml_fail(-ENOMEM, "no memory for a trace in '%s'", dir);
  a->pid = getpid();
  pthread_mutex_init(&a->lock.mutex, NULL);
  a->end = &a->first;
  a->last_process = &a->processes;
  a->dir = strdup(dir);
  return a->dir != NULL ? 0 : pml_fail(-ENOMEM, "no memory for a trace in '%s'", dir);
}

/* After a failure, frees everything; *@out is then NULL. */
static int opened(struct pml_otf2 **out, int err) {
  if (err == 0) err = pml__otf2_create(*out);
  if (err == 0) return 0;
  if (*out != NULL) free_archive(*out);
  *out = NULL;
  return err;
}

int pml_otf2_open(struct pml_otf2 **out, const char *dir, const struct pml_otf2_metric *metrics, size_t nmetrics) {
  *out = NULL;
  if (dir == NULL || dir[0] == '\0') return pml_fail(-EINVAL, "a trace needs a folder");
  int err = pml__otf2_check_metrics(metrics, nmetrics);
  if (err == 0) err = pml_clock_init();
  if (err == 0) err = new_archive(out, dir);
  if (err == 0) err = pml__otf2_fill_set(*out, &(*out)->own, metrics, nmetrics);
  if (err == 0) err = add_self(*out);
  if (err == 0) {
    (*out)->opened_ticks = pml_clock_ticks();
    (*out)->opened_realtime_ns = pml_clock_realtime_ns();
  }
  return opened(out, err);
}

int pml_otf2_foreign(struct pml_otf2 *a, const char *process, uint64_t realtime_ns) {
  char *name = strdup(process);
  if (name == NULL) return pml_fail(-ENOMEM, "no memory for the name of a process");
  free(a->processes->name);
  a->processes->name = name;
  a->in_ns = true;
  a->opened_ticks = 0;
  a->opened_realtime_ns = realtime_ns;
  return 0;
}

int pml_otf2_location_in(struct pml_otf2 *a, const char *process, const char *name, struct pml_otf2_location **out) {
  struct pml__otf2_process *p = a->processes; /* the single process */
  int err = 0;
  *out = NULL;
  if (a->first == NULL) err = pml_otf2_foreign(a, process, a->opened_realtime_ns);
  while (p->next != NULL && strcmp(p->name, process) != 0) p = p->next;
  if (err == 0 && strcmp(p->name, process) != 0) err = pml__otf2_add_process(a, process, a->processes->host, &p);
  return err == 0 ? add_location(a, name, p, out) : err;
}

int pml__otf2_open_logs(struct pml_otf2 **out, const char *dir) {
  int err = new_archive(out, dir);
  if (err == 0) (*out)->of_logs = (*out)->in_ns = true;
  return opened(out, err);
}

int pml__otf2_end(struct pml_otf2 *a) {
  pml__mutex_take(&a->lock);
  if (!a->of_logs) a->counted = pml_count_here();
  remember(a, pml__otf2_finish(a, pml__otf2_define));
  int err = first_error(a);
  pml__mutex_leave(&a->lock);
  free_archive(a);
  return err;
}
