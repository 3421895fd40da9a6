/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live_loop.c - the service's thread: what it waits for and when it ticks. */
#include "live.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENT_S 5.0 /* in the middle of a frame, when others wait for the place */
#define CHILD_DELAY_S 0.05
#define BREATHER_S 0.1  /* after the kernel had no descriptor for a connection */
#define ACCEPTED_MAX 16 /* at a time: those that are served have their turn */

static _Thread_local bool on_thread;

bool live__on_thread(void) {
  return on_thread;
}

static bool is_stopping(const struct live *l) {
  return atomic_load_explicit(&l->stopping, memory_order_acquire);
}

/* --- the socket --- */

/*
 * In a forked child socket and eventfd are made here, a little later: so that the fork does not wait for it, that one
 * which is followed by exec does without, and that a daemon may close all descriptors first.
 */
static bool listen_late(struct live *l) {
  char path[LIVE_PATH_MAX], name[LIVE_NAME_MAX + 1];
  live__wait(l, live__now() + CHILD_DELAY_S);
  live__lock();
  bool wanted = !l->unasked && atomic_load(&l->listener) < 0;
  memcpy(name, l->name, sizeof name);
  live__unlock();
  if (is_stopping(l)) return false;
  int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), fd = -1;
  int err = wake < 0 ? pml_fail(-errno, "%s", strerror(errno)) : 0;
  if (err == 0 && wanted) err = fd = live_socket_listen(path, name);
  if (err < 0) {
    live__say("live: this forked process is not served: %s", pml_error_detail(err));
    if (wake >= 0) close(wake);
    return false;
  }
  live__lock();
  bool stopping = is_stopping(l);
  l->wake = wake;
  if (fd >= 0) {
    if (!stopping) memcpy(l->path, path, sizeof path);
    l->inode = live__inode(fd);
    atomic_store(&l->listener, fd);
  }
  live__unlock();
  if (stopping && fd >= 0) unlink(path);
  return !stopping;
}

static void clean_folder(void) {
  char folder[LIVE_PATH_MAX];
  if (live_socket_folder(folder) == 0) live_socket_clean(folder);
}

/* --- connections --- */

/* A free place, if need be that of the one who has been silent longest in the middle of a frame. */
static struct live_connection *place(struct live *l, double now) {
  struct live_connection *silent = NULL;
  for (int i = 0; i < LIVE_CONNECTIONS; i++) {
    struct live_connection *c = &l->connection[i];
    if (atomic_load_explicit(&c->fd, memory_order_relaxed) < 0) return c;
    if (live__talk_waits(c) && now - c->since > SILENT_S && (silent == NULL || c->since < silent->since)) silent = c;
  }
  if (silent != NULL) live__talk_end(silent);
  return silent;
}

/* A first answer fits the buffer of a new socket. */
static void send_away(int fd, const char *why) {
  char frame[LIVE_HEADER_MAX + 512];
  size_t n = live_frame_header(frame, LIVE_ERROR, strlen(why));
  n += (size_t)snprintf(frame + n, sizeof frame - n, "%s", why);
  (void)send(fd, frame, n < sizeof frame ? n : sizeof frame - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(fd, SHUT_RDWR);
  close(fd);
}

/* Returns false when the kernel has no more descriptors: the listener is then looked at again a little later. */
static bool accept_all(struct live *l, double now) {
  for (int i = 0; i < ACCEPTED_MAX; i++) {
    int fd =
        accept4(atomic_load_explicit(&l->listener, memory_order_relaxed), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    int err = live_socket_admit(fd);
    struct live_connection *c = err == 0 ? place(l, now) : NULL;
    if (c != NULL)
      live__talk_begin(c, fd, now);
    else
      send_away(fd, err < 0 ? pml_error_detail(err) : "too many connections");
  }
  return true;
}

/* --- the loop --- */

struct waiting {
  struct pollfd fd[2 + LIVE_CONNECTIONS];
  double accept_at; /* not before */
};

static void set_poll(struct waiting *w, const struct live *l, double now) {
  int listener = atomic_load_explicit(&l->listener, memory_order_relaxed);
  w->fd[0] = (struct pollfd){.fd = l->wake, .events = POLLIN};
  w->fd[1] = (struct pollfd){.fd = now >= w->accept_at ? listener : -1, .events = POLLIN};
  for (int i = 0; i < LIVE_CONNECTIONS; i++) {
    const struct live_connection *c = &l->connection[i];
    short events = c->answer != NULL ? POLLOUT : POLLIN;
    w->fd[2 + i] = (struct pollfd){.fd = atomic_load_explicit(&c->fd, memory_order_relaxed), .events = events};
  }
}

static double earlier(double a, double b) {
  return a < b ? a : b;
}

/* Milliseconds until something is due, rounded up; -1: nothing is. */
static int patience(const struct waiting *w, const struct live *l, double now) {
  double due = l->rules.due;
  for (int i = 0; i < LIVE_CONNECTIONS; i++) {
    const struct live_connection *c = &l->connection[i];
    if (atomic_load_explicit(&c->fd, memory_order_relaxed) < 0) continue;
    due = earlier(due, c->session.due);
    if (c->answer == NULL && c->from < c->to) return 0; /* the next question is here already */
  }
  if (now < w->accept_at) due = earlier(due, w->accept_at);
  if (due == HUGE_VAL) return -1;
  double ms = ceil((due - now) * 1e3);
  return ms <= 0 ? 0 : ms < 60000 ? (int)ms : 60000;
}

static void serve(struct live *l, struct waiting *w) {
  double now = live__now();
  eventfd_t count;
  if (w->fd[0].revents != 0) (void)eventfd_read(l->wake, &count);
  for (int i = 0; i < LIVE_CONNECTIONS && !is_stopping(l); i++) {
    struct live_connection *c = &l->connection[i];
    if (atomic_load_explicit(&c->fd, memory_order_relaxed) < 0) continue;
    if (w->fd[2 + i].revents != 0 || c->from < c->to) live__talk(c, l, now);
    if (c->session.due <= now && !is_stopping(l)) live__session_tick(&c->session, now);
    if (i % 4 == 3 && !is_stopping(l)) live__rules_run(l, live__now()); /* rules do not wait for all who ask */
  }
  /* After them: a place that became free in this round is seen. */
  if (w->fd[1].revents != 0 && !is_stopping(l) && !accept_all(l, now)) w->accept_at = now + BREATHER_S;
}

/*
 * A program that closes all descriptors closes ours with them, and their numbers are then its own. There is no more to
 * be done with them than to forget them.
 */
static bool lost_descriptors(struct live *l, const struct waiting *w) {
  for (int i = 0; i < LIVE_CONNECTIONS; i++)
    if (w->fd[2 + i].revents & POLLNVAL) {
      atomic_store(&l->connection[i].fd, -1);
      live__talk_end(&l->connection[i]);
    }
  if (((w->fd[0].revents | w->fd[1].revents) & POLLNVAL) == 0) return false;
  live__say("live: the program has closed the service's descriptors; it is not served any more");
  live__lock();
  if (w->fd[0].revents & POLLNVAL) l->wake = -1;
  if (w->fd[1].revents & POLLNVAL) atomic_store(&l->listener, -1);
  live__unlock();
  return true;
}

static void loop(struct live *l) {
  struct waiting w = {.accept_at = 0};
  while (!is_stopping(l)) {
    live__rules_run(l, live__now());
    double now = live__now();
    set_poll(&w, l, now);
    if (poll(w.fd, 2 + LIVE_CONNECTIONS, patience(&w, l, now)) < 0 && errno != EINTR && errno != ENOMEM) break;
    if (lost_descriptors(l, &w)) break;
    if (!is_stopping(l)) serve(l, &w);
  }
}

static void end(struct live *l) {
  for (int i = 0; i < LIVE_CONNECTIONS; i++)
    if (atomic_load_explicit(&l->connection[i].fd, memory_order_relaxed) >= 0) live__talk_end(&l->connection[i]);
  live__rules_close(l);
}

void *live__main(void *arg) {
  struct live *l = arg;
  on_thread = true;
  pthread_setname_np(pthread_self(), "pmlua-live");
  if (!l->inherited || listen_late(l)) {
    if (atomic_load(&l->listener) >= 0) clean_folder();
    loop(l);
  }
  end(l);
  live__lock();
  bool detached = l->detached;
  live__unlock();
  if (detached) live__free(l);
  return NULL;
}
