/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/flow_threads.c - flows of many threads: separate, and merged if equal, in any order of thread ends. */
#include "check.h"
#include "flow.h"
#include "sanitized.h"

#define THREADS 4
#define TURNS (SANITIZED ? 50u : 500u)

struct job {
  struct told told;
  const char *calls;
  unsigned turns;
  pthread_barrier_t *stay; /* NULL: the thread ends when its calls have */
};

static struct job job[THREADS + 1];

static void *work(void *arg) {
  struct job *j = arg;
  for (unsigned i = 0; i < j->turns; i++) run(&j->told, j->calls);
  if (j->stay != NULL) {
    pthread_barrier_wait(j->stay);
    pthread_barrier_wait(j->stay);
  }
  return NULL;
}

static void set(struct job *j, const char *calls, unsigned turns, pthread_barrier_t *stay) {
  memset(j, 0, sizeof *j);
  j->calls = calls;
  j->turns = turns;
  j->stay = stay;
}

static void run_all(pthread_t *thread, unsigned n) {
  for (unsigned i = 0; i < n; i++) (void)pthread_create(&thread[i], NULL, work, &job[i]);
}

static void join_all(pthread_t *thread, unsigned n) {
  for (unsigned i = 0; i < n; i++) (void)pthread_join(thread[i], NULL);
}

static const struct pml_flow_graph *graph_of(const struct pml_flow *f, const struct told *t) {
  size_t n;
  const struct pml_flow_graph *const *g = pml_flow_graphs(f, &n);
  for (size_t i = 0; i < n; i++)
    if (gives_back(g[i], t, t->n)) return g[i];
  return NULL;
}

static void the_same(void) {
  struct pml_flow *f;
  pthread_t thread[THREADS];
  size_t n = 0;
  if (!CHECK(pml_flow_open(&f, NULL) == 0, "a flow is opened")) return;
  for (unsigned i = 0; i < THREADS; i++) set(&job[i], i == 2 ? "b(aad)" : "b(aac)", TURNS, NULL);
  run_all(thread, THREADS);
  join_all(thread, THREADS);
  CHECK(pml_flow_stop(f) == 0 && pml_flow_graphs(f, &n) != NULL && n == 2, "threads with the same flow are one graph");
  const struct pml_flow_graph *most = graph_of(f, &job[0].told), *other = graph_of(f, &job[2].told);
  CHECK(most != NULL && most->nthreads == THREADS - 1 && other != NULL && other->nthreads == 1,
        "which says how many they are");
  CHECK(most != NULL && most->node[1].visits == TURNS && most->node[1].count == (THREADS - 1) * TURNS,
        "visits are separate, times are sums over all");
  pml_flow_close(f);
}

static void some_stay(void) {
  struct pml_flow *f;
  pthread_t thread[THREADS];
  pthread_barrier_t stay;
  size_t n = 0;
  if (pml_flow_open(&f, NULL) < 0) return;
  (void)pthread_barrier_init(&stay, NULL, 3);
  for (unsigned i = 0; i < THREADS; i++) set(&job[i], "ab", TURNS, i < 2 ? &stay : NULL);
  run_all(thread, THREADS);
  pthread_barrier_wait(&stay); /* two have raised all, and live */
  join_all(thread + 2, THREADS - 2);
  CHECK(pml_flow_stop(f) == 0 && pml_flow_graphs(f, &n)[0]->nthreads == THREADS && n == 1,
        "threads that live and threads that ended are in it");
  pthread_barrier_wait(&stay);
  join_all(thread, 2);
  pml_flow_close(f);
  pthread_barrier_destroy(&stay);
}

static atomic_bool enough;

static void *raise_on(void *arg) {
  struct told *t = arg;
  while (!atomic_load(&enough)) {
    t->n = 0;
    run(t, "a(bbc)d");
  }
  return NULL;
}

static void come_and_go(void) {
  pthread_t thread[2];
  unsigned good = 0;
  atomic_store(&enough, false);
  for (unsigned i = 0; i < 2; i++) {
    set(&job[i], "", 0, NULL);
    (void)pthread_create(&thread[i], NULL, raise_on, &job[i].told);
  }
  for (unsigned round = 0; round < TURNS; round++) {
    struct pml_flow *f;
    size_t n = 0;
    if (pml_flow_open(&f, NULL) < 0) continue;
    bool fine = pml_flow_stop(f) == 0;
    const struct pml_flow_graph *const *g = pml_flow_graphs(f, &n);
    for (size_t i = 0; i < n; i++) fine = fine && adds_up(g[i]) && g[i]->missing == 0;
    good += fine;
    pml_flow_close(f);
  }
  atomic_store(&enough, true);
  join_all(thread, 2);
  CHECK(good == TURNS, "flows come and go while threads raise events (%u of %u)", good, TURNS);
}

static void too_many(void) {
  struct pml_flow *f;
  struct pml_stream_lost before, after;
  size_t n = 0;
  char calls[PML_FLOW_THREADS_MAX / 64 + 4];
  pml_stream_lost(&before);
  if (pml_flow_open(&f, NULL) < 0) return;
  for (unsigned i = 0; i < PML_FLOW_THREADS_MAX + 2; i++) { /* no two alike: a number in base 4 */
    for (unsigned k = 0; k < 6; k++) calls[k] = (char)('a' + (i >> 2 * k) % 4);
    calls[6] = '\0';
    set(&job[0], calls, 1, NULL);
    in_threads(1, work, &job[0], 0);
  }
  pml_stream_lost(&after);
  CHECK(pml_flow_stop(f) == 0 && pml_flow_graphs(f, &n) != NULL && n == PML_FLOW_THREADS_MAX,
        "different flows are kept up to a limit");
  CHECK(after.refused > before.refused, "beyond, threads are refused, and counted");
  pml_flow_close(f);
}

int main(void) {
  CHECK_EACH(intern_regions, the_same, some_stay, come_and_go, too_many);
  return check_done();
}
