/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_threads.c - threads that each read their own counters, share a cpu, and move between cpus. */
#include "source/pml_eventset_private.h"
#include "source/pml_group.h"

#include "pmu.h"

#include <pthread.h>
#include <sched.h>

#define TRIES 20000u
#define MOST_THREADS 4u
#define WINDOW 1000u

static struct pml_event insns;

struct worker {
  pthread_t thread;
  bool hops;
  int rc;
  struct pmu_brackets brackets;
  unsigned moves, strange;
};

static bool is_allowed(const cpu_set_t *allowed, int cpu) {
  return CPU_ISSET((size_t)cpu, allowed);
}

/* To the next cpu this thread may use. */
static bool hop(const cpu_set_t *allowed) {
  cpu_set_t one;
  int cpu = sched_getcpu();
  do cpu = (cpu + 1) % CPU_SETSIZE;
  while (!is_allowed(allowed, cpu));
  CPU_ZERO(&one);
  CPU_SET((size_t)cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0 && sched_getcpu() == cpu;
}

static void *work(void *arg) {
  struct worker *w = arg;
  struct pml_counter c;
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  w->rc = pml_counter_open(&c, &insns, 0, NULL, NULL, 0);
  if (w->rc < 0) return NULL;
  for (unsigned i = 0; i < TRIES; i++) {
    struct pml_reading before = {0}, after = {0};
    pmu_bracket(&c, &w->brackets);
    if (i % 50 != 0) continue;
    bool told = pml_counter_read(&c, &before) == 0;
    if (w->hops) w->moves += hop(&allowed);
    sched_yield();
    pmu_spin(WINDOW);
    told = pml_counter_read(&c, &after) == 0 && told;
    uint64_t n = after.raw - before.raw; /* its own and no other thread's: the loop, and some calls around it */
    w->strange += !told || n < WINDOW || n > WINDOW + 20000;
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  pml_counter_close(&c);
  return NULL;
}

static void threads(unsigned n, bool hops) {
  struct worker w[MOST_THREADS];
  memset(w, 0, sizeof w);
  for (unsigned i = 0; i < n; i++) {
    w[i].hops = hops;
    pthread_create(&w[i].thread, NULL, work, &w[i]);
  }
  for (unsigned i = 0; i < n; i++) {
    const struct worker *o = &w[i];
    pthread_join(o->thread, NULL);
    CHECK(o->rc == 0 && o->brackets.right == TRIES, "%u thread%s%s, %u: %u of %u reads bracketed, %u by page", n,
          n > 1 ? "s" : "", hops ? " hopping" : "", i, o->brackets.right, TRIES, o->brackets.paged);
    CHECK(o->brackets.paged > TRIES / 2, "as a rule by page");
    CHECK(o->strange == 0, "what other threads do is in no count of its own");
    if (hops) CHECK(o->moves > 0, "it moved %u times", o->moves);
  }
}

int main(void) {
  cpu_set_t allowed;
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  threads(2, false);
  threads(4, false);
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2)
    SKIP("migration needs a second cpu");
  else
    threads(2, true);
  return check_done();
}
