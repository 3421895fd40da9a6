/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive.c - conversion of several processes' logs to one archive. */
#include "read/archive/pml_archive.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- clocks ---- */

static bool same_machine(const struct pml__archive_process *p, const struct pml__archive_process *q) {
  return strcmp(p->host, q->host) == 0 && pml__archive_clock_same(&p->own, &q->own);
}

/* The process whose clock is used for @p: on the same machine, the first rank that measured its clock, otherwise the
 * first process. */
static uint32_t keeper_of(const struct pml__archive *a, uint32_t p) {
  uint32_t first = p;
  for (uint32_t i = 0; i < a->nprocesses; i++) {
    if (!same_machine(&a->process[p], &a->process[i])) continue;
    if (a->process[i].own.noffsets > 0) return i;
    if (i < first) first = i;
  }
  return first;
}

static void set_clocks(struct pml__archive *a) {
  for (uint32_t i = 0; i < a->nprocesses; i++) {
    a->process[i].keeper = keeper_of(a, i);
    a->process[i].clock = &a->process[a->process[i].keeper].own;
  }
}

/* Time 0 is the beginning of the first process. */
static void set_origin(struct pml__archive *a) {
  a->origin_ns = UINT64_MAX;
  for (size_t i = 0; i < a->nprocesses; i++) {
    const struct pml__archive_process *p = &a->process[i];
    uint64_t began = pml__archive_ns(p, p->own.started_ticks);
    if (began < a->origin_ns) a->origin_ns = began;
  }
  a->otf2->opened_realtime_ns = a->origin_ns;
}

/* ---- locations ---- */

/* Add a location that represents all ranks without a log; @foreign: for ranks of other jobs. */
static int add_silent(struct pml__archive *a, bool foreign, const char *group, const char *name) {
  struct pml__otf2_process *p;
  struct pml_otf2_location *none;
  int err = pml__otf2_add_process(a->otf2, group, "unknown", &p);
  if (err == 0) err = pml__otf2_location_of(a->otf2, name, p, &a->otf2->own, &none);
  for (uint32_t i = 0; err == 0 && i < a->mpi.nranks; i++)
    if (a->of_rank[i] == UINT32_MAX && pml__archive_is_foreign(a, i) == foreign) a->mpi.location[i] = none->ref;
  return err;
}

static int add_missing(struct pml__archive *a) {
  int err = a->story->missing > 0 ? add_silent(a, false, "ranks without a log", "no log") : 0;
  return err == 0 && a->nforeign > 0 ? add_silent(a, true, "ranks of other jobs", "another job") : err;
}

/* Each child without a log has a location without events. */
static int add_children(const struct pml__archive_process *p, struct pml_otf2 *whole) {
  char name[512], thread[32];
  int err = 0;
  for (size_t i = 0; i < p->nchildren && err == 0; i++) {
    struct pml__otf2_process *group;
    struct pml_otf2_location *none;
    (void)snprintf(name, sizeof name, "%.400s (%d)", p->program, p->child[i]);
    (void)snprintf(thread, sizeof thread, "thread %d", p->child[i]);
    err = pml__otf2_add_process(whole, name, p->host, &group);
    if (err == 0) err = pml__otf2_location_of(whole, thread, group, &whole->own, &none);
  }
  return err;
}

static int write_events(struct pml__archive *a, uint32_t i, struct pml__archive_waits *waits) {
  struct pml__archive_process *p = &a->process[i];
  struct pml__archive_calls calls = {0};
  int err = pml__otf2_add_process(a->otf2, p->name, p->host, &p->group);
  if (err == 0) err = pml__archive_events(a, p, &calls);
  if (err == 0) err = pml__archive_waits_take(waits, a, i, &calls);
  free(calls.call);
  return err;
}

struct since {
  const struct pml__archive *a;
  const struct pml__archive_process *p;
};

/* Values from before the process began are omitted. */
static uint64_t time_since(uint64_t ticks, const void *arg) {
  const struct since *s = arg;
  return ticks >= s->p->own.started_ticks ? pml__archive_time(s->a, s->p, ticks) : PML__OTF2_NEVER;
}

static int write_series(const struct pml__archive *a, const struct pml__archive_process *p) {
  const struct since s = {a, p};
  int err = pml__otf2_series_of(a->otf2, p->log->path, p->group, time_since, &s);
  for (size_t i = 0; i < p->log->nseries && err == 0; i++)
    err = pml__otf2_series_of(a->otf2, p->log->series[i], p->group, time_since, &s);
  return err;
}

/* Threads have the first numbers, followed by ranks and children without a log, and series. */
static int write_all(struct pml__archive *a) {
  struct pml__archive_waits waits = {0};
  int err = 0;
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) err = write_events(a, i, &waits);
  if (err == 0) err = add_missing(a);
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) err = add_children(&a->process[i], a->otf2);
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) err = write_series(a, &a->process[i]);
  if (a->mpi.nranks > 0) a->otf2->mpi = &a->mpi;
  pml__archive_waits_end(&waits, a);
  return err;
}

/* ---- the processes ---- */

static int know_all(struct pml__archive *a, const struct pml_archive_log *log, size_t n) {
  a->process = calloc(n + 1, sizeof *a->process);
  if (a->process == NULL) return pml_fail(-ENOMEM, "no memory for %zu processes of a trace", n);
  int err = 0;
  while (a->nprocesses < n && err == 0) {
    struct pml__archive_process *p = &a->process[a->nprocesses++];
    err = pml__archive_know(p, &log[a->nprocesses - 1]);
    a->all += p->bytes;
  }
  return err;
}

static int prepare(struct pml__archive *a) {
  int err = pml__archive_order(a);
  if (err == 0) err = pml__archive_unite(a);
  if (err < 0) return err;
  a->story->processes = (uint32_t)a->nprocesses;
  set_clocks(a);
  if (a->mpi.nranks > 0) a->story->wait = calloc(a->mpi.nranks, sizeof *a->story->wait);
  if (a->mpi.nranks > 0 && a->story->wait == NULL) return pml_fail(-ENOMEM, "no memory for the ranks of a trace");
  err = pml__archive_correct(a);
  if (err == 0) set_origin(a);
  return err;
}

static int write_opened(struct pml__archive *a, const struct pml_archive_log *log, size_t n) {
  int err = know_all(a, log, n);
  if (err == 0) err = prepare(a);
  if (err == 0) err = write_all(a);
  int closed = pml__otf2_end(a->otf2);
  return err != 0 ? err : closed;
}

static int write_locked(struct pml__archive *a, const char *dir, const struct pml_archive_log *log, size_t n) {
  int err = pml__archive_lock(&a->lock, dir);
  if (err == 0) err = pml__archive_creates(&a->lock);
  if (err == 0) err = pml__otf2_open_logs(&a->otf2, dir);
  if (err == 0) err = write_opened(a, log, n);
  pml__archive_unlock(&a->lock, err != 0 && a->otf2 != NULL);
  return err;
}

static void forget(struct pml__archive *a) {
  for (size_t i = 0; i < a->nprocesses; i++) pml__archive_forget(&a->process[i]);
  free(a->process);
  pml__archive_disunite(a);
}

int pml_archive_write(const char *dir, const struct pml_archive_log *log, size_t n,
                      int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg,
                      struct pml_archive_story *story) {
  *story = (struct pml_archive_story){0};
  if (n == 0) return pml_fail(-EINVAL, "a trace needs a log");
  if (dir[0] == '\0') return pml_fail(-EINVAL, "a trace needs a folder");
  struct pml__archive a = {.story = story, .progress = progress, .progress_arg = arg, .lock.fd = -1};
  int err = pml_clock_init();
  if (err == 0) err = write_locked(&a, dir, log, n);
  if (err != 0) {
    free(story->wait);
    story->wait = NULL;
  }
  forget(&a);
  return err;
}
