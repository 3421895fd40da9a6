/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/kernels/team.c - pinned threads, a spinning barrier, one batch of calls at a time. */
#include "team.h"

#include "../cpus.h"
#include "base/pml_clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

enum { WAIT, GO, GIVE_UP };

struct member {
  struct team *team;
  pthread_t thread;
  size_t cpu;
  int error;
  void *block;
  struct team_vectors v;
  uint64_t ticks;
};

struct team {
  unsigned members;
  enum kernels_precision precision;
  size_t n;
  struct cpus before; /* the leader's cpus */
  atomic_int start;
  atomic_uint arrived, turn;
  kernels_function *function; /* for the next turn; NULL: end */
  size_t turns;
  uint64_t calls;
  struct member member[];
};

unsigned team_cpus(void) {
  struct cpus c;
  return cpus_get(&c) == 0 ? cpus_count(&c) : 1;
}

/* Spins, because a futex would start the members microseconds apart; yields, in case a cpu is not theirs alone. */
static void meet(struct team *t) {
  unsigned turn = atomic_load_explicit(&t->turn, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) + 1 == t->members) {
    atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&t->turn, turn + 1, memory_order_release);
    return;
  }
  for (unsigned i = 1; atomic_load_explicit(&t->turn, memory_order_acquire) == turn; i++)
    if (i % 4096 == 0) sched_yield();
}

static size_t element_size(enum kernels_precision p) {
  return p == KERNELS_DOUBLE ? sizeof(double) : sizeof(float);
}

static void fill(void *x, enum kernels_precision precision, size_t n, size_t period) {
  double *d = x;
  float *f = x;
  for (size_t i = 0, k = 0; i < n; i++, k = k + 1 == period ? 0 : k + 1) {
    double v = 1 + (double)k / (double)period;
    if (precision == KERNELS_DOUBLE)
      d[i] = v;
    else
      f[i] = (float)v;
  }
}

/*
 * The vectors begin at different cache lines, with some lines of space between them: at equal offsets in a page, every
 * load would seem to depend on the store of its neighbour. Huge pages, if the kernel has them, because a sweep over
 * memory must not measure the TLB.
 */
static int take_vectors(struct member *m) {
  const struct team *t = m->team;
  size_t bytes = t->n * element_size(t->precision);
  size_t stride = (bytes + LINE - 1) / LINE * LINE + 21 * LINE;
  size_t whole = (3 * stride + LINE + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  bool large = bytes >= HUGE_PAGE;
  if (posix_memalign(&m->block, large ? HUGE_PAGE : 4096, large ? whole : 3 * stride + LINE) != 0) {
    m->block = NULL;
    return -ENOMEM;
  }
  if (large) madvise(m->block, whole, MADV_HUGEPAGE);
  char *at = m->block;
  fill(at, t->precision, t->n, 17);
  fill(at + stride, t->precision, t->n, 13);
  memset(at + 2 * stride, 0, bytes);
  double half = 0.5;
  float half_single = 0.5F;
  memcpy(at + 3 * stride, t->precision == KERNELS_DOUBLE ? (void *)&half : (void *)&half_single,
         element_size(t->precision));
  m->v = (struct team_vectors){.a = at, .b = at + stride, .c = at + 2 * stride, .d = at + 3 * stride};
  return 0;
}

static void prepare(struct member *m) {
  m->error = cpus_pin(m->cpu);
  if (!m->error) m->error = take_vectors(m);
}

static uint64_t batch(const struct member *m) {
  kernels_function *f = m->team->function;
  uint64_t calls = m->team->calls;
  size_t n = m->team->turns;
  uint64_t begin = pml_clock_ticks_ordered();
  for (uint64_t i = 0; i < calls; i++) f(m->v.a, m->v.b, m->v.c, m->v.d, n);
  return pml_clock_ticks_ordered() - begin;
}

static void *follow(void *arg) {
  struct member *m = arg;
  struct team *t = m->team;
  int start;
  while ((start = atomic_load_explicit(&t->start, memory_order_acquire)) == WAIT) sched_yield();
  if (start == GIVE_UP) return NULL;
  prepare(m);
  meet(t);
  for (;;) {
    meet(t);
    if (!t->function) return NULL;
    m->ticks = batch(m);
    meet(t);
  }
}

static void dismiss(struct team *t, unsigned threads) {
  for (unsigned i = 1; i < threads; i++) pthread_join(t->member[i].thread, NULL);
  cpus_set(&t->before);
  for (unsigned i = 0; i < t->members; i++) free(t->member[i].block);
  free(t);
}

static void assign_cpus(struct team *t) {
  size_t cpu = 0;
  for (unsigned i = 0; i < t->members; i++, cpu++) {
    cpu = cpus_next(&t->before, cpu);
    t->member[i].team = t;
    t->member[i].cpu = cpu;
  }
}

int team_open(struct team **out, unsigned members, enum kernels_precision precision, size_t n) {
  unsigned cpus = team_cpus();
  if (members == 0) members = cpus;
  if (members > cpus || n == 0) return -EINVAL;
  struct team *t = calloc(1, sizeof *t + members * sizeof t->member[0]);
  if (!t) return -ENOMEM;
  t->members = members;
  t->precision = precision;
  t->n = n;
  int err = cpus_get(&t->before);
  unsigned threads = 1;
  if (!err) assign_cpus(t);
  for (; threads < members && !err; threads += !err)
    err = -pthread_create(&t->member[threads].thread, NULL, follow, &t->member[threads]);
  atomic_store_explicit(&t->start, err ? GIVE_UP : GO, memory_order_release);
  if (err) {
    dismiss(t, threads);
    return err;
  }
  prepare(&t->member[0]);
  meet(t);
  for (unsigned i = 0; i < members && !err; i++) err = t->member[i].error;
  *out = t;
  if (err) team_close(t);
  return err;
}

void team_close(struct team *t) {
  t->function = NULL;
  meet(t);
  dismiss(t, t->members);
}

unsigned team_members(const struct team *t) {
  return t->members;
}

struct team_vectors team_vectors(const struct team *t) {
  return t->member[0].v;
}

uint64_t team_call(struct team *t, kernels_function *f, size_t n, uint64_t calls, uint64_t *fastest) {
  t->function = f;
  t->turns = n;
  t->calls = calls;
  meet(t);
  t->member[0].ticks = batch(&t->member[0]);
  meet(t);
  uint64_t slowest = 0, least = UINT64_MAX;
  for (unsigned i = 0; i < t->members; i++) {
    if (t->member[i].ticks > slowest) slowest = t->member[i].ticks;
    if (t->member[i].ticks < least) least = t->member[i].ticks;
  }
  if (fastest) *fastest = least;
  return slowest;
}
