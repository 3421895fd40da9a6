/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive.c - conversion of several processes' logs to one archive. */
#include "substrate/archive/pml_archive.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/archive/pml_archive_part.h"
#include "substrate/archive/pml_archive_share.h"

#include <errno.h>
#include <stdio.h>
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

/* ---- the archive from its parts ---- */

/* A location that stands for all ranks without a log, @foreign: those of other jobs. */
static int add_silent(struct pml__archive *a, struct pml_otf2 *whole, bool foreign, const char *group,
                      const char *name) {
  struct pml__otf2_process *p;
  struct pml_otf2_location *none;
  int err = pml__otf2_add_process(whole, group, "unknown", &p);
  if (err == 0) err = pml__otf2_location_of(whole, name, p, &whole->own, &none);
  for (uint32_t i = 0; err == 0 && i < a->mpi.nranks; i++)
    if (a->of_rank[i] == UINT32_MAX && pml__archive_is_foreign(a, i) == foreign) a->mpi.location[i] = none->ref;
  return err;
}

static int add_missing(struct pml__archive *a, struct pml_otf2 *whole) {
  int err = a->story->missing > 0 ? add_silent(a, whole, false, "ranks without a log", "no log") : 0;
  return err == 0 && a->nforeign > 0 ? add_silent(a, whole, true, "ranks of other jobs", "another job") : err;
}

/* Children without a log have a location each, and no events. */
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

/* Threads have the first numbers, then ranks and children without a log, then series. */
static int first_series(const struct pml__archive *a, uint64_t *number) {
  int err = 0;
  *number = (a->story->missing != 0 ? 1u : 0u) + (a->nforeign != 0 ? 1u : 0u);
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) {
    uint64_t threads = 0;
    err = pml__archive_part_threads(a, i, &threads);
    *number += threads + a->process[i].nchildren;
  }
  return err;
}

static int take_all(struct pml__archive *a, struct pml__archive_merge *m) {
  int err = first_series(a, &m->series);
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) err = pml__archive_part_take(a, i, m);
  if (err == 0) err = add_missing(a, m->whole);
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) err = add_children(&a->process[i], m->whole);
  while (m->waiting != NULL) {
    struct pml_otf2_location *l = m->waiting;
    m->waiting = l->next;
    l->next = NULL;
    pml__otf2_add_location(m->whole, l);
  }
  if (a->mpi.nranks > 0) m->whole->mpi = &a->mpi;
  pml__archive_waits_end(&m->waits, a);
  return err;
}

static int unite_parts(struct pml__archive *a, const char *dir) {
  struct pml__archive_merge m = {.last = &m.waiting};
  int err = pml__archive_share_uniting(&a->share);
  if (err < 0) return err;
  err = pml__otf2_open_logs(&m.whole, dir, a->origin_ns);
  if (err < 0) return err;
  err = take_all(a, &m);
  if (err == 0) pml__archive_share_united(&a->share);
  int closed = pml_otf2_close(m.whole);
  return err != 0 ? err : closed;
}

/* ---- the parts ---- */

/* Another process may succeed where this one failed. */
static int write_claimed(struct pml__archive *a, uint32_t i) {
  int err = pml__archive_part_write(a, i);
  if (err != 0) pml__archive_yield(a);
  return err;
}

/* Write each part that no other process has claimed; adds their number to *@n. */
static int write_unclaimed(struct pml__archive *a, uint32_t *n) {
  int err = 0;
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++) {
    if (!pml__archive_claim(a, i)) continue;
    err = write_claimed(a, i);
    *n += err == 0;
  }
  return err;
}

static int write_parts(struct pml__archive *a) {
  uint32_t own = 0;
  int err = pml__archive_plan_write(a);
  if (err == 0) err = write_unclaimed(a, &own);
  for (uint32_t i = 0; i < a->nprocesses && err == 0; i++)
    if (!pml__archive_done(a, i)) err = pml__archive_part_write(a, i);
  return err;
}

/* ---- the plan ---- */

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

static int check_vacant(const char *dir) {
  struct pml_otf2 *o;
  int err = pml__otf2_new(&o, dir);
  if (err == 0) err = pml__otf2_vacant(o);
  if (o != NULL) pml__otf2_free(o);
  return err;
}

static int lead(struct pml__archive *a, const char *dir, const struct pml_archive_log *log, size_t n) {
  int err = pml__archive_share_open(&a->share, dir);
  if (err == 0) err = check_vacant(dir);
  if (err == 0) err = know_all(a, log, n);
  if (err == 0) err = prepare(a);
  if (err == 0) err = write_parts(a);
  if (err == 0) err = unite_parts(a, dir);
  pml__archive_share_close(&a->share);
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
  struct pml__archive a = {.story = story, .progress = progress, .progress_arg = arg, .share.lock = -1};
  int err = pml_clock_init();
  if (err == 0) err = lead(&a, dir, log, n);
  if (err != 0) {
    free(story->wait);
    story->wait = NULL;
  }
  forget(&a);
  return err;
}

int pml_archive_help(const char *dir, uint64_t wait_ns, uint32_t *written) {
  struct pml_archive_story story = {0};
  struct pml__archive a = {.story = &story, .share.lock = -1};
  *written = 0;
  int err = pml_clock_init();
  if (err == 0) err = pml__archive_share_await(&a.share, dir, wait_ns);
  if (err == 0) err = pml__archive_plan_read(&a);
  if (err == 0) err = write_unclaimed(&a, written);
  forget(&a);
  return err;
}
