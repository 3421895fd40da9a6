/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde_patient.c - reads with a time limit, on a helper thread.
 *
 * A job is one reading under way. Its askers and its helper share it under one lock; the last to leave it
 * frees it: an asker when the value is there, and it then joins the helper; the helper when all have given up.
 */
#include "source/sde/pml_sde_patient.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_S 1000000000u

struct job {
  struct pml_sde_event *event; /* a reference of its own */
  struct job *next;
  pthread_t helper;
  pthread_cond_t came;
  unsigned askers;
  bool done;
  int rc;
  struct pml_value value;
};

static struct {
  struct pml__lock lock; /* taken before the registry's, never while a value is read */
  struct job *first;
  unsigned n;
  struct job *left; /* in the parent: each keeps its event, which a callback under way may be in */
} jobs;

/* --- what needs patience --- */

/* With the registry's lock held if it is a group, whose members could go. */
static bool is_foreign(struct pml__sde_body *b, uint64_t walk) {
  switch (b->kind) {
  case PML_SDE_CALLBACK:
    return true;
  case PML_SDE_REGISTERED:
    return pml__sde_is_watched(b);
  case PML_SDE_QUANTILE:
    return pml_recorder_options(b->recorder->recorder).compare != NULL;
  case PML_SDE_GROUP:
    break;
  default:
    return false;
  }
  if (b->walked == walk) return false; /* one that is would have ended the walk */
  b->walked = walk;
  struct pml__sde_members *m = atomic_load_explicit(&b->members, memory_order_acquire);
  uint32_t n = m == NULL ? 0 : atomic_load_explicit(&m->n, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    if (atomic_load_explicit(&m->leaf[i].type, memory_order_relaxed) != PML__LEAF_GONE &&
        is_foreign(m->leaf[i].body, walk))
      return true;
  return false;
}

static bool needs_patience(const struct pml_sde_event *ev, struct pml__sde_body *b) {
  if (b->kind != PML_SDE_GROUP) return is_foreign(b, 0);
  pml__sde_lock();
  b = pml__sde_body_of(ev);
  bool foreign = b != NULL && is_foreign(b, pml__sde_walk());
  pml__sde_unlock();
  return foreign;
}

/* --- jobs --- */

/* With the lock held. */
static struct job *find(const struct pml_sde_event *ev) {
  struct job *j = jobs.first;
  while (j != NULL && j->event != ev) j = j->next;
  return j;
}

/* With the lock held. */
static void take_out(struct job *j) {
  struct job **at = &jobs.first;
  while (*at != j) at = &(*at)->next;
  __atomic_store_n(at, j->next, __ATOMIC_RELEASE);
  jobs.n--;
}

/* Without the lock. */
static void job_free(struct job *j) {
  pml_sde_release(j->event);
  pthread_cond_destroy(&j->came);
  free(j);
}

/* A callback may fork: in the child the job is one of those that were left. */
static void *help(void *arg) {
  struct job *j = arg;
  struct pml_value v;
  uint64_t process = pml__process();
  int rc = pml_sde_read(j->event, &v);
  if (pml__process() != process) return NULL;
  pml__lock_take(&jobs.lock);
  j->rc = rc;
  j->value = v;
  j->done = true;
  bool last = j->askers == 0;
  if (last) take_out(j);
  if (!last) pthread_cond_broadcast(&j->came);
  pml__lock_leave(&jobs.lock);
  if (last) {
    job_free(j);
    pthread_detach(pthread_self());
  }
  return NULL;
}

/* The child has neither askers nor helpers, but for the one that forked, if a callback did. */
static void in_child(void) {
  struct job **end = &jobs.left;
  while (*end != NULL) end = &(*end)->next;
  *end = jobs.first;
  jobs.first = NULL;
  jobs.n = 0;
}

static void watch_forks(void) {
  (void)pml__process_watch(in_child);
}

/* --- asking --- */

static int gave_up(const struct pml_sde_event *ev) {
  return pml_fail(-ETIMEDOUT, "%s: its library's callback has not returned; it is called again once it has", ev->name);
}

/* With the lock held: a job of @ev that has just begun. */
static int begin(struct job **job, struct pml_sde_event *ev) {
  if (jobs.n >= PML_SDE_HELPERS_MAX)
    return pml_fail(-EAGAIN, "%s cannot be read now: %u callbacks have not returned", ev->name, jobs.n);
  struct job *j = calloc(1, sizeof *j);
  if (j == NULL) return pml_fail(-ENOMEM, "%s: out of memory for a thread to read it", ev->name);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&j->came, &monotonic);
  pthread_condattr_destroy(&monotonic);
  j->event = ev;
  int rc = pml__thread_start(&j->helper, help, j);
  if (rc < 0) {
    pthread_cond_destroy(&j->came);
    free(j);
    return pml_fail(rc, "%s: cannot start a thread to read it", ev->name);
  }
  pml__sde_lock();
  ev->refs++;
  pml__sde_unlock();
  j->next = jobs.first;
  __atomic_store_n(&jobs.first, j, __ATOMIC_RELEASE);
  jobs.n++;
  *job = j;
  return 0;
}

static struct timespec deadline(uint64_t timeout_ns) {
  struct timespec t;
  const uint64_t most = (uint64_t)1000000000 * NS_PER_S; /* 30 years */
  if (timeout_ns > most) timeout_ns = most;
  clock_gettime(CLOCK_MONOTONIC, &t);
  uint64_t ns = (uint64_t)t.tv_nsec + timeout_ns % NS_PER_S;
  t.tv_sec += (time_t)(timeout_ns / NS_PER_S + ns / NS_PER_S);
  t.tv_nsec = (long)(ns % NS_PER_S);
  return t;
}

/* With the lock held, which it gives back. */
static int wait_for(struct job *j, struct pml_value *v, const struct timespec *until) {
  int rc = 0, late = 0;
  j->askers++;
  while (!j->done && late == 0) late = pml__lock_wait(&jobs.lock, &j->came, until);
  j->askers--;
  bool done = j->done, last = done && j->askers == 0;
  if (done) {
    rc = j->rc;
    *v = j->value;
  }
  if (last) take_out(j);
  pml__lock_leave(&jobs.lock);
  if (last) {
    pthread_join(j->helper, NULL);
    job_free(j);
  }
  return done ? rc : -ETIMEDOUT;
}

static __attribute__((noinline)) int ask(struct pml_sde_event *ev, struct pml_value *v, uint64_t timeout_ns) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  const struct timespec until = deadline(timeout_ns);
  pml__process_look();
  pml__lock_take(&jobs.lock);
  struct job *j = find(ev);
  bool lost = j != NULL && j->askers == 0;
  int rc = j == NULL ? begin(&j, ev) : 0;
  if (rc == 0 && !lost)
    rc = wait_for(j, v, &until);
  else
    pml__lock_leave(&jobs.lock);
  if (lost || rc == -ETIMEDOUT) return gave_up(ev);
  return rc;
}

int pml_sde_read_patiently(struct pml_sde_event *ev, struct pml_value *v, uint64_t timeout_ns) {
  if (ev == NULL) return pml_sde_read(ev, v);
  /* A body lives as long as its event is referred to; what becomes of the event after this look is its luck. */
  struct pml__sde_body *b = pml__sde_body_of(ev);
  if (PML_LIKELY(b == NULL) || !needs_patience(ev, b)) return pml_sde_read(ev, v);
  return ask(ev, v, timeout_ns);
}
