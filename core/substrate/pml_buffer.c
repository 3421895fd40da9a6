/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/pml_buffer.c - rings of events, filled by their threads and drained by whoever asks.
 *
 * A record takes a slot, {ticks, kind | values' flag | region}; one with values is followed by {metrics, number} and
 * the values, two to the slot. One slot stays free for the leave of every open region that was kept, so that a leave
 * always finds room; its values may not, and are left out then.
 *
 * Memory order. @head is stored by the ring's thread alone, @tail by the reader alone (under the buffer's lock); both
 * only grow.
 *  - The thread fills slots, then stores head with release; the reader loads head with acquire and reads below it.
 *  - The reader reads slots, then stores tail with release; the thread loads tail with acquire and fills only slots
 *    below tail + capacity, so that what they held has been read. It goes by an older tail (@limit) as long as that
 *    leaves room: an older tail is smaller, which errs on the side of full.
 *  - A thread that ends stores @ended with release, after its last head; the reader that sees it, and then an empty
 *    ring, gives the ring to the next thread under the lock, which orders all that the first did before it.
 */
#include "substrate/pml_buffer.h"

#include "base/pml_error.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE_LINE 64
#define SLOTS_MIN 256u
#define HAS_VALUES (UINT64_C(1) << 40)
#define KIND_SHIFT 32
#define DROPPED (UINT32_C(1) << 31) /* of an open region: its enter found no room */

struct slot {
  uint64_t word[2];
};

struct ring {
  /* The thread's. */
  _Alignas(CACHE_LINE) uint64_t head; /* atomic */
  uint64_t limit;                     /* the last tail seen + capacity */
  uint64_t mask;
  struct slot *slot;
  uint32_t *open; /* [PML_BUFFER_DEPTH_MAX] regions, innermost last */
  uint32_t depth; /* of them */
  uint32_t kept;  /* of those, how many wait for a leave that is kept */
  uint64_t beyond;
  struct pml_buffer *buffer;
  uint64_t events, dropped, unmatched; /* atomic, one writer */
  uint32_t ended;                      /* atomic */
  /* The reader's, under the lock. */
  _Alignas(CACHE_LINE) uint64_t tail; /* atomic */
  uint64_t thread;
  uint32_t reading; /* depth at the tail */
  bool idle;
  struct ring *next;
};

struct pml_buffer {
  pthread_mutex_t lock; /* rings, and draining them */
  struct ring *rings;
  struct ring *at; /* where the last drain ended early */
  uint64_t capacity, consumer;
  uint32_t nrings, most;
  uint64_t refused;
  pid_t pid;
  uint64_t out[PML_BUFFER_REGIONS / 64]; /* atomic: a bit for each region that is left out */
};

/* ---- filling ---- */

static void count(uint64_t *counter) {
  __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static bool is_out(const struct pml_buffer *b, pml_region_t region) {
  return region < PML_BUFFER_REGIONS &&
         (__atomic_load_n(&b->out[region / 64], __ATOMIC_RELAXED) >> region % 64 & 1) != 0;
}

/* Whether @n slots are free beside those that leaves wait for. */
static bool has_room(struct ring *r, uint64_t n) {
  uint64_t end = r->head + r->kept + n;
  if (PML_LIKELY(end <= r->limit)) return true;
  r->limit = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) + r->mask + 1;
  return end <= r->limit;
}

static uint64_t slots_of(const struct pml_stream_event *e) {
  return e->metrics == NULL ? 1 : 2 + ((uint64_t)e->metrics->n + 1) / 2;
}

static void put_values(struct ring *r, const struct pml_stream_event *e) {
  const struct pml_stream_metrics *m = e->metrics;
  struct slot *s = &r->slot[(r->head + 1) & r->mask];
  s->word[0] = (uint64_t)(uintptr_t)m;
  s->word[1] = m->n;
  for (uint32_t i = 0; i < m->n; i++) r->slot[(r->head + 2 + i / 2) & r->mask].word[i % 2] = e->values[i];
}

static void put(struct ring *r, enum pml_stream_kind kind, const struct pml_stream_event *e, bool values) {
  struct slot *s = &r->slot[r->head & r->mask];
  s->word[0] = e->ticks;
  s->word[1] = (uint64_t)kind << KIND_SHIFT | e->region | (values ? HAS_VALUES : 0);
  if (PML_UNLIKELY(values)) put_values(r, e);
  count(&r->events);
  __atomic_store_n(&r->head, r->head + (values ? slots_of(e) : 1), __ATOMIC_RELEASE);
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct ring *r = data;
  if (is_out(r->buffer, e->region)) return;
  if (PML_UNLIKELY(r->depth == PML_BUFFER_DEPTH_MAX)) {
    r->beyond++;
    count(&r->dropped);
    return;
  }
  bool inside = r->depth > 0 && (r->open[r->depth - 1] & DROPPED) != 0; /* a call in one that is dropped is, too */
  if (PML_UNLIKELY(inside || !has_room(r, slots_of(e) + 1))) {
    r->open[r->depth++] = e->region | DROPPED;
    count(&r->dropped);
    return;
  }
  put(r, PML_STREAM_ENTER, e, e->metrics != NULL);
  r->open[r->depth++] = e->region;
  r->kept++;
}

/* The open region that is left: as a rule the innermost. False: none is. */
static bool close_region(struct ring *r, pml_region_t region, bool *dropped) {
  uint32_t i = r->depth;
  while (i > 0 && (r->open[i - 1] & ~DROPPED) != region) i--;
  if (PML_UNLIKELY(i == 0)) return false;
  *dropped = (r->open[i - 1] & DROPPED) != 0;
  if (PML_UNLIKELY(i != r->depth)) memmove(&r->open[i - 1], &r->open[i], (r->depth - i) * sizeof *r->open);
  r->depth--;
  return true;
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct ring *r = data;
  bool dropped;
  if (PML_UNLIKELY(r->beyond > 0)) {
    if (is_out(r->buffer, e->region)) return;
    r->beyond--;
    count(&r->dropped);
    return;
  }
  if (PML_UNLIKELY(!close_region(r, e->region, &dropped))) {
    if (!is_out(r->buffer, e->region)) count(&r->unmatched);
    return;
  }
  if (PML_UNLIKELY(dropped)) {
    count(&r->dropped);
    return;
  }
  r->kept--;
  put(r, PML_STREAM_LEAVE, e, e->metrics != NULL && has_room(r, slots_of(e)));
}

static void on_metric(void *data, const struct pml_stream_event *e) {
  struct ring *r = data;
  if (is_out(r->buffer, e->region)) return;
  if (has_room(r, slots_of(e)))
    put(r, PML_STREAM_METRIC, e, e->metrics != NULL);
  else
    count(&r->dropped);
}

/* ---- threads ---- */

static void free_ring(struct ring *r) {
  if (r == NULL) return;
  free(r->slot);
  free(r->open);
  free(r);
}

static struct ring *new_ring(struct pml_buffer *b) {
  if (b->nrings == b->most) return NULL;
  struct ring *r = aligned_alloc(CACHE_LINE, sizeof *r);
  if (r == NULL) return NULL;
  *r = (struct ring){.mask = b->capacity - 1, .limit = b->capacity, .buffer = b};
  r->slot = calloc(b->capacity, sizeof *r->slot);
  r->open = calloc(PML_BUFFER_DEPTH_MAX, sizeof *r->open);
  if (r->slot == NULL || r->open == NULL) {
    free_ring(r);
    return NULL;
  }
  r->next = b->rings;
  b->rings = r;
  b->nrings++;
  return r;
}

/* One that a thread left, and whose events were read. */
static struct ring *idle_ring(struct pml_buffer *b) {
  struct ring *r = b->rings;
  while (r != NULL && !r->idle) r = r->next;
  if (r == NULL) return NULL;
  r->idle = false;
  r->depth = r->kept = r->reading = 0;
  r->beyond = 0;
  __atomic_store_n(&r->ended, 0, __ATOMIC_RELAXED);
  return r;
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_buffer *b = arg;
  pthread_mutex_lock(&b->lock);
  struct ring *r = idle_ring(b);
  if (r == NULL) r = new_ring(b);
  if (r != NULL)
    r->thread = thread;
  else
    b->refused++;
  pthread_mutex_unlock(&b->lock);
  return r;
}

static void thread_end(void *arg, void *data) {
  (void)arg;
  __atomic_store_n(&((struct ring *)data)->ended, 1, __ATOMIC_RELEASE);
}

/* ---- draining ---- */

/* The event at @at; how many slots it takes. */
static uint64_t read_event(struct ring *r, uint64_t at, struct pml_buffer_event *e, uint64_t *values) {
  const struct slot *s = &r->slot[at & r->mask];
  *e = (struct pml_buffer_event){.ticks = s->word[0],
                                 .thread = r->thread,
                                 .region = (pml_region_t)s->word[1],
                                 .kind = (enum pml_stream_kind)(s->word[1] >> KIND_SHIFT & 0xff)};
  if (e->kind == PML_STREAM_LEAVE && r->reading > 0) r->reading--;
  e->depth = r->reading;
  if (e->kind == PML_STREAM_ENTER) r->reading++;
  if (PML_LIKELY((s->word[1] & HAS_VALUES) == 0)) return 1;
  s = &r->slot[(at + 1) & r->mask];
  e->metrics = (const struct pml_stream_metrics *)(uintptr_t)s->word[0]; /* NOLINT(performance-no-int-to-ptr) */
  e->values = values;
  uint64_t n = s->word[1];
  for (uint64_t i = 0; i < n; i++) values[i] = r->slot[(at + 2 + i / 2) & r->mask].word[i % 2];
  return 2 + (n + 1) / 2;
}

/* So that a thread that waits for room gets it while the rest is read. */
#define TELL_EVERY 1024u

static int drain_ring(struct ring *r, int (*visit)(const struct pml_buffer_event *e, void *arg), void *arg) {
  uint64_t values[PML_STREAM_METRICS_MAX];
  struct pml_buffer_event e;
  uint32_t ended = __atomic_load_n(&r->ended, __ATOMIC_ACQUIRE);
  uint64_t at = r->tail, head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE), told = at;
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
  pthread_mutex_lock(&b->lock);
  struct ring *r = b->at != NULL ? b->at : b->rings;
  for (uint32_t i = 0; i < b->nrings && err == 0; i++) {
    b->at = r;
    if (!r->idle) err = drain_ring(r, visit, arg);
    r = r->next != NULL ? r->next : b->rings;
  }
  if (err == 0) b->at = NULL;
  pthread_mutex_unlock(&b->lock);
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
  pthread_mutex_init(&b->lock, NULL);
  b->pid = getpid();
  const struct pml_stream_consumer c = {thread_begin, thread_end, {on_enter, on_leave, on_metric}, b};
  int err = options_of(b, options);
  if (err == 0) err = pml_stream_add(&c, &b->consumer);
  if (err < 0) {
    pthread_mutex_destroy(&b->lock);
    free(b);
    return err;
  }
  *out = b;
  return 0;
}

void pml_buffer_close(struct pml_buffer *b) {
  if (b == NULL) return;
  (void)pml_stream_remove(b->consumer);
  while (b->rings != NULL) {
    struct ring *r = b->rings;
    b->rings = r->next;
    free_ring(r);
  }
  pthread_mutex_destroy(&b->lock);
  free(b);
}

void pml_buffer_leave_out(struct pml_buffer *b, pml_region_t region, bool out) {
  uint64_t bit = UINT64_C(1) << region % 64;
  if (region >= PML_BUFFER_REGIONS) return;
  if (out)
    __atomic_fetch_or(&b->out[region / 64], bit, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&b->out[region / 64], ~bit, __ATOMIC_RELAXED);
}

void pml_buffer_stats(struct pml_buffer *b, struct pml_buffer_stats *s) {
  *s = (struct pml_buffer_stats){0};
  if (b->pid != getpid()) return;
  pthread_mutex_lock(&b->lock);
  s->threads = b->nrings;
  s->refused = b->refused;
  for (const struct ring *r = b->rings; r != NULL; r = r->next) {
    s->events += __atomic_load_n(&r->events, __ATOMIC_RELAXED);
    s->dropped += __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);
    s->unmatched += __atomic_load_n(&r->unmatched, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&b->lock);
}
