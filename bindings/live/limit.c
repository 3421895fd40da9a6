/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/limit.c - limits of memory and instructions of a Lua state. */
#include "live/limit.h"

#include "base/pml_cancel.h"
#include "base/pml_error.h"
#include "embed/guard.h"
#include "failure.h"
#include "numeric.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD 256
#define PERIOD_TIMED 16
#define LINE 64u

static struct limit *limit_of(lua_State *L) {
  void *limit;
  lua_getallocf(L, &limit);
  return limit;
}

/* --- memory --- */

/* By the state's thread; others may look. */
static void set_used(struct limit *limit, size_t bytes) {
  __atomic_store_n(&limit->used, bytes, __ATOMIC_RELAXED);
}

size_t limit_used(const struct limit *limit) {
  return __atomic_load_n(&limit->used, __ATOMIC_RELAXED) + __atomic_load_n(&limit->shared, __ATOMIC_RELAXED);
}

static bool has_room(const struct limit *limit, size_t bytes) {
  size_t used = limit_used(limit);
  size_t cap = __atomic_load_n(&limit->cap, __ATOMIC_RELAXED);
  return cap == 0 || (used <= cap && bytes <= cap - used);
}

/*
 * Lua requests memory, collects its garbage, and requests the same again: only the second refusal is final. The buffers
 * of its libraries request once, and raise an error like any other. So a refusal is final unless the next request is
 * the same and is granted: this is checked at another request, at the hook, and at the end of the call.
 */
static bool refused_for_good(struct limit *limit) {
  bool so = limit->refused != 0 && limit->thread != NULL;
  if (so && limit->exceeded == LIMIT_KEPT) limit->exceeded = LIMIT_MEMORY;
  return so;
}

static void *refuse(struct limit *limit, size_t nsize) {
  if (limit->refused == nsize) (void)refused_for_good(limit);
  limit->refused = nsize;
  return NULL;
}

/* --- a state that may be abandoned --- */

void limit_abandonable(struct limit *limit) {
  limit->abandonable = true;
}

static void unlink_block(struct limit *limit, struct limit_block *b) {
  if (b->before != NULL)
    b->before->after = b->after;
  else
    limit->blocks = b->after;
  if (b->after != NULL) b->after->before = b->before;
}

static void link_block(struct limit *limit, struct limit_block *b) {
  *b = (struct limit_block){NULL, limit->blocks};
  if (b->after != NULL) b->after->before = b;
  limit->blocks = b;
}

/* realloc(), or free() for @nsize 0, of a listed block. Cancelling the thread here would corrupt the list. */
static void *change_block(struct limit *limit, void *block, size_t nsize) {
  int cancel = pml__cancel_hold_open(); /* no system call for each allocation */
  struct limit_block *old = block != NULL ? (struct limit_block *)block - 1 : NULL, *fresh = NULL;
  if (old != NULL) unlink_block(limit, old);
  if (nsize == 0)
    free(old);
  else
    fresh = realloc(old, sizeof *fresh + nsize);
  if (fresh != NULL)
    link_block(limit, fresh);
  else if (nsize != 0 && old != NULL)
    link_block(limit, old);
  pml__cancel_again(cancel);
  return fresh != NULL ? fresh + 1 : NULL;
}

void limit_abandon(struct limit *limit) {
  while (limit->blocks != NULL) {
    struct limit_block *b = limit->blocks;
    limit->blocks = b->after;
    free(b);
  }
}

static void *change(struct limit *limit, void *block, size_t nsize) {
  if (limit->abandonable) return change_block(limit, block, nsize);
  if (nsize > 0) return realloc(block, nsize);
  free(block);
  return NULL;
}

void *limit_alloc(void *ud, void *block, size_t osize, size_t nsize) {
  struct limit *limit = ud;
  if (block == NULL) osize = 0; /* it is the kind of object then, not a size */
  if (nsize == 0) {
    (void)change(limit, block, 0);
    set_used(limit, limit->used - osize);
    return NULL;
  }
  if (nsize > osize) {
    size_t grow = nsize - osize;
    if (limit->exceeded != LIMIT_KEPT) return NULL;
    if (limit->refused != nsize && refused_for_good(limit)) return NULL;
    /* Between calls the application works on the state itself, where a refusal would end the process. */
    if (limit->thread != NULL && !has_room(limit, grow)) return refuse(limit, nsize);
  }
  void *fresh = change(limit, block, nsize);
  if (fresh == NULL) return nsize <= osize ? block : NULL; /* Lua counts on shrinking */
  set_used(limit, limit->used - osize + nsize);
  if (nsize > osize) limit->refused = 0;
  return fresh;
}

int limit_charge(lua_State *L, size_t bytes, struct limit **account) {
  struct limit *limit = limit_account(L);
  *account = NULL;
  if (limit == NULL) return 0;
  if (!has_room(limit, bytes)) lua_gc(L, LUA_GCCOLLECT, 0); /* Lua does not know how large its handles are */
  if (!has_room(limit, bytes))
    return pml_fail(-ENOMEM, "%zu bytes do not fit into the %zu that the script may have", bytes, limit->cap);
  set_used(limit, limit->used + bytes);
  *account = limit;
  return 0;
}

void limit_discharge(struct limit *account, size_t bytes) {
  if (account != NULL) set_used(account, account->used - bytes);
}

struct limit *limit_account(lua_State *L) {
  void *ud;
  return lua_getallocf(L, &ud) == limit_alloc ? ud : NULL;
}

void *limit_take(struct limit *account, size_t bytes) {
  size_t rounded = (bytes + LINE - 1) / LINE * LINE;
  if (!has_room(account, rounded)) return NULL;
  void *memory = aligned_alloc(LINE, rounded);
  if (memory == NULL) return NULL;
  __atomic_fetch_add(&account->shared, malloc_usable_size(memory), __ATOMIC_RELAXED);
  return memset(memory, 0, rounded);
}

void *limit_share(void *ud, void *block, size_t osize, size_t nsize) {
  struct limit *account = ud;
  if (block == NULL) osize = 0; /* it is the kind of object then, not a size */
  if (nsize > osize && !has_room(account, nsize - osize)) return NULL;
  void *fresh = nsize > 0 ? realloc(block, nsize) : NULL;
  if (nsize == 0) free(block);
  if (fresh == NULL && nsize > 0) return nsize <= osize ? block : NULL;
  __atomic_fetch_add(&account->shared, nsize - osize, __ATOMIC_RELAXED); /* less than 0 wraps around */
  return fresh;
}

void limit_give(struct limit *account, void *memory) {
  if (memory == NULL) return;
  __atomic_fetch_sub(&account->shared, malloc_usable_size(memory), __ATOMIC_RELAXED);
  free(memory);
}

/* --- instructions and time --- */

static double now_s(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void on_count(lua_State *L, lua_Debug *ar);

/*
 * A message handler (xpcall) would run inside this hook, with hooks off, for as long as it likes. Errors of memory have
 * none: so this one is made, by asking for memory that is refused from now on.
 */
static void stop(lua_State *L, struct limit *limit) {
  lua_sethook(L, on_count, LUA_MASKCOUNT | LUA_MASKCALL, 1);
  if (limit->thread != L) lua_sethook(limit->thread, on_count, LUA_MASKCOUNT | LUA_MASKCALL, 1);
  (void)lua_newuserdatauv(L, 1, 0);
}

static int period_of(const struct limit *limit) {
  return limit->seconds > 0 || limit->slice_end > 0 ? PERIOD_TIMED : PERIOD;
}

/* A coroutine counts for itself: without paying when it starts, a tree of short ones would run for free. */
static uint64_t cost_of(lua_State *L, const lua_Debug *ar, const struct limit *limit) {
  lua_Debug below;
  if (ar->event == LUA_HOOKCOUNT) return (uint64_t)period_of(limit);
  return lua_getstack(L, 1, &below) == 0 ? PERIOD : 1;
}

static void on_count(lua_State *L, lua_Debug *ar) {
  struct limit *limit = limit_of(L);
  if (limit->thread == NULL) return; /* a coroutine that has outlived its call */
  uint64_t cost = cost_of(L, ar, limit);
  if (limit->left != UINT64_MAX) {
    limit->left = limit->left > cost ? limit->left - cost : 0;
    if (limit->left == 0 && limit->exceeded == LIMIT_KEPT) limit->exceeded = LIMIT_INSTRUCTIONS;
  }
  (void)refused_for_good(limit);
  /* Relaxed: nothing else is read on the strength of it. */
  if (limit->stop != NULL && limit->exceeded == LIMIT_KEPT && atomic_load_explicit(limit->stop, memory_order_relaxed))
    limit->exceeded = LIMIT_STOPPED;
  if (limit->seconds > 0 && limit->exceeded == LIMIT_KEPT && ar->event == LUA_HOOKCOUNT && now_s() > limit->until)
    limit->exceeded = LIMIT_TIME;
  if (limit->exceeded != LIMIT_KEPT)
    stop(L, limit);
  else if (limit->slice_end > 0 && ar->event == LUA_HOOKCOUNT && lua_isyieldable(L) && now_s() > limit->slice_end) {
    limit->sliced = true;
    (void)lua_yield(L, 0);
  }
}

/* --- the call --- */

static int failure(lua_State *L, const struct limit *limit, int status, uint64_t instructions) {
  switch (limit->exceeded) {
  case LIMIT_INSTRUCTIONS:
    return pml_fail(PML_ELIMIT, "stopped: the code ran longer than it may (%llu Lua instructions)",
                    (unsigned long long)instructions);
  case LIMIT_MEMORY:
    return pml_fail(PML_ELIMIT, "stopped: the code needs more memory than it may (%zu bytes)", limit->cap);
  case LIMIT_TIME:
    return pml_fail(PML_ELIMIT, "stopped: the code ran longer than it may (%g s)", limit->seconds);
  case LIMIT_STOPPED:
    return pml_fail(PML_ELIMIT, "stopped, because the service ends");
  default:
    break;
  }
  if (status == LUA_ERRMEM) return pml_fail(-ENOMEM, "out of memory");
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error in handling an error";
  return pml_fail(PML_ESCRIPT, "%.*s", (int)strcspn(text, "\n"), text);
}

struct protected_call {
  lua_State *L;
  int nargs, nresults, base, status;
};

static void call_protected(void *call) {
  struct protected_call *c = call;
  c->status = lua_pcall(c->L, c->nargs, c->nresults, c->base);
}

int limit_call(lua_State *L, int nargs, int nresults, uint64_t instructions) {
  struct limit *limit = limit_of(L);
  struct limit outer = {.thread = limit->thread, .left = limit->left, .exceeded = limit->exceeded};
  int base = lua_gettop(L) - nargs; /* index of the function, and then of the handler */
  lua_Hook hook = lua_gethook(L);
  int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  if (!lua_checkstack(L, 1)) {
    lua_settop(L, base - 1);
    return pml_fail(-ENOMEM, "out of memory for Lua's stack");
  }
  limit->left = instructions != 0 ? instructions : UINT64_MAX;
  if (outer.thread != NULL && outer.left < limit->left) limit->left = outer.left;
  uint64_t had = limit->left;
  limit->thread = L;
  limit->refused = 0;
  if (limit->seconds > 0 && outer.thread == NULL) limit->until = now_s() + limit->seconds;
  if (had != UINT64_MAX || limit->stop != NULL)
    lua_sethook(L, on_count, LUA_MASKCOUNT | LUA_MASKCALL, period_of(limit));
  lua_pushcfunction(L, failure_message);
  lua_insert(L, base);
  locale_t was = numeric_enter(); /* the application may have chosen a decimal comma */
  struct protected_call c = {L, nargs, nresults, base, LUA_OK};
  char what[160];
  limit->thrown = !guarded(call_protected, &c, what, sizeof what);
  numeric_leave(was);
  (void)refused_for_good(limit);
  int err = limit->thrown ? pml_fail(PML_ESCRIPT, "a C++ exception left a function of the application: %s", what)
            : c.status == LUA_OK && limit->exceeded == LIMIT_KEPT ? 0
                                                                  : failure(L, limit, c.status, had);
  lua_sethook(L, hook, mask, count);
  bool exceeded = limit->exceeded != LIMIT_KEPT;
  limit->ended = limit->exceeded;
  uint64_t spent = had - limit->left;
  limit->thread = outer.thread;
  limit->exceeded = outer.exceeded;
  limit->refused = 0;
  limit->left = outer.left == UINT64_MAX ? outer.left : outer.left - (spent < outer.left ? spent : outer.left);
  if (limit->thrown) return err;
  if (err < 0)
    lua_settop(L, base - 1);
  else
    lua_remove(L, base);
  if (exceeded) lua_gc(L, LUA_GCCOLLECT);
  return err;
}

struct resumption {
  lua_State *co;
  int nargs, status;
};

static void resume_protected(void *call) {
  struct resumption *c = call;
  int n;
  c->status = lua_resume(c->co, NULL, c->nargs, &n);
}

int limit_resume(lua_State *co, int nargs, uint64_t *left, double slice_end) {
  struct limit *limit = limit_of(co);
  struct resumption c = {co, nargs, LUA_OK};
  char what[160];
  uint64_t had = limit->left = *left;
  limit->thread = co;
  limit->refused = 0;
  limit->slice_end = slice_end;
  limit->sliced = false;
  lua_sethook(co, on_count, LUA_MASKCOUNT | LUA_MASKCALL, period_of(limit));
  locale_t was = numeric_enter();
  limit->thrown = !guarded(resume_protected, &c, what, sizeof what);
  numeric_leave(was);
  *left = limit->left;
  (void)refused_for_good(limit);
  int err = limit->thrown ? pml_fail(PML_ESCRIPT, "a C++ exception left a function of the application: %s", what)
            : limit->exceeded != LIMIT_KEPT ? failure(co, limit, c.status, had)
            : c.status == LUA_OK            ? 0
            : c.status == LUA_YIELD         ? 1
                                            : failure(co, limit, c.status, had);
  limit->ended = limit->exceeded;
  limit->exceeded = LIMIT_KEPT;
  limit->thread = NULL;
  limit->refused = 0;
  limit->slice_end = 0;
  return err;
}

/* --- what would get around it --- */

/*
 * An error out of a hook leaves its coroutine with hooks off, also for a __close that is run when the dead coroutine is
 * reset. Coroutines that died of memory, which is how a hook ends them, are left to the collector instead.
 */
static int raise_of(lua_State *L, lua_State *co, int status) {
  int state = lua_status(co);
  if (state != LUA_OK && state != LUA_YIELD && state != LUA_ERRMEM) lua_resetthread(co);
  lua_xmove(co, L, 1);
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* Push the results of coroutine.resume after @co was resumed; with @raises, the results of a wrapped function. */
static int results_of(lua_State *L, lua_State *co, int status, int n, bool raises) {
  bool good = status == LUA_OK || status == LUA_YIELD;
  if (!good && raises) return raise_of(L, co, status);
  if (!good) n = 1;
  if (!lua_checkstack(L, n + 1)) {
    lua_pop(co, n);
    return luaL_error(L, "too many results to resume");
  }
  lua_xmove(co, L, n);
  if (raises) return n;
  lua_pushboolean(L, good);
  lua_insert(L, -(n + 1));
  return n + 1;
}

static int go_on_wrapped(lua_State *L, int status, lua_KContext n);
static int go_on_resumed(lua_State *L, int status, lua_KContext n);

/* A coroutine that limit_resume() suspended suspends its caller, which resumes it later. */
static int resume(lua_State *L, lua_State *co, int n, bool raises) {
  struct limit *limit = limit_of(L);
  for (;;) {
    int got, status = lua_resume(co, L, n, &got);
    if (status != LUA_YIELD || !limit->sliced) return results_of(L, co, status, got, raises);
    n = 0;
    if (lua_isyieldable(L)) return lua_yieldk(L, 0, 0, raises ? go_on_wrapped : go_on_resumed);
    limit->sliced = false; /* a C function calls it */
  }
}

static int go_on_wrapped(lua_State *L, int status, lua_KContext n) {
  (void)status;
  return resume(L, lua_tothread(L, lua_upvalueindex(1)), (int)n, true);
}

static int go_on_resumed(lua_State *L, int status, lua_KContext n) {
  (void)status;
  return resume(L, lua_tothread(L, 1), (int)n, false);
}

static const char *why_not(lua_State *co, int n) {
  if (!lua_checkstack(co, n)) return "too many arguments to resume";
  return lua_status(co) == LUA_OK && lua_gettop(co) == 0 ? "cannot resume dead coroutine" : NULL;
}

static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = lua_gettop(L);
  const char *why = why_not(co, n);
  if (why != NULL) return luaL_error(L, "%s", why);
  lua_xmove(L, co, n);
  return resume(L, co, n, true);
}

static int resumed(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  int n = lua_gettop(L) - 1;
  luaL_argexpected(L, co != NULL, 1, "thread");
  const char *why = why_not(co, n);
  if (why == NULL) {
    lua_xmove(L, co, n);
    return resume(L, co, n, false);
  }
  lua_pushboolean(L, 0);
  lua_pushstring(L, why);
  return 2;
}

static int wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

/* The replaced function is the upvalue. */
static int go_on(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int close_coroutine(lua_State *L) {
  const lua_State *co = lua_tothread(L, 1);
  if (co == NULL || lua_status((lua_State *)(uintptr_t)co) != LUA_ERRMEM) return go_on(L);
  lua_pushboolean(L, 0);
  lua_pushliteral(L, "not enough memory");
  return 2;
}

static int set_hook(lua_State *L) {
  const struct limit *limit = limit_of(L);
  bool counts = limit->thread != NULL && (limit->left != UINT64_MAX || limit->stop != NULL);
  return counts ? luaL_error(L, "sethook: the code runs under limits, which need the hook") : go_on(L);
}

static void replace(lua_State *L, const char *library, const char *name, lua_CFunction f) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

void limit_guard(lua_State *L) {
  replace(L, LUA_COLIBNAME, "wrap", wrap);
  replace(L, LUA_COLIBNAME, "resume", resumed);
  replace(L, LUA_COLIBNAME, "close", close_coroutine);
  replace(L, LUA_DBLIBNAME, "sethook", set_hook);
}
