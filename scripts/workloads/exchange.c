/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/exchange.c - a cache line to and fro between two cpus.
 *
 * The asker stores an odd number, the answerer waits for it and stores the next even one, for which the asker waits.
 * The site `exchange` takes ticks for `trips` of these. Waiting ends when the user interrupts and after `patience`, so
 * that a cpu that never runs cannot hold the other one for ever.
 */
#include "cpus.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { FROM, TO, TRIPS, HOLD, PATIENCE };

#define LINE_BYTES 128    /* two lines of 64 bytes: prefetchers fetch them as a pair */
#define LOOKS 1024        /* at the line, between two looks at the clock */
#define READY_YIELDS 1000 /* while the other thread has not started */

struct shared {
  _Alignas(LINE_BYTES) atomic_ullong line;
  _Alignas(LINE_BYTES) atomic_uint ready;
  atomic_bool over;
  uint64_t deadline_ns, hold_ns;
  size_t trips;
  const volatile int *stop;
  struct pml_samples *samples;
};

struct side {
  struct shared *shared;
  size_t cpu;
  int error;
};

static bool is_over(struct shared *s) {
  if (atomic_load_explicit(&s->over, memory_order_relaxed)) return true;
  if (pml_clock_ns() < s->deadline_ns && !(s->stop && *s->stop)) return false;
  atomic_store_explicit(&s->over, true, memory_order_relaxed);
  return true;
}

/* Acquire: a thread that sees the number sees all earlier stores of the other thread. False: the exchange is over. */
static inline bool wait_for(struct shared *s, unsigned long long number) {
  for (unsigned i = 1; atomic_load_explicit(&s->line, memory_order_acquire) != number; i++)
    if (PML_UNLIKELY(i % LOOKS == 0) && is_over(s)) return false;
  return true;
}

static inline void give(struct shared *s, unsigned long long number) {
  atomic_store_explicit(&s->line, number, memory_order_release);
}

/* Pin the thread, and start with the other one. */
static bool begin(struct side *side) {
  struct shared *s = side->shared;
  side->error = cpus_pin(side->cpu);
  if (side->error) atomic_store(&s->over, true);
  atomic_fetch_add(&s->ready, 1);
  while (atomic_load(&s->ready) < 2) {
    for (unsigned i = 0; i < READY_YIELDS && atomic_load(&s->ready) < 2; i++) sched_yield();
    if (is_over(s)) return false;
  }
  return !side->error;
}

static void *ask(void *arg) {
  struct side *side = arg;
  struct shared *s = side->shared;
  unsigned long long number = 0;
  if (!begin(side)) return NULL;
  while (s->samples->n < s->samples->capacity && !is_over(s)) {
    uint64_t start = pml_clock_ticks_ordered();
    for (size_t i = 0; i < s->trips; i++, number += 2) {
      give(s, number + 1);
      if (!wait_for(s, number + 2)) return NULL;
    }
    pml_samples_push(s->samples, pml_clock_ticks_ordered() - start);
  }
  atomic_store(&s->over, true);
  return NULL;
}

static void *answer(void *arg) {
  struct side *side = arg;
  struct shared *s = side->shared;
  if (!begin(side)) return NULL;
  for (unsigned long long number = 1; wait_for(s, number); number += 2) {
    if (s->hold_ns)
      for (uint64_t until = pml_clock_ns() + s->hold_ns; pml_clock_ns() < until;) continue;
    give(s, number + 1);
  }
  return NULL;
}

static int exchange(struct pml_workload_run *r, struct side side[2]) {
  struct shared *s = side[0].shared;
  pthread_t thread[2];
  int err = -pthread_create(&thread[0], NULL, ask, &side[0]);
  if (err) return workload_fail(r, err, "a thread: %s", pml_error_text(err));
  err = -pthread_create(&thread[1], NULL, answer, &side[1]);
  if (err) atomic_store(&s->over, true);
  pthread_join(thread[0], NULL);
  if (err) return workload_fail(r, err, "a thread: %s", pml_error_text(err));
  pthread_join(thread[1], NULL);
  for (int i = 0; i < 2; i++)
    if (side[i].error)
      return workload_fail(r, side[i].error, "cpu %zu: %s", side[i].cpu, pml_error_text(side[i].error));
  workload_result(r, "stores", "", (double)atomic_load(&s->line));
  if (s->samples->n == 0 && !(r->stop && *r->stop))
    return workload_fail(r, -ETIMEDOUT, "cpus %zu and %zu exchanged nothing in time: one of them does not run",
                         side[0].cpu, side[1].cpu);
  return 0;
}

static int run(struct pml_workload_run *r) {
  size_t hold = 0, patience = 0;
  struct shared shared = {.stop = r->stop, .samples = r->probe[0].samples};
  struct side side[2] = {{.shared = &shared}, {.shared = &shared}};
  pml_region_t region;
  int err = workload_size(r, FROM, "from", 0, CPUS_MAX - 1, &side[0].cpu);
  if (!err) err = workload_size(r, TO, "to", 0, CPUS_MAX - 1, &side[1].cpu);
  if (!err) err = workload_size(r, TRIPS, "trips", 1, 1e9, &shared.trips);
  if (!err) err = workload_size(r, HOLD, "hold", 0, 1e9, &hold);
  if (!err) err = workload_size(r, PATIENCE, "patience", 1, 1e6, &patience);
  if (!err && side[0].cpu == side[1].cpu)
    err = workload_fail(r, -EINVAL, "options from and to are both %zu, an exchange needs two cpus", side[0].cpu);
  if (!err) err = workload_region(r, "exchange", &region);
  if (!err) err = workload_stopped(r, 1);
  if (err) return err;
  shared.hold_ns = hold;
  shared.deadline_ns = pml_clock_ns() + patience * 1000000u;
  uint64_t enter = pml_clock_ticks();
  err = exchange(r, side);
  workload_phase(r, region, enter, pml_clock_ticks());
  return err ? err : workload_stopped(r, 1);
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "exchange",
    .help = "a cache line to and fro between two cpus",
    .site = {"exchange"},
    .option = {[FROM] = {"from", "cpu that asks", 0, NULL},
               [TO] = {"to", "cpu that answers", 1, NULL},
               [TRIPS] = {"trips", "to and fro, of a sample", 100, NULL},
               [HOLD] = {"hold", "nanoseconds before each answer", 0, NULL},
               [PATIENCE] = {"patience", "milliseconds that it may all take", 2000, NULL}},
    .run = run,
};
