/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/simulation/pml_simulated.c - costs of sections and other regions under callgrind, per thread.
 *
 * If the process runs under simulation (pml_sim.h) this file consumes enters and leaves from the time the library is
 * loaded. At each event the thread's counts are read: the increase since the previous event belongs to the innermost
 * region, exclusively, or to no region. So these parts add up to the total, however regions nest and recur. Inclusively
 * a region counts once, by its outermost call.
 *
 * When the process ends, the sums are written to a log in the folder PMLUA_SIM (docs/log.md).
 */
#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_process.h"
#include "base/pml_stream.h"
#include "record/log/pml_log.h"
#include "source/simulation/pml_sim_private.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PML_SIM_EVENTS == PML__LOG_SIMULATED_N, "the log has all events");

struct counts {
  uint64_t at[PML_SIM_EVENTS];
};

struct sum {
  uint64_t calls;
  uint32_t depth; /* open calls */
  uint32_t open;  /* calls that were never left */
  struct counts inclusive, exclusive;
};

struct frame {
  pml_region_t region;
  struct counts start; /* counts at the region's outermost call */
};

/* Data of one thread, which only this thread changes. */
struct stream {
  struct stream *next;
  uint32_t thread;
  bool broken; /* no memory, or no counts: its sums are incomplete */
  struct counts last;
  struct sum *sum; /* by region */
  uint32_t nsums;
  struct frame *frame;
  uint32_t nframes, room;
};

static struct pml__lock lock;
static struct stream *streams;
static uint64_t id;

/* ---- regions of a thread ---- */

static void *thread_begin(void *arg, uint64_t thread) {
  (void)arg;
  (void)thread;
  pml__sim_pause();
  struct stream *l = calloc(1, sizeof *l);
  if (l != NULL && pml__sim_read(l->last.at, &l->thread) < 0) l->broken = true;
  if (l != NULL) {
    pml__lock_take(&lock);
    l->next = streams;
    streams = l;
    pml__lock_leave(&lock);
  }
  pml__sim_resume();
  return l;
}

/* Make room for one more frame and for @region; returns false without memory. */
static bool make_room(struct stream *l, pml_region_t region) {
  return PML__ARRAY_ZEROS(l->sum, l->nsums, region + 1) && PML__ARRAY_ROOM(l->frame, l->room, l->nframes + 1);
}

static void add_difference(struct counts *to, const struct counts *now, const struct counts *before) {
  for (unsigned i = 0; i < PML_SIM_EVENTS; i++) to->at[i] += now->at[i] - before->at[i];
}

/* Add the counts since the previous boundary to the innermost region. */
static bool boundary(struct stream *l) {
  struct counts now = {{0}};
  /* lower than before: the program has reset callgrind's counts */
  if (l->broken || pml__sim_read(now.at, NULL) < 0 || now.at[PML_SIM_IR] < l->last.at[PML_SIM_IR]) {
    l->broken = true;
    return false;
  }
  if (l->nframes > 0) add_difference(&l->sum[l->frame[l->nframes - 1].region].exclusive, &now, &l->last);
  l->last = now;
  return true;
}

/* Whether it is the only section that is counted, if there is such a section. */
static bool is_the_one(pml_region_t region) {
  struct pml_region_info info;
  const char *section = pml__sim_section();
  return section != NULL && pml_region_describe(region, &info) == 0 && strcmp(info.name, section) == 0;
}

static void enter(void *data, const struct pml_stream_event *e) {
  struct stream *l = data;
  pml__sim_pause();
  if (boundary(l)) {
    if (make_room(l, e->region)) {
      l->frame[l->nframes++] = (struct frame){e->region, l->last};
      l->sum[e->region].calls++;
      if (l->sum[e->region].depth++ == 0 && is_the_one(e->region)) pml__sim_count(true);
    } else {
      l->broken = true;
    }
  }
  pml__sim_resume();
}

/* The stream's enters and leaves are nested, except regions entered before this consumer was added. */
static void leave(void *data, const struct pml_stream_event *e) {
  struct stream *l = data;
  pml__sim_pause();
  if (boundary(l) && l->nframes > 0 && l->frame[l->nframes - 1].region == e->region) {
    const struct frame *f = &l->frame[--l->nframes];
    struct sum *s = &l->sum[e->region];
    if (--s->depth == 0) {
      add_difference(&s->inclusive, &l->last, &f->start);
      if (is_the_one(e->region)) pml__sim_count(false);
    }
  }
  pml__sim_resume();
}

/* Regions still open when the thread ends, or the process on this thread, have their counts until then. */
static void close_open(struct stream *l) {
  if (!boundary(l)) return;
  while (l->nframes > 0) {
    const struct frame *f = &l->frame[--l->nframes];
    struct sum *s = &l->sum[f->region];
    s->open++;
    if (--s->depth == 0) add_difference(&s->inclusive, &l->last, &f->start);
  }
}

static void thread_end(void *arg, void *data) {
  struct stream *l = data;
  (void)arg;
  pml__sim_pause();
  if (l->nframes > 0) close_open(l);
  pml__sim_resume();
}

/* ---- log ---- */

/* The note contains the number of a thread with incomplete counts. */
static void note_broken(struct pml__log *log, const struct stream *l) {
  char thread[16];
  const char *const note[2] = {"simulation.broken", thread};
  (void)snprintf(thread, sizeof thread, "%u", l->thread);
  (void)pml__log_define(log, PML__LOG_NOTE, NULL, 0, note, 2);
}

static void log_counts(struct pml__log *log, pml_region_t region, const struct stream *l) {
  const struct sum *s = &l->sum[region];
  struct pml__log_simulated d = {region, l->thread, s->calls, s->depth + s->open, {0}, {0}};
  memcpy(d.inclusive, s->inclusive.at, sizeof d.inclusive);
  memcpy(d.exclusive, s->exclusive.at, sizeof d.exclusive);
  (void)pml__log_define(log, PML__LOG_SIMULATED, &d, sizeof d, NULL, 0);
}

/* No caller is left to handle a failure; readers find no log, or one without its end. */
static void leave_log(void) {
  struct pml__log *log;
  const struct pml__log_process p = {NULL, -1, -1, pml_clock_realtime_ns(), pml_clock_ticks()};
  if (pml__log_open(&log, secure_getenv("PMLUA_SIM"), &p) < 0) return;
  for (const struct stream *l = streams; l != NULL; l = l->next)
    if (l->broken) note_broken(log, l);
  for (pml_region_t r = 1; r <= pml_region_count(); r++) {
    bool first = true;
    for (const struct stream *l = streams; l != NULL; l = l->next) {
      if (r >= l->nsums || l->sum[r].calls == 0) continue;
      if (first) (void)pml__log_region(log, r);
      log_counts(log, r, l);
      first = false;
    }
  }
  pml__log_end(log);
  pml__log_close(log);
}

/* Called on the thread that ends the process; other threads may continue, but not in here. */
__attribute__((destructor)) static void finish(void) {
  uint32_t thread = 0;
  struct counts now;
  if (id == 0) return;
  pml__sim_pause();
  if (pml_stream_remove(id) == 0 && streams != NULL) {
    struct stream *l = pml__sim_read(now.at, &thread) == 0 ? streams : NULL;
    while (l != NULL && l->thread != thread) l = l->next;
    if (l != NULL && l->nframes > 0) close_open(l);
    leave_log();
  }
  pml__sim_resume();
}

/* ---- begin ---- */

static void consume(void) {
  static const struct pml_stream_consumer consumer = {

      .thread_begin = thread_begin, .thread_end = thread_end, .event = {enter, leave, NULL}, .name = "simulation"};
  if (pml_stream_add(&consumer, &id) < 0) id = 0;
}

/* In the child valgrind's counts and these sums start again, and the stream has no consumers. */
static void in_child(void) {
  streams = NULL;
  consume();
}

__attribute__((constructor)) static void begin(void) {
  if (pml_sim_available() < 0) return;
  consume();
  (void)pml__process_watch(in_child); /* after the stream's own, so that it runs later */
}
