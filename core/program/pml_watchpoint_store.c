/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_watchpoint_store.c - recorded accesses: written in signal handlers, read concurrently or later. */
#include "program/pml_watchpoint_store.h"

#include "base/pml_bits.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "record/log/pml_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL and *err. */
static void *map_new(const char *path, size_t bytes, int *err) {
  int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (path != NULL) {
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    flags = MAP_SHARED;
    if (fd < 0) *err = -errno;
    if (fd < 0) return NULL;
  }
  void *memory = MAP_FAILED;
  if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0) memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  *err = memory == MAP_FAILED ? -errno : 0;
  if (fd >= 0) (void)close(fd);
  if (memory != MAP_FAILED) return memory;
  if (path != NULL) (void)unlink(path);
  return NULL;
}

static void describe(struct pml__store_head *h, const struct pml_watchpoint *point, unsigned n) {
  h->pid = getpid();
  h->ticks_per_second = pml__clock.ticks_per_second;
  h->points = n;
  memcpy(h->point, point, n * sizeof *point);
  for (size_t i = 0; i < PML_WATCHPOINTS_MAX; i++) h->hits[i] = -1;
  if (readlink("/proc/self/exe", h->program, sizeof h->program - 1) < 0) h->program[0] = '\0';
}

int pml__store_create(struct pml_watchpoint_store *s, const char *path, uint64_t values,
                      const struct pml_watchpoint *point, unsigned n) {
  if (values > PML_WATCHPOINT_VALUES_MAX)
    return pml_fail(-EINVAL, "%llu values: more than a watchpoint can keep", (unsigned long long)values);
  uint64_t chunks = (values + PML__CHUNK_VALUES - 1) / PML__CHUNK_VALUES;
  size_t before = path != NULL ? PML__LOG_DIRECTORY : 0;
  int err = 0;
  void *memory = map_new(path, before + pml__store_bytes(chunks), &err);
  if (memory == NULL)
    return pml_fail(err, "%.400s: no room for %llu values: %s", path != NULL ? path : "memory",
                    (unsigned long long)values, strerror(-err));
  pml__store_lay_out(s, memory, before, pml__store_bytes(chunks));
  describe(s->head, point, n);
  s->head->chunks_max = (uint32_t)chunks;
  if (path != NULL) pml__log_single(memory, PML__LOG_ACCESSES, s->bytes);
  return 0;
}

void pml__store_unmap(struct pml_watchpoint_store *s) {
  if (s->head != NULL) (void)munmap((char *)s->head - s->before, s->before + s->bytes);
  s->head = NULL;
}

/* --- written by the thread that owns the lane --- */

uint32_t pml__store_take(const struct pml_watchpoint_store *s, uint32_t tid, uint32_t point) {
  uint32_t i = atomic_fetch_add_explicit(&s->head->lanes, 1, memory_order_relaxed);
  if (i >= PML__STORE_LANES) {
    atomic_fetch_sub_explicit(&s->head->lanes, 1, memory_order_relaxed);
    return UINT32_MAX;
  }
  s->lane[i].point = point;
  s->lane[i].tid = tid;
  return i;
}

/* A lane has one writer: an addition need not be atomic, only its parts. */
static void bump(_Atomic uint64_t *to, uint64_t by) {
  atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + by, memory_order_release);
}

static struct pml__store_chunk *room(const struct pml_watchpoint_store *s, struct pml__store_lane *l) {
  uint32_t last = atomic_load_explicit(&l->last, memory_order_relaxed);
  struct pml__store_chunk *c = last != 0 ? &s->chunk[last - 1] : NULL;
  if (c != NULL && atomic_load_explicit(&c->n, memory_order_relaxed) < PML__CHUNK_VALUES) return c;
  if (atomic_load_explicit(&s->head->chunks, memory_order_relaxed) >= s->head->chunks_max) return NULL;
  uint32_t i = atomic_fetch_add_explicit(&s->head->chunks, 1, memory_order_relaxed);
  if (i >= s->head->chunks_max) return NULL;
  atomic_store_explicit(c != NULL ? &c->next : &l->first, i + 1, memory_order_release);
  atomic_store_explicit(&l->last, i + 1, memory_order_relaxed);
  return &s->chunk[i];
}

void pml__store_push(const struct pml_watchpoint_store *s, uint32_t lane, struct pml_watchpoint_value v, int late) {
  struct pml__store_lane *l = &s->lane[lane];
  struct pml__store_chunk *c = room(s, l);
  if (c != NULL) {
    uint32_t n = atomic_load_explicit(&c->n, memory_order_relaxed);
    c->value[n] = v;
    atomic_store_explicit(&c->n, n + 1, memory_order_release);
  } else if (s->head->chunks_max > 0) {
    bump(&l->dropped, 1);
  }
  if (late) bump(&l->late, 1);
  bump(&l->accesses, 1);
}

/* --- read --- */

static unsigned lanes_of(const struct pml_watchpoint_store *s) {
  uint32_t n = atomic_load_explicit(&s->head->lanes, memory_order_acquire);
  return n < PML__STORE_LANES ? n : PML__STORE_LANES;
}

void pml_watchpoint_summary(const struct pml_watchpoint_store *s, struct pml_watchpoint_summary *to) {
  const struct pml__store_head *h = s->head;
  *to = (struct pml_watchpoint_summary){.pid = h->pid, .points = h->points, .lanes = lanes_of(s)};
  to->lost = atomic_load_explicit(&h->lost, memory_order_relaxed);
  to->unexplained = atomic_load_explicit(&h->unexplained, memory_order_relaxed);
  to->start_ticks = h->start_ticks;
  to->stop_ticks = h->stop_ticks;
  to->ticks_per_second = h->ticks_per_second;
  memcpy(to->program, h->program, sizeof to->program - 1);
  memcpy(to->point, h->point, sizeof to->point);
  memcpy(to->hits, h->hits, sizeof to->hits);
  for (size_t i = 0; i < PML_WATCHPOINTS_MAX; i++) { /* a file may lack their ends */
    to->point[i].name[sizeof to->point[i].name - 1] = '\0';
    to->point[i].type[sizeof to->point[i].type - 1] = '\0';
  }
}

int pml_watchpoint_lane(const struct pml_watchpoint_store *s, unsigned i, struct pml_watchpoint_lane *to) {
  if (i >= lanes_of(s) || s->lane[i].point >= s->head->points) return -EINVAL;
  const struct pml__store_lane *l = &s->lane[i];
  to->tid = (pid_t)l->tid;
  to->point = l->point;
  to->accesses = atomic_load_explicit(&l->accesses, memory_order_acquire);
  to->late = atomic_load_explicit(&l->late, memory_order_relaxed);
  to->dropped = atomic_load_explicit(&l->dropped, memory_order_relaxed);
  return 0;
}

size_t pml_watchpoint_collect(const struct pml_watchpoint_store *s, unsigned i, struct pml_watchpoint_cursor *c,
                              struct pml_watchpoint_value *to, size_t n) {
  size_t got = 0;
  uint64_t all = (uint64_t)s->head->chunks_max * PML__CHUNK_VALUES;
  if (i >= lanes_of(s)) return 0;
  if (c->chunk == 0) c->chunk = atomic_load_explicit(&s->lane[i].first, memory_order_acquire);
  /* A file's chunks may be empty or form a ring: a reader stops at the possible number. */
  for (uint32_t steps = s->head->chunks_max; got < n && steps > 0; steps--) {
    if (c->chunk == 0 || c->chunk > s->head->chunks_max || c->seen >= all) break;
    const struct pml__store_chunk *k = &s->chunk[c->chunk - 1];
    uint32_t there = atomic_load_explicit(&k->n, memory_order_acquire);
    if (there > PML__CHUNK_VALUES) there = PML__CHUNK_VALUES;
    for (; c->at < there && got < n; c->at++, c->seen++) to[got++] = k->value[c->at];
    uint32_t next = atomic_load_explicit(&k->next, memory_order_acquire);
    if (c->at < PML__CHUNK_VALUES || next == 0) break;
    *c = (struct pml_watchpoint_cursor){c->seen, next, 0};
  }
  return got;
}

static double as_float(uint32_t length, uint64_t bits) {
  float f;
  if (length == sizeof f) {
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    return (double)f;
  }
  return pml__as_double(bits);
}

struct pml_value pml_watchpoint_decode(const struct pml_watchpoint *p, uint64_t bits) {
  struct pml_value v = {.type = PML_TYPE_INT64, .i = (int64_t)bits};
  unsigned unused = p->length >= 1 && p->length < 8 ? 64 - 8 * p->length : 0;
  if (p->content == PML_CONTENT_FLOAT || p->content == PML_CONTENT_LONG_DOUBLE)
    return (struct pml_value){.type = PML_TYPE_DOUBLE, .d = as_float(p->length, bits)};
  if (p->content == PML_CONTENT_SIGNED) v.i = (int64_t)(bits << unused) >> unused;
  if (p->content == PML_CONTENT_UNSIGNED && bits > INT64_MAX)
    v = (struct pml_value){.type = PML_TYPE_DOUBLE, .d = (double)bits};
  return v;
}
