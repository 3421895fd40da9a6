/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde_overflow.c - overflow handlers of counters.
 *
 * A created counter tells from inside the increment. Variables and callbacks cannot tell; a thread reads those that are
 * watched every PML_SDE_POLL_NS. It starts with the first of them and ends when the last is gone, no longer watched or
 * unregistered. It takes no signal, and raises none.
 */
#include "source/sde/pml_sde.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* An event that is polled. Comes in front, under the lock; only the polling thread takes one out. */
struct polled {
  struct pml_sde_event *event; /* holds a reference */
  struct polled *next;
};

static struct {
  struct pml__lock lock; /* taken before the registry's, never while a value is read */
  struct polled *first;  /* whole after each store, for a child that is made meanwhile */
  bool running;
} poll;

/* --- passing a threshold --- */

static void check_value(struct pml__sde_overflow *o, int64_t value) {
  int64_t multiple = value / o->threshold;
  int64_t passed = atomic_load_explicit(&o->passed, memory_order_relaxed);
  while (multiple > passed)
    if (atomic_compare_exchange_weak_explicit(&o->passed, &passed, multiple, memory_order_relaxed,
                                              memory_order_relaxed)) {
      pml__sde_callback_begin();
      if (o->notify != NULL) o->notify(value, o->arg);
      pml__sde_callback_end();
      return;
    }
}

void pml__sde_check_overflow(struct pml__sde_overflow *o, const struct pml_value *v) {
  double number = pml_value_number(v);
  if (v->type == PML_TYPE_INT64)
    check_value(o, v->i);
  else if (pml_value_is_int64(number))
    check_value(o, (int64_t)number);
}

static bool is_watched(const struct pml__sde_body *b) {
  const struct pml__sde_overflow *o =
      atomic_load_explicit(&((struct pml__sde_body *)b)->overflow, memory_order_acquire);
  return o != NULL && o->notify != NULL;
}

/* --- polling --- */

/* A body lives as long as its event is referred to, also when it was taken back. */
static bool wants_polling(const struct pml_sde_event *ev) {
  const struct pml__sde_body *b = pml__sde_body_of(ev);
  return b != NULL && b->kind != PML_SDE_CREATED && is_watched(b);
}

/* With the lock held: those that need no polling any more, to be released without it. */
static struct polled *take_out(void) {
  struct polled *out = NULL;
  for (struct polled **at = &poll.first; *at != NULL;) {
    struct polled *p = *at;
    if (wants_polling(p->event)) {
      at = &p->next;
      continue;
    }
    __atomic_store_n(at, p->next, __ATOMIC_RELEASE);
    p->next = out;
    out = p;
  }
  return out;
}

static void *run(void *unused) {
  static const struct timespec period = {.tv_nsec = PML_SDE_POLL_NS};
  struct pml_value v;
  for (bool on = true; on;) {
    nanosleep(&period, NULL);
    pml__lock_take(&poll.lock);
    struct polled *p = poll.first;
    pml__lock_leave(&poll.lock);
    for (; p != NULL; p = p->next) (void)pml_sde_read(p->event, &v); /* notifies handlers */
    pml__lock_take(&poll.lock);
    struct polled *out = take_out();
    on = poll.running = poll.first != NULL;
    pml__lock_leave(&poll.lock);
    while (out != NULL) {
      p = out;
      out = out->next;
      pml_sde_release(p->event);
      free(p);
    }
  }
  return unused;
}

/* The child lacks the thread, but has the polled events. */
static void in_child(void) {
  poll.running = poll.first != NULL && pml__thread_start(NULL, run, NULL) == 0;
}

static void watch_forks(void) {
  (void)pml__process_watch(in_child);
}

/* With the lock held. @p is the list's from here on, or stays the caller's when the event is in it. */
static int start_polling(struct polled **p, struct pml_sde_event *ev) {
  struct polled *known = poll.first;
  while (known != NULL && known->event != ev) known = known->next;
  if (known == NULL) {
    pml__sde_lock();
    ev->refs++;
    pml__sde_unlock();
    (*p)->event = ev;
    (*p)->next = poll.first;
    __atomic_store_n(&poll.first, *p, __ATOMIC_RELEASE);
    *p = NULL;
  }
  if (poll.running) return 0;
  int rc = pml__thread_start(NULL, run, NULL);
  poll.running = rc == 0;
  return rc;
}

static int poll_event(struct pml_sde_event *ev) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  struct polled *p = calloc(1, sizeof *p);
  if (p == NULL) return pml_fail(-ENOMEM, "%s: out of memory for its threshold", ev->name);
  int rc = 0;
  pml__process_look();
  pml__lock_take(&poll.lock);
  if (wants_polling(ev)) rc = start_polling(&p, ev);
  pml__lock_leave(&poll.lock);
  free(p);
  return rc < 0 ? pml_fail(rc, "%s: cannot start the thread that polls its threshold", ev->name) : 0;
}

/* --- setting one --- */

/* With the registry's lock held. @o is the body's from here on. */
static int watch(const struct pml_sde_event *ev, struct pml__sde_overflow *o) {
  struct pml__sde_body *b = pml__sde_body_of(ev);
  if (b == NULL || (b->kind != PML_SDE_CREATED && b->kind != PML_SDE_REGISTERED && b->kind != PML_SDE_CALLBACK))
    return pml_fail(-EINVAL, "%s cannot overflow: it is not a counter", ev->name);
  o->before = atomic_load_explicit(&b->overflow, memory_order_relaxed);
  atomic_store_explicit(&b->overflow, o, memory_order_release);
  if (b->kind == PML_SDE_CREATED)
    pml__sde_counter_overflow(b->counter, o->notify != NULL ? o : NULL);
  else
    atomic_store_explicit(&b->plain, PML__SDE_NOT_PLAIN, memory_order_release);
  return 0;
}

static int64_t multiples(const struct pml_value *v, int64_t threshold) {
  double number = pml_value_number(v);
  if (v->type == PML_TYPE_INT64) return v->i / threshold;
  return pml_value_is_int64(number) ? (int64_t)number / threshold : 0;
}

int pml_sde_on_overflow(struct pml_sde_event *ev, int64_t threshold, void (*notify)(int64_t value, void *arg),
                        void *arg) {
  struct pml_value v;
  if (ev == NULL) return pml_fail(-EINVAL, "software-defined event: NULL event");
  if (notify != NULL && threshold <= 0)
    return pml_fail(-EINVAL, "%s: threshold %lld; it must be above 0", ev->name, (long long)threshold);
  struct pml__sde_overflow *o = calloc(1, sizeof *o);
  if (o == NULL) return pml_fail(-ENOMEM, "%s: out of memory for its threshold", ev->name);
  int rc = pml_sde_read(ev, &v); /* before the lock: it may call back */
  if (rc == 0) {
    o->threshold = notify != NULL ? threshold : INT64_MAX;
    o->notify = notify;
    o->arg = arg;
    o->object = pml__sde_object_hold((const void *)(uintptr_t)notify);
    atomic_init(&o->passed, multiples(&v, o->threshold));
    pml__sde_lock();
    rc = watch(ev, o);
    pml__sde_unlock();
  }
  if (rc != 0) {
    pml__sde_object_drop(o->object);
    free(o);
    return rc;
  }
  return notify != NULL ? poll_event(ev) : 0;
}
