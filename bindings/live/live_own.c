/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live_own.c - the live service without threads, in the application's own loop.
 *
 * An epoll descriptor, which the application waits for, has the service's sockets and a timer. Each dispatch takes
 * turns of the same loop that the thread runs, and gives each question slices until the budget is used up.
 */
#include "embed/embed.h"
#include "live/live.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SLICE_S 100e-6
#define STATE_INSTRUCTIONS 100000u /* in the application's state, where nothing is sliced */
#define SHORTEST_S 20e-6           /* of a dispatch: an instruction is run even if the budget is 0 */

struct live_own {
  int epoll, timer;
  struct live_waiting waiting;
  struct pollfd armed[2 + LIVE_CONNECTIONS]; /* waits in @epoll */
  bool dispatching;
  unsigned first; /* the connection that is the next to get a slice */
};

/* The waits differ from round to round in one descriptor or none. */
static void arm_one(struct live_own *own, int place) {
  struct pollfd *is = &own->armed[place], want = own->waiting.fd[place];
  if (want.fd >= 0 && want.events == 0) want.fd = -1;
  if (is->fd == want.fd && (is->fd < 0 || is->events == want.events)) return;
  struct epoll_event event = {.events =
                                  (want.events & POLLIN ? EPOLLIN : 0u) | (want.events & POLLOUT ? EPOLLOUT : 0u)};
  if (is->fd >= 0 && is->fd != want.fd) (void)epoll_ctl(own->epoll, EPOLL_CTL_DEL, is->fd, NULL);
  if (want.fd >= 0 && epoll_ctl(own->epoll, EPOLL_CTL_MOD, want.fd, &event) != 0)
    (void)epoll_ctl(own->epoll, EPOLL_CTL_ADD, want.fd, &event);
  *is = want;
}

static void arm(struct live *l, bool more) {
  struct live_own *own = l->own;
  live__set_poll(&own->waiting, l, live__now());
  for (int i = 0; i < 2 + LIVE_CONNECTIONS; i++) arm_one(own, i);
  int ms = more ? 0 : live__patience(&own->waiting, l, live__now());
  struct itimerspec at = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L + (ms == 0)}};
  (void)timerfd_settime(own->timer, 0, &at, NULL);
}

void live__own_forget_place(struct live *l, int place) {
  if (l->own == NULL) return;
  struct pollfd *is = &l->own->armed[2 + place];
  if (is->fd >= 0) (void)epoll_ctl(l->own->epoll, EPOLL_CTL_DEL, is->fd, NULL);
  is->fd = -1;
}

int live__own_begin(struct live *l) {
  int err = 0;
  struct live_own *own = l->own = calloc(1, sizeof *own);
  if (own == NULL) return pml_fail(-ENOMEM, "live: out of memory");
  for (int i = 0; i < 2 + LIVE_CONNECTIONS; i++) own->armed[i].fd = -1;
  own->epoll = epoll_create1(EPOLL_CLOEXEC);
  own->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN};
  if (own->epoll < 0 || own->timer < 0 || epoll_ctl(own->epoll, EPOLL_CTL_ADD, own->timer, &event) != 0)
    err = pml_fail(-errno, "live: no descriptor to wait for: %s", strerror(errno));
  bool was = live__own_thread(true);
  for (int i = 0; err == 0 && i < l->setup.connections; i++) err = live__worker_prepare(l);
  (void)live__own_thread(was);
  if (err == 0)
    arm(l, false);
  else
    live__own_close(l);
  return err;
}

void live__own_forget(const struct live *l) {
  if (l->own == NULL) return;
  close(l->own->epoll);
  close(l->own->timer);
}

void live__own_close(struct live *l) {
  live__worker_drop(l);
  if (l->own == NULL) return;
  if (l->own->epoll >= 0) close(l->own->epoll);
  if (l->own->timer >= 0) close(l->own->timer);
  free(l->own);
  l->own = NULL;
}

void live__own_end(struct live *l) {
  bool was = live__own_thread(true);
  live__end_all(l);
  live__own_close(l);
  (void)live__own_thread(was);
  live__free(l);
}

static int running(struct live **l) {
  live__lock();
  *l = live__running();
  live__unlock();
  if (*l == NULL) return pml_fail(PML_ECLOSED, "this process is not served");
  return (*l)->own != NULL ? 0 : pml_fail(PML_EMODE, "live: the service has a thread; start it with own_loop");
}

int pmlua_live_fd(void) {
  struct live *l;
  int err = running(&l);
  return err < 0 ? err : l->own->epoll;
}

/* A slice for each question and tick. True: something was done or is left, so that another turn is needed. */
static bool step_all(struct live *l, double end) {
  bool did = false;
  unsigned first = l->own->first;
  for (unsigned i = 0; i < LIVE_CONNECTIONS; i++) {
    double now = live__now();
    const struct live_connection *c = l->connection[(first + i) % LIVE_CONNECTIONS];
    if (now < end) l->own->first = (first + i + 1) % LIVE_CONNECTIONS;
    if (c == NULL || c->worker == NULL) continue;
    did = (now < end ? live__worker_step(c->worker, now + SLICE_S < end ? now + SLICE_S : end) : c->asked) || did;
  }
  return did;
}

int pmlua_live_dispatch(unsigned budget_us) {
  struct live *l;
  int err = running(&l);
  if (err < 0) return err;
  if (l->own->dispatching) return pml_fail(PML_EMODE, "live: a function that the service calls cannot dispatch");
  double end = live__now() + (budget_us * 1e-6 > SHORTEST_S ? budget_us * 1e-6 : SHORTEST_S);
  bool was = live__own_thread(true), goes_on, more = true;
  l->own->dispatching = true;
  do {
    goes_on = live__turn(l, &l->own->waiting, 0);
    more = goes_on && step_all(l, end);
  } while (more && live__now() < end);
  (void)live__own_thread(was);
  l->own->dispatching = false;
  if (atomic_load(&l->stopping))
    live__own_end(l); /* stopped by a function that it called */
  else if (goes_on)
    arm(l, more);
  else
    err = pml_fail(-EIO, "live: the service cannot go on; stop it, and start it again");
  return err < 0 ? err : more;
}

/* --- the application's state --- */

struct asking {
  const char *code;
  char *text;
};

static int run(lua_State *L) {
  struct asking *a = lua_touserdata(L, 1);
  luaL_Buffer b;
  lua_settop(L, 0);
  if (luaL_loadbufferx(L, a->code, strlen(a->code), "=(state)", "t") != LUA_OK) return lua_error(L);
  lua_call(L, 0, LUA_MULTRET);
  int n = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "too many results");
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    struct pmlua_value v;
    lua_pushvalue(L, i); /* below what the buffer may have on the stack */
    typed_get(L, -1, 'j', &v, "state", "result", i);
    lua_replace(L, -2);
    luaL_addvalue(&b);
    luaL_addchar(&b, '\n');
  }
  luaL_pushresult(&b);
  a->text = state_copy(L, -1, NULL);
  return 0;
}

int live__state(const char *code, char **text) {
  static const struct pmlua_limits limits = {.instructions = STATE_INSTRUCTIONS};
  struct asking a = {.code = code};
  struct live *l;
  *text = NULL;
  if (!live__on_thread() || running(&l) < 0 || l->setup.state == NULL)
    return pml_fail(PML_EMODE, "the application lends no state to questions");
  int err = embed_run(l->setup.state, run, &a, &limits);
  *text = a.text;
  return err;
}
