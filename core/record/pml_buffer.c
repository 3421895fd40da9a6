/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_buffer.c - per-thread rings of events, drained by a reader. */
#include "record/pml_buffer_ring.h"

#include "base/pml_cancel.h"
#include "base/pml_error.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_MIN 256u
#define DROPPED PML__BUFFER_DROPPED

struct pml_buffer {
  struct pml__mutex lock; /* rings, and draining them */
  struct pml__buffer_ring *rings;
  struct pml__buffer_ring *at; /* where the last drain ended early */
  uint64_t capacity, consumer;
  uint32_t nrings, most;
  uint64_t refused;
  pid_t pid;
  uint64_t out[PML_REGIONS_MAX / 64]; /* atomic: a bit for each region that is left out */
};

/* ---- filling ---- */

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (pml__buffer_is_out(r, e->region)) return;
  if (PML_UNLIKELY(r->depth == PML_BUFFER_DEPTH_MAX)) {
    r->overflow++;
    pml__own_add(&r->dropped, 1);
    return;
  }
  bool inside =
      r->depth > 0 && (r->open[r->depth - 1] & DROPPED) != 0; /* a call inside a dropped one is also dropped */
  if (PML_UNLIKELY(inside || !pml__ring_has_room(&r->ring, pml__buffer_slots(e) + 1))) {
    r->open[r->depth++] = e->region | DROPPED;
    pml__own_add(&r->dropped, 1);
    return;
  }
  pml__buffer_put(r, PML__LOG_ENTER, e, e->metrics != NULL, 0);
  r->ring.budget++;
  r->open[r->depth++] = e->region;
}

/* As in event buffers: only the innermost open region can be left. */
static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (PML_UNLIKELY(r->overflow > 0)) {
    if (pml__buffer_is_out(r, e->region)) return;
    r->overflow--;
    pml__own_add(&r->dropped, 1);
    return;
  }
  if (PML_UNLIKELY(r->depth == 0 || (r->open[r->depth - 1] & ~DROPPED) != e->region)) {
    if (!pml__buffer_is_out(r, e->region)) pml__own_add(&r->unmatched, 1);
    return;
  }
  if (PML_UNLIKELY((r->open[--r->depth] & DROPPED) != 0)) {
    pml__own_add(&r->dropped, 1);
    return;
  }
  pml__buffer_put(r, PML__LOG_LEAVE, e, e->metrics != NULL && pml__ring_has_room(&r->ring, pml__buffer_slots(e) - 1),
                  1);
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  struct pml__buffer_ring *r = data;
  if (pml__buffer_is_out(r, e->region)) return;
  if (pml__ring_has_room(&r->ring, pml__buffer_slots(e)))
    pml__buffer_put(r, PML__LOG_METRIC, e, e->metrics != NULL, 0);
  else
    pml__own_add(&r->dropped, 1);
}

/* ---- threads ---- */

static void free_ring(struct pml__buffer_ring *r) {
  if (r == NULL) return;
  free(r->ring.slot);
  free(r->open);
  free(r);
}

static struct pml__buffer_ring *new_ring(struct pml_buffer *b) {
  if (b->nrings == b->most) return NULL;
  struct pml__buffer_ring *r = aligned_alloc(PML__RING_LINE, sizeof *r);
  if (r == NULL) return NULL;
  *r = (struct pml__buffer_ring){.out = b->out};
  r->ring.mask = b->capacity - 1;
  r->ring.limit = b->capacity;
  r->ring.tail = &r->tail;
  r->ring.slot = calloc(b->capacity, sizeof *r->ring.slot);
  r->open = calloc(PML_BUFFER_DEPTH_MAX, sizeof *r->open);
  if (r->ring.slot == NULL || r->open == NULL) {
    free_ring(r);
    return NULL;
  }
  r->next = b->rings;
  b->rings = r;
  b->nrings++;
  return r;
}

/* A ring of a thread that ended, whose events were read. */
static struct pml__buffer_ring *idle_ring(struct pml_buffer *b) {
  struct pml__buffer_ring *r = b->rings;
  while (r != NULL && !r->idle) r = r->next;
  if (r == NULL) return NULL;
  r->idle = false;
  r->depth = r->reading = 0;
  r->ring.budget = r->ring.head;
  r->overflow = 0;
  __atomic_store_n(&r->ended, 0, __ATOMIC_RELAXED);
  return r;
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_buffer *b = arg;
  pml__mutex_take(&b->lock);
  struct pml__buffer_ring *r = idle_ring(b);
  if (r == NULL) r = new_ring(b);
  if (r != NULL)
    r->thread = thread;
  else
    b->refused++;
  pml__mutex_leave(&b->lock);
  return r;
}

static void thread_end(void *arg, void *data) {
  (void)arg;
  __atomic_store_n(&((struct pml__buffer_ring *)data)->ended, 1, __ATOMIC_RELEASE);
}

/* ---- draining ---- */

/* The event at @at; how many slots it takes. */
static uint64_t read_event(struct pml__buffer_ring *r, uint64_t at, struct pml_buffer_event *e, uint64_t *values) {
  static const enum pml_stream_kind kinds[] = {
      [PML__LOG_ENTER] = PML_STREAM_ENTER, [PML__LOG_LEAVE] = PML_STREAM_LEAVE, [PML__LOG_METRIC] = PML_STREAM_METRIC};
  const struct pml__log_event *s = &r->ring.slot[at & r->ring.mask];
  *e = (struct pml_buffer_event){
      .ticks = s->ticks, .thread = r->thread, .region = (pml_region_t)s->word, .kind = kinds[s->word >> 32 & 0xff]};
  if (e->kind == PML_STREAM_LEAVE && r->reading > 0) r->reading--;
  e->depth = r->reading;
  if (e->kind == PML_STREAM_ENTER) r->reading++;
  if (PML_LIKELY((s->word & PML__BUFFER_VALUES) == 0)) return 1;
  s = &r->ring.slot[(at + 1) & r->ring.mask];
  e->metrics = (const struct pml_stream_metrics *)(uintptr_t)s->ticks; /* NOLINT(performance-no-int-to-ptr) */
  e->values = values;
  pml__ring_values_out(&r->ring, at + 2, values, s->word);
  return 2 + (s->word + 1) / 2;
}

/* So that a thread that waits for room gets it while the rest is read. */
#define TELL_EVERY 1024u

static int drain_ring(struct pml__buffer_ring *r, int (*visit)(const struct pml_buffer_event *e, void *arg),
                      void *arg) {
  uint64_t values[PML_STREAM_METRICS_MAX];
  struct pml_buffer_event e;
  uint32_t ended = __atomic_load_n(&r->ended, __ATOMIC_ACQUIRE);
  uint64_t at = r->tail, head = __atomic_load_n(&r->ring.head, __ATOMIC_ACQUIRE), told = at;
  int err = 0;
  while (at != head && err == 0) {
    at += read_event(r, at, &e, values);
    err = visit(&e, arg);
    if (at - told < TELL_EVERY) continue;
    told = at;
    __atomic_store_n(&r->tail, at, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&r->tail, at, __ATOMIC_RELEASE);
  if (ended != 0 && at == head) r->idle = true;
  return err;
}

int pml_buffer_drain(struct pml_buffer *b, int (*visit)(const struct pml_buffer_event *e, void *arg), void *arg) {
  int err = 0;
  if (b->pid != getpid()) return 0;
  pml__mutex_take(&b->lock);
  struct pml__buffer_ring *r = b->at != NULL ? b->at : b->rings;
  for (uint32_t i = 0; i < b->nrings && err == 0; i++) {
    b->at = r;
    if (!r->idle) err = drain_ring(r, visit, arg);
    r = r->next != NULL ? r->next : b->rings;
  }
  if (err == 0) b->at = NULL;
  pml__mutex_leave(&b->lock);
  return err;
}

/* ---- life ---- */

static int options_of(struct pml_buffer *b, const struct pml_buffer_options *o) {
  uint32_t records = o != NULL && o->records != 0 ? o->records : PML_BUFFER_RECORDS;
  b->most = o != NULL && o->threads != 0 ? o->threads : PML_BUFFER_THREADS;
  if (records > PML_BUFFER_RECORDS_MAX)
    return pml_fail(-EINVAL, "a buffer has at most %u records, not %u", PML_BUFFER_RECORDS_MAX, records);
  b->capacity = SLOTS_MIN;
  while (b->capacity < records) b->capacity *= 2;
  return 0;
}

int pml_buffer_open(struct pml_buffer **out, const struct pml_buffer_options *options) {
  *out = NULL;
  struct pml_buffer *b = calloc(1, sizeof *b);
  if (b == NULL) return pml_fail(-ENOMEM, "no memory for a buffer of events");
  pthread_mutex_init(&b->lock.mutex, NULL);
  b->pid = getpid();
  const struct pml_stream_consumer c = {.name = "buffer",
                                        .thread_begin = thread_begin,
                                        .thread_end = thread_end,
                                        .event = {on_enter, on_leave, on_metric},
                                        .fast = {pml__buffer_enter_fast, pml__buffer_leave_fast},
                                        .fast_values = {pml__buffer_enter_fast_values, pml__buffer_leave_fast_values},
                                        .arg = b};
  int err = options_of(b, options);
  if (err == 0) err = pml_stream_add(&c, &b->consumer);
  if (err < 0) {
    pthread_mutex_destroy(&b->lock.mutex);
    free(b);
    return err;
  }
  *out = b;
  return 0;
}

void pml_buffer_close(struct pml_buffer *b) {
  if (b == NULL || b->pid != getpid()) return;
  (void)pml_stream_remove(b->consumer);
  while (b->rings != NULL) {
    struct pml__buffer_ring *r = b->rings;
    b->rings = r->next;
    free_ring(r);
  }
  pthread_mutex_destroy(&b->lock.mutex);
  free(b);
}

void pml_buffer_leave_out(struct pml_buffer *b, pml_region_t region, bool out) {
  uint64_t bit = UINT64_C(1) << region % 64;
  if (region >= PML_REGIONS_MAX) return;
  if (out)
    __atomic_fetch_or(&b->out[region / 64], bit, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&b->out[region / 64], ~bit, __ATOMIC_RELAXED);
}

void pml_buffer_stats(struct pml_buffer *b, struct pml_buffer_stats *s) {
  *s = (struct pml_buffer_stats){0};
  if (b->pid != getpid()) return;
  pml__mutex_take(&b->lock);
  s->threads = b->nrings;
  s->refused = b->refused;
  for (const struct pml__buffer_ring *r = b->rings; r != NULL; r = r->next) {
    s->events += __atomic_load_n(&r->events, __ATOMIC_RELAXED);
    s->dropped += __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);
    s->unmatched += __atomic_load_n(&r->unmatched, __ATOMIC_RELAXED);
  }
  pml__mutex_leave(&b->lock);
}
