/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_near.c - a thread's cache of handles: more handles than places, resets by other threads, signals during
 * a record, destructors that record after the thread's end, children. */
#include "check.h"
#include "compat.h"

#include <sys/time.h>

enum { MANY = 20, EACH = 1000, SOME = 200000, HANDLED = 300 };

static int record(void *r, double v) {
  return papi_sde_record(r, sizeof v, &v);
}

static double at(const char *name) {
  long long p = value_of(name);
  double v = p > 0 ? *(const double *)(intptr_t)p : -99; /* NOLINT(performance-no-int-to-ptr) */
  if (p > 0) free((void *)(intptr_t)p);                  /* NOLINT(performance-no-int-to-ptr) */
  return v;
}

static void many(papi_handle_t lib) {
  void *r[MANY];
  char name[32];
  int wrong = 0;
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "MANY%d", i);
    papi_sde_create_recorder(lib, name, sizeof(double), papi_sde_compare_double, &r[i]);
  }
  for (int k = 0; k < EACH; k++)
    for (int i = 0; i < MANY; i++) wrong += record(r[i], 1000.0 * i + k) != SDE_OK;
  for (int i = 0; i < MANY; i++) {
    char least[48], most[48];
    snprintf(name, sizeof name, "NEAR::MANY%d:CNT", i);
    snprintf(least, sizeof least, "NEAR::MANY%d:MIN", i);
    snprintf(most, sizeof most, "NEAR::MANY%d:MAX", i);
    wrong += value_of(name) != EACH || (int)at(least) != 1000 * i || (int)at(most) != 1000 * i + EACH - 1;
  }
  CHECK(wrong == 0, "%d recorders in turn have each its own %d values (%d wrong)", MANY, EACH, wrong);
}

/* By the registry, which the handle does not hear of by a call. */
static void reset_by_others(papi_handle_t lib) {
  struct pml_sde_event *ev = NULL;
  struct pml_sde_info info = {0};
  void *r = NULL;
  papi_sde_create_recorder(lib, "RESET", sizeof(double), papi_sde_compare_double, &r);
  if (pml_sde_find("NEAR::RESET", &ev, NULL) != 0 || pml_sde_info(ev, &info) != 0) return;
  int wrong = 0;
  for (int i = 0; i < EACH; i++) {
    record(r, 1);
    record(r, 2);
    pml_recorder_reset(info.recorder);
    record(r, i);
    wrong += pml_recorder_count(info.recorder) != 1 || (int)at("NEAR::RESET:MAX") != i;
  }
  CHECK(wrong == 0, "after a reset of the recorder only later values are there (%d wrong)", wrong);
  pml_sde_release(ev);
}

static void refused(papi_handle_t lib) {
  void *r = NULL, *c = NULL;
  double v = 1;
  papi_sde_create_recorder(lib, "REFUSED", sizeof v, papi_sde_compare_double, &r);
  papi_sde_create_counter(lib, "COUNTER", PAPI_SDE_DELTA, &c);
  for (int i = 0; i < 3; i++) record(r, i);
  CHECK(papi_sde_record(r, 0, &v) == SDE_EINVAL && papi_sde_record(r, 7, &v) == SDE_EINVAL &&
            papi_sde_record(r, 16, &v) == SDE_EINVAL && papi_sde_record(r, SIZE_MAX, &v) == SDE_EINVAL,
        "a value of another size is refused, also once the handle is known");
  CHECK(papi_sde_record(r, sizeof v, NULL) == SDE_EINVAL && papi_sde_record(NULL, sizeof v, &v) == SDE_OK,
        "so is no value; no handle is nothing to do");
  CHECK(papi_sde_record(c, sizeof v, &v) == SDE_EINVAL && papi_sde_inc_counter(r, 1) == SDE_EINVAL,
        "a counter takes no records, and a recorder no increments");
  CHECK(value_of("NEAR::REFUSED:CNT") == 3 && value_of("NEAR::COUNTER") == 0, "none of these left anything");
  papi_sde_unregister_counter(lib, "REFUSED");
  CHECK(papi_sde_record(r, sizeof v, &v) == SDE_EINVAL, "after unregistering, a known handle is refused");
  papi_sde_create_recorder(lib, "REFUSED", sizeof v, papi_sde_compare_double, &c);
  CHECK(c == r && record(r, 5) == SDE_OK && record(r, 6) == SDE_OK && value_of("NEAR::REFUSED:CNT") == 2,
        "and created again, with a separate series, when the name comes back");
}

static void *signalled, *other;
static _Atomic long handled;

/* May interrupt any code: mostly the loop below, sometimes a record. Its series has allocated its memory before. */
static void on_timer(int signal) {
  int was = errno;
  (void)signal;
  for (int i = 0; i < 3 && atomic_load(&handled) < HANDLED; i++, atomic_fetch_add(&handled, 1)) record(other, i);
  errno = was;
}

static void signals(papi_handle_t lib) {
  papi_sde_create_recorder(lib, "SIGNALLED", sizeof(double), papi_sde_compare_double, &signalled);
  papi_sde_create_recorder(lib, "HANDLER", sizeof(double), papi_sde_compare_double, &other);
  for (int i = 0; i < EACH; i++) record(other, i);
  papi_sde_reset_recorder(other);
  struct sigaction act = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &act, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  long recorded = 0;
  for (long i = 0; i < 10L * SOME && (i < SOME || atomic_load(&handled) < HANDLED); i++)
    recorded += record(signalled, (double)i) == SDE_OK;
  setitimer(ITIMER_REAL, &never, NULL);
  CHECK(value_of("NEAR::SIGNALLED:CNT") == recorded && value_of("NEAR::HANDLER:CNT") == atomic_load(&handled),
        "records of a handler and of what it interrupts are all there (%ld and %ld)", recorded, atomic_load(&handled));
  CHECK(papi_sde_unregister_counter(lib, "SIGNALLED") == SDE_OK &&
            papi_sde_unregister_counter(lib, "HANDLER") == SDE_OK,
        "and no record is left under way");
}

/* Destructors run in any order, and again for as long as one sets its key. */
static void *late;
static pthread_key_t key;

static void record_late(void *round) {
  intptr_t n = (intptr_t)round;
  for (int i = 0; i < EACH; i++) record(late, 1);
  if (n < 2) pthread_setspecific(key, (void *)(n + 1)); /* NOLINT(performance-no-int-to-ptr) */
}

static void *ends(void *arg) {
  for (int i = 0; i < EACH; i++) record(late, 1);
  pthread_setspecific(key, (void *)(intptr_t)1); /* NOLINT(performance-no-int-to-ptr) */
  return arg;
}

static void destructors(papi_handle_t lib) {
  pthread_t thread[4];
  int started = 0, rounds = 0;
  papi_sde_create_recorder(lib, "LATE", sizeof(double), papi_sde_compare_double, &late);
  if (pthread_key_create(&key, record_late) != 0) return;
  for (; rounds < 20; rounds++) {
    while (started < 4 && pthread_create(&thread[started], NULL, ends, NULL) == 0) started++;
    while (started > 0) pthread_join(thread[--started], NULL);
  }
  CHECK(value_of("NEAR::LATE:CNT") == 3LL * 4 * rounds * EACH,
        "destructors of ended threads also record, and no two threads in one place (%lld)", value_of("NEAR::LATE:CNT"));
}

static void children(papi_handle_t lib) {
  void *r = NULL;
  papi_sde_create_recorder(lib, "CHILD", sizeof(double), papi_sde_compare_double, &r);
  for (int i = 0; i < EACH; i++) record(r, i);
  for (int way = 0; way < 2; way++) {
    pid_t child = way == 0 ? fork() : _Fork();
    if (child == 0) {
      for (int i = 0; i < EACH; i++) record(r, i);
      _exit(value_of("NEAR::CHILD:CNT") == 2LL * EACH ? 0 : 1);
    }
    CHECK(exit_of(child) == 0, "a child by %s continues the series", way == 0 ? "fork" : "_Fork");
  }
  CHECK(value_of("NEAR::CHILD:CNT") == EACH, "and its parent's is unchanged");
}

int main(void) {
  papi_handle_t lib = papi_sde_init("NEAR");
  many(lib);
  reset_by_others(lib);
  refused(lib);
  signals(lib);
  destructors(lib);
  children(lib);
  return check_done();
}
