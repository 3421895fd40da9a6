/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/live_threads.c - threads of the application count, start and stop, while clients ask without a pause.
 *
 * Two seconds of it; as many as SOAK_SECONDS says, if that is set.
 */
#include "check.h"
#include "live.h"

#define COUNTERS 3
#define CLIENTS 4

static atomic_bool enough;
static _Atomic unsigned answers, refusals, wrong;
static struct pml_sde_counter *counter;

static void *count(void *arg) {
  int64_t *n = arg;
  do {
    for (int i = 0; i < 1000; i++) pml_sde_increment(counter, 1);
    *n += 1000;
    live_sleep_ms(1);
  } while (!atomic_load_explicit(&enough, memory_order_relaxed));
  return NULL;
}

static int64_t increment(void *arg, const double *values, size_t n) {
  atomic_fetch_add((_Atomic int64_t *)arg, n > 0 ? (int64_t)values[0] : 0);
  return 1;
}

static void *ask(void *arg) {
  static const char *const code[] = {"pml.sde.find('LIVE::N'):read()", "pml.live.call('increment', 1)",
                                     "return nil + 1", "while true do end"};
  unsigned n = *(const unsigned *)arg;
  char text[256];
  do { /* at least once, as all others */
    int fd = live_connect_self();
    for (int i = 0; fd >= 0 && i < 8 && !(i > 0 && atomic_load(&enough)); i++) {
      const char *question = code[n++ % (i == 0 ? 4 : 3)];
      int kind = live_ask(fd, LIVE_EVAL, question, text, sizeof text);
      if (kind < 0) break; /* the service was stopped, or there was no place */
      atomic_fetch_add(kind == LIVE_OK ? &answers : &refusals, 1);
      bool right = question[0] == 'p' ? kind == LIVE_OK : kind == LIVE_ERROR;
      /* A service that stops ends what it runs. */
      if (!right && strstr(text, "service ends") == NULL && strstr(text, "too many") == NULL) {
        if (atomic_fetch_add(&wrong, 1) == 0) fprintf(stderr, "%s: %s\n", question, text);
      }
    }
    if (fd >= 0) close(fd);
    if (fd < 0) live_sleep_ms(1);
  } while (!atomic_load(&enough));
  return NULL;
}

static void *start_and_stop(void *arg) {
  unsigned *rounds = arg;
  for (; *rounds == 0 || !atomic_load(&enough); ++*rounds) {
    int err = pmlua_live_start(NULL);
    if (err < 0 && atomic_fetch_add(&wrong, 1) == 0) fprintf(stderr, "start: %s\n", pml_error_detail(err));
    live_sleep_ms((long)(*rounds % 7));
    if (pmlua_live_stop() < 0) atomic_fetch_add(&wrong, 1);
  }
  return NULL;
}

static void *lend(void *arg) {
  unsigned *rounds = arg;
  char path[LIVE_PATH_MAX];
  for (; !atomic_load(&enough); ++*rounds) {
    (void)pmlua_live_path(path, sizeof path);
    if (pmlua_live_function("other", *rounds % 2 ? increment : NULL, rounds) < 0) atomic_fetch_add(&wrong, 1);
    live_sleep_ms(1);
  }
  return NULL;
}

static double seconds(void) {
  const char *soak = getenv("SOAK_SECONDS");
  return soak != NULL ? atof(soak) / 2 : 2;
}

static void begin(void) {
  atomic_store(&enough, false);
  atomic_store(&answers, 0);
  atomic_store(&refusals, 0);
}

static void let_run(pthread_t *thread, int n) {
  double until = live_now() + seconds();
  while (live_now() < until) live_sleep_ms(10);
  atomic_store(&enough, true);
  for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

static void hammered(void) {
  pthread_t thread[COUNTERS + CLIENTS + 1];
  int64_t counted[COUNTERS] = {0};
  unsigned first[CLIENTS], lent = 0;
  int n = 0;
  begin();
  for (int i = 0; i < COUNTERS; i++) pthread_create(&thread[n++], NULL, count, &counted[i]);
  for (unsigned i = 0; i < CLIENTS; i++) {
    first[i] = i;
    pthread_create(&thread[n++], NULL, ask, &first[i]);
  }
  pthread_create(&thread[n++], NULL, lend, &lent);
  let_run(thread, n);
  int64_t sum = 0;
  for (int i = 0; i < COUNTERS; i++) sum += counted[i];
  CHECK(sum > 0 && pml_sde_counter_read(counter) == sum, "every count of %d threads has arrived: %lld", COUNTERS,
        (long long)sum);
  CHECK(answers > 0 && refusals > 0, "while %d clients got %u answers and %u errors", CLIENTS, answers, refusals);
}

static void raced(void) {
  pthread_t thread[CLIENTS + 3];
  unsigned first[CLIENTS], rounds[3] = {0};
  int n = 0;
  begin();
  for (unsigned i = 0; i < CLIENTS; i++) {
    first[i] = i;
    pthread_create(&thread[n++], NULL, ask, &first[i]);
  }
  for (int i = 0; i < 2; i++) pthread_create(&thread[n++], NULL, start_and_stop, &rounds[i]);
  pthread_create(&thread[n++], NULL, lend, &rounds[2]);
  let_run(thread, n);
  CHECK(rounds[0] > 0 && rounds[1] > 0, "two threads start and stop the service %u times, under questions",
        rounds[0] + rounds[1]);
}

int main(void) {
  static _Atomic int64_t incremented;
  struct pml_sde_library *lib;
  live_runtime();
  alarm((unsigned)(100 + 4 * seconds()));
  pml_sde_library(&lib, "LIVE");
  pml_sde_create(lib, "N", PML_SDE_INSTANT, &counter);
  pmlua_live_function("increment", increment, (void *)&incremented);
  if (!CHECK(pmlua_live_start(NULL) == 0, "the service starts")) return check_done();
  hammered();
  CHECK(atomic_load(&incremented) > 0, "the application's function was called %lld times",
        (long long)atomic_load(&incremented));
  pmlua_live_stop();
  raced();
  pmlua_live_stop();
  CHECK(wrong == 0, "no answer was wrong");
  return check_done();
}
