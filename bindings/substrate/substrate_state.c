/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/substrate_state.c - a Lua state that consumes events. */
#include "substrate/substrate_state.h"

#include "base/pml_cancel.h"
#include "failure.h"
#include "function_copy.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_DEPTH 16

/* A thread that raises; in the state's list until it is freed. */
struct raiser {
  struct substrate_state *state;
  uint64_t thread;
  struct raiser *next;
};

struct substrate_state {
  struct pml__mutex lock; /* all below */
  lua_State *L;
  int ref[SUBSTRATE_FUNCTIONS]; /* LUA_NOREF: none */
  struct substrate_stats stats;
  uint64_t consumer;
  pid_t pid;
  struct raiser *_Atomic raisers; /* without the lock */
};

static PML_THREAD_LOCAL const struct substrate_state *flushing; /* this thread is in its flush */

/* ---- events ---- */

struct event {
  struct substrate_state *state;
  const struct pml_stream_event *e;
  uint64_t thread;
  enum pml_stream_kind kind;
};

static void push_values(lua_State *L, const struct pml_stream_event *e) {
  const struct pml_stream_metrics *m = e->metrics;
  lua_createtable(L, 0, (int)m->n);
  for (uint32_t i = 0; i < m->n; i++) {
    double real;
    memcpy(&real, &e->values[i], sizeof real);
    if (pml_stream_metrics_real(m, i))
      lua_pushnumber(L, real);
    else
      lua_pushinteger(L, (lua_Integer)e->values[i]);
    lua_setfield(L, -2, m->name[i]);
  }
}

static int call_event(lua_State *L) {
  const struct event *v = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, v->state->ref[v->kind]);
  lua_pushinteger(L, v->e->region);
  lua_pushinteger(L, (lua_Integer)pml_clock_at_ns(v->e->ticks));
  lua_pushinteger(L, (lua_Integer)v->thread);
  if (v->e->metrics != NULL) push_values(L, v->e);
  lua_call(L, v->e->metrics != NULL ? 4 : 3, 0);
  return 0;
}

static void keep_error(struct substrate_state *s) {
  const char *text = lua_tostring(s->L, -1);
  strncpy(s->stats.error, text != NULL ? text : "an error that is not a string", sizeof s->stats.error - 1);
}

static void on_event(void *data, enum pml_stream_kind kind, const struct pml_stream_event *e) {
  struct raiser *r = data;
  struct substrate_state *s = r->state;
  int saved = errno;
  if (flushing == s) {
    s->stats.late++; /* this thread has the lock */
    return;
  }
  pml__mutex_take(&s->lock);
  if (s->stats.error[0] == '\0') {
    struct event v = {s, e, r->thread, kind};
    lua_pushcfunction(s->L, failure_message);
    lua_pushcfunction(s->L, call_event);
    lua_pushlightuserdata(s->L, &v);
    if (lua_pcall(s->L, 1, 0, -3) != LUA_OK) keep_error(s);
    lua_settop(s->L, 0);
    s->stats.events++;
  }
  pml__mutex_leave(&s->lock);
  errno = saved;
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  on_event(data, PML_STREAM_ENTER, e);
}
static void on_leave(void *data, const struct pml_stream_event *e) {
  on_event(data, PML_STREAM_LEAVE, e);
}
static void on_metric(void *data, const struct pml_stream_event *e) {
  on_event(data, PML_STREAM_METRIC, e);
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct substrate_state *s = arg;
  struct raiser *r = malloc(sizeof *r);
  if (r == NULL) return NULL;
  *r = (struct raiser){s, thread, atomic_load(&s->raisers)};
  while (!atomic_compare_exchange_weak(&s->raisers, &r->next, r)) {
  }
  return r;
}

/* ---- functions, copied ---- */

int substrate_state_new(struct substrate_state **out, lua_State *l, const int at[SUBSTRATE_FUNCTIONS],
                        char misuse[256]) {
  *out = NULL;
  misuse[0] = '\0';
  for (int i = 0; i < SUBSTRATE_FUNCTIONS; i++)
    if (at[i] != 0 && !function_copy_is_alone(l, at[i], misuse)) return -EINVAL;
  struct substrate_state *s = calloc(1, sizeof *s);
  if (s == NULL) return pml_fail(-ENOMEM, "no memory for a Lua state");
  pthread_mutex_init(&s->lock.mutex, NULL);
  s->pid = getpid();
  s->L = function_copy_state(NULL);
  int err = s->L != NULL ? 0 : -ENOMEM;
  for (int i = 0; err == 0 && i < SUBSTRATE_FUNCTIONS; i++) {
    s->ref[i] = LUA_NOREF;
    if (at[i] != 0) err = function_copy(s->L, l, at[i], &s->ref[i]);
  }
  if (err < 0) {
    substrate_state_free(s);
    return pml_fail(err, "no memory for a Lua state");
  }
  *out = s;
  return 0;
}

/* ---- life ---- */

int substrate_state_start(struct substrate_state *s) {
  static void (*const function[SUBSTRATE_FLUSH])(void *, const struct pml_stream_event *) = {on_enter, on_leave,
                                                                                             on_metric};
  struct pml_stream_consumer c = {.name = "lua", .thread_begin = thread_begin, .arg = s};
  for (int i = 0; i < SUBSTRATE_FLUSH; i++)
    if (s->ref[i] != LUA_NOREF) c.event[i] = function[i];
  return pml_stream_add(&c, &s->consumer);
}

void substrate_state_free(struct substrate_state *s) {
  if (s == NULL || s->pid != getpid()) return; /* another thread of the parent may have been in it */
  if (s->consumer != 0) (void)pml_stream_remove(s->consumer);
  if (s->L != NULL) lua_close(s->L);
  for (struct raiser *r = atomic_load(&s->raisers), *next; r != NULL; r = next) {
    next = r->next;
    free(r);
  }
  pthread_mutex_destroy(&s->lock.mutex);
  free(s);
}

void substrate_state_stats(struct substrate_state *s, struct substrate_stats *stats) {
  pml__mutex_take(&s->lock);
  *stats = s->stats;
  pml__mutex_leave(&s->lock);
}

/* ---- flush ---- */

/* Copy the value at @at of @from and push it to @to; values that cannot be copied become nil. */
static void copy_value(lua_State *to, lua_State *from, int at, int depth) {
  luaL_checkstack(to, 4, NULL);
  if (!lua_checkstack(from, 4)) luaL_error(to, "flush returned too deep a table");
  if (function_copy_plain(to, from, at)) return;
  if (!lua_istable(from, at)) {
    lua_pushnil(to);
    return;
  }
  if (depth == COPY_DEPTH) luaL_error(to, "flush returned too deep a table");
  lua_newtable(to);
  at = lua_absindex(from, at);
  for (lua_pushnil(from); lua_next(from, at) != 0; lua_pop(from, 1)) {
    copy_value(to, from, -2, depth + 1);
    copy_value(to, from, -1, depth + 1);
    if (lua_isnil(to, -2)) /* a key that has no copy */
      lua_pop(to, 2);
    else
      lua_rawset(to, -3);
  }
}

static int copy_results(lua_State *l) {
  lua_State *from = lua_touserdata(l, 1);
  int n = lua_gettop(from);
  lua_settop(l, 0);
  for (int i = 1; i <= n; i++) copy_value(l, from, i, 0);
  return n;
}

/* Called with the lock held, so no error may leave it: an error of @l is also returned. */
static int flush_locked(struct substrate_state *s, lua_State *l, bool *raised) {
  int before = lua_gettop(l);
  lua_pushcfunction(s->L, failure_message);
  lua_rawgeti(s->L, LUA_REGISTRYINDEX, s->ref[SUBSTRATE_FLUSH]);
  if (lua_pcall(s->L, 0, LUA_MULTRET, -2) != LUA_OK) {
    keep_error(s);
    return -EINVAL;
  }
  lua_remove(s->L, 1);
  lua_pushcfunction(l, copy_results);
  lua_pushlightuserdata(l, s->L);
  *raised = lua_pcall(l, 1, LUA_MULTRET, 0) != LUA_OK;
  return *raised ? 0 : lua_gettop(l) - before;
}

int substrate_state_flush(struct substrate_state *s, lua_State *l, int *n, char error[512]) {
  bool raised = false;
  *n = 0;
  if (s->pid != getpid() || s->ref[SUBSTRATE_FLUSH] == LUA_NOREF) return 0;
  luaL_checkstack(l, 4, NULL);
  pml__mutex_take(&s->lock);
  flushing = s;
  int got = s->stats.error[0] == '\0' ? flush_locked(s, l, &raised) : -EINVAL;
  if (got < 0) memcpy(error, s->stats.error, sizeof s->stats.error);
  lua_settop(s->L, 0);
  flushing = NULL;
  pml__mutex_leave(&s->lock);
  if (raised) lua_error(l);
  *n = got > 0 ? got : 0;
  return got < 0 ? got : 0;
}
