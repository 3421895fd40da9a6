/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live_worker.c - the worker thread of a connection.
 *
 * Each has a separate Lua state, and runs at idle priority once it runs untrusted code: a heavy question delays neither
 * the application nor rules nor other connections. The limits of its state stop it; if one function of Lua takes long,
 * so that they are not checked, the thread is cancelled and the state abandoned.
 */
#include "live/live.h"

#include "base/text/pml_text.h"
#include "handle.h"
#include "pml.h"
#include "source/sde/pml_sde_values.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)
#define ENDING_MAX 32 /* as many may be busy in functions of the application, after their connections have gone */

struct live_worker {
  struct live_worker *next; /* in l->ending */
  struct live *l;
  pthread_t thread;
  struct live_session session;    /* used by the thread only */
  struct pml__sde_values *values; /* the same; freed with the worker */
  bool idle;                      /* used by the thread only: it runs at idle priority */
  bool nice;                      /* used by the thread only: it runs at its nice value */
  atomic_bool quit;               /* set under @mutex; code that Lua runs reads it without the lock */
  double cancel_at;               /* used by the service's thread only; HUGE_VAL: it was cancelled */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /* Under @mutex. */
  struct live_frame question;
  bool asked, answered, ok, ended;
  char *text;
  size_t n;
  double since; /* when the question or tick began; HUGE_VAL: the thread is idle */
  double due;   /* next call of the session's rules */
};

/* --- the thread --- */

static void wake_service(struct live_worker *w) {
  live__lock();
  (void)live__wake(w->l);
  live__unlock();
}

/* Also when it was cancelled. After it the thread looks at nothing of @w. */
static void ended(void *worker) {
  struct live_worker *w = worker;
  struct live *l = w->l;
  pthread_mutex_lock(&w->mutex);
  w->ended = true;
  pthread_mutex_unlock(&w->mutex);
  live__lock();
  (void)live__wake(l);
  live__unlock();
}

/* Until there is a question (true), or a tick is due; false with @quit. Marks the beginning. */
static bool wait_for_work(struct live_worker *w, bool *question) {
  pthread_mutex_lock(&w->mutex);
  while (!w->quit && !w->asked && live__now() < w->due) {
    double until = w->due < live__now() + 3600 ? w->due : live__now() + 3600;
    struct timespec t = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9)};
    pthread_cond_timedwait(&w->changed, &w->mutex, &t);
  }
  bool go_on = !w->quit;
  *question = w->asked;
  if (go_on && !*question) w->since = live__now(); /* a question's time runs since it was asked */
  pthread_mutex_unlock(&w->mutex);
  return go_on;
}

/* Only for Lua: replies in C are short, and at nice 19 they would be late in an application that keeps all cpus busy.
 */
static void become_nice(struct live_worker *w) {
  if (!w->nice) (void)setpriority(PRIO_PROCESS, 0, w->l->setup.nice); /* on Linux, of the thread */
  w->nice = true;
}

/* Untrusted code runs at idle priority; an unprivileged thread cannot revert this. */
static void become_idle(struct live_worker *w) {
  if (w->idle) return;
  w->idle = true;
  (void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
}

static void answer(struct live_worker *w) {
  char *text = NULL;
  size_t n = 0;
  bool ok = false;
  bool native = live__values_wanted(&w->question);
  if (!native) become_nice(w);
  int err = native ? 0 : live__session_open(&w->session, &w->l->setup, &w->quit);
  if (w->question.kind == LIVE_EVAL || w->question.kind == LIVE_COMPLETE) become_idle(w);
  if (native)
    ok = live__values_answer(&w->values, &w->question, &text, &n);
  else if (err == 0)
    ok = live__session_answer(&w->session, &w->question, &text, &n);
  else if ((text = strdup(pml_error_detail(err))) != NULL)
    n = strlen(text);
  pthread_mutex_lock(&w->mutex);
  w->text = text;
  w->n = n;
  w->ok = ok;
  w->asked = false;
  w->answered = true;
  pthread_mutex_unlock(&w->mutex);
}

/* AddressSanitizer does not see that a cancelled thread left the frames below this one. */
__attribute__((no_sanitize_address)) static void *work(void *worker) {
  struct live_worker *w = worker;
  bool question;
  live__hold_thread();
  live__thread_begin("pmlua-ask");
  pthread_cleanup_push(ended, w);
  while (wait_for_work(w, &question)) {
    if (question)
      answer(w);
    else
      live__session_tick(&w->session, live__now());
    pthread_mutex_lock(&w->mutex);
    w->due = w->session.due;
    w->since = HUGE_VAL;
    pthread_mutex_unlock(&w->mutex);
    if (question) wake_service(w);
  }
  state_close(&w->session.state);
  pthread_cleanup_pop(1);
  return NULL;
}

/* --- the service's thread --- */

static void free_worker(struct live_worker *w) {
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->mutex);
  live_frame_reset(&w->question);
  pml__free(w->text);
  pml__sde_values_close(w->values);
  free(w);
}

static int start_thread(struct live_worker *w) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return -ENOMEM;
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  int err = -pthread_create(&w->thread, &attr, work, w); /* all signals are blocked in it, as in its creator */
  pthread_attr_destroy(&attr);
  return err;
}

static struct live_worker *new_worker(struct live *l) {
  struct live_worker *w = calloc(1, sizeof *w);
  if (w == NULL) return NULL;
  w->l = l;
  w->cancel_at = w->since = w->due = w->session.due = HUGE_VAL;
  live_frame_question(&w->question);
  pthread_mutex_init(&w->mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return w;
}

int live__worker_begin(struct live *l, struct live_worker **worker) {
  int busy = 0, err;
  if (l->setup.own_loop) {
    err = l->idle == NULL ? live__worker_prepare(l) : 0;
    if (err < 0) return err;
    *worker = l->idle;
    l->idle = l->idle->next;
    return 0;
  }
  for (const struct live_worker *e = l->ending; e != NULL; e = e->next) busy++;
  if (busy >= ENDING_MAX)
    return pml_fail(-EAGAIN, "too many questions that were given up are still in functions of the application");
  struct live_worker *w = new_worker(l);
  if (w == NULL) return pml_fail(-ENOMEM, "live: out of memory for a session");
  *worker = w;
  if ((err = start_thread(w)) == 0) return 0;
  *worker = NULL;
  free_worker(w);
  return pml_fail(err, "live: no thread can be started: %s", strerror(-err));
}

void live__worker_ask(struct live_worker *w, struct live_frame *question) {
  pthread_mutex_lock(&w->mutex);
  live_frame_reset(&w->question);
  w->question = *question;
  w->asked = true;
  if (!w->l->setup.own_loop) w->since = live__now(); /* it waits for a cpu from now on */
  live_frame_question(question);
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mutex);
}

bool live__worker_answer(struct live_worker *w, char **text, size_t *n, bool *ok) {
  pthread_mutex_lock(&w->mutex);
  bool there = w->answered;
  if (there) {
    *text = w->text;
    *n = w->n;
    *ok = w->ok;
    w->text = NULL;
    w->answered = false;
  }
  pthread_mutex_unlock(&w->mutex);
  return there;
}

double live__worker_due(struct live_worker *w) {
  pthread_mutex_lock(&w->mutex);
  double due = w->since + w->l->setup.seconds + LIVE_GRACE_SECONDS;
  pthread_mutex_unlock(&w->mutex);
  return due;
}

bool live__worker_has_rules(struct live_worker *w) {
  pthread_mutex_lock(&w->mutex);
  bool has = w->due != HUGE_VAL;
  pthread_mutex_unlock(&w->mutex);
  return has;
}

/* Its session is the next client's, if nothing was left half-way. */
static void end_own(struct live *l, struct live_worker *w) {
  pml__free(w->text);
  live_frame_reset(&w->question);
  w->text = NULL;
  w->asked = w->answered = false;
  w->due = HUGE_VAL;
  if (live__session_reset(&w->session) < 0) {
    state_close(&w->session.state);
    w->session.co = NULL;
  }
  w->next = l->idle;
  l->idle = w;
}

void live__worker_end(struct live_worker *w, double cancel_at) {
  struct live *l = w->l;
  if (l->setup.own_loop) {
    end_own(l, w);
    return;
  }
  pthread_mutex_lock(&w->mutex);
  atomic_store(&w->quit, true);
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mutex);
  w->cancel_at = cancel_at;
  w->next = l->ending;
  l->ending = w;
}

/* True: it is gone. Where it may be cancelled, it is. */
static bool reap(struct live_worker *w) {
  pthread_mutex_lock(&w->mutex);
  bool has_ended = w->ended;
  pthread_mutex_unlock(&w->mutex);
  if (!has_ended && live__now() >= w->cancel_at) {
    w->cancel_at = HUGE_VAL;
    pthread_cancel(w->thread);
  }
  if (!has_ended) return false;
  pthread_join(w->thread, NULL); /* it is in its last instructions */
  if (w->session.state.L != NULL) {
    lutil_abandon(&w->session.state.limit);
    limit_abandon(&w->session.state.limit);
  }
  free_worker(w);
  return true;
}

bool live__worker_reap(struct live *l) {
  for (struct live_worker **at = &l->ending; *at != NULL;) {
    struct live_worker *w = *at, *next = w->next;
    if (reap(w))
      *at = next;
    else
      at = &w->next;
  }
  return l->ending == NULL;
}

/* --- own loop: without threads, so no lock is needed --- */

int live__worker_prepare(struct live *l) {
  struct live_worker *w = new_worker(l);
  if (w == NULL) return pml_fail(-ENOMEM, "live: out of memory for a session");
  int err = live__session_open(&w->session, &l->setup, &l->stopping);
  if (err < 0) {
    free_worker(w);
    return err;
  }
  w->next = l->idle;
  l->idle = w;
  return 0;
}

void live__worker_drop(struct live *l) {
  while (l->idle != NULL) {
    struct live_worker *w = l->idle;
    l->idle = w->next;
    state_close(&w->session.state);
    free_worker(w);
  }
}

static void refuse(struct live_worker *w, int err) {
  w->text = strdup(pml_error_detail(err));
  w->n = w->text != NULL ? strlen(w->text) : 0;
  w->ok = w->asked = false;
  w->answered = true;
}

bool live__worker_step(struct live_worker *w, double until) {
  struct live_session *s = &w->session;
  bool due = live__now() >= w->due;
  if (!w->asked && s->co == NULL && !due) return false;
  if (w->asked && s->co == NULL && live__values_wanted(&w->question)) {
    w->ok = live__values_answer(&w->values, &w->question, &w->text, &w->n);
    w->asked = false;
    w->answered = true;
    return true;
  }
  if (s->co == NULL) {
    int err = live__session_open(s, &w->l->setup, &w->l->stopping);
    if (err == 0) err = live__session_begin(s, w->asked ? &w->question : NULL, live__now());
    w->due = HUGE_VAL;
    if (err < 0 && w->asked) refuse(w, err);
    if (err < 0) return true;
  }
  bool question = s->ask.question != NULL;
  if (live__session_step(s, until, &w->text, &w->n, &w->ok) > 0) return true;
  w->due = s->due;
  if (question) w->asked = false;
  if (question) w->answered = true;
  return true;
}
