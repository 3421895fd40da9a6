/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_session.c - the Lua state of a connection, which runs pmlua.internal.live.session. */
#include "live/live.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "pmlua.internal.live.session"

/* Leaves the module's table on the stack. */
static void push_module(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, MODULE);
  lua_call(L, 1, 1);
  luaL_checktype(L, -1, LUA_TTABLE);
}

static int asked(lua_State *L, int status, lua_KContext ask) {
  struct live_ask *a = (struct live_ask *)ask;
  (void)status;
  if (!lua_isstring(L, -1)) return luaL_error(L, MODULE " answered a %s", luaL_typename(L, -1));
  a->ok = lua_toboolean(L, -2);
  a->text = state_copy(L, -1, &a->n);
  return 0;
}

static int ask(lua_State *L) {
  const struct live_ask *a = lua_touserdata(L, 1);
  push_module(L);
  lua_getfield(L, -1, "handle");
  lua_pushstring(L, live_kind_name(a->question->kind));
  lua_pushlstring(L, a->question->payload, a->question->length);
  lua_callk(L, 2, 2, (lua_KContext)a, asked);
  return asked(L, LUA_OK, (lua_KContext)a);
}

/* A C module would be linked to the first Lua in the process, which need not be ours. */
static int no_c_modules(lua_State *L) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_pushliteral(L, "");
  lua_setfield(L, -2, "cpath");
  return 0;
}

int live__open_state(struct state *s, const atomic_bool *stop, size_t memory_bytes, bool outside) {
  if (s->L != NULL) return 0;
  int err = state_open(s, NULL, memory_bytes, outside);
  if (err < 0) return err;
  s->limit.stop = stop;
  lua_pushcfunction(s->L, no_c_modules);
  err = limit_call(s->L, 0, 0, 0);
  if (err == 0 && outside) {
    lua_pushcfunction(s->L, live__hold_functions);
    err = limit_call(s->L, 0, 0, 0);
  }
  if (err < 0) state_close(s);
  return err;
}

static int load_module(lua_State *L) {
  push_module(L);
  return 0;
}

/* With the module, as a question may have little of the cpus. */
int live__session_open(struct live_session *s, const struct live_setup *setup, const atomic_bool *stop) {
  if (s->state.L != NULL) return 0;
  s->setup = setup;
  int err = live__open_state(&s->state, stop, setup->memory_bytes, !setup->own_loop);
  if (err < 0) return err;
  lua_pushcfunction(s->state.L, load_module);
  err = limit_call(s->state.L, 0, 0, 0);
  if (!setup->own_loop) s->state.limit.seconds = setup->seconds;
  if (err < 0) state_close(&s->state);
  return err;
}

/*
 * The answer to a question that hit a limit. If its variables fill the memory, no later question could be answered
 * either: they are dropped, and a new session begins.
 */
static int at_limit(struct live_session *s, int err) {
  switch (s->state.limit.ended) {
  case LIMIT_INSTRUCTIONS:
    return pml_fail(err,
                    "stopped: the code ran longer than one question may (%g million Lua instructions); ask in "
                    "smaller steps",
                    (double)s->setup->instructions / 1e6);
  case LIMIT_TIME:
    return pml_fail(err, "stopped: the code ran longer than one question may (%g s); ask in smaller steps",
                    s->setup->seconds);
  case LIMIT_MEMORY:
    if (limit_used(&s->state.limit) < s->setup->memory_bytes - s->setup->memory_bytes / LIVE_SESSION_SPARE)
      return pml_fail(err, "stopped: the question needs more than the session's %zu MB of memory; request less",
                      s->setup->memory_bytes >> 20);
    state_close(&s->state);
    s->due = HUGE_VAL;
    return pml_fail(err,
                    "stopped: the session's %zu MB of memory are used up; a new session begins, without its variables "
                    "and rules",
                    s->setup->memory_bytes >> 20);
  default:
    return err;
  }
}

static bool conclude(struct live_session *s, const struct live_ask *a, int err, char **text, size_t *n) {
  s->due = live__now(); /* a question may have set something going */
  if (err == 0) {
    *text = a->text;
    *n = a->n;
    return a->ok;
  }
  free(a->text);
  if (err == PML_ELIMIT) err = at_limit(s, err);
  *text = strdup(pml_error_detail(err));
  *n = *text != NULL ? strlen(*text) : 0;
  return false;
}

bool live__session_answer(struct live_session *s, const struct live_frame *question, char **text, size_t *n) {
  struct live_ask a = {.question = question};
  lua_pushcfunction(s->state.L, ask);
  lua_pushlightuserdata(s->state.L, &a);
  int err = limit_call(s->state.L, 1, 0, s->setup->instructions);
  return conclude(s, &a, err, text, n);
}

static int ticked(lua_State *L, int status, lua_KContext ask) {
  struct live_ask *a = (struct live_ask *)ask;
  (void)status;
  if (!lua_isnil(L, -1)) a->next = a->now + luaL_checknumber(L, -1);
  return 0;
}

static int tick(lua_State *L) {
  const struct live_ask *a = lua_touserdata(L, 1);
  push_module(L);
  if (lua_getfield(L, -1, "tick") == LUA_TNIL) return 0;
  lua_pushnumber(L, a->now);
  lua_callk(L, 1, 1, (lua_KContext)a, ticked);
  return ticked(L, LUA_OK, (lua_KContext)a);
}

/* A tick that fails is not asked for again before the next question. */
void live__session_tick(struct live_session *s, double now) {
  struct live_ask t = {.now = now, .next = HUGE_VAL};
  s->due = HUGE_VAL;
  if (s->state.L == NULL) return;
  lua_pushcfunction(s->state.L, tick);
  lua_pushlightuserdata(s->state.L, &t);
  if (limit_call(s->state.L, 1, 0, s->setup->instructions) == 0 && t.next > now) s->due = t.next; /* false for NaN */
}

/* --- in slices --- */

static int new_thread(lua_State *L) {
  (void)lua_newthread(L);
  return 1;
}

int live__session_begin(struct live_session *s, const struct live_frame *question, double now) {
  s->ask = (struct live_ask){.question = question, .now = now, .next = HUGE_VAL};
  s->left = s->setup->instructions;
  s->due = HUGE_VAL;
  lua_pushcfunction(s->state.L, new_thread);
  int err = limit_call(s->state.L, 0, 1, 0);
  if (err < 0) return err;
  s->co = lua_tothread(s->state.L, -1);
  lua_pushcfunction(s->co, question != NULL ? ask : tick);
  lua_pushlightuserdata(s->co, &s->ask);
  return 0;
}

int live__session_step(struct live_session *s, double until, char **text, size_t *n, bool *ok) {
  int err = limit_resume(s->co, lua_status(s->co) == LUA_YIELD ? 0 : 1, &s->left, until);
  if (err > 0) return 1;
  s->co = NULL;
  lua_settop(s->state.L, 0);
  if (s->ask.question != NULL)
    *ok = conclude(s, &s->ask, err, text, n);
  else if (err == 0 && s->ask.next > s->ask.now)
    s->due = s->ask.next;
  return 0;
}

static int reset(lua_State *L) {
  push_module(L);
  lua_getfield(L, -1, "reset");
  lua_call(L, 0, 0);
  return 0;
}

int live__session_reset(struct live_session *s) {
  s->due = HUGE_VAL;
  if (s->co != NULL || s->state.L == NULL) return PML_ECLOSED;
  lua_pushcfunction(s->state.L, reset);
  return limit_call(s->state.L, 0, 0, s->setup->instructions);
}
