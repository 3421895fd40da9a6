/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde_patient.c - callbacks that hang: a reader waits as long as it chooses, and no other reader is held up. */
#include "base/pml_error.h"
#include "source/sde/pml_sde.h"
#include "source/sde/pml_sde_patient.h"
#include "source/sde/pml_sde_private.h"

#include "check.h"
#include "sanitized.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000u
#define LONG (20000u * (uint64_t)MS) /* longer than anything here takes */

static struct pml_sde_library *lib;

/* A callback that answers when its gate is open. */
struct gate {
  pthread_mutex_t lock;
  pthread_cond_t opened;
  bool open;
  unsigned calls, left;
};

static void gate_init(struct gate *g, bool open) {
  *g = (struct gate){.open = open};
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->opened, NULL);
}

static int64_t pass(void *param) {
  struct gate *g = param;
  pthread_mutex_lock(&g->lock);
  unsigned call = ++g->calls;
  while (!g->open) pthread_cond_wait(&g->opened, &g->lock);
  g->left++;
  pthread_mutex_unlock(&g->lock);
  return call;
}

static void gate_open(struct gate *g) {
  pthread_mutex_lock(&g->lock);
  g->open = true;
  pthread_cond_broadcast(&g->opened);
  pthread_mutex_unlock(&g->lock);
}

static unsigned calls_of(struct gate *g) {
  pthread_mutex_lock(&g->lock);
  unsigned calls = g->calls;
  pthread_mutex_unlock(&g->lock);
  return calls;
}

/* The helper has its turn when the machine gives it one. */
static bool is_called(struct gate *g) {
  const struct timespec nap = {0, MS};
  for (int i = 0; i < 10000 && calls_of(g) == 0; i++) nanosleep(&nap, NULL);
  return calls_of(g) == 1;
}

static struct pml_sde_event *event(const char *name) {
  struct pml_sde_event *ev = NULL;
  pml_sde_find(name, &ev, NULL);
  return ev;
}

/* A helper that was given up and let go ends in its own time; until it does, the answer is -ETIMEDOUT. */
static int read_when_free(struct pml_sde_event *ev, struct pml_value *v) {
  const struct timespec nap = {0, MS};
  int rc = -ETIMEDOUT;
  for (int i = 0; i < 10000 && (rc == -ETIMEDOUT || rc == -EAGAIN); i++) {
    rc = pml_sde_read_patiently(ev, v, LONG);
    if (rc == -ETIMEDOUT || rc == -EAGAIN) nanosleep(&nap, NULL);
  }
  return rc;
}

static void plain_and_prompt(void) {
  static int64_t variable = 7;
  static struct gate open;
  struct pml_value v = {.i = 0};
  gate_init(&open, true);
  pml_sde_register(lib, "VAR", 0, PML_TYPE_INT64, &variable);
  pml_sde_register_callback(lib, "OPEN", 0, PML_TYPE_INT64, pass, &open);
  pml_sde_group_add(lib, "VAR", "BOTH", PML_SDE_SUM);
  pml_sde_group_add(lib, "OPEN", "BOTH", PML_SDE_SUM);
  struct pml_sde_event *var = event("PATIENT::VAR"), *call = event("PATIENT::OPEN"), *both = event("PATIENT::BOTH"),
                       *none = event("PATIENT::NONE");
  CHECK(pml_sde_read_patiently(var, &v, 0) == 0 && v.i == 7, "a variable needs no patience");
  CHECK(pml_sde_read_patiently(none, &v, 0) == 0 && v.i == -1, "nor does a placeholder");
  CHECK(pml_sde_read_patiently(call, &v, LONG) == 0 && v.i == 1, "a callback that answers is read");
  CHECK(pml_sde_read_patiently(both, &v, LONG) == 0 && v.i == 7 + 2, "and a group that has one");
  CHECK(pml_sde_read_patiently(call, &v, UINT64_MAX) == 0 && v.i == 3, "with all the patience there is");
  CHECK(pml_sde_read_patiently(NULL, &v, 0) == -EINVAL, "no event is refused");
  pml_sde_release(var);
  pml_sde_release(call);
  pml_sde_release(both);
  pml_sde_release(none);
}

static void one_that_hangs(void) {
  static struct gate shut;
  static int64_t variable = 7;
  struct pml_value v = {.i = 0};
  gate_init(&shut, false);
  pml_sde_register_callback(lib, "SHUT", 0, PML_TYPE_INT64, pass, &shut);
  struct pml_sde_event *ev = event("PATIENT::SHUT");
  int rc = pml_sde_read_patiently(ev, &v, 20 * MS);
  CHECK(rc == -ETIMEDOUT && strstr(pml_error_detail(rc), "PATIENT::SHUT: its library's callback has not returned"),
        "one that hangs is given up, with a sentence");
  /* were it waited for, or asked again, this would take a day or a thousand threads */
  bool at_once = true;
  for (int i = 0; i < 1000; i++) at_once = pml_sde_read_patiently(ev, &v, LONG) == -ETIMEDOUT && at_once;
  CHECK(at_once && is_called(&shut), "then everybody hears so at once, and it is not called again");
  pml_sde_register(lib, "ELSE", 0, PML_TYPE_INT64, &variable);
  CHECK(pml_sde_unregister(lib, "ELSE") == 0, "what is not the one that hangs is unregistered meanwhile");
  gate_open(&shut);
  CHECK(read_when_free(ev, &v) == 0 && v.i == 2, "when it has come back it is asked again");
  pml_sde_release(ev);
  CHECK(pml_sde_unregister(lib, "SHUT") == 0, "and is unregistered");
}

/* --- unregistering the one that hangs --- */

static void *unregister(void *name) {
  pml_sde_unregister(lib, name);
  return NULL;
}

static void taken_back_while_it_hangs(void) {
  struct gate *shut = malloc(sizeof *shut);
  struct pml_value v = {.i = 0};
  pthread_t t;
  if (shut == NULL) return;
  gate_init(shut, false);
  pml_sde_register_callback(lib, "BACK", 0, PML_TYPE_INT64, pass, shut);
  struct pml_sde_event *ev = event("PATIENT::BACK");
  pml_sde_read_patiently(ev, &v, 10 * MS);
  CHECK(is_called(shut), "a callback hangs");
  pthread_create(&t, NULL, unregister, "BACK");
  const struct timespec nap = {0, MS};
  for (int i = 0; i < 10000 && pml_sde_read_patiently(ev, &v, 0) != 0; i++) nanosleep(&nap, NULL);
  CHECK(v.i == -1, "unregistered while it hangs, it is a placeholder for who asks");
  gate_open(shut);
  pthread_join(t, NULL);
  unsigned left = shut->left;
  pthread_mutex_destroy(&shut->lock);
  free(shut); /* that the callback is out of it is what unregister waited for */
  CHECK(left == 1, "unregister returned when the callback had");
  pml_sde_release(ev);
}

/* --- many --- */

static void too_many(void) {
  static struct gate shut;
  struct pml_sde_event *ev[PML_SDE_HELPERS_MAX + 1];
  struct pml_value v = {.i = 0};
  char name[32];
  gate_init(&shut, false);
  bool timed_out = true;
  int rc = 0;
  for (int i = 0; i <= PML_SDE_HELPERS_MAX; i++) {
    snprintf(name, sizeof name, "MANY%d", i);
    pml_sde_register_callback(lib, name, 0, PML_TYPE_INT64, pass, &shut);
    snprintf(name, sizeof name, "PATIENT::MANY%d", i);
    ev[i] = event(name);
    rc = pml_sde_read_patiently(ev[i], &v, MS);
    if (i < PML_SDE_HELPERS_MAX) timed_out = timed_out && rc == -ETIMEDOUT;
  }
  CHECK(timed_out && rc == -EAGAIN, "not more than %d are asked at once", PML_SDE_HELPERS_MAX);
  gate_open(&shut);
  bool all = true;
  for (int i = 0; i <= PML_SDE_HELPERS_MAX; i++) {
    all = read_when_free(ev[i], &v) == 0 && all;
    pml_sde_release(ev[i]);
  }
  CHECK(all, "when they have come back, all are read");
}

struct asking {
  struct pml_sde_event *event;
  int64_t sum;
  unsigned answers, late, other;
};

static void *ask(void *arg) {
  struct asking *a = arg;
  struct pml_value v;
  for (int i = 0; i < 200; i++) {
    int rc = pml_sde_read_patiently(a->event, &v, i % 5 == 0 ? 0 : LONG);
    a->answers += rc == 0;
    a->late += rc == -ETIMEDOUT;
    a->other += rc != 0 && rc != -ETIMEDOUT;
  }
  a->answers += read_when_free(a->event, &v) == 0; /* of the helper that the last one gave up */
  return NULL;
}

static void from_many_threads(void) {
  enum { THREADS = 4 };
  static struct gate open;
  struct asking a[THREADS];
  pthread_t t[THREADS];
  gate_init(&open, true);
  pml_sde_register_callback(lib, "ASKED", 0, PML_TYPE_INT64, pass, &open);
  unsigned answers = 0, other = 0, all = 0;
  for (int i = 0; i < THREADS; i++) {
    a[i] = (struct asking){.event = event("PATIENT::ASKED")};
    pthread_create(&t[i], NULL, ask, &a[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(t[i], NULL);
    answers += a[i].answers;
    all += a[i].answers + a[i].late;
    other += a[i].other;
    pml_sde_release(a[i].event);
  }
  CHECK(all == THREADS * 201 && other == 0 && answers >= THREADS, "threads share a helper: %u answers of %u", answers,
        all);
  CHECK(pml_sde_unregister(lib, "ASKED") == 0, "and none is left inside");
}

/* --- fork --- */

static pid_t forked_child;

static int64_t fork_inside(void *param) {
  (void)param;
  forked_child = fork();
  if (forked_child == 0) alarm(60);
  return 5;
}

#ifdef __SANITIZE_THREAD__
static void forked_while_it_hangs(void) {
  SKIP("ThreadSanitizer has no threads in a forked child");
}
#else
static void forked_while_it_hangs(void) {
  static struct gate shut;
  struct pml_value v = {.i = 0};
  int status = -1;
  gate_init(&shut, false);
  pml_sde_register_callback(lib, "FORK", 0, PML_TYPE_INT64, pass, &shut);
  struct pml_sde_event *ev = event("PATIENT::FORK");
  pml_sde_read_patiently(ev, &v, 10 * MS);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int rc = pml_sde_read_patiently(ev, &v, 0);
    _exit(rc == 0 || rc == -ETIMEDOUT ? pml_sde_unregister(lib, "VAR") != 0 : 2);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0,
        "a child without the helper of its parent does not wait (status %d)", status);
  gate_open(&shut);
  CHECK(read_when_free(ev, &v) == 0, "the parent goes on");
  pml_sde_release(ev);
}
#endif

/* The helper is then all there is in the child, which ends when it does. */
static void forked_by_the_callback(void) {
  struct pml_value v = {.i = 0};
  int status = -1;
  if (SANITIZED) {
    SKIP("a sanitizer goes over the memory of a child that has only a helper of its parent's threads");
    return;
  }
  pml_sde_register_callback(lib, "INSIDE", 0, PML_TYPE_INT64, fork_inside, NULL);
  struct pml_sde_event *ev = event("PATIENT::INSIDE");
  CHECK(pml_sde_read_patiently(ev, &v, LONG) == 0 && v.i == 5, "a callback that forks is read");
  CHECK(waitpid(forked_child, &status, 0) == forked_child && status == 0, "and its child ends (status %d)", status);
  pml_sde_release(ev);
}

int main(void) {
  pml_sde_library(&lib, "PATIENT");
  plain_and_prompt();
  one_that_hangs();
  taken_back_while_it_hangs();
  too_many();
  from_many_threads();
  forked_while_it_hangs();
  forked_by_the_callback();
  pml_sde_shutdown(lib);
  return check_done();
}
