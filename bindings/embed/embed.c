/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/embed.c - Lua states for applications: open, run with limits, close. */
#include "embed/embed.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

const char *pmlua_version(void) {
  return PML_VERSION;
}

int pmlua_open_with(struct pmlua **p, const struct pmlua_config *config) {
  struct pmlua_config c;
  *p = NULL;
  int err = state_config(&c, sizeof c, config);
  if (err < 0) return err;
  struct pmlua *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return pml_fail(-ENOMEM, "out of memory for a Lua state");
  fresh->limits.instructions = c.instructions;
  err = state_open(&fresh->state, c.lua_dir, c.memory_bytes, false);
  if (err == 0 && c.sandbox) {
    lua_pushcfunction(fresh->state.L, state_sandbox);
    err = limit_call(fresh->state.L, 0, 0, 0);
  }
  if (err == 0)
    *p = fresh;
  else
    pmlua_close(fresh);
  return err;
}

int pmlua_open(struct pmlua **p, const struct pmlua_options *options) {
  struct pmlua_config c = {.size = sizeof c};
  if (options != NULL) c.lua_dir = options->lua_dir;
  if (options != NULL) c.memory_bytes = options->memory_bytes;
  return pmlua_open_with(p, &c);
}

void pmlua_close(struct pmlua *p) {
  if (p == NULL) return;
  state_close(&p->state);
  embed_forget(p);
  free(p);
}

lua_State *pmlua_state(struct pmlua *p) {
  return p->state.L;
}

/* --- running --- */

struct job {
  const char *name, *code, *path; /* path: a file, else code */
  char *text;
};

static void load(lua_State *L, const struct job *job) {
  int status;
  if (job->path != NULL)
    status = luaL_loadfilex(L, job->path, "t"); /* text only: precompiled code could do what it likes */
  else {
    lua_pushfstring(L, "=%s", job->name);
    status = luaL_loadbufferx(L, job->code, strlen(job->code), lua_tostring(L, -1), "t");
    lua_remove(L, -2);
  }
  if (status != LUA_OK) lua_error(L);
}

/* Report the values on the stack above @base, formatted as by print. */
static void tell(lua_State *L, int base) {
  int top = lua_gettop(L);
  luaL_Buffer b;
  luaL_checkstack(L, LUA_MINSTACK, "too many results");
  luaL_buffinit(L, &b);
  for (int i = base + 1; i <= top; i++) {
    if (i > base + 1) luaL_addchar(&b, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
}

static int run(lua_State *L) {
  struct job *job = lua_touserdata(L, 1);
  lua_settop(L, 0);
  load(L, job);
  lua_call(L, 0, LUA_MULTRET);
  tell(L, 0);
  job->text = state_copy(L, -1, NULL);
  return 0;
}

static int new_thread(lua_State *L) {
  (void)lua_newthread(L);
  return 1;
}

/*
 * Each run has a separate Lua thread, which is dropped after it: a C++ exception of the application leaves only this
 * thread in the middle of a call, and the state intact.
 */
int embed_run(struct pmlua *p, lua_CFunction f, void *arg, const struct pmlua_limits *limits) {
  static const struct pmlua_limits none = {0};
  if (limits == NULL) limits = &none;
  lua_State *L = p->state.L;
  if (!lua_checkstack(L, 3)) return pml_fail(-ENOMEM, "out of memory for Lua's stack");
  size_t cap = p->state.limit.cap;
  if (limits->memory_bytes != 0 && (cap == 0 || limits->memory_bytes < cap))
    __atomic_store_n(&p->state.limit.cap, limits->memory_bytes, __ATOMIC_RELAXED);
  lua_pushcfunction(L, new_thread);
  int err = limit_call(L, 0, 1, 0);
  if (err == 0) {
    lua_State *run_in = lua_tothread(L, -1);
    lua_pushcfunction(run_in, f);
    lua_pushlightuserdata(run_in, arg);
    err = limit_call(run_in, 1, 0, limits->instructions);
    lua_pop(L, 1);
  }
  __atomic_store_n(&p->state.limit.cap, cap, __ATOMIC_RELAXED);
  return err;
}

static int run_job(struct pmlua *p, struct job *job, const struct pmlua_limits *limits, char **results) {
  if (results != NULL) *results = NULL;
  int err = embed_run(p, run, job, limits);
  if (err == 0 && results != NULL)
    *results = job->text;
  else
    free(job->text);
  return err;
}

int pmlua_run_string(struct pmlua *p, const char *name, const char *code, const struct pmlua_limits *limits,
                     char **results) {
  struct job job = {.name = name, .code = code};
  return run_job(p, &job, limits, results);
}

int pmlua_run_file(struct pmlua *p, const char *path, const struct pmlua_limits *limits, char **results) {
  struct job job = {.path = path};
  return run_job(p, &job, limits, results);
}
