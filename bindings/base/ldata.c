/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/base/ldata.c - evaluation of data files: a sandboxed Lua text that returns a table.
 *
 * It runs in a separate Lua state without any library, even without string methods, and with bounded instructions,
 * memory and time. Its result is copied: plain data, a tree with a bounded number of values, which readers can walk
 * safely. A table that is referenced twice is copied twice.
 */
#include "failure.h"
#include "function_copy.h"
#include "live/limit.h"
#include "module.h"

#include "base/pml_error.h"

#include <errno.h>
#include <string.h>

#define SECONDS 10.0
#define DEPTH_MAX 20 /* tables in tables */
#define PATH_BYTES 512

struct copying {
  lua_State *from, *to;
  int open;      /* in @to: a table of the addresses of tables that are being copied */
  uint64_t left; /* values that may be copied */
  char path[PATH_BYTES];
  const char *wrong; /* the error in the value at the path; NULL: none */
};

static bool refuse(struct copying *c, const char *what) {
  c->wrong = what;
  return false;
}

static bool copy(struct copying *c, int depth);

/* The path grows by the key on top of @from; how long it was. */
static size_t extend(struct copying *c) {
  size_t n = strlen(c->path);
  if (lua_type(c->from, -1) == LUA_TSTRING)
    (void)snprintf(c->path + n, sizeof c->path - n, ".%s", lua_tostring(c->from, -1));
  else
    (void)snprintf(c->path + n, sizeof c->path - n, ".%lld", (long long)lua_tointeger(c->from, -1));
  return n;
}

/* The table on top of @from, whose copy is on top of @to. */
static bool copy_fields(struct copying *c, int depth) {
  lua_pushnil(c->from);
  while (lua_next(c->from, -2) != 0) {
    lua_pushvalue(c->from, -2);
    if (!lua_isinteger(c->from, -1) && lua_type(c->from, -1) != LUA_TSTRING)
      return refuse(c, " has a key that is neither name nor number");
    size_t n = extend(c);
    if (!copy(c, depth)) return false;
    lua_pop(c->from, 1);
    if (!copy(c, depth)) return false;
    lua_rawset(c->to, -3);
    lua_pop(c->from, 1);
    c->path[n] = '\0';
  }
  return true;
}

static bool copy_table(struct copying *c, int depth) {
  const void *at = lua_topointer(c->from, -1);
  int kind = lua_rawgetp(c->to, c->open, at);
  lua_pop(c->to, 1);
  if (kind == LUA_TBOOLEAN) return refuse(c, " contains itself");
  if (depth == DEPTH_MAX) return refuse(c, " is nested too deeply");
  lua_pushboolean(c->to, 1);
  lua_rawsetp(c->to, c->open, at);
  lua_newtable(c->to);
  if (!copy_fields(c, depth + 1)) return false;
  lua_pushnil(c->to);
  lua_rawsetp(c->to, c->open, at);
  return true;
}

/* The value on top of @from, onto @to; both stay balanced unless it is refused, which ends all. */
static bool copy(struct copying *c, int depth) {
  luaL_checkstack(c->to, 8, "a data file");
  if (c->left-- == 0) return refuse(c, " has more values than a data file may");
  if (!lua_checkstack(c->from, 8)) return refuse(c, " is nested too deeply");
  if (function_copy_plain(c->to, c->from, -1)) return true;
  if (lua_istable(c->from, -1)) return copy_table(c, depth);
  return refuse(c, lua_isfunction(c->from, -1) ? " is a function, not data" : " is not data");
}

/* ---- the state ---- */

struct handle {
  struct lutil_handle h;
  struct limit limit;
  lua_State *L;
};

static void data_close(void *handle) {
  struct handle *h = handle;
  if (h->L != NULL) lua_close(h->L);
  h->L = NULL;
}

static const struct lutil_class data_class = {"data file", sizeof(struct handle), data_close};

static int refused(lua_State *L, int err, const char *what, const char *more) {
  const char *text = lua_pushfstring(L, "%s%s", what, more);
  lua_pushnil(L);
  failure_push(L, "data.read", pml_error_name(err), text, NULL);
  lua_pushstring(L, pml_error_name(err));
  return 3;
}

/* The result, one value, is on top of the state's stack. Returns 0, or the number of @L's results after a failure. */
static int run(lua_State *L, struct handle *h, const char *text, size_t n, const char *name, uint64_t instructions) {
  if (luaL_loadbufferx(h->L, text, n, name, "t") != LUA_OK) {
    const char *why = lua_tostring(h->L, -1);
    return refused(L, PML_ESCRIPT, why != NULL ? why : "out of memory", "");
  }
  lua_newtable(h->L); /* it sees no globals */
  lua_setupvalue(h->L, -2, 1);
  int err = limit_call(h->L, 0, 1, instructions);
  if (err == 0) return 0;
  if (err == PML_ELIMIT && h->limit.ended == LIMIT_MEMORY)
    return refused(L, err, "takes too much memory for a data file", "");
  return refused(L, err, err == PML_ELIMIT ? "runs too long for a data file" : pml_error_detail(err), "");
}

/* read(text, name, memory, instructions, values): the table; nil, error ("NAME:LINE: " begins a Lua error), code. */
static int l_read(lua_State *L) {
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n), *name = luaL_checkstring(L, 2);
  lua_Integer memory = luaL_checkinteger(L, 3), instructions = luaL_checkinteger(L, 4),
              values = luaL_checkinteger(L, 5);
  luaL_argcheck(L, memory > 0, 3, "must be positive");
  luaL_argcheck(L, instructions > 0, 4, "must be positive");
  luaL_argcheck(L, values > 0, 5, "must be positive");
  lua_settop(L, 2);
  struct handle *h = lutil_new(L, &data_class, 0, 0);
  h->limit.cap = (size_t)memory;
  h->limit.seconds = SECONDS;
  h->L = lua_newstate(limit_alloc, &h->limit);
  if (h->L == NULL) return luaL_error(L, "no memory for a data file");
  h->h.open = 1;
  int results = run(L, h, text, n, name, (uint64_t)instructions);
  if (results > 0) return results;
  lua_newtable(L);
  struct copying c = {.from = h->L, .to = L, .open = lua_gettop(L), .left = (uint64_t)values, .path = "the table"};
  if (lua_type(h->L, -1) != LUA_TTABLE) return refused(L, -EINVAL, "it does not return a table", "");
  return copy(&c, 0) ? 1 : refused(L, -EINVAL, c.path, c.wrong);
}

int luaopen_pmlua_data(lua_State *L) {
  static const luaL_Reg methods[] = {{NULL, NULL}};
  static const luaL_Reg functions[] = {{"read", l_read}, {NULL, NULL}};
  lutil_class(L, &data_class, methods, NULL);
  return lutil_module(L, functions);
}
