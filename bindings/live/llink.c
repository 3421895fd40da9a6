/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/llink.c - pmlua.core.link: the client side of a running application's socket. */
#include "command/interrupt.h"
#include "failure.h"
#include "live/live_client.h"
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

struct link {
  struct lutil_handle h;
  struct live_client c;
};

static void link_close(void *handle) {
  struct link *l = handle;
  live_client_close(&l->c);
}

static const struct lutil_class link_class = {"link", sizeof(struct link), link_close};

static int l_connect(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct link *l = lutil_new(L, &link_class, 0, 0);
  return lutil_opened(L, &l->h, live_client_open(&l->c, path), "link.connect");
}

/* --- one question and its answer --- */

/* Push the application's answer, or its error. */
static int push_answer(lua_State *L, struct link *l) {
  bool ok = l->c.answer.kind == LIVE_OK;
  if (ok)
    lua_pushlstring(L, l->c.answer.payload, l->c.answer.length);
  else {
    lua_pushnil(L);
    failure_push(L, "link.ask", "EREMOTEIO", l->c.answer.length > 0 ? l->c.answer.payload : "refused without a reason",
                 NULL);
    lua_pushliteral(L, "EREMOTEIO");
  }
  live_frame_reset(&l->c.answer);
  return ok ? 1 : 3;
}

static double patience(lua_State *L, int arg) {
  double seconds = luaL_optnumber(L, arg, 5);
  luaL_argcheck(L, seconds >= 0 && seconds <= SECONDS_MAX, arg, "must be from 0 to 1e6 seconds");
  return live_client_now() + seconds;
}

/* *@fits: false if it fails because the question is too long, which leaves the link as it was. */
static int send_arguments(lua_State *L, struct link *l, double deadline, bool *fits) {
  static const char *const kinds[] = {"info", "values", "series", "sections", "stop", "complete", "eval", NULL};
  static const enum live_kind values[] = {LIVE_INFO, LIVE_VALUES,   LIVE_SERIES, LIVE_SECTIONS,
                                          LIVE_STOP, LIVE_COMPLETE, LIVE_EVAL};
  size_t n;
  enum live_kind kind = values[luaL_checkoption(L, 2, NULL, kinds)];
  const char *payload = luaL_optlstring(L, 3, "", &n);
  *fits = n <= LIVE_QUESTION_MAX;
  if (!*fits) return pml_fail(-EMSGSIZE, "%zu bytes; a question has at most %d", n, LIVE_QUESTION_MAX);
  return live_client_send(&l->c, kind, payload, n, deadline);
}

static int failed(lua_State *L, struct link *l, int err, const char *where, bool sound) {
  if (err == -EINTR && !l->c.owed) err = pml_fail(-ECANCELED, "interrupted before the question was sent");
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
  err = live_client_receive(&l->c, deadline);
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
  int err = l->c.owed ? live_client_receive(&l->c, patience(L, 2)) : pml_fail(-EINVAL, "no question was sent");
  return err == 0 ? push_answer(L, l) : failed(L, l, err, "link.receive", false);
}

/* ready() -> whether receive() would find something: a part of the answer, or the end of the connection. */
static int l_ready(lua_State *L) {
  struct link *l = lutil_check(L, 1, &link_class);
  struct pollfd p = {.fd = l->c.fd, .events = POLLIN};
  return lutil_pushbool(L, poll(&p, 1, 0) != 0);
}

int luaopen_pmlua_link(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"ask", l_ask}, {"send", l_send}, {"receive", l_receive}, {"ready", l_ready}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"connect", l_connect}, {NULL, NULL}};
  lutil_class(L, &link_class, methods, NULL);
  return lutil_module(L, functions);
}
