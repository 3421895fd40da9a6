/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/calls_seen.h - the data that an interposed wrapper keeps of a thread's calls; at the end of the
 * process their number is written to the file that CALLS_SEEN names. At most CALLS_THREADS threads.
 */
#ifndef CALLS_SEEN_H
#define CALLS_SEEN_H

#include "calls.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS_THREADS 64u
#define CALLS_KEPT 4096u

struct calls_own {
  _Alignas(64) uint64_t n;
  uint64_t start, duration[CALLS_KEPT];
};

static struct calls_own calls_all[CALLS_THREADS];
static atomic_uint calls_threads;
static __thread struct calls_own *calls_own;

static inline struct calls_own *calls_mine(void) {
  if (__builtin_expect(calls_own == NULL, 0))
    calls_own = &calls_all[atomic_fetch_add(&calls_threads, 1) % CALLS_THREADS];
  return calls_own;
}

static inline void calls_keep(struct calls_own *own, uint64_t duration) {
  own->duration[own->n++ % CALLS_KEPT] = duration;
}

__attribute__((destructor)) static void calls_tell(void) {
  const char *path = getenv("CALLS_SEEN");
  FILE *f = path != NULL ? fopen(path, "w") : NULL;
  uint64_t n = 0;
  if (f == NULL) return;
  for (unsigned i = 0; i < CALLS_THREADS; i++) n += calls_all[i].n;
  fprintf(f, "%llu\n", (unsigned long long)n);
  fclose(f);
}

#endif
