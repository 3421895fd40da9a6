/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/eventset_threads.c - a set opened on one thread and used on others, after fork, and after its thread is gone.
 */
#include "base/pml_thread.h"
#include "source/kernel/pml_eventset_kernel.h"

#include "check.h"
#include "events.h"

#include <semaphore.h>

#define THREADS 8

struct owner {
  sem_t go, done;
  size_t touch; /* 0: end */
  struct pml_eventset *set;
  struct fresh *pages;
  int rc;
};

static void *own(void *arg) {
  struct owner *o = arg;
  struct pml_event ev[2] = {faults(), task_clock()};
  o->rc = pml__eventset_open_events(&o->set, ev, 2, NULL);
  for (;;) {
    sem_post(&o->done);
    sem_wait(&o->go);
    if (o->touch == 0) return NULL;
    fresh_touch(o->pages, o->touch);
  }
}

static void tell(struct owner *o, size_t touch) {
  o->touch = touch;
  sem_post(&o->go);
  if (touch > 0) sem_wait(&o->done);
}

static void read_by_another(void) {
  struct fresh mine = fresh_open(100), pages = fresh_open(100);
  struct owner o = {.pages = &pages};
  sem_init(&o.go, 0, 0);
  sem_init(&o.done, 0, 0);
  pthread_t t;
  pthread_create(&t, NULL, own, &o);
  sem_wait(&o.done);
  if (!CHECK(o.rc == 0, "a set opens on thread A")) return;
  tell(&o, 1); /* the pages that waiting needs are touched */
  uint64_t v[2];
  pml_eventset_start(o.set);
  fresh_touch(&mine, 50);
  tell(&o, 20);
  int rc = pml_eventset_read(o.set, v);
  CHECK(rc == 0 && is_faults(v[0], 20), "thread B reads what A did, not what B did (%llu)", (unsigned long long)v[0]);
  tell(&o, 5);
  pml_eventset_stop(o.set, v);
  CHECK(is_faults(v[0], 25), "and stops it (%llu)", (unsigned long long)v[0]);
  pml_eventset_start(o.set);
  tell(&o, 7);
  tell(&o, 0);
  pthread_join(t, NULL);
  rc = pml_eventset_read(o.set, v);
  CHECK(rc == 0 && v[0] >= 7 && v[0] < 30 + STRAY_FAULTS, "the counts outlive their thread (%llu)",
        (unsigned long long)v[0]);
  uint64_t again[2];
  pml_eventset_read(o.set, again);
  CHECK(memcmp(v, again, sizeof v) == 0, "and stand still from then on");
  pml_eventset_close(o.set); /* by a thread that did not open it */
  sem_destroy(&o.go), sem_destroy(&o.done);
  fresh_close(&mine), fresh_close(&pages);
}

static void after_fork(void) {
  struct pml_event ev[2] = {faults(), task_clock()};
  struct pml_eventset *s;
  struct fresh f = fresh_open(200);
  if (!CHECK(pml__eventset_open_events(&s, ev, 2, NULL) == 0, "a set is open when the process forks")) return;
  uint64_t v[2], at_fork, id = pml_thread_self()->id;
  pml_eventset_start(s);
  pml_eventset_read(s, v);
  fresh_touch(&f, 30);
  pid_t pid = fork();
  if (pid == 0) {
    struct pml_eventset *own_set;
    uint64_t a[2], b[2];
    bool ok = pml_thread_self()->id != id;
    fresh_touch(&f, 100);
    ok &= pml_eventset_read(s, a) == 0 && a[0] >= 30 && a[0] < 100; /* the parent's faults */
    ok &= pml__eventset_open_events(&own_set, ev, 2, NULL) == 0;
    pml_eventset_start(own_set);
    fresh_touch(&f, 40);
    ok &= pml_eventset_read(own_set, b) == 0 && b[0] >= 40 && b[0] < 60 + STRAY_FAULTS;
    pml_eventset_close(own_set);
    pml_eventset_close(s);
    _exit(ok ? 0 : 1);
  }
  CHECK(exit_of(pid) == 0, "the child reads its parent's counts, opens its own, and closes both");
  at_fork = v[0];
  CHECK(pml_eventset_read(s, v) == 0 && v[0] >= at_fork + 30, "the parent's set still works");
  pml_eventset_close(s);
  fresh_close(&f);
}

struct counting {
  pthread_t thread;
  struct fresh pages;
  bool right;
};

static void *count_own(void *arg) {
  struct counting *c = arg;
  struct pml_event ev[3] = {task_clock(), faults(), clock_event("clock::ns")};
  struct pml_eventset *s;
  uint64_t v[3], sum[3] = {0};
  if (pml__eventset_open_events(&s, ev, 3, NULL) != 0) return NULL;
  pml_eventset_accum(s, sum);
  pml_eventset_stop(s, v);
  memset(sum, 0, sizeof sum);
  pml_eventset_start(s);
  bool right = true;
  for (size_t i = 0; i < 200; i++) {
    fresh_touch(&c->pages, 2);
    right &= pml_eventset_read(s, v) == 0;
    right &= pml_eventset_accum(s, sum) == 0;
  }
  c->right = right && is_faults(sum[1], 400) && sum[2] > 0;
  pml_eventset_close(s);
  return NULL;
}

static void many_threads(void) {
  static struct counting c[THREADS];
  for (int i = 0; i < THREADS; i++) c[i].pages = fresh_open(400);
  for (int i = 0; i < THREADS; i++) pthread_create(&c[i].thread, NULL, count_own, &c[i]);
  bool right = true;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(c[i].thread, NULL);
    right &= c[i].right;
    fresh_close(&c[i].pages);
  }
  CHECK(right, "%d threads count their own 400 faults exactly, each in its own set", THREADS);
}

struct shared {
  pthread_t thread;
  const struct pml_counter *counter;
  bool right;
};

static void *read_shared(void *arg) {
  struct shared *s = arg;
  struct pml_reading r, last = {0};
  s->right = true;
  for (int i = 0; i < 1000; i++) {
    s->right &= pml_counter_read(s->counter, &r) == 0 && r.raw >= last.raw && r.enabled_ns >= last.enabled_ns;
    last = r;
  }
  return NULL;
}

static void shared_counter(void) {
  struct pml_event ev = task_clock();
  struct pml_counter c;
  static struct shared s[THREADS];
  if (pml_counter_open(&c, &ev, 0, NULL, NULL, 0) != 0) return;
  bool right = true;
  for (int i = 0; i < THREADS; i++) s[i].counter = &c;
  for (int i = 0; i < THREADS; i++) pthread_create(&s[i].thread, NULL, read_shared, &s[i]);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(s[i].thread, NULL);
    right &= s[i].right;
  }
  CHECK(right, "%d threads read one counter at once: it never goes back", THREADS);
  pml_counter_close(&c);
}

int main(void) {
  CHECK_EACH(read_by_another, after_fork, many_threads, shared_counter);
  return check_done();
}
