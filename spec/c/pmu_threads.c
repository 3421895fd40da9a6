/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_threads.c - threads that each read their own counters, share a cpu, and move between cpus. */
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#include "pmu.h"

#include <sched.h>

#define TRIES 20000u
#define MOST_THREADS 4u
#define WINDOW 1000u
#define EVERY 50u /* tries to a window */
#define WINDOWS (TRIES / EVERY)
#define VISITS 200u

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
    if (i % EVERY != 0) continue;
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
    /* an emulator that gives its cpus turns lets a few of the other's instructions in at a turn's end */
    unsigned few = pmu_is_exact() ? 0 : WINDOWS / 20;
    CHECK(o->strange <= few, "the work of other threads is in no count of its own (%u of %u windows)", o->strange,
          WINDOWS);
    if (hops) CHECK(o->moves > 0, "it moved %u times", o->moves);
  }
}

/* A set read by a thread on another cpu while its owner counts: by page, the reader would see its own cpu's register.
 */
struct visitor {
  struct pml_eventset *set;
  cpu_set_t allowed;
  unsigned right, at_work;
  bool elsewhere, done;
};

static bool kernel_count(const struct pml_eventset *s, uint64_t *value) {
  uint64_t b[PML__WORD_GROUP_VALUES];
  if (read(pml__kernel_backend_of(s)->group[0].fd, b, sizeof b) != (ssize_t)sizeof b) return false;
  *value = b[PML__WORD_SINGLE_VALUE] - s->base[s->word[0]];
  return true;
}

static void *visit(void *arg) {
  struct visitor *v = arg;
  uint64_t before = 0, now = 0, after = 0;
  v->elsewhere = hop(&v->allowed);
  for (unsigned i = 0; i < VISITS; i++) {
    bool told = kernel_count(v->set, &before);
    told = pml_eventset_read(v->set, &now) >= 0 && told;
    told = kernel_count(v->set, &after) && told;
    v->right += told && before <= now && now <= after;
    v->at_work += told && before < after;
  }
  __atomic_store_n(&v->done, true, __ATOMIC_RELEASE);
  return NULL;
}

static void visited(void) {
  struct visitor v = {0};
  pthread_t t;
  if (pml__eventset_open_events(&v.set, &insns, 1, NULL) != 0) return;
  sched_getaffinity(0, sizeof v.allowed, &v.allowed);
  hop(&v.allowed); /* and stays there, while the other hops on */
  pthread_create(&t, NULL, visit, &v);
  for (unsigned i = 0; i < 20000 && !__atomic_load_n(&v.done, __ATOMIC_ACQUIRE); i++) pmu_spin(100000);
  pthread_join(t, NULL);
  CHECK(v.right == VISITS, "a set whose owner counts on: %u of %u reads of another thread bracketed", v.right, VISITS);
  sched_setaffinity(0, sizeof v.allowed, &v.allowed);
  CHECK(v.elsewhere && v.at_work > 0, "%u of them while it counted on another cpu", v.at_work);
  pml_eventset_close(v.set);
}

int main(void) {
  cpu_set_t allowed;
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  threads(2, false);
  threads(4, false);
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) {
    SKIP("migration, and reading on one cpu what another counts, need a second cpu");
    return check_done();
  }
  threads(2, true);
  visited();
  return check_done();
}
