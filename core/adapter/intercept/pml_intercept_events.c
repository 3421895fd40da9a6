/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_events.c - per-thread event sets of intercepted calls. */
#include "adapter/intercept/pml_intercept_events.h"

#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/stream/pml_stream_private.h"
#include "source/base/pml_eventset_private.h"

#include <errno.h>
#include <string.h>

static struct pml_stream_metrics *metrics; /* set before events are counted */
static void (*report_lost)(int err);       /* also set before */
static unsigned state;                     /* atomic: or-ed */
enum { CONFINED = 1u, UNSETTLED = 2u };    /* UNSETTLED: the type of some event may change */

static PML_THREAD_LOCAL struct {
  struct pml_eventset *set;
  uint64_t process; /* the process that tried to open it; a child is not counted by its parent's counters, and lacks
                       their pages */
  uint64_t value[PML_INTERCEPT_EVENTS_MAX];
} self __attribute__((tls_model("initial-exec")));

static unsigned state_now(void) {
  return __atomic_load_n(&state, __ATOMIC_RELAXED);
}

static bool is_confined(void) {
  return (state_now() & CONFINED) != 0;
}

static void close_set(void) {
  pml__stream_count_no_more();
  if (!is_confined()) pml_eventset_close(self.set); /* otherwise the kernel closes it at the end */
  self.set = NULL;
}

static void thread_ends(void) {
  close_set();
  self.process = 0;
}

static void lose(int err) {
  if (report_lost != NULL) report_lost(err);
}

static int open_set(struct pml_eventset **set, const struct pml_stream_metrics *m) {
  int err = pml_eventset_open(set, m->name, m->n, NULL);
  if (err == 0) err = pml_eventset_start(*set);
  if (err == 0) return 0;
  pml_eventset_close(*set);
  *set = NULL;
  return err;
}

static void set_real(struct pml_stream_metrics *m, uint32_t i) {
  if (!pml_stream_metrics_real(m, i)) pml_stream_metrics_set_real(m, i);
}

static void note_types(struct pml_stream_metrics *m, const struct pml_eventset *set) {
  for (uint32_t i = 0; i < m->n; i++)
    if (pml_eventset_type(set, i) == PML_TYPE_DOUBLE) set_real(m, i);
}

/* The types of the values to come. */
static void note_declared(struct pml_stream_metrics *m, const struct pml_eventset *set) {
  for (uint32_t i = 0; i < m->n; i++) {
    unsigned may;
    if (pml__eventset_declared(set, i, &may) == PML_TYPE_DOUBLE) set_real(m, i);
    if ((may & PML__MAY_CHANGE_TYPE) != 0) __atomic_fetch_or(&state, UNSETTLED, __ATOMIC_RELAXED);
  }
}

/* Let the stream read the set, for calls whose other registers are not saved. */
static void offer_set(struct pml_stream_metrics *m) {
  pml__source_plain_read *read = pml__eventset_plain_read(self.set);
  if (read != NULL) pml__stream_count_by(read, self.set, m, self.value);
}

__attribute__((noinline, cold)) static void begin(struct pml_stream_metrics *m) {
  close_set();
  self.process = pml__process();
  int err = is_confined() ? -EPERM : open_set(&self.set, m);
  if (err < 0) {
    lose(err);
    return;
  }
  note_declared(m, self.set);
  offer_set(m);
}

/* Final, because the descriptors' numbers may refer to other files afterwards. */
__attribute__((noinline, cold)) static void give_up(int err) {
  close_set();
  lose(err);
}

/* From now on, system calls of the calling thread, and of threads that it creates, may end the process. */
static void confine(void) {
  self.process = pml__process();
  give_up(-EPERM);
  __atomic_fetch_or(&state, CONFINED, __ATOMIC_RELAXED);
}

/*
 * Slow path: a thread's first event, and the events of a thread without counters. Returns false without counters for
 * @kind.
 */
__attribute__((noinline, cold)) static bool has_set(enum pml_stream_kind kind) {
  if (self.process != pml__process()) {
    if (kind == PML_STREAM_LEAVE) return false; /* the call began in the parent, or before calls were counted */
    begin(metrics);
  } else if (is_confined() && self.set != NULL) {
    give_up(-EPERM);
  }
  return self.set != NULL;
}

static inline void read_set(struct pml_stream_event *e) {
  int err = pml_eventset_read(self.set, self.value);
  if (PML_UNLIKELY(err < 0)) {
    give_up(err);
    return;
  }
  e->metrics = metrics;
  e->values = self.value;
}

__attribute__((noinline, cold)) static void read_rarely(enum pml_stream_kind kind, struct pml_stream_event *e) {
  if (!has_set(kind)) return;
  read_set(e);
  if (e->metrics != NULL && (state_now() & UNSETTLED) != 0) note_types(metrics, self.set);
}

static void read_values(enum pml_stream_kind kind, struct pml_stream_event *e) {
  e->metrics = NULL;
  if (PML_UNLIKELY(self.set == NULL || !pml__process_is(self.process) || state_now() != 0))
    read_rarely(kind, e);
  else
    read_set(e);
}

/* Intern the names by which this process may count the events; opening them reports errors. */
static int intern_permitted(const char *const *names, size_t n, struct pml_stream_metrics **m) {
  char permitted[PML_INTERCEPT_EVENTS_MAX][PML_EVENT_NAME_MAX];
  const char *name[PML_INTERCEPT_EVENTS_MAX];
  for (size_t i = 0; i < n; i++) name[i] = pml_event_permitted(names[i], permitted[i]) == 0 ? permitted[i] : names[i];
  return pml_stream_metrics(name, n, m);
}

int pml_intercept_count(const char *const *names, size_t n, void (*lost)(int err),
                        const struct pml_stream_metrics **out) {
  static struct pml__call_counting counting = {read_values, thread_ends, confine, false};
  struct pml_stream_metrics *m;
  struct pml_eventset *trial = NULL;
  *out = NULL;
  if (pml__call_counting != NULL) return pml_fail(-EALREADY, "calls have their counts already");
  if (n > PML_INTERCEPT_EVENTS_MAX)
    return pml_fail(-EINVAL, "a call takes at most %u events, not %zu", PML_INTERCEPT_EVENTS_MAX, n);
  int err = intern_permitted(names, n, &m);
  if (err == 0) err = open_set(&trial, m);
  if (err < 0) return err;
  note_declared(m, trial);
  counting.fast = pml__eventset_plain_read(trial) != NULL;
  pml_eventset_close(trial);
  metrics = m;
  report_lost = lost;
  err = pml__call_count(&counting);
  if (err == 0) *out = m;
  return err;
}
