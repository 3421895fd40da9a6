/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_threads.c - many threads register, count, record and unregister through the drop-in while one reads. */
#include "check.h"
#include "compat.h"

enum { THREADS = 4, ROUNDS = 20000, NAMES = 50 };

static void *counter, *recorder, *set;
static atomic_int running = THREADS;
static _Atomic long long shown;

static long long show(void *unused) {
  (void)unused;
  return atomic_load(&shown);
}

struct worker {
  int number, wrong;
};

static void *work(void *arg) {
  struct worker *w = arg;
  papi_handle_t lib = papi_sde_init("THREADS");
  char name[32];
  long long v = w->number;
  for (int i = 0; i < ROUNDS; i++) {
    double d = i;
    w->wrong += papi_sde_inc_counter(counter, 1) != SDE_OK;
    w->wrong += papi_sde_record(recorder, sizeof d, &d) != SDE_OK;
    if (i % 100 == 0) w->wrong += papi_sde_counting_set_insert(set, sizeof v, sizeof v, &v, 1) != SDE_OK;
    if (i % 100 == 50) w->wrong += papi_sde_counting_set_remove(set, sizeof v, &v, 1) != SDE_OK;
  }
  for (int i = 0; i < NAMES; i++) { /* the same names in all threads, and one recorder each that comes and goes */
    void *r = NULL, *c = NULL;
    double d = 1;
    snprintf(name, sizeof name, "V%d", i);
    w->wrong += papi_sde_register_counter_cb(lib, name, PAPI_SDE_INSTANT, PAPI_SDE_long_long, show, NULL) != SDE_OK;
    snprintf(name, sizeof name, "C%d", i);
    w->wrong += papi_sde_create_counter(lib, name, PAPI_SDE_INSTANT, &c) != SDE_OK || !c;
    w->wrong += papi_sde_inc_counter(c, 1) != SDE_OK;
    snprintf(name, sizeof name, "R%d_%d", w->number, i % 3);
    w->wrong += papi_sde_create_recorder(lib, name, sizeof d, papi_sde_compare_double, &r) != SDE_OK;
    w->wrong += papi_sde_record(r, sizeof d, &d) != SDE_OK;
    w->wrong += papi_sde_unregister_counter(lib, name) != SDE_OK;
  }
  atomic_fetch_sub(&running, 1);
  return NULL;
}

static int watch(void) {
  int down = 0;
  long long last = 0, at = 0;
  for (long rounds = 0; atomic_load(&running) > 0 && rounds < 10000000; rounds++) {
    long long now = value_of("THREADS::C");
    down += now < last;
    last = now;
    now = value_of("THREADS::R:CNT");
    down += now < at;
    at = now;
    if (rounds % 64 == 0) {
      char name[32];
      free((void *)(intptr_t)value_of("THREADS::R:MED"));
      free_list((cset_list_object_t *)(intptr_t)value_of("THREADS::S"));
      snprintf(name, sizeof name, "THREADS::R%ld_%ld:MAX", rounds / 64 % THREADS, rounds / 256 % 3);
      long long p = value_of(name);
      if (p > 0) free((void *)(intptr_t)p);
      (void)sde_ti_get_num_reg_events();
    }
  }
  return down;
}

static void *gone_recorder, *gone_counter;
static atomic_bool taken;

static void *use_what_goes(void *arg) {
  int *wrong = arg;
  for (double d = 0; !atomic_load(&taken); d++) {
    int err = papi_sde_record(gone_recorder, sizeof d, &d);
    *wrong += err != SDE_OK && err != SDE_EINVAL;
    err = papi_sde_inc_counter(gone_counter, 1);
    *wrong += err != SDE_OK && err != SDE_EINVAL;
  }
  return NULL;
}

static void taken_back(void) {
  pthread_t thread[2];
  int wrong[2] = {0}, started = 0, bad = 0;
  papi_handle_t lib = papi_sde_init("TAKEN");
  papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &gone_recorder);
  papi_sde_create_counter(lib, "C", PAPI_SDE_INSTANT, &gone_counter);
  while (started < 2 && pthread_create(&thread[started], NULL, use_what_goes, &wrong[started]) == 0) started++;
  for (int i = 0; i < 2000; i++) {
    void *again;
    bad += papi_sde_unregister_counter(lib, "R") != SDE_OK || papi_sde_unregister_counter(lib, "C") != SDE_OK;
    bad += papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &again) != SDE_OK;
    bad += papi_sde_create_counter(lib, "C", PAPI_SDE_INSTANT, &again) != SDE_OK;
  }
  bad += papi_sde_shutdown(lib) != SDE_OK;
  atomic_store(&taken, true);
  while (started > 0) pthread_join(thread[--started], NULL);
  CHECK(bad + wrong[0] + wrong[1] == 0, "objects in use by threads may be removed and made again 2000 times");
}

int main(void) {
  pthread_t thread[THREADS];
  struct worker workers[THREADS] = {{0}};
  papi_handle_t lib = papi_sde_init("THREADS");
  papi_sde_create_counter(lib, "C", PAPI_SDE_INSTANT, &counter);
  papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &recorder);
  papi_sde_create_counting_set(lib, "S", &set);
  for (int i = 0; i < THREADS; i++) {
    workers[i].number = i;
    if (pthread_create(&thread[i], NULL, work, &workers[i]) != 0) atomic_fetch_sub(&running, 1);
  }
  int down = watch(), wrong = 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    wrong += workers[i].wrong;
  }
  CHECK(wrong == 0, "every call of every thread succeeds");
  CHECK(down == 0, "no count goes down while it is watched");
  CHECK(value_of("THREADS::C") == (long long)THREADS * ROUNDS, "no increment is lost");
  CHECK(value_of("THREADS::R:CNT") == (long long)THREADS * ROUNDS, "no record is lost");
  CHECK(value_of("THREADS::S") == 0, "what they put into a set and took out is out");
  long long sum = 0;
  char name[32];
  for (int i = 0; i < NAMES; i++) {
    snprintf(name, sizeof name, "THREADS::C%d", i);
    sum += value_of(name);
  }
  CHECK(sum == (long long)THREADS * NAMES, "threads that create the same counter share it");
  taken_back();
  return check_done();
}
