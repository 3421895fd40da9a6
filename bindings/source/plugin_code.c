/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/plugin_code.c - metric plugins in Lua, called on the reading thread or on their own. */
#include "source/plugin_code.h"

#include "base/pml_array.h"
#include "base/pml_cancel.h"
#include "embed/state.h"

#include <errno.h>
#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "pmlua.plugin"
#define CALL_SECONDS 5.0

/* Measured values that are not collected yet. */
struct series {
  struct pml_plugin_pair *pair;
  size_t n, room;
};

struct code {
  struct state state; /* protected by the plugin's lock, or owned by its thread while it runs */
  double every_s;
  size_t nmetrics;
  bool *real;
  uint64_t *value; /* results of one call */
  bool *has;
  /* Asynchronous. */
  pthread_t thread;
  bool running;
  atomic_bool stopping;
  struct pml__mutex lock; /* guards what follows */
  pthread_cond_t wake;
  struct series *series; /* [nmetrics] */
  int err;
  char why[512];
};

/* --- in the state --- */

struct request {
  struct code *code;
  const struct plugin_code_options *options;
  size_t metric; /* synchronous: which */
};

/* The function that gives values stays at the bottom of the stack. */
static int l_open(lua_State *L) {
  const struct request *r = lua_touserdata(L, 1);
  lua_getglobal(L, "require");
  lua_pushliteral(L, MODULE);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "serve");
  lua_pushstring(L, r->options->kind);
  lua_pushlstring(L, r->options->text, r->options->length);
  lua_call(L, 2, 1);
  luaL_checktype(L, -1, LUA_TFUNCTION);
  lua_setfield(L, LUA_REGISTRYINDEX, MODULE);
  return 0;
}

static void take(lua_State *L, int idx, struct code *c, size_t i) {
  int good = 1;
  c->has[i] = !lua_isnoneornil(L, idx);
  if (!c->has[i]) return;
  if (c->real[i]) {
    double d = lua_tonumberx(L, idx, &good);
    memcpy(&c->value[i], &d, sizeof d);
  } else {
    c->value[i] = (uint64_t)lua_tointegerx(L, idx, &good);
  }
  if (!good || lua_type(L, idx) != LUA_TNUMBER)
    luaL_error(L, "value %d is a %s, not %s", (int)i + 1, luaL_typename(L, idx),
               c->real[i] ? "a number" : "an integer");
}

static int l_read(lua_State *L) {
  const struct request *r = lua_touserdata(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, MODULE);
  lua_pushinteger(L, (lua_Integer)r->metric + 1);
  lua_call(L, 1, 1);
  take(L, -1, r->code, r->metric);
  return 0;
}

static int l_collect(lua_State *L) {
  struct code *c = ((const struct request *)lua_touserdata(L, 1))->code;
  lua_settop(L, 0);
  luaL_checkstack(L, (int)c->nmetrics + LUA_MINSTACK, "too many values");
  lua_getfield(L, LUA_REGISTRYINDEX, MODULE);
  lua_call(L, 0, (int)c->nmetrics);
  for (size_t i = 0; i < c->nmetrics; i++) take(L, (int)i + 1, c, i);
  return 0;
}

static int call(struct code *c, lua_CFunction f, struct request *r) {
  lua_State *L = c->state.L;
  if (!lua_checkstack(L, 3)) return pml_fail(-ENOMEM, "out of memory for Lua's stack");
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, r);
  return limit_call(L, 1, 0, 0);
}

/* --- synchronous: with the plugin's lock --- */

static int code_read(void *arg, size_t metric, uint64_t *value) {
  struct code *c = arg;
  struct request r = {.code = c, .metric = metric};
  int err = call(c, l_read, &r);
  if (err < 0) return err;
  *value = c->value[metric];
  return c->has[metric];
}

/* --- asynchronous --- */

static bool append(struct series *s, uint64_t ticks, uint64_t value) {
  if (!PML__ARRAY_ROOM(s->pair, s->room, s->n + 1)) return false;
  s->pair[s->n++] = (struct pml_plugin_pair){ticks, value};
  return true;
}

/* With the lock. */
static void fail(struct code *c, int err, const char *why) {
  c->err = err;
  strncpy(c->why, why, sizeof c->why - 1);
}

static void measure_once(struct code *c) {
  struct request r = {.code = c};
  int err = call(c, l_collect, &r);
  uint64_t now = pml_clock_ticks();
  pml__mutex_take(&c->lock);
  bool room = true;
  for (size_t i = 0; err == 0 && i < c->nmetrics; i++) room &= !c->has[i] || append(&c->series[i], now, c->value[i]);
  if (!room) fail(c, -ENOMEM, "no memory for its values");
  if (err < 0 && !atomic_load(&c->stopping)) fail(c, err, pml_error_detail(err));
  pml__mutex_leave(&c->lock);
}

static void add_seconds(struct timespec *t, double s) {
  time_t whole = (time_t)s;
  t->tv_sec += whole;
  t->tv_nsec += (long)((s - (double)whole) * 1e9);
  if (t->tv_nsec < 1000000000) return;
  t->tv_nsec -= 1000000000;
  t->tv_sec++;
}

/* The next time is relative to the last one, so that the duration of calls does not add up; missed times are skipped.
 */
static void *measure(void *arg) {
  struct code *c = arg;
  struct timespec next, now;
  (void)clock_gettime(CLOCK_MONOTONIC, &next);
  while (!atomic_load(&c->stopping) && c->err == 0) {
    measure_once(c);
    add_seconds(&next, c->every_s);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (next.tv_sec < now.tv_sec || (next.tv_sec == now.tv_sec && next.tv_nsec < now.tv_nsec)) next = now;
    pml__mutex_take(&c->lock);
    while (!atomic_load(&c->stopping) && pthread_cond_timedwait(&c->wake, &c->lock.mutex, &next) == 0) {
    }
    pml__mutex_leave(&c->lock);
  }
  return NULL;
}

static int code_start(void *arg) {
  struct code *c = arg;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int err = pthread_create(&c->thread, NULL, measure, c);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  c->running = err == 0;
  return err == 0 ? 0 : pml_fail(-err, "a thread cannot be started: %s", strerror(err));
}

/* Values measured before a failure are still returned; the failure is reported at the next call. */
static int code_collect(void *arg, size_t metric, struct pml_plugin_pair **list, size_t *n) {
  struct code *c = arg;
  int err = 0;
  pml__mutex_take(&c->lock);
  struct series *s = &c->series[metric];
  *list = s->pair;
  *n = s->n;
  if (s->n == 0 && c->err < 0) err = pml_fail(c->err, "%s", c->why);
  *s = (struct series){0};
  pml__mutex_leave(&c->lock);
  return err;
}

static void code_stop(void *arg) {
  struct code *c = arg;
  if (!c->running) return;
  pml__mutex_take(&c->lock);
  atomic_store(&c->stopping, true);
  pthread_cond_signal(&c->wake);
  pml__mutex_leave(&c->lock);
  pthread_join(c->thread, NULL);
  c->running = false;
}

/* --- life --- */

static void code_close(void *arg) {
  struct code *c = arg;
  code_stop(c);
  state_close(&c->state);
  for (size_t i = 0; c->series != NULL && i < c->nmetrics; i++) free(c->series[i].pair);
  free(c->series);
  free(c->real);
  free(c->value);
  free(c->has);
  pthread_cond_destroy(&c->wake);
  pthread_mutex_destroy(&c->lock.mutex);
  free(c);
}

static struct code *make(const struct plugin_code_options *o) {
  struct code *c = calloc(1, sizeof *c);
  pthread_condattr_t attr;
  if (c == NULL) return NULL;
  pthread_mutex_init(&c->lock.mutex, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&c->wake, &attr);
  pthread_condattr_destroy(&attr);
  c->every_s = o->every_s;
  c->nmetrics = o->nmetrics;
  c->series = calloc(o->nmetrics + 1, sizeof *c->series);
  c->real = calloc(o->nmetrics + 1, sizeof *c->real);
  c->value = calloc(o->nmetrics + 1, sizeof *c->value);
  c->has = calloc(o->nmetrics + 1, sizeof *c->has);
  if (c->series == NULL || c->real == NULL || c->value == NULL || c->has == NULL) {
    code_close(c);
    return NULL;
  }
  for (size_t i = 0; i < o->nmetrics; i++) c->real[i] = o->metric[i].value == PML_PLUGIN_DOUBLE;
  return c;
}

int plugin_code_provide(const struct plugin_code_options *o, struct pml_plugin **p) {
  *p = NULL;
  struct code *c = make(o);
  if (c == NULL) return pml_fail(-ENOMEM, "no memory for plugin %s", o->name);
  int err = state_open(&c->state, NULL, 0, false);
  if (err == 0) {
    struct request r = {.code = c, .options = o};
    c->state.limit.seconds = CALL_SECONDS;
    c->state.limit.stop = &c->stopping;
    err = call(c, l_open, &r);
  }
  if (err < 0) {
    code_close(c);
    return err;
  }
  bool async = o->every_s > 0;
  struct pml_plugin_provider v = {
      .sync = async ? PML_PLUGIN_ASYNC_EVENT : PML_PLUGIN_SYNC, .scope = o->scope, .arg = c};
  v.metric = o->metric;
  v.nmetrics = o->nmetrics;
  v.close = code_close;
  if (!async) {
    v.read = code_read;
  } else {
    v.start = code_start;
    v.collect = code_collect;
    v.stop = code_stop;
  }
  return pml_plugin_provide(o->name, &v, p);
}
