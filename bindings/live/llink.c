/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/llink.c - pmlua.core.link: the client side of a running application's socket. */
#include "command/interrupt.h"
#include "failure.h"
#include "live/live_frame.h"
#include "module.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 1e6
#define SLICE_MS 100  /* a signal that arrives just before poll() is seen this much later */
#define LATE_READS 64 /* after the deadline, of what has arrived: a server may never stop sending */

struct link {
  struct lutil_handle h;
  int fd;
  bool owed; /* an answer, whose question was asked: the wait for it was interrupted */
  struct live_frame answer;
};

static void link_close(void *handle) {
  struct link *l = handle;
  close(l->fd);
  live_frame_reset(&l->answer);
}

static const struct lutil_class link_class = {"link", sizeof(struct link), link_close};

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path)
    return pml_fail(-ENAMETOOLONG, "%s: longer than a socket's name may be", path);
  memcpy(address.sun_path, path, strlen(path) + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return pml_fail(-errno, "socket: %s", strerror(errno));
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int err = -errno;
  close(fd);
  return pml_fail(err, "%s: %s", path, err == -EAGAIN ? "too many wait to be connected" : strerror(-err));
}

static int l_connect(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct link *l = lutil_new(L, &link_class, 0, 0);
  live_frame_answer(&l->answer);
  l->fd = connect_to(path);
  return lutil_opened(L, &l->h, l->fd, "link.connect");
}

/* --- one question and its answer --- */

static double now_s(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int wait_for(int fd, short events, double deadline) {
  for (;;) {
    struct pollfd p = {.fd = fd, .events = events};
    double left_ms = 1e3 * (deadline - now_s());
    if (lutil_interrupted) return pml_fail(-EINTR, "interrupted");
    int n = poll(&p, 1, left_ms <= 0 ? 0 : left_ms < SLICE_MS ? (int)left_ms + 1 : SLICE_MS);
    if (n > 0) return 0;
    if (left_ms <= 0) return pml_fail(-ETIMEDOUT, "no answer in the time that was given");
    if (n < 0 && errno != EINTR) return pml_fail(-errno, "poll: %s", strerror(errno));
  }
}

/* 0 also when the peer no longer receives: its earlier answer may explain why. */
static int send_all(int fd, const char *bytes, size_t n, double deadline) {
  while (n > 0) {
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes += sent;
      n -= (size_t)sent;
    } else if (errno == EAGAIN) {
      int err = wait_for(fd, POLLOUT, deadline);
      if (err < 0) return err;
    } else if (errno == EPIPE || errno == ECONNRESET)
      return 0;
    else if (errno != EINTR)
      return pml_fail(-errno, "send: %s", strerror(errno));
  }
  return 0;
}

static int gone(void) {
  return pml_fail(-ECONNRESET, "the application ended or closed the connection");
}

static int receive(struct link *l, double deadline) {
  char bytes[16384];
  size_t taken;
  for (int late = 0;;) {
    int err = wait_for(l->fd, POLLIN, deadline);
    if (err == 0 && now_s() > deadline && ++late > LATE_READS)
      err = pml_fail(-ETIMEDOUT, "no whole answer in the time that was given");
    if (err < 0) return err;
    ssize_t n = recv(l->fd, bytes, sizeof bytes, 0);
    if (n == 0 || (n < 0 && (errno == ECONNRESET || errno == EPIPE))) return gone();
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return pml_fail(-errno, "recv: %s", strerror(errno));
    err = live_frame_feed(&l->answer, bytes, (size_t)n, &taken);
    if (err < 0) return err;
    if (err == 0) continue;
    return taken == (size_t)n
               ? 0
               : pml_fail(PML_EFORMAT, "the program's answer is not in pmlua's protocol; is it of another version?");
  }
}

static int receive_owed(struct link *l, double deadline) {
  int err = l->owed ? receive(l, deadline) : 0;
  if (err == 0) l->owed = false;
  return err;
}

/* The answer to an abandoned question comes first, and is dropped. */
static int send_question(struct link *l, enum live_kind kind, const char *payload, size_t n, double deadline) {
  char header[LIVE_HEADER_MAX];
  int err = receive_owed(l, deadline);
  if (err < 0) return err;
  live_frame_reset(&l->answer);
  err = send_all(l->fd, header, live_frame_header(header, kind, n), deadline);
  if (err == 0) err = send_all(l->fd, payload, n, deadline);
  if (err == 0) l->owed = true;
  return err;
}

/* Push the application's answer, or its error. */
static int push_answer(lua_State *L, struct link *l) {
  bool ok = l->answer.kind == LIVE_OK;
  if (ok)
    lua_pushlstring(L, l->answer.payload, l->answer.length);
  else {
    lua_pushnil(L);
    failure_push(L, "link.ask", "EREMOTEIO", l->answer.length > 0 ? l->answer.payload : "refused without a reason",
                 NULL);
    lua_pushliteral(L, "EREMOTEIO");
  }
  live_frame_reset(&l->answer);
  return ok ? 1 : 3;
}

static double patience(lua_State *L, int arg) {
  double seconds = luaL_optnumber(L, arg, 5);
  luaL_argcheck(L, seconds >= 0 && seconds <= SECONDS_MAX, arg, "must be from 0 to 1e6 seconds");
  return now_s() + seconds;
}

/* *@fits: false if it fails because the question is too long, which leaves the link as it was. */
static int send_arguments(lua_State *L, struct link *l, double deadline, bool *fits) {
  static const char *const kinds[] = {"info", "read", "values", "sections", "stop", "complete", "eval", NULL};
  static const enum live_kind values[] = {LIVE_INFO, LIVE_READ,     LIVE_VALUES, LIVE_SECTIONS,
                                          LIVE_STOP, LIVE_COMPLETE, LIVE_EVAL};
  size_t n;
  enum live_kind kind = values[luaL_checkoption(L, 2, NULL, kinds)];
  const char *payload = luaL_optlstring(L, 3, "", &n);
  *fits = n <= LIVE_QUESTION_MAX;
  if (!*fits) return pml_fail(-EMSGSIZE, "%zu bytes; a question has at most %d", n, LIVE_QUESTION_MAX);
  return send_question(l, kind, payload, n, deadline);
}

static int failed(lua_State *L, struct link *l, int err, const char *where, bool sound) {
  if (err == -EINTR && !l->owed) err = pml_fail(-ECANCELED, "interrupted before the question was sent");
  if (err != -EINTR && !sound) lutil_close(&l->h);
  return pml_pusherr(L, err, where);
}

/*
 * ask(kind, payload, seconds) -> text, or nil, message, code. After EREMOTEIO (an error of the application), EMSGSIZE,
 * and EINTR, the link stays usable, and its session unchanged; any other failure (ETIMEDOUT, ECONNRESET,
 * ECANCELED: interrupted before the question was sent) closes it.
 */
static int l_ask(lua_State *L) {
  struct link *l = lutil_check(L, 1, &link_class);
  double deadline = patience(L, 4);
  bool fits;
  int err = send_arguments(L, l, deadline, &fits);
  if (err < 0) return failed(L, l, err, "link.ask", !fits);
  err = receive_owed(l, deadline);
  return err == 0 ? push_answer(L, l) : failed(L, l, err, "link.ask", false);
}

/*
 * send(kind, payload, seconds) -> true, and receive(seconds) as ask(): for asking several applications at once. With 0
 * seconds they send as much as the socket accepts, and receive what has arrived.
 */
static int l_send(lua_State *L) {
  struct link *l = lutil_check(L, 1, &link_class);
  bool fits;
  int err = send_arguments(L, l, patience(L, 4), &fits);
  if (err < 0) return failed(L, l, err, "link.send", !fits);
  return lutil_pushbool(L, 1);
}

static int l_receive(lua_State *L) {
  struct link *l = lutil_check(L, 1, &link_class);
  int err = l->owed ? receive_owed(l, patience(L, 2)) : pml_fail(-EINVAL, "no question was sent");
  return err == 0 ? push_answer(L, l) : failed(L, l, err, "link.receive", false);
}

/* ready() -> whether receive() would find something: a part of the answer, or the end of the connection. */
static int l_ready(lua_State *L) {
  struct link *l = lutil_check(L, 1, &link_class);
  struct pollfd p = {.fd = l->fd, .events = POLLIN};
  return lutil_pushbool(L, poll(&p, 1, 0) != 0);
}

int luaopen_pmlua_link(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"ask", l_ask}, {"send", l_send}, {"receive", l_receive}, {"ready", l_ready}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"connect", l_connect}, {NULL, NULL}};
  lutil_class(L, &link_class, methods, NULL);
  return lutil_module(L, functions);
}
