/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_workers.c - distribution of locations to threads. */
#include "read/otf2/pml_otf2_workers.h"

#include "base/pml_error.h"
#include "read/otf2/write/pml_otf2_error.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* A thread reads at least this number of events, because starting a thread takes as long. */
#define EVENTS_OF_A_THREAD ((uint64_t)1 << 17)

struct worker {
  struct pml_otf2_read *trace;
  const struct pml__otf2_reading *how;
  void *state;
  size_t *location, n; /* [n] its locations */
  uint64_t load, events;
  size_t damaged;
  int err, why; /* why: code of the first damaged location */
  pthread_t thread;
  bool started;
  char said[PML_FAILURE_BYTES];
};

/* ---- number of workers ---- */

static unsigned cpus(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

unsigned pml__otf2_workers(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  uint64_t events = 0, locations = 0;
  for (size_t i = 0; i < t->locations.n; i++) {
    if (!pml__otf2_asked(t, q, i)) continue;
    events += pml_otf2_read_location(t, i)->events;
    locations++;
  }
  uint64_t most = q->threads != 0 ? q->threads : events / EVENTS_OF_A_THREAD + 1;
  if (q->threads == 0 && most > cpus()) most = cpus();
  if (most > locations) most = locations;
  return most < 1 ? 1 : most < PML__OTF2_WORKERS_MAX ? (unsigned)most : PML__OTF2_WORKERS_MAX;
}

/* ---- distribution of locations ---- */

struct share {
  uint64_t events;
  size_t location;
};

static int by_events(const void *a, const void *b) {
  const struct share *x = a, *y = b;
  if (x->events != y->events) return x->events > y->events ? -1 : 1;
  return (x->location > y->location) - (x->location < y->location);
}

static int by_place(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* Locations by their number of events, the largest first; *n: their number. */
static struct share *shares_of(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t *n) {
  struct share *share = calloc(t->locations.n + 1, sizeof *share);
  *n = 0;
  for (size_t i = 0; share != NULL && i < t->locations.n; i++)
    if (pml__otf2_asked(t, q, i)) share[(*n)++] = (struct share){pml_otf2_read_location(t, i)->events, i};
  if (*n > 0) qsort(share, *n, sizeof *share, by_events);
  return share;
}

static bool deal(struct worker *w, unsigned workers, const struct pml_otf2_question *q) {
  size_t n, room;
  struct share *share = shares_of(w->trace, q, &n);
  bool done = share != NULL;
  room = workers == 1 ? n : n - workers + 1; /* each worker has at least one */
  for (unsigned k = 0; done && k < workers; k++) {
    w[k].location = calloc(room + 1, sizeof *w[k].location);
    done = w[k].location != NULL;
  }
  for (size_t i = 0; done && i < n; i++) {
    struct worker *least = w;
    for (unsigned k = 1; k < workers; k++)
      if (w[k].load < least->load || (w[k].load == least->load && w[k].n < least->n)) least = &w[k];
    least->location[least->n++] = share[i].location;
    least->load += share[i].events;
  }
  for (unsigned k = 0; done && k < workers; k++)
    if (w[k].n > 0) qsort(w[k].location, w[k].n, sizeof *w[k].location, by_place);
  free(share);
  return done;
}

/* ---- one worker ---- */

static void keep(struct worker *w, int err) {
  (void)snprintf(w->said, sizeof w->said, "%s", pml_error_detail(err));
}

static int read_location(struct worker *w, size_t i) {
  struct pml__otf2_location_read read = {0};
  w->how->begin(w->state, i);
  int err = pml__otf2_read_events(w->trace, i, w->how->callbacks, w->state, &read.events);
  if (err < 0 && !pml__otf2_is_damage(err)) return err;
  read.damaged = err < 0;
  w->events += read.events;
  if (err < 0 && w->damaged++ == 0) {
    w->why = err;
    keep(w, err);
  }
  return w->how->end(w->state, i, &read);
}

static void *work(void *arg) {
  struct worker *w = arg;
  for (size_t i = 0; i < w->n && w->err == 0; i++) w->err = read_location(w, w->location[i]);
  if (w->err < 0) keep(w, w->err);
  return NULL;
}

/* ---- all of them ---- */

static void start(struct worker *w, unsigned workers) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
  for (unsigned k = 1; k < workers; k++) w[k].started = pthread_create(&w[k].thread, NULL, work, &w[k]) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void end(struct worker *w, unsigned workers) {
  for (unsigned k = 1; k < workers; k++) {
    if (w[k].started)
      (void)pthread_join(w[k].thread, NULL);
    else
      (void)work(&w[k]);
  }
  pml__otf2_forget();
}

/* The first failure; damage is a failure only if no event could be read. */
static int result(const struct worker *w, unsigned workers) {
  uint64_t events = 0;
  const struct worker *damaged = NULL;
  for (unsigned k = 0; k < workers; k++) {
    if (w[k].err < 0) return pml_fail(w[k].err, "%s", w[k].said);
    events += w[k].events;
    if (damaged == NULL && w[k].damaged > 0) damaged = &w[k];
  }
  return events == 0 && damaged != NULL ? pml_fail(damaged->why, "%s", damaged->said) : 0;
}

int pml__otf2_read_locations(struct pml_otf2_read *t, const struct pml_otf2_question *q, unsigned workers,
                             const struct pml__otf2_reading *how) {
  if (t->reading) return pml__otf2_busy(t);
  struct worker *w = calloc(workers, sizeof *w);
  bool done = w != NULL;
  for (unsigned k = 0; done && k < workers; k++)
    w[k] = (struct worker){.trace = t, .how = how, .state = (char *)how->state + k * how->size};
  if (done) done = deal(w, workers, q);
  int err = -ENOMEM;
  if (done) {
    start(w, workers);
    (void)work(w);
    end(w, workers);
    err = result(w, workers);
  }
  for (unsigned k = 0; w != NULL && k < workers; k++) free(w[k].location);
  free(w);
  return done ? err : pml_fail(err, "%.300s: no memory to read it", t->path);
}
