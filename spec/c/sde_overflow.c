/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde_overflow.c - thresholds on variables and callbacks, which only the polling thread reads. */
#include "check.h"

#include <dirent.h>

static struct pml_sde_library *lib;
static const struct timespec nap = {0, 1000000};

struct heard {
  _Atomic unsigned times;
  _Atomic int64_t last;
};

static void hear(int64_t value, void *arg) {
  struct heard *h = arg;
  atomic_store(&h->last, value);
  atomic_fetch_add(&h->times, 1);
}

static bool hears(struct heard *h, unsigned times) {
  for (int i = 0; i < 10000 && atomic_load(&h->times) < times; i++) nanosleep(&nap, NULL);
  return atomic_load(&h->times) == times;
}

static unsigned threads(void) {
  DIR *d = opendir("/proc/self/task");
  unsigned n = 0;
  if (d == NULL) return 0;
  for (const struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static bool comes_to(unsigned n) {
  for (int i = 0; i < 10000 && threads() != n; i++) nanosleep(&nap, NULL);
  return threads() == n;
}

static void set(int64_t *variable, int64_t v) {
  __atomic_store_n(variable, v, __ATOMIC_RELAXED);
}

static struct pml_sde_event *event(const char *name) {
  struct pml_sde_event *ev = NULL;
  pml_sde_find(name, &ev, NULL);
  return ev;
}

static int64_t load(void *param) {
  return __atomic_load_n((int64_t *)param, __ATOMIC_RELAXED);
}

static void without_a_reader(unsigned before) {
  static int64_t variable = 5, behind;
  static struct heard v, c;
  pml_sde_register(lib, "VAR", PML_SDE_RW, PML_TYPE_INT64, &variable);
  pml_sde_register_callback(lib, "CALL", 0, PML_TYPE_INT64, load, &behind);
  struct pml_sde_event *var = event("POLL::VAR"), *call = event("POLL::CALL");
  CHECK(pml_sde_on_overflow(var, 100, hear, &v) == 0 && pml_sde_on_overflow(call, 10, hear, &c) == 0,
        "a variable and a callback are watched");
  CHECK(threads() == before + 1, "by one thread");
  set(&variable, 99);
  set(&behind, 12);
  CHECK(hears(&c, 1) && atomic_load(&c.last) == 12 && atomic_load(&v.times) == 0,
        "a callback's new value is heard of, a threshold that is not reached is not");
  set(&variable, 1234);
  CHECK(hears(&v, 1) && atomic_load(&v.last) == 1234, "a variable that passes is, without anybody reading it");
  set(&variable, 1300);
  CHECK(hears(&v, 2) && atomic_load(&v.last) == 1300, "and again at the next multiple");
  CHECK(pml_sde_on_overflow(var, 0, NULL, NULL) == 0 && threads() >= before, "one is left alone");
  set(&behind, 20);
  CHECK(hears(&c, 2), "the other is still watched");
  CHECK(pml_sde_unregister(lib, "CALL") == 0, "it is unregistered");
  pml_sde_release(var);
  pml_sde_release(call);
  CHECK(comes_to(before), "with the last the thread goes");
  CHECK(atomic_load(&v.times) == 2, "no further notification");
}

static void of_another_type(unsigned before) {
  static double real = 0.5;
  static struct heard h;
  pml_sde_register(lib, "REAL", PML_SDE_RW, PML_TYPE_DOUBLE, &real);
  struct pml_sde_event *ev = event("POLL::REAL");
  pml_sde_on_overflow(ev, 2, hear, &h);
  double new = 4.5;
  __atomic_store(&real, &new, __ATOMIC_RELAXED);
  CHECK(hears(&h, 1) && atomic_load(&h.last) == 4, "a double is heard of in whole numbers");
  pml_sde_unregister(lib, "REAL");
  pml_sde_register(lib, "REAL", PML_SDE_RW, PML_TYPE_DOUBLE, &real);
  new = 100;
  __atomic_store(&real, &new, __ATOMIC_RELAXED);
  CHECK(comes_to(before) && atomic_load(&h.times) == 1, "its successor is not");
  CHECK(pml_sde_on_overflow(ev, 50, hear, &h) == 0, "unless it gets a threshold");
  new = 200;
  __atomic_store(&real, &new, __ATOMIC_RELAXED);
  CHECK(hears(&h, 2), "and then it is");
  pml_sde_unregister(lib, "REAL");
  pml_sde_release(ev);
  CHECK(comes_to(before), "the thread starts and ends as often as it is needed");
}

static void *watch_and_leave(void *arg) {
  static int64_t variable[4];
  static struct heard h;
  char name[16], full[32];
  long i = (long)(intptr_t)arg, failed = 0;
  snprintf(name, sizeof name, "T%ld", i);
  snprintf(full, sizeof full, "POLL::T%ld", i);
  for (int k = 0; k < 50; k++) {
    pml_sde_register(lib, name, PML_SDE_RW, PML_TYPE_INT64, &variable[i]);
    struct pml_sde_event *ev = event(full);
    failed += pml_sde_on_overflow(ev, 10, hear, &h) != 0;
    set(&variable[i], 1000 + k);
    if (k % 2) nanosleep(&nap, NULL);
    failed += pml_sde_unregister(lib, name) != 0;
    pml_sde_release(ev);
  }
  return (void *)(intptr_t)failed;
}

static void by_many(unsigned before) {
  pthread_t t[4];
  bool fine = true;
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, watch_and_leave, (void *)(intptr_t)i);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(t[i], &failed);
    fine = fine && failed == NULL;
  }
  CHECK(fine && comes_to(before), "threads watch and leave as they like");
}

#ifdef __SANITIZE_THREAD__
static void in_a_child(void) {
  SKIP("ThreadSanitizer has no threads in a forked child");
}
#else
static void in_a_child(void) {
  static int64_t variable;
  static struct heard h;
  pml_sde_register(lib, "FORK", PML_SDE_RW, PML_TYPE_INT64, &variable);
  struct pml_sde_event *ev = event("POLL::FORK");
  pml_sde_on_overflow(ev, 10, hear, &h);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    set(&variable, 15);
    _exit(!hears(&h, 1));
  }
  CHECK(exit_of(child) == 0, "a forked child is told, too");
  CHECK(atomic_load(&h.times) == 0, "and of its own only");
  set(&variable, 20);
  CHECK(hears(&h, 1), "as the parent of its own");
  pml_sde_release(ev);
}
#endif

static void *tell_tid(void *tid) {
  *(pid_t *)tid = gettid();
  return NULL;
}

/* Counted after a first thread, because a sanitizer starts a thread with it. The kernel may list a thread after its
 * join. */
static unsigned threads_to_begin_with(void) {
  pthread_t t;
  pid_t tid = 0;
  char path[64];
  if (pthread_create(&t, NULL, tell_tid, &tid) != 0) return threads();
  pthread_join(t, NULL);
  snprintf(path, sizeof path, "/proc/self/task/%d", (int)tid);
  for (int i = 0; i < 10000 && access(path, F_OK) == 0; i++) nanosleep(&nap, NULL);
  return threads();
}

int main(void) {
  unsigned before = threads_to_begin_with();
  pml_sde_library(&lib, "POLL");
  without_a_reader(before);
  of_another_type(before);
  by_many(before);
  in_a_child();
  pml_sde_shutdown(lib);
  CHECK(comes_to(before), "shutting the library down ends it");
  return check_done();
}
