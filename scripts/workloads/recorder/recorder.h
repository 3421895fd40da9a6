/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/recorder/recorder.h - one push of each library and type, the timed loops, and PAPI's libsde. */
#ifndef PMLUA_WORKLOAD_RECORDER_H
#define PMLUA_WORKLOAD_RECORDER_H

#include "../workload.h"

#include "record/pml_recorder.h"

#include <pthread.h>
#include <stdatomic.h>

/* --- PAPI's libsde, found at run time --- */

struct peer {
  void *(*init)(const char *);
  int (*create)(void *, const char *, size_t, int (*)(const void *, const void *), void **);
  int (*record)(void *, size_t, const void *);
  int (*code)(const char *, uint32_t *);
  int (*read)(uint32_t, long long *);
  void *so, *library;
  unsigned made;
};
extern struct peer recorder_peer;

/*
 * recorder_peer_open - once per process; pmlua's own drop-in is refused. 0 or a negative code with its sentence in @r.
 * recorder_peer_create - a new recorder, named by @number. It stays until the process ends: libsde 7.0 may follow a
 * freed pointer once one is unregistered.
 * recorder_peer_count - how many elements recorder @number has; -1 if it does not tell.
 * recorder_peer_copy - they themselves, to be freed by the caller; NULL if it does not tell.
 */
int recorder_peer_open(struct pml_workload_run *r, const char *file);
int recorder_peer_create(struct pml_workload_run *r, size_t bytes, unsigned *number, void **recorder);
long long recorder_peer_count(unsigned number);
void *recorder_peer_copy(unsigned number);

/* --- pushing --- */

/* Threads leave it together, or none does and pass() is false for all. */
struct gate {
  _Atomic unsigned here;
  unsigned all;
  atomic_bool off;
};

/* A push that took long, and events of the thread that the kernel counted meanwhile. */
struct slow {
  uint32_t index;
  uint32_t faults, waits, preemptions; /* first touches of pages; voluntary and involuntary switches */
};

#define RECORDER_SLOW_NS 500
#define RECORDER_SLOW_MAX 4096 /* per run and thread; later ones are timed, but without details */

struct worker {
  int (*one)(void *recorder, double v);
  void (*loop)(struct worker *); /* does it @n times and fills @samples */
  void *recorder;
  double first; /* the numbers pushed are first, first + 1 ... */
  size_t n;
  struct pml_samples *samples;
  struct slow *slow; /* [RECORDER_SLOW_MAX], touched before */
  size_t nslow;
  uint64_t slow_ticks;
  struct slow seen; /* the kernel's counts when they were last looked at */
  const volatile int *stop;
  struct gate *gate;
  uint64_t start, end; /* ticks */
  int error;
  pthread_t thread;
};

/* An element's type: its pushes, and back from an array of them to whole numbers. */
struct element {
  const char *name;
  enum pml_type type;
  size_t bytes;
  int (*push)(void *recorder, double v), (*record)(void *recorder, double v);
  void (*time_push)(struct worker *), (*time_record)(struct worker *);
  uint64_t (*whole)(const void *elements, size_t i);
};

/* NULL: no such type. */
const struct element *recorder_element(const char *name);

int recorder_push_nothing(void *recorder, double v);
void recorder_time_nothing(struct worker *w);

/* recorder_watch - not timed: the bytes that each push took from the allocator; 0 for all where it does not tell. */
void recorder_watch(struct worker *w);

#endif
