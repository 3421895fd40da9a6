/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/simulation/pml_simulated.c - what sections and all other regions cost under callgrind, per thread.
 *
 * Where the process runs under simulation (pml_sim.h) this consumes enters and leaves from the time the library is
 * loaded, and nothing otherwise. At each of them the thread's counts are read: what was added since its last one
 * belongs to the innermost region, exclusively, or to none. So these parts add up to all that was counted, however
 * regions nest and recur. Inclusively a region counts once, by the outermost of its calls.
 *
 * When the process ends, PMLUA_SIM/regions.PID says so: a first line with a version, a line of the events' names, then
 * for each thread (as valgrind numbers it) and region: "region", thread, calls, calls that were not left, the name as
 * in section files, inclusive counts, exclusive counts, with tabs between them; "broken", thread, where counts are
 * missing; "end".
 */
#include "base/pml_file.h"
#include "base/pml_process.h"
#include "base/pml_stream.h"
#include "base/text/pml_text.h"
#include "source/simulation/pml_sim_private.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION "pmlua-simulated-regions 1"

struct counts {
  uint64_t at[PML_SIM_EVENTS];
};

struct sum {
  uint64_t calls;
  uint32_t depth; /* calls under way */
  uint32_t open;  /* calls that were never left */
  struct counts inclusive, exclusive;
};

struct frame {
  pml_region_t region;
  struct counts start; /* of the outermost call of the region; of others nobody asks */
};

/* Of one thread, which alone changes it. */
struct lane {
  struct lane *next;
  uint32_t thread;
  bool broken; /* no memory, or no counts: what it has is not all */
  struct counts last;
  struct sum *sum; /* by region */
  uint32_t nsums;
  struct frame *frame;
  uint32_t nframes, room;
};

static struct pml__lock lock;
static struct lane *lanes;
static uint64_t id;

/* ---- a thread's regions ---- */

static void *thread_begin(void *arg, uint64_t thread) {
  (void)arg;
  (void)thread;
  pml__sim_pause();
  struct lane *l = calloc(1, sizeof *l);
  if (l != NULL && pml__sim_read(l->last.at, &l->thread) < 0) l->broken = true;
  if (l != NULL) {
    pml__lock_take(&lock);
    l->next = lanes;
    lanes = l;
    pml__lock_leave(&lock);
  }
  pml__sim_resume();
  return l;
}

/* Room for one more frame and for @region; false: none. */
static bool make_room(struct lane *l, pml_region_t region) {
  if (region >= l->nsums) {
    uint32_t n = region < 64 ? 64 : region * 2;
    struct sum *sum = realloc(l->sum, n * sizeof *sum);
    if (sum == NULL) return false;
    memset(sum + l->nsums, 0, (n - l->nsums) * sizeof *sum);
    l->sum = sum;
    l->nsums = n;
  }
  if (l->nframes < l->room) return true;
  uint32_t n = l->room == 0 ? 16 : l->room * 2;
  struct frame *frame = realloc(l->frame, n * sizeof *frame);
  if (frame == NULL) return false;
  l->frame = frame;
  l->room = n;
  return true;
}

static void add_difference(struct counts *to, const struct counts *now, const struct counts *before) {
  for (unsigned i = 0; i < PML_SIM_EVENTS; i++) to->at[i] += now->at[i] - before->at[i];
}

/* A new boundary: what was since the last one is the innermost region's. */
static bool boundary(struct lane *l) {
  struct counts now = {{0}};
  /* Less than before: the program has callgrind begin anew. */
  if (l->broken || pml__sim_read(now.at, NULL) < 0 || now.at[PML_SIM_IR] < l->last.at[PML_SIM_IR]) {
    l->broken = true;
    return false;
  }
  if (l->nframes > 0) add_difference(&l->sum[l->frame[l->nframes - 1].region].exclusive, &now, &l->last);
  l->last = now;
  return true;
}

/* Whether it is the one section that is counted, if only one is. */
static bool is_the_one(pml_region_t region) {
  struct pml_region_info info;
  const char *section = pml__sim_section();
  return section != NULL && pml_region_describe(region, &info) == 0 && strcmp(info.name, section) == 0;
}

static void enter(void *data, const struct pml_stream_event *e) {
  struct lane *l = data;
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

/* The stream's enters and leaves are nested, but for regions that were entered before it had this consumer. */
static void leave(void *data, const struct pml_stream_event *e) {
  struct lane *l = data;
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

/* What is not left when the thread ends, or the process on this thread, has its counts until then. */
static void close_open(struct lane *l) {
  if (!boundary(l)) return;
  while (l->nframes > 0) {
    const struct frame *f = &l->frame[--l->nframes];
    struct sum *s = &l->sum[f->region];
    s->open++;
    if (--s->depth == 0) add_difference(&s->inclusive, &l->last, &f->start);
  }
}

static void thread_end(void *arg, void *data) {
  struct lane *l = data;
  (void)arg;
  pml__sim_pause();
  if (l->nframes > 0) close_open(l);
  pml__sim_resume();
}

/* ---- telling ---- */

static void tell_counts(struct pml__text *t, const struct counts *c) {
  for (unsigned i = 0; i < PML_SIM_EVENTS; i++) pml__text_add(t, "\t%llu", (unsigned long long)c->at[i]);
}

static void tell_lane(struct pml__text *t, const struct lane *l) {
  if (l->broken) {
    pml__text_add(t, "broken\t%u", l->thread);
    pml__text_end(t);
  }
  for (uint32_t r = 1; r < l->nsums; r++) {
    struct pml_region_info info;
    const struct sum *s = &l->sum[r];
    if (s->calls == 0 || pml_region_describe(r, &info) < 0) continue;
    pml__text_add(t, "region\t%u\t%llu\t%u", l->thread, (unsigned long long)s->calls, s->depth + s->open);
    pml__text_field(t, info.name);
    tell_counts(t, &s->inclusive);
    tell_counts(t, &s->exclusive);
    pml__text_end(t);
  }
}

static void tell(struct pml__text *t) {
  pml__text_add(t, VERSION);
  pml__text_end(t);
  pml__text_add(t, "events");
  for (unsigned i = 0; i < PML_SIM_EVENTS; i++) pml__text_field(t, pml_sim_name(i));
  pml__text_end(t);
  for (const struct lane *l = lanes; l != NULL; l = l->next) tell_lane(t, l);
  pml__text_add(t, "end"); /* without it the file is not whole */
  pml__text_end(t);
}

/* Nobody is left to be told of a failure; who reads misses the file, or its end. */
static void leave_file(void) {
  char path[PATH_MAX];
  struct pml__text t = {0};
  tell(&t);
  (void)snprintf(path, sizeof path, "%s/regions.%d", secure_getenv("PMLUA_SIM"), (int)getpid());
  (void)unlink(path); /* of a program that this process was before, or a link of somebody's */
  int fd = t.failed ? -1 : pml_file_new(path);
  for (size_t done = 0; fd >= 0 && done < t.n;) {
    ssize_t n = write(fd, t.at + done, t.n - done);
    if (n <= 0) break;
    done += (size_t)n;
  }
  if (fd >= 0) (void)close(fd);
  free(t.at);
}

/* Of the thread that ends the process; the others may go on, but not in here. */
__attribute__((destructor)) static void finish(void) {
  uint32_t thread = 0;
  struct counts now;
  if (id == 0) return;
  pml__sim_pause();
  if (pml_stream_remove(id) == 0 && lanes != NULL) {
    struct lane *l = pml__sim_read(now.at, &thread) == 0 ? lanes : NULL;
    while (l != NULL && l->thread != thread) l = l->next;
    if (l != NULL && l->nframes > 0) close_open(l);
    leave_file();
  }
  pml__sim_resume();
}

/* ---- beginning ---- */

static void consume(void) {
  static const struct pml_stream_consumer consumer = {

      .thread_begin = thread_begin, .thread_end = thread_end, .event = {enter, leave, NULL}, .name = "simulation"};
  if (pml_stream_add(&consumer, &id) < 0) id = 0;
}

/* Valgrind's counts begin anew in the child, and so do ours; the stream has forgotten its consumers. */
static void in_child(void) {
  lanes = NULL;
  consume();
}

__attribute__((constructor)) static void begin(void) {
  if (pml_sim_available() < 0) return;
  consume();
  (void)pml__process_watch(in_child); /* after the stream's own, so that it runs later */
}
