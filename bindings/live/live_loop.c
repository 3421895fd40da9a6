/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_loop.c - the service thread: poll loop and timer. */
#include "live/live.h"

#include "adapter/section/pml_section_snapshot.h"
#include "source/sde/pml_sde.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A new client takes the slot of a connection that has been silent for so long: in the middle of a frame, or between
 * frames.
 */
#define SILENT_S 5.0
#define IDLE_S 1.0
#define LOOK_S 10.0 /* how often the thread checks whether the program has closed its sockets */
#define CHILD_DELAY_S 0.05
#define BREATHER_S 0.1  /* after the kernel ran out of descriptors for a connection */
#define SAMPLE_S 0.05   /* about the greatest age of event values in the log of a program that is killed */
#define CALLBACK_S 1.0  /* the same for events that run the program's code */
#define ACCEPTED_MAX 16 /* connections accepted at a time, so that existing ones are served between them */

#define GONE_S 1.0  /* how long a question may continue after its client has left */
#define RULES_S 1.0 /* how often sessions with rules are checked */
#define REAP_S 0.05 /* how often ending threads are checked */

static _Thread_local bool on_thread;

bool live__on_thread(void) {
  return on_thread;
}

void live__thread_forked(void) {
  on_thread = false;
}

static _Thread_local bool in_own_loop;

bool live__own_thread(bool is) {
  bool was = in_own_loop;
  on_thread = in_own_loop = is;
  return was;
}

bool live__in_own_loop(void) {
  return in_own_loop;
}

/* --- the cpus --- */

static cpu_set_t cpus; /* the process's cpus when this was loaded: its threads may bind themselves later */
static bool cpus_known;

__attribute__((constructor)) static void look_at_cpus(void) {
  cpus_known = sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0;
}

/* Undo the scheduling that the thread which started the service chose for itself. Failures are ignored. */
void live__thread_begin(const char *name) {
  on_thread = true;
  (void)pthread_setname_np(pthread_self(), name);
  if (cpus_known) (void)sched_setaffinity(0, sizeof cpus, &cpus);
  int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_FIFO || policy == SCHED_RR) (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
}

static bool is_stopping(const struct live *l) {
  return atomic_load_explicit(&l->stopping, memory_order_acquire);
}

/* --- the socket --- */

/* Open the listener if wanted and not open, under the name that the process has now. 0 or a negative code.
 */
static int listen_again(struct live *l) {
  char path[LIVE_PATH_MAX], name[LIVE_NAME_MAX + 1];
  live__lock();
  bool wanted = !l->unasked && live_descriptor_get(&l->listener) < 0;
  memcpy(name, l->name, sizeof name);
  live__unlock();
  struct live_descriptor listener;
  int err = wanted ? live_socket_listen(&listener, path, name) : 0;
  if (!wanted || err < 0) return err;
  live__lock();
  bool stopping = is_stopping(l);
  if (!stopping) memcpy(l->path, path, sizeof path);
  live_descriptor_move(&l->listener, &listener);
  live__unlock();
  if (stopping) unlink(path);
  return 0;
}

/* Create missing sockets. False: the thread cannot continue, and has reported why. */
static bool renew(struct live *l, const char *what) {
  live__lock();
  int err = live_descriptor_get(&l->wake) < 0 || live_descriptor_get(&l->woken) < 0 ? live__wake_pair(l) : 0;
  live__unlock();
  if (err == 0) err = listen_again(l);
  if (err < 0) live__say("live: %s: %s", what, pml_error_detail(err));
  return err == 0 && !is_stopping(l);
}

/*
 * In a forked child the sockets are made here, a little later: so that the fork does not wait for them, that one which
 * is followed by exec does without, and that a daemon may close all descriptors first.
 */
static bool listen_late(struct live *l) {
  live__wait(l, live__now() + CHILD_DELAY_S);
  return !is_stopping(l) && renew(l, "this forked process is not served");
}

/* A program that closes every descriptor closes ours with them, and their numbers are then its own. */
static bool has_lost(const struct live *l) {
  return live_descriptor_lost(&l->listener) || live_descriptor_lost(&l->wake) || live_descriptor_lost(&l->woken);
}

static void clean_folder(void) {
  char folder[LIVE_PATH_MAX];
  if (live_socket_folder(folder) == 0) live_socket_clean(folder);
}

/* --- connections --- */

/* A first answer fits the buffer of a new socket. */
static void send_error(int fd, const char *why) {
  char frame[LIVE_HEADER_MAX + 512];
  size_t n = live_frame_header(frame, LIVE_ERROR, strlen(why));
  n += (size_t)snprintf(frame + n, sizeof frame - n, "%s", why);
  (void)send(fd, frame, n < sizeof frame ? n : sizeof frame - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void end_connection(struct live *l, int place) {
  live__own_forget_place(l, place);
  live__talk_end(l->connection[place], live__now());
  l->connection[place] = NULL;
}

/* How well a connection may go: 0 not at all, 1 it was asked something before, 2 never, 3 it stopped in mid-frame. */
static int dispensable(const struct live_connection *c, double now) {
  double silent = now - c->since;
  if (c->asked) return 0;
  if (c->answer != NULL || c->question.header_length > 0) return silent > SILENT_S ? 3 : 0;
  if (silent <= IDLE_S || (c->worker != NULL && live__worker_has_rules(c->worker))) return 0;
  return c->worker == NULL ? 2 : 1;
}

/* A free slot, if need be of the most dispensable client, among equals the longest silent. -1: none. */
static int free_place(struct live *l, double now) {
  int worst = 0, place = -1;
  for (int i = 0; i < l->setup.connections; i++) {
    const struct live_connection *c = l->connection[i];
    if (c == NULL) return i;
    int how = dispensable(c, now);
    if (how < worst || how == 0) continue;
    if (how == worst && c->since >= l->connection[place]->since) continue;
    worst = how;
    place = i;
  }
  if (place < 0) return place;
  int fd = live_descriptor_get(&l->socket[place]);
  if (fd >= 0 && l->connection[place]->answer == NULL)
    send_error(fd, "the connection was idle, and others wanted its place; connect again");
  end_connection(l, place);
  return place;
}

static void admit(struct live *l, struct live_descriptor *asks, double now) {
  int fd = live_descriptor_get(asks), err = live_socket_admit(fd), place = err == 0 ? free_place(l, now) : -1;
  if (place >= 0) l->connection[place] = live__talk_begin(&l->socket[place], asks, now);
  if (place >= 0 && l->connection[place] != NULL) return;
  fd = live_descriptor_get(asks);
  if (fd >= 0) send_error(fd, err < 0 ? pml_error_detail(err) : "too many connections");
  live_descriptor_close(asks, true);
}

/* Returns false when the kernel has no more descriptors: the listener is then looked at again a little later. */
static bool accept_all(struct live *l, double now) {
  char path[LIVE_PATH_MAX];
  live__lock();
  memcpy(path, l->path, sizeof path);
  live__unlock();
  for (int i = 0; i < ACCEPTED_MAX; i++) {
    int listener = live_descriptor_get(&l->listener);
    if (listener < 0 || path[0] == '\0') return true; /* the program closed it, or stops the service */
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    struct live_descriptor asks;
    if (live_descriptor_take_bound(&asks, fd, path)) admit(l, &asks, now);
  }
  return true;
}

/* --- the loop --- */

static int number(const struct live_descriptor *d) {
  return atomic_load_explicit(&((struct live_descriptor *)d)->fd, memory_order_relaxed);
}

/* Waiting for a file that is the program's by now does no harm: it is checked before it is used. */
void live__set_poll(struct live_waiting *w, const struct live *l, double now) {
  w->fd[0] = (struct pollfd){.fd = number(&l->woken), .events = POLLIN};
  w->fd[1] = (struct pollfd){.fd = now >= w->accept_at ? number(&l->listener) : -1, .events = POLLIN};
  for (int i = 0; i < LIVE_CONNECTIONS; i++) {
    const struct live_connection *c = l->connection[i];
    short events = c != NULL && c->asked ? 0 : c != NULL && c->answer != NULL ? POLLOUT : POLLIN;
    w->fd[2 + i] = (struct pollfd){.fd = c != NULL && !c->gone ? number(&l->socket[i]) : -1, .events = events};
  }
}

static double earlier(double a, double b) {
  return a < b ? a : b;
}

/* The time at which a connection must be checked, regardless of its socket. */
static double connection_due(const struct live_connection *c) {
  if (c->worker == NULL) return HUGE_VAL;
  double due = live__worker_due(c->worker);
  if (c->gone) due = earlier(due, c->since + GONE_S);
  return live__worker_has_rules(c->worker) ? earlier(due, live__now() + RULES_S) : due;
}

/* Milliseconds until something is due, rounded up. */
int live__patience(const struct live_waiting *w, const struct live *l, double now) {
  double due = earlier(earlier(l->rules.due, l->rules.look), earlier(l->sample_due, now + LOOK_S));
  for (int i = 0; i < LIVE_CONNECTIONS; i++) {
    const struct live_connection *c = l->connection[i];
    if (c == NULL) continue;
    due = earlier(due, connection_due(c));
    if (!c->asked && c->answer == NULL && c->from < c->to) return 0; /* the next question is here already */
  }
  if (l->ending != NULL) due = earlier(due, now + REAP_S);
  if (now < w->accept_at) due = earlier(due, w->accept_at);
  double ms = ceil((due - now) * 1e3);
  return ms <= 0 ? 0 : (int)ms;
}

/* A rule of a session that takes too long takes the session with it; the client hears why when it asks next. */
static void end_overdue(struct live *l, int place) {
  int fd = live_descriptor_get(&l->socket[place]);
  if (fd >= 0) send_error(fd, "the session has ended: one of its watch rules ran longer than 5 s; connect again");
  end_connection(l, place);
}

static void serve_one(struct live *l, int place, short ready, double now) {
  struct live_connection *c = l->connection[place];
  if (c == NULL) return;
  if (c->asked && (ready & (POLLHUP | POLLERR)) != 0 && !c->gone) {
    c->gone = true; /* its question may finish soon, and it may not need the answer */
    c->since = now;
  }
  if (c->gone && now >= c->since + GONE_S)
    end_connection(l, place);
  else if (c->asked || ready != 0 || c->from < c->to) {
    if (!live__talk(c, l, now)) end_connection(l, place);
  } else if (c->worker != NULL && now >= live__worker_due(c->worker))
    end_overdue(l, place);
}

static void serve(struct live *l, struct live_waiting *w) {
  double now = live__now();
  char bytes[64];
  int woken = w->fd[0].revents != 0 ? live_descriptor_get(&l->woken) : -1;
  if (woken >= 0) (void)recv(woken, bytes, sizeof bytes, MSG_DONTWAIT);
  for (int i = 0; i < LIVE_CONNECTIONS && !is_stopping(l); i++) {
    serve_one(l, i, w->fd[2 + i].revents, now);
    if (i % 4 == 3 && !is_stopping(l)) live__rules_run(l, live__now()); /* rules do not wait for all clients */
  }
  (void)live__worker_reap(l);
  /* After them: a place that became free in this round is seen. */
  if (w->fd[1].revents != 0 && !is_stopping(l) && !accept_all(l, now)) w->accept_at = now + BREATHER_S;
}

/* Log values that are counted in the program's memory, which a kill would lose. */
static void sample(struct live *l) {
  double now = live__now();
  if (now < l->sample_due) return;
  bool callbacks = now >= l->callback_due;
  if (callbacks) l->callback_due = now + CALLBACK_S;
  bool events = pml_sde_log_sample(callbacks), sections = pml__section_history(callbacks);
  l->sample_due = events || sections ? live__now() + SAMPLE_S : HUGE_VAL;
}

bool live__turn(struct live *l, struct live_waiting *w, int ms) {
  sample(l);
  live__rules_run(l, live__now());
  double now = live__now();
  live__set_poll(w, l, now);
  if (poll(w->fd, 2 + LIVE_CONNECTIONS, ms < 0 ? live__patience(w, l, now) : ms) < 0 && errno != EINTR &&
      errno != ENOMEM)
    return false;
  if (!is_stopping(l) && has_lost(l) && !renew(l, "the program has closed the service's sockets; it ends"))
    return false;
  if (!is_stopping(l)) serve(l, w);
  return !is_stopping(l);
}

static void loop(struct live *l) {
  struct live_waiting w = {.accept_at = 0};
  while (!is_stopping(l) && live__turn(l, &w, -1)) continue;
}

/* All that questions had is given back, before the application may unload what they called. */
void live__end_all(struct live *l) {
  char bytes[64];
  for (int i = 0; i < LIVE_CONNECTIONS; i++)
    if (l->connection[i] != NULL) end_connection(l, i);
  live__rules_close(l);
  while (!live__worker_reap(l)) {
    struct pollfd woken = {.fd = live_descriptor_get(&l->woken), .events = POLLIN};
    if (poll(&woken, 1, (int)(1e3 * REAP_S)) > 0) (void)recv(woken.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  }
}

void *live__main(void *arg) {
  struct live *l = arg;
  live__thread_begin("pmlua-live");
  if (!l->inherited || listen_late(l)) {
    if (live_descriptor_held(&l->listener)) clean_folder();
    loop(l);
  }
  live__end_all(l);
  live__lock();
  bool detached = l->detached;
  l->finished = true;
  live__unlock();
  if (detached) live__free(l);
  return NULL;
}
