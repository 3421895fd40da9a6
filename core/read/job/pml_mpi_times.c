/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/job/pml_mpi_times.c - time in a process's message calls by message size, from the events in
 * its log. It also counts the events that were written without being counted. */
#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/pml_mpi_traffic.h"
#include "base/pml_array.h"
#include "read/job/pml_mpi_reduction.h"
#include "read/log/pml_log_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX (1u << 20)
#define FIRST_EVENT (sizeof(struct pml__log_buffer) / sizeof(struct pml__log_event))

/* An immediate send or receive. */
struct request {
  struct pml__mpi_entry entry;
  double ticks;   /* for a receive: time in calls before its size was known */
  uint32_t class; /* for a send: class of its size */
  bool sent;
};
_Static_assert(sizeof(struct request) <= PML__MPI_ENTRY_BYTES, "an entry has room for it");

struct call {
  uint64_t entered;
  bool of_mpi;
};

/* The cells that get equal shares of the time of the call at @depth when it ends. */
struct shares {
  double **to;
  size_t n, capacity, depth;
};

struct thread {
  struct call *call; /* [depth] open calls */
  size_t depth, capacity;
  struct shares shares;
};

struct reading {
  struct pml__log_reader log;
  bool *of_mpi; /* [nregions] */
  uint32_t nregions;
  struct thread *thread; /* [nthreads] by number */
  size_t nthreads;
  struct pml__mpi_table requests;
  double ticks[PML__MPI_DIRECTIONS][PML__MPI_CLASSES];
};

/* ---- functions of MPI ---- */

static int take_region(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct reading *r = arg;
  struct pml__log_named_region d;
  if (what != PML__LOG_REGION || !pml__log_region_of(at, bytes, &d) || strcmp(d.kind, PML__REGION_MPI) != 0) return 0;
  if (!PML__ARRAY_ZEROS(r->of_mpi, r->nregions, d.region + 1)) return -ENOMEM;
  r->of_mpi[d.region] = true;
  return 0;
}

/* ---- messages ---- */

static double *cell_of(struct reading *r, enum pml__mpi_direction way, uint64_t bytes) {
  return &r->ticks[way][pml__mpi_class(pml__log_bytes(bytes))];
}

/* The innermost call has a message: add the cell @to of its time. */
static int share(struct thread *t, double *to) {
  struct shares *s = &t->shares;
  if (s->depth != t->depth) s->n = 0;
  if (!PML__ARRAY_ROOM(s->to, s->capacity, s->n + 1)) return -ENOMEM;
  s->depth = t->depth;
  s->to[s->n++] = to;
  return 0;
}

/* Ids begin at 1, keys at PML__MPI_LEFT + 1. */
static struct request *request_of(struct reading *r, uint64_t id) {
  return id < UINT64_MAX ? pml__mpi_find(&r->requests, id + PML__MPI_LEFT) : NULL;
}

static struct request *new_request(struct reading *r, uint64_t id, bool sent, uint64_t bytes) {
  if (id == 0 || id == UINT64_MAX) return NULL;
  struct request *q = pml__mpi_add_anew(&r->requests, id + PML__MPI_LEFT);
  if (q == NULL) return NULL;
  q->ticks = 0;
  q->sent = sent;
  q->class = pml__mpi_class(pml__log_bytes(bytes));
  pml__mpi_publish(&q->entry);
  return q;
}

static double *cell_of_request(struct reading *r, struct request *q) {
  return q->sent ? &r->ticks[PML__MPI_SENT][q->class] : &q->ticks;
}

static int complete_receive(struct reading *r, struct thread *t, const uint64_t *v) {
  struct request *q = request_of(r, v[3]);
  double *cell = cell_of(r, PML__MPI_RECEIVED, v[2]);
  if (q != NULL) {
    *cell += q->ticks;
    pml__mpi_remove(&q->entry);
  }
  return share(t, cell);
}

/* Handle a completed send, a tested request, or a request that ends without a message. */
static int take_request(struct reading *r, struct thread *t, uint32_t what, uint64_t id) {
  struct request *q = request_of(r, id);
  if (q == NULL) return 0;
  int err = what != PML__LOG_REQUEST_CANCELLED ? share(t, cell_of_request(r, q)) : 0;
  if (what != PML__LOG_REQUEST_TESTED) pml__mpi_remove(&q->entry);
  return err;
}

static int take_message(struct reading *r, struct thread *t, uint32_t what, uint32_t n, const uint64_t *v) {
  static const uint8_t values[] = {[PML__LOG_SEND] = 3,           [PML__LOG_ISEND] = 4,
                                   [PML__LOG_ISEND_COMPLETE] = 1, [PML__LOG_IRECV] = 1,
                                   [PML__LOG_RECEIVE] = 3,        [PML__LOG_IRECV_COMPLETE] = 4,
                                   [PML__LOG_REQUEST_TESTED] = 1, [PML__LOG_REQUEST_CANCELLED] = 1};
  struct request *q;
  if (what >= sizeof values || values[what] == 0 || n < values[what]) return 0;
  if (t->depth == 0 || !t->call[t->depth - 1].of_mpi) return 0;
  switch (what) {
  case PML__LOG_ISEND:
    (void)new_request(r, v[3], true, v[2]);
    return share(t, cell_of(r, PML__MPI_SENT, v[2]));
  case PML__LOG_SEND:
    return share(t, cell_of(r, PML__MPI_SENT, v[2]));
  case PML__LOG_IRECV:
    q = new_request(r, v[0], false, 0);
    return q != NULL ? share(t, &q->ticks) : 0;
  case PML__LOG_RECEIVE:
    return share(t, cell_of(r, PML__MPI_RECEIVED, v[2]));
  case PML__LOG_IRECV_COMPLETE:
    return complete_receive(r, t, v);
  default:
    return take_request(r, t, what, v[0]);
  }
}

/* ---- calls ---- */

static int enter(const struct reading *r, struct thread *t, const struct pml__log_event *e) {
  uint32_t region = (uint32_t)e->word;
  if (!PML__ARRAY_ROOM(t->call, t->capacity, t->depth + 1)) return -ENOMEM;
  t->call[t->depth++] = (struct call){e->ticks, region < r->nregions && r->of_mpi[region]};
  return 0;
}

static void leave(struct thread *t, uint64_t ticks) {
  struct shares *s = &t->shares;
  if (t->depth == 0) return;
  uint64_t entered = t->call[t->depth - 1].entered;
  for (size_t i = 0; s->depth == t->depth && i < s->n; i++)
    *s->to[i] += ticks > entered ? (double)(ticks - entered) / (double)s->n : 0;
  if (s->depth == t->depth) s->n = 0;
  t->depth--;
}

static struct thread *thread_at(struct reading *r, uint64_t number) {
  if (number >= THREADS_MAX || !PML__ARRAY_ZEROS(r->thread, r->nthreads, number + 1)) return NULL;
  return &r->thread[number];
}

static int take_event(struct reading *r, struct thread *t, const struct pml__log_event *e) {
  uint32_t low = (uint32_t)e->word, n;
  uint64_t v[PML__LOG_CALL_VALUES];
  if (PML__LOG_IS_WHOLE(e->word)) return 0; /* it contains no messages */
  switch (e->word >> 32) {
  case PML__LOG_ENTER:
    return enter(r, t, e);
  case PML__LOG_LEAVE:
  case PML__LOG_LEFT:
    leave(t, e->ticks);
    return 0;
  case PML__LOG_COMMUNICATION:
    return take_message(r, t, PML__LOG_COMMUNICATED_WHAT(low), PML__LOG_COMMUNICATED_N(low), (const uint64_t *)(e + 1));
  case PML__LOG_CALL_COMMUNICATION:
    n = pml__log_call_values(e, v);
    if (n > 0) pml__mpi_count(low, v); /* not counted when it was written */
    return take_message(r, t, PML__LOG_COMMUNICATED_WHAT(low), n, v);
  default:
    return 0;
  }
}

/* The extent contains its thread's number; an event may name another thread. */
static int take_events(struct reading *r, uint64_t number, const struct pml__log_event *at,
                       const struct pml__log_event *end) {
  struct thread *t = thread_at(r, number);
  int err = 0;
  while (at < end && at->word != 0 && t != NULL && err == 0) {
    size_t values = pml__log_values_behind(at->word);
    if (values >= (size_t)(end - at)) break;
    if (at->word >> 32 == PML__LOG_THREAD)
      t = thread_at(r, (uint32_t)at->word);
    else
      err = take_event(r, t, at);
    at += 1 + values;
  }
  return err;
}

static int take_extents(struct reading *r) {
  int err = pml__log_read_definitions(&r->log, take_region, r);
  for (size_t i = 0; i < r->log.n && err == 0; i++) {
    uint64_t bytes;
    if (r->log.entry[i].kind != PML__LOG_EVENTS) continue;
    struct pml__log_event *events = pml__log_read_extent(&r->log, i, &bytes, &err);
    size_t n = (size_t)(events != NULL ? bytes : 0) / sizeof *events;
    if (n > FIRST_EVENT) err = take_events(r, r->log.entry[i].owner, events + FIRST_EVENT, events + n);
    free(events);
  }
  return err;
}

/* ---- all ---- */

static int add_times(const struct reading *r, struct pml_summary *s, int64_t rank) {
  static const char *const name[PML__MPI_DIRECTIONS] = {"time sent", "time received"};
  int err = 0;
  for (unsigned way = 0; way < PML__MPI_DIRECTIONS && err == 0; way++) {
    uint64_t ns[PML__MPI_CLASSES];
    for (unsigned i = 0; i < PML__MPI_CLASSES; i++) {
      double v = r->ticks[way][i] * (1e9 / r->log.head.ticks_per_second);
      ns[i] = v < 0x1p63 ? (uint64_t)(v + 0.5) : INT64_MAX;
    }
    err = pml__mpi_classes_summary(s, name[way], ns, (int)rank);
  }
  return err;
}

static void free_all(struct reading *r) {
  for (size_t i = 0; i < r->nthreads; i++) {
    free(r->thread[i].call);
    free(r->thread[i].shares.to);
  }
  free(r->thread);
  free(r->of_mpi);
  pml__mpi_drop(&r->requests);
  pml__log_read_close(&r->log);
}

int pml_mpi_times_summary(struct pml_summary *s, int64_t rank, const char *path) {
  struct reading *r = calloc(1, sizeof *r);
  if (r == NULL) return -ENOMEM;
  int err = pml__log_read_open(&r->log, path);
  if (err == 0) err = take_extents(r);
  if (err == 0) err = add_times(r, s, rank);
  free_all(r);
  free(r);
  return err;
}
