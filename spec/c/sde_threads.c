/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde_threads.c - many threads count, read, group, register and take back the same events at once. */
#include "check.h"
#include "source/sde/pml_sde_private.h"

#include <sched.h>

#define THREADS 4
#define INCREMENTS 100000
#define ROUNDS 300

static struct pml_sde_library *lib;
static struct pml_sde_counter *counter;
static atomic_bool stop;
static _Atomic unsigned notified;
static _Atomic unsigned wrong;
static pthread_barrier_t together; /* a thread that ended lends its place in the counter to the next */

static void *start(pthread_t *t, void *(*f)(void *), void *arg) {
  if (pthread_create(t, NULL, f, arg) != 0) abort();
  return NULL;
}

static void *count_up(void *arg) {
  pthread_barrier_wait(&together);
  for (int i = 0; i < INCREMENTS; i++) pml_sde_increment(counter, 1);
  pthread_barrier_wait(&together);
  return arg;
}

static void *count_briefly(void *arg) {
  (void)arg;
  for (int i = 0; i < 10; i++) pml_sde_increment(counter, 1);
  return NULL;
}

static void notify(int64_t value, void *arg) {
  (void)value;
  (void)arg;
  atomic_fetch_add(&notified, 1);
}

static void *watch(void *arg) {
  int64_t last = 0;
  while (!atomic_load(&stop)) {
    int64_t now = pml_sde_counter_read(counter);
    if (now < last) atomic_fetch_add(&wrong, 1);
    last = now;
  }
  return arg;
}

static void counting(void) {
  pthread_t t[THREADS], reader;
  pml_sde_create(lib, "COUNT", PML_SDE_RW, &counter);
  pthread_barrier_init(&together, NULL, THREADS);
  struct pml_sde_event *ev;
  pml_sde_find("THREADS::COUNT", &ev, NULL);
  const struct pml_value seven = {.type = PML_TYPE_INT64, .i = 7};
  CHECK(pml_sde_write(ev, &seven) == 0 && pml_sde_counter_read(counter) == 7,
        "a counter without increments is written");
  pml_sde_counter_reset(counter);
  start(&reader, watch, NULL);
  for (int i = 0; i < THREADS; i++) start(&t[i], count_up, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  atomic_store(&stop, true);
  pthread_join(reader, NULL);
  atomic_store(&stop, false);
  CHECK(pml_sde_counter_read(counter) == (int64_t)THREADS * INCREMENTS, "no increment of %d threads is lost", THREADS);
  CHECK(atomic_load(&wrong) == 0, "and no reader saw the count go back");
  CHECK(pml_sde_write(ev, &seven) == 0 && pml_sde_counter_read(counter) == 7, "a written value replaces all counts");

  int64_t before = pml_sde_counter_read(counter);
  for (int i = 0; i < 50; i++) {
    for (int k = 0; k < THREADS; k++) start(&t[k], count_briefly, NULL);
    for (int k = 0; k < THREADS; k++) pthread_join(t[k], NULL);
  }
  CHECK(pml_sde_counter_read(counter) - before == 50 * THREADS * 10, "nor of threads that come and go");

  pml_sde_counter_reset(counter);
  pml_sde_on_overflow(ev, 1000, notify, NULL);
  for (int i = 0; i < THREADS; i++) start(&t[i], count_up, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  CHECK(atomic_load(&notified) == THREADS * INCREMENTS / 1000, "each multiple of a threshold notifies once (%u)",
        atomic_load(&notified));
  pml_sde_on_overflow(ev, 0, NULL, NULL);
  pml_sde_release(ev);
}

/* It takes its time, so that who frees @param without waiting for it is seen. */
static int64_t answer(void *param) {
  for (int i = 0; i < 3; i++) sched_yield();
  return __atomic_load_n((int64_t *)param, __ATOMIC_RELAXED);
}

static void *read_sets(void *arg) {
  static const char *const names[] = {"sde:::THREADS::VAR", "sde:::THREADS::CALL", "sde:::THREADS::GROUP",
                                      "sde:::THREADS::REC:CNT", "sde:::THREADS::REC:MED"};
  struct pml_eventset *s = NULL;
  uint64_t v[5];
  if (pml_eventset_open(&s, names, 5, NULL) != 0) atomic_fetch_add(&wrong, 1);
  while (s != NULL && !atomic_load(&stop)) {
    pml_eventset_start(s); /* so that it is 0, or 1000 more or less than it was, or the placeholder's -1 */
    pml_eventset_read(s, v);
    if (v[0] != 0 && v[0] != 1000 && v[0] != UINT64_MAX) atomic_fetch_add(&wrong, 1);
  }
  pml_eventset_close(s);
  return arg;
}

static void *read_singly(void *arg) {
  while (!atomic_load(&stop)) {
    struct pml_sde_event *ev;
    struct pml_value v;
    if (pml_sde_find("THREADS::VAR", &ev, NULL) != 0) continue;
    if (pml_sde_read(ev, &v) != 0 || (v.i != 1000 && v.i != -1)) atomic_fetch_add(&wrong, 1);
    pml_sde_release(ev);
  }
  return arg;
}

static int nothing(const struct pml_sde_info *info, void *arg) {
  (void)arg;
  return info->full_name == NULL;
}

static void *list(void *arg) {
  while (!atomic_load(&stop))
    if (pml_sde_list(nothing, NULL) != 0) atomic_fetch_add(&wrong, 1);
  return arg;
}

/* The variable is freed right after it was unregistered: no reader may be in it then. */
static bool come_and_go(void) {
  int64_t *var = malloc(2 * sizeof *var);
  struct pml_recorder *r;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  if (var == NULL) return false;
  var[0] = 1000, var[1] = 7;
  bool fine = pml_sde_register(lib, "VAR", 0, PML_TYPE_INT64, &var[0]) == 0 &&
              pml_sde_register_callback(lib, "CALL", 0, PML_TYPE_INT64, answer, &var[1]) == 0 &&
              pml_sde_group_add(lib, "VAR", "GROUP", PML_SDE_SUM) == 0 &&
              pml_sde_group_add(lib, "CALL", "GROUP", PML_SDE_SUM) == 0 &&
              pml_sde_create_recorder(lib, "REC", &o, &r) == 0;
  double d = 1;
  for (int i = 0; fine && i < 20; i++) fine = pml_recorder_push(r, &d) == 0;
  fine = pml_sde_unregister(lib, "VAR") == 0 && fine;
  fine = pml_sde_unregister(lib, "CALL") == 0 && fine;
  var[0] = var[1] = -77777;
  free(var);
  return pml_sde_unregister(lib, "REC") == 0 && fine;
}

static void coming_and_going(void) {
  void *(*const reader[THREADS])(void *) = {read_sets, read_sets, read_singly, list};
  pthread_t t[THREADS];
  bool fine = true;
  atomic_store(&wrong, 0);
  for (int i = 0; i < THREADS; i++) start(&t[i], reader[i], NULL);
  for (int i = 0; i < ROUNDS; i++) fine = come_and_go() && fine;
  atomic_store(&stop, true);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  atomic_store(&stop, false);
  CHECK(fine, "events come and go under readers, %d times", ROUNDS);
  CHECK(atomic_load(&wrong) == 0, "who reads the value or none (%u others)", atomic_load(&wrong));
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool inside;

static int64_t block(void *param) {
  (void)param;
  atomic_store(&inside, true);
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return 1;
}

static void *read_block(void *arg) {
  struct pml_value v;
  pml_sde_read(arg, &v);
  return NULL;
}

static void blocking(void) {
  struct pml_sde_event *ev;
  pthread_t t;
  int64_t x = 3;
  struct pml_value v;
  pml_sde_register_callback(lib, "BLOCK", 0, PML_TYPE_INT64, block, NULL);
  pml_sde_find("THREADS::BLOCK", &ev, NULL);
  pthread_mutex_lock(&gate);
  start(&t, read_block, ev);
  const struct timespec nap = {0, 1000000};
  for (int i = 0; i < 5000 && !atomic_load(&inside); i++) nanosleep(&nap, NULL);
  struct pml_sde_event *other = NULL;
  CHECK(pml_sde_register(lib, "OTHER", 0, PML_TYPE_INT64, &x) == 0 &&
            pml_sde_find("THREADS::OTHER", &other, NULL) == 0 && pml_sde_read(other, &v) == 0 && v.i == 3 &&
            pml_sde_increment(counter, 1) == 0,
        "while a callback blocks, others register, read and count");
  pthread_mutex_unlock(&gate);
  pthread_join(t, NULL);
  pml_sde_release(other);
  pml_sde_release(ev);
}

/* As by a signal handler's longjmp. */
static void left_inside(void) {
  struct pml__sde_reader *r = pml__sde_reader_take();
  pml__sde_enter(r);
  pml__sde_enter(r);
  CHECK(!pml__sde_wait_for_readers(NULL, 0, false), "a reader that left one pass in its midst is inside in the next");
  pml__sde_leave(r);
  CHECK(pml__sde_wait_for_readers(NULL, 0, false), "and outside after it");
  pml__sde_enter(r);
  pml__sde_reader_give_back(r);
  CHECK(pml__sde_wait_for_readers(NULL, 0, false), "so is one that is removed in its midst");
}

/* The side that waits compares the number of a pass with that before: no pass may have the number of another. */
static void numbered(void) {
  struct pml__sde_reader r = {.passes = 0};
  unsigned odd = 0;
  for (uint64_t pass = 0; pass < 4; pass++) {
    odd += pml__sde_enter(&r) != 2 * pass + 1;
    if (pass < 2)
      pml__sde_leave(&r);
    else
      pml__sde_leave_from(&r, 2 * pass + 1);
  }
  CHECK(odd == 0 && atomic_load(&r.passes) == 8, "each pass of a reader has a number of its own");
}

int main(void) {
  numbered();
  if (pml_sde_library(&lib, "THREADS") != 0) return 1;
  CHECK_EACH(counting, coming_and_going, blocking, left_inside);
  pml_sde_shutdown(lib);
  return check_done();
}
