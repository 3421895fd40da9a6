/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_flusher.c - background thread that flushes a trace. */
#include "substrate/trace/pml_otf2_location.h"
#include "substrate/trace/pml_otf2_write.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PIECE 4096u    /* records per hold of the archive's lock, some 0.8 ms: a new location waits no longer */
#define PAUSE_NS 50000 /* pause between pieces, in which waiting threads get the lock */
#define NS_LEAST 100000u

struct pml__otf2_flusher {
  struct pml_otf2 *archive;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards the following fields */
  pthread_cond_t wake;
  uint64_t every_ns; /* 0: the thread ends */
};

static struct timespec later(uint64_t ns) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  ns += (uint64_t)t.tv_nsec;
  return (struct timespec){t.tv_sec + (time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* Returns whether there is more. From a location that fills its ring during the flush, at most one ring is taken. */
static bool flush_piece(struct pml_otf2 *a, struct pml_otf2_location **at, uint64_t *taken) {
  struct pml_otf2_location *loc = *at;
  bool more = pml__otf2_drain(a, loc, PIECE) && (*taken += PIECE) < a->capacity;
  if (more) return true;
  *at = loc->next;
  *taken = 0;
  return *at != NULL;
}

/* Locations are added at the end of the list, and stay until the archive is closed. */
static void flush_in_pieces(struct pml_otf2 *a) {
  static const struct timespec pause = {0, PAUSE_NS};
  uint64_t taken = 0;
  pml__mutex_take(&a->lock);
  struct pml_otf2_location *loc = a->first;
  bool more = loc != NULL;
  while (more) {
    struct pml_otf2_location *before = loc;
    more = flush_piece(a, &loc, &taken);
    if (!more || loc != before) continue;
    pml__mutex_leave(&a->lock);
    (void)nanosleep(&pause, NULL);
    pml__mutex_take(&a->lock);
  }
  pml__mutex_leave(&a->lock);
}

static void *run(void *arg) {
  struct pml__otf2_flusher *f = arg;
  pthread_mutex_lock(&f->mutex);
  while (f->every_ns != 0) {
    struct timespec until = later(f->every_ns);
    if (pthread_cond_timedwait(&f->wake, &f->mutex, &until) != ETIMEDOUT) continue; /* woken by a change */
    pthread_mutex_unlock(&f->mutex);
    flush_in_pieces(f->archive);
    pthread_mutex_lock(&f->mutex);
  }
  pthread_mutex_unlock(&f->mutex);
  return NULL;
}

static void tell(struct pml__otf2_flusher *f, uint64_t every_ns) {
  pthread_mutex_lock(&f->mutex);
  f->every_ns = every_ns;
  pthread_cond_signal(&f->wake);
  pthread_mutex_unlock(&f->mutex);
}

static void drop(struct pml__otf2_flusher *f) {
  pthread_cond_destroy(&f->wake);
  pthread_mutex_destroy(&f->mutex);
  free(f);
}

static int start(struct pml_otf2 *a, uint64_t every_ns) {
  struct pml__otf2_flusher *f = calloc(1, sizeof *f);
  if (f == NULL) return pml_fail(-ENOMEM, "no memory for the thread that flushes the trace '%s'", a->dir);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&f->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&f->mutex, NULL);
  f->archive = a;
  f->every_ns = every_ns;
  int err = pml__thread_start(&f->thread, run, f);
  if (err < 0) {
    drop(f);
    return pml_fail(err, "cannot start the thread that flushes the trace '%s': %s", a->dir, pml_error_text(err));
  }
  a->flusher = f;
  return 0;
}

void pml__otf2_flusher_stop(struct pml_otf2 *a) {
  struct pml__otf2_flusher *f = a->flusher;
  if (f == NULL) return;
  tell(f, 0);
  pthread_join(f->thread, NULL);
  drop(f);
  a->flusher = NULL;
}

int pml_otf2_flush_every(struct pml_otf2 *a, uint64_t ns) {
  int err = pml__otf2_here(a);
  if (err < 0) return err;
  if (ns > 0 && ns < NS_LEAST) ns = NS_LEAST;
  if (ns == 0)
    pml__otf2_flusher_stop(a);
  else if (a->flusher != NULL)
    tell(a->flusher, ns);
  else
    err = start(a, ns);
  return err;
}
