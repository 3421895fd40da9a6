/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_archive.c - the steps by which logs of several processes become one archive. */
#include "substrate/trace/pml_archive.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/trace/pml_archive_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- clocks ---- */

static bool same_machine(const struct pml__archive_process *p, const struct pml__archive_process *q) {
  return strcmp(p->host, q->host) == 0 && pml__archive_clock_same(&p->own, &q->own);
}

/* The process whose clock @p goes by: of its machine, the first rank that measured, or else the first process. */
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

/* The first process's beginning is time 0. */
static void set_origin(struct pml__archive *a) {
  a->origin_ns = UINT64_MAX;
  for (size_t i = 0; i < a->nprocesses; i++) {
    const struct pml__archive_process *p = &a->process[i];
    uint64_t began = pml__archive_ns(p, p->own.started_ticks);
    if (began < a->origin_ns) a->origin_ns = began;
  }
}

/* ---- the archive ---- */

/* The location of ranks without a log. */
static int add_missing(struct pml__archive *a) {
  struct pml__otf2_process *p;
  struct pml_otf2_location *none;
  if (a->story->missing == 0) return 0;
  int err = pml__otf2_add_process(a->otf2, "ranks without a log", "unknown", &p);
  if (err == 0) err = pml__otf2_location_of(a->otf2, "no log", p, &a->otf2->own, &none);
  for (uint32_t i = 0; err == 0 && i < a->mpi.nranks; i++)
    if (a->of_rank[i] == UINT32_MAX) a->mpi.location[i] = none->ref;
  return err;
}

struct since {
  const struct pml__archive *a;
  const struct pml__archive_process *p;
};

/* What was measured before the process began is of no interest. */
static uint64_t time_since(uint64_t ticks, const void *arg) {
  const struct since *s = arg;
  return ticks >= s->p->own.started_ticks ? pml__archive_time(s->a, s->p, ticks) : PML__OTF2_NEVER;
}

static int write_series(struct pml__archive *a, const struct pml__archive_process *p, struct pml__otf2_process *in) {
  const struct since s = {a, p};
  int err = pml__otf2_series_of(a->otf2, p->log->path, in, time_since, &s);
  for (size_t i = 0; i < p->log->nseries && err == 0; i++)
    err = pml__otf2_series_of(a->otf2, p->log->series[i], in, time_since, &s);
  return err;
}

static int write_process(struct pml__archive *a, struct pml__archive_process *p) {
  struct pml__otf2_process *in;
  int err = pml__otf2_add_process(a->otf2, p->name, p->host, &in);
  return err == 0 ? pml__archive_events(a, p, in) : err;
}

/* Series come last: threads have the first numbers. */
static int write_all(struct pml__archive *a) {
  int err = 0;
  for (size_t i = 0; i < a->nprocesses && err == 0; i++) err = write_process(a, &a->process[i]);
  if (err == 0) err = add_missing(a);
  const struct pml__archive_process *p = a->process;
  for (struct pml__otf2_process *in = a->otf2->processes; err == 0 && p < a->process + a->nprocesses; in = in->next)
    err = write_series(a, p++, in);
  if (a->mpi.nranks > 0) a->otf2->mpi = &a->mpi;
  return err;
}

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
  err = pml__archive_correct(a);
  if (err == 0) set_origin(a);
  return err;
}

static int write_archive(struct pml__archive *a, const char *dir) {
  int err = pml__otf2_open_logs(&a->otf2, dir, a->origin_ns);
  if (err < 0) return err;
  err = write_all(a);
  int closed = pml_otf2_close(a->otf2);
  return err != 0 ? err : closed;
}

int pml_archive_write(const char *dir, const struct pml_archive_log *log, size_t n,
                      int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg,
                      struct pml_archive_story *story) {
  *story = (struct pml_archive_story){0};
  if (n == 0) return pml_fail(-EINVAL, "a trace needs a log");
  struct pml__archive a = {.story = story, .progress = progress, .progress_arg = arg};
  int err = know_all(&a, log, n);
  if (err == 0) err = prepare(&a);
  if (err == 0) err = write_archive(&a, dir);
  for (size_t i = 0; i < a.nprocesses; i++) pml__archive_forget(&a.process[i]);
  free(a.process);
  pml__archive_disunite(&a);
  return err;
}
