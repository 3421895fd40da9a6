/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/soak.h - what the threads of the soak share, and how promises are counted from any of them. */
#ifndef SPEC_SOAK_H
#define SPEC_SOAK_H

#include "events.h"
#include "pml.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define SOAK_THREADS 6
#define SOAK_NAMES 3000u

struct worker {
  uint64_t seed;
  struct pml_otf2_location *location; /* handed on from thread to thread by their joins */
  _Atomic int tid;
  _Atomic bool done;
  bool running;
  pthread_t thread;
};

static struct {
  struct worker worker[SOAK_THREADS];
  struct pml_otf2 *trace;
  pml_region_t region[SOAK_NAMES];
  pthread_rwlock_t forks; /* written by who forks, read by who counts faults */
  _Atomic bool stop;
  struct pml_flow *flow;                      /* of this round */
  _Atomic uint64_t entered;                   /* calls in it */
  _Atomic uint64_t attempted, refused;        /* records of this round */
  _Atomic uint64_t faults, children, threads; /* of all */
  _Atomic uint64_t kept, broken, strays;
  uint64_t written, dropped;
} soak;

static inline void soak_add(_Atomic uint64_t *sum, uint64_t n) {
  atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

/* A promise looked at, by any thread; the first few broken ones are named. */
#define soak_expect(condition, text) soak__expect((condition), __LINE__, (text))
static inline void soak__expect(bool good, int line, const char *text) {
  soak_add(&soak.kept, 1);
  if (good) return;
  if (atomic_fetch_add(&soak.broken, 1) < 10) fprintf(stderr, "soak.c:%d: not so: %s\n", line, text);
}

/* Never fewer than were touched; a few more are the kernel's, which moves pages in memory: counted, and bounded at the
 * end.
 */
static inline bool soak_is_faults(uint64_t counted, uint64_t expected) {
  if (is_faults(counted, expected)) return true;
  if (counted < expected || counted > expected + 8) return false;
  soak_add(&soak.strays, 1);
  return true;
}

static inline uint64_t soak_random(struct worker *w) {
  w->seed ^= w->seed << 13;
  w->seed ^= w->seed >> 7;
  w->seed ^= w->seed << 17;
  return w->seed >> 11;
}

static inline double soak_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void soak_name(char name[32], uint64_t k) {
  snprintf(name, 32, "region %llu", (unsigned long long)k);
}

static inline bool soak_prepare(uint64_t seed) {
  char name[32];
  pthread_rwlockattr_t fair;
  pthread_rwlockattr_init(&fair);
  pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&soak.forks, &fair);
  for (uint64_t i = 0; i < SOAK_THREADS; i++) soak.worker[i].seed = (seed + i) * 2654435761u + 1;
  for (uint32_t k = 0; k < SOAK_NAMES; k++) {
    soak_name(name, k);
    if (pml_region_intern(name, "soak.c", k, &soak.region[k]) < 0) return false;
  }
  return true;
}

/* The pages that counting itself writes: the set's, the stack's, and ours, which a fork has made faults again. */
static inline void soak_warm(struct worker *w, struct pml_eventset *s) {
  uint64_t v[PML_EVENTSET_MAX] = {0};
  pml_eventset_accum(s, v);
  pml_eventset_accum(s, v);
  pml_eventset_read(s, v);
  (void)soak_random(w);
  soak_expect(true, "");
  pml_eventset_stop(s, v);
}

static inline long soak_descriptors(void) {
  long n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

/* Bytes in use; a sanitizer's allocator tells nothing here and looks for leaks itself. */
static inline long soak_memory(void) {
  struct mallinfo2 m = mallinfo2();
  return (long)(m.uordblks + m.hblkhd);
}

static inline void soak_tell(double seconds, unsigned rounds) {
  printf("# %.0f s, %u rounds: %llu threads, %llu children, %llu faults, %llu records and %llu dropped; %llu of %llu "
         "promises broken\n",
         seconds, rounds, (unsigned long long)soak.threads, (unsigned long long)soak.children,
         (unsigned long long)soak.faults, (unsigned long long)soak.written, (unsigned long long)soak.dropped,
         (unsigned long long)soak.broken, (unsigned long long)soak.kept);
  fflush(stdout);
}

#endif
