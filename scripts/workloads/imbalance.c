/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/imbalance.c - threads with unequal work that wait for each other, over and over.
 *
 * The first thread makes all of the turns, the last one the share `least` of them, the others evenly spaced numbers
 * between them. The wait is the section "imbalance barrier", which a balancer, a profile or a trace sees. Each thread
 * is pinned to a separate cpu, as long as there are enough.
 */
#include "adapter/section/pml_section.h"
#include "cpus.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define THREADS_MAX 64

enum { THREADS, ITERATIONS, TURNS, LEAST };

struct team {
  size_t iterations;
  pthread_barrier_t barrier;
  struct pml_section *section;
  const volatile int *stop;
  atomic_int error;
  atomic_bool stopping; /* decided by one before the barrier, so that all leave in the same iteration */
};

struct member {
  struct team *team;
  pthread_t thread;
  size_t cpu, turns;
  bool leads;
  double sum;
};

/* A chain of additions: its time is their latency, independent of the compiler. */
static double compute(size_t turns, double x) {
  for (size_t i = 0; i < turns; i++) {
    x += 1e-9;
    __asm__ volatile("" : "+m"(x));
  }
  return x;
}

static void *work(void *arg) {
  struct member *m = arg;
  struct team *t = m->team;
  if (m->cpu != CPUS_MAX && cpus_pin(m->cpu) < 0) atomic_store(&t->error, -EINVAL);
  for (size_t i = 0; i < t->iterations; i++) {
    m->sum = compute(m->turns, m->sum);
    if (m->leads && t->stop != NULL && *t->stop) atomic_store(&t->stopping, true);
    (void)pml_section_start(t->section);
    pthread_barrier_wait(&t->barrier);
    (void)pml_section_stop(t->section);
    if (i % 16 != 15) continue;
    pthread_barrier_wait(&t->barrier); /* no thread stores between the two */
    if (atomic_load(&t->stopping)) break;
  }
  return NULL;
}

/* Threads that were made wait at the barrier for those that could not be: all or none. */
static int make(struct pml_workload_run *r, struct team *t, struct member *m, unsigned n) {
  pthread_attr_t small;
  unsigned made = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1u << 18);
  if (pthread_barrier_init(&t->barrier, NULL, n) != 0) return workload_fail(r, -EINVAL, "no barrier of %u threads", n);
  while (made < n && pthread_create(&m[made].thread, &small, work, &m[made]) == 0) made++;
  pthread_attr_destroy(&small);
  for (unsigned i = 0; i < made; i++) {
    if (made < n) pthread_cancel(m[i].thread);
    pthread_join(m[i].thread, NULL);
  }
  pthread_barrier_destroy(&t->barrier);
  if (made < n) return workload_fail(r, -EAGAIN, "only %u of %u threads could be made", made, n);
  return atomic_load(&t->error);
}

static int run(struct pml_workload_run *r) {
  static struct member member[THREADS_MAX];
  struct cpus cpus;
  struct team t = {.stop = r->stop};
  size_t threads = 0, turns = 0, percent = 0;
  int err = workload_size(r, THREADS, "threads", 2, THREADS_MAX, &threads);
  if (!err) err = workload_size(r, ITERATIONS, "iterations", 1, 1e9, &t.iterations);
  if (!err) err = workload_size(r, TURNS, "turns", 1, 1e12, &turns);
  if (!err) err = workload_size(r, LEAST, "least", 1, 100, &percent);
  if (!err) err = pml_section_define("imbalance barrier", NULL, &t.section);
  if (!err) err = cpus_get(&cpus);
  if (err) return err;
  bool pinned = cpus_count(&cpus) >= threads;
  for (size_t i = 0, cpu = 0; i < threads; i++, cpu++) {
    cpu = pinned ? cpus_next(&cpus, cpu) : CPUS_MAX - 1;
    double share = 1 - (1 - (double)percent / 100) * (double)i / (double)(threads - 1);
    member[i] = (struct member){
        .team = &t, .cpu = pinned ? cpu : CPUS_MAX, .turns = (size_t)(share * (double)turns), .leads = i == 0};
  }
  err = make(r, &t, member, (unsigned)threads);
  workload_result(r, "pinned", "", pinned);
  return err ? err : workload_stopped(r, 0);
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "imbalance",
    .help = "threads with unequal work between barriers",
    .option = {[THREADS] = {"threads", "threads of the team", 2, NULL},
               [ITERATIONS] = {"iterations", "iterations, each with a barrier", 100, NULL},
               [TURNS] = {"turns", "loop iterations of the first thread between two barriers", 1e5, NULL},
               [LEAST] = {"least", "work of the last thread, in percent of the first's", 50, NULL}},
    .run = run,
};
