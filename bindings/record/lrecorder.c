/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lrecorder.c - recorders of software-defined events: push and read. */
#include "live/limit.h"
#include "source/lsde.h"

#include <stdint.h>
#include <string.h>

#define SKETCH_BYTES 51200 /* per thread */
#define EVENTS 7           /* the recorder's event and its quantiles */

const struct lutil_class lsde_recorder_class = {"recorder", sizeof(struct lsde_handle), lsde_handle_close};

static struct pml_recorder_options recorder_options(lua_State *L, int arg) {
  static const char *const known[] = {"type", "keep", "alpha", "cap", NULL};
  static const char *const types[] = {"int64", "int32", "double", "float", NULL}, *const keep[] = {"all", "sketch",
                                                                                                   NULL};
  lutil_options(L, arg, known);
  struct pml_recorder_options o = {.type = (enum pml_type)lutil_choice(L, arg, "type", types, PML_TYPE_DOUBLE)};
  if (lutil_choice(L, arg, "keep", keep, 0) == 1) o.keep = PML_KEEP_SKETCH;
  o.cap = (uint64_t)lutil_intfield(L, arg, "cap", 0, 0, LUA_MAXINTEGER);
  int type = lutil_field(L, arg, "alpha");
  o.alpha = type == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
  if (type != LUA_TNIL && !(o.alpha > 0 && o.alpha < 1))
    luaL_argerror(L, arg, "option 'alpha' must be a number between 0 and 1");
  return o;
}

int lsde_library_recorder(lua_State *L) {
  struct pml_sde_library *lib = lsde_library(L);
  const char *event = lutil_string(L, 2);
  lua_settop(L, 3);
  struct pml_recorder_options o = recorder_options(L, 3);
  int err;
  struct lsde_charge c = {NULL, 0, 0};
  struct lsde_handle *h = lsde_new(L, &lsde_recorder_class, event, &err);
  size_t bytes = (o.keep == PML_KEEP_SKETCH ? SKETCH_BYTES : 0) + EVENTS * (LSDE_EVENT_BYTES + strlen(event));
  if (err == 0) err = lsde_charge(L, bytes, &c);
  if (err == 0) err = pml_sde_create_recorder(lib, event, &o, &h->recorder);
  lsde_settle(&c);
  return lsde_done(L, h, err, "sdelibrary.recorder");
}

static struct pml_recorder *check_recorder(lua_State *L) {
  return ((struct lsde_handle *)lutil_check(L, 1, &lsde_recorder_class))->recorder;
}

union element {
  int64_t i64;
  int32_t i32;
  double d;
  float f;
};

static const void *check_element(lua_State *L, int arg, const struct pml_recorder_options *o, union element *e) {
  size_t len;
  const char *bytes;
  switch (o->type) {
  case PML_TYPE_INT64:
    e->i64 = luaL_checkinteger(L, arg);
    return e;
  case PML_TYPE_INT32:
    e->i32 = (int32_t)lutil_int(L, arg, INT32_MIN, INT32_MAX);
    return e;
  case PML_TYPE_DOUBLE:
    e->d = luaL_checknumber(L, arg);
    return e;
  case PML_TYPE_FLOAT:
    e->f = (float)luaL_checknumber(L, arg);
    return e;
  default:
    bytes = luaL_checklstring(L, arg, &len);
    if (len != o->bytes) luaL_argerror(L, arg, lua_pushfstring(L, "a string of %d bytes is needed", (int)o->bytes));
    return bytes;
  }
}

static int l_recorder_push(lua_State *L) {
  const struct pml_recorder_options o = pml_recorder_options(check_recorder(L));
  union element e;
  const void *element = check_element(L, 2, &o, &e);
  struct limit *account;
  /* Pushed values outlive the handle: they are charged for the lifetime of the state. A sketch stores no values. */
  int err = limit_charge(L, o.keep == PML_KEEP_SKETCH ? 0 : o.bytes, &account);
  if (err == 0) err = pml_recorder_push(check_recorder(L), element);
  if (err == PML_EFULL)
    err = pml_fail(err, "its %s used up, so the value is dropped; dropped() counts such",
                   o.cap > 0 ? "cap is" : "memory is");
  return pml_pushdone(L, err, "recorder.push");
}

static void push_element(lua_State *L, const struct pml_recorder_options *o, const unsigned char *at) {
  union element e;
  if (o->type == PML_TYPE_OTHER) {
    lua_pushlstring(L, (const char *)at, o->bytes);
    return;
  }
  memcpy(&e, at, o->bytes < sizeof e ? o->bytes : sizeof e);
  if (o->type == PML_TYPE_INT64) lua_pushinteger(L, (lua_Integer)e.i64);
  if (o->type == PML_TYPE_INT32) lua_pushinteger(L, (lua_Integer)e.i32);
  if (o->type == PML_TYPE_DOUBLE) lua_pushnumber(L, e.d);
  if (o->type == PML_TYPE_FLOAT) lua_pushnumber(L, (lua_Number)e.f);
}

/* values([first [, n]]): a finalizer may close the recorder, so its properties are read first. */
static int l_recorder_values(lua_State *L) {
  struct pml_recorder *r = check_recorder(L);
  const struct pml_recorder_options o = pml_recorder_options(r);
  uint64_t count = pml_recorder_count(r);
  uint64_t first = (uint64_t)lutil_optint(L, 2, 1, 1, LUA_MAXINTEGER) - 1;
  uint64_t n = (uint64_t)lutil_optint(L, 3, LUA_MAXINTEGER, 0, LUA_MAXINTEGER);
  if (first > count) first = count;
  if (n > count - first) n = count - first;
  unsigned char *copy = lua_newuserdatauv(L, (size_t)n * o.bytes + 1, 0);
  n = pml_recorder_copy(check_recorder(L), (size_t)first, copy, (size_t)n);
  lua_createtable(L, n < 1000000000 ? (int)n : 0, 0);
  for (uint64_t i = 0; i < n; i++) {
    push_element(L, &o, copy + i * o.bytes);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int l_recorder_quantile(lua_State *L) {
  struct pml_value v;
  struct pml_recorder *r = check_recorder(L);
  int err = pml_recorder_quantile(r, (unsigned)lutil_int(L, 2, 0, 100), &v);
  return err < 0 ? pml_pusherr(L, err, "recorder.quantile") : lutil_pushvalue(L, &v);
}

static int l_recorder_count(lua_State *L) {
  return lutil_pushint(L, pml_recorder_count(check_recorder(L)));
}

static int l_recorder_dropped(lua_State *L) {
  return lutil_pushint(L, pml_recorder_dropped(check_recorder(L)));
}

static int l_recorder_nans(lua_State *L) {
  return lutil_pushint(L, pml_recorder_nans(check_recorder(L)));
}

static int l_recorder_error(lua_State *L) {
  return lutil_pushnum(L, pml_recorder_error(check_recorder(L)));
}

static int l_recorder_reset(lua_State *L) {
  pml_recorder_reset(check_recorder(L));
  return 0;
}

/* A number that no other recorder has, and that is another one after each reset. */
static int l_recorder_epoch(lua_State *L) {
  const struct pml__recorder_head *h = (const struct pml__recorder_head *)check_recorder(L);
  return lutil_pushint(L, __atomic_load_n(&h->epoch, __ATOMIC_ACQUIRE));
}

void lsde_open_recorders(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"push", l_recorder_push},   {"values", l_recorder_values},   {"quantile", l_recorder_quantile},
      {"count", l_recorder_count}, {"dropped", l_recorder_dropped}, {"nans", l_recorder_nans},
      {"error", l_recorder_error}, {"reset", l_recorder_reset},     {"epoch", l_recorder_epoch},
      {"info", lsde_info},         {"__len", l_recorder_count},     {NULL, NULL}};
  lutil_class(L, &lsde_recorder_class, methods, NULL);
}
