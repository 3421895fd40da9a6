/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/program/lwatchpoint.c - pml.watchpoint: addresses of variables, watchpoint plans for programs, and their
 * results.
 */
#include "module.h"

#include "program/pml_watchpoint_plan.h"

#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 1024

static const char *const content_name[] = {"none", "signed", "unsigned", "float", "float"};

/* --- find --- */

static int l_available(lua_State *L) {
  return pml_pushdone(L, pml_watchpoint_available(), "watchpoint.available");
}

static int l_find(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_variable, address, bytes, type);
  struct pml_variable v;
  const char *path = lutil_string(L, 1), *name = lutil_string(L, 2);
  int err = pml_variable_find(path, name, lua_toboolean(L, 3), &v);
  if (err < 0) return pml_pusherr(L, err, "watchpoint.find");
  field_push(L, fields, &v);
  lutil_setbool(L, "func", v.function);
  lutil_setstr(L, "content", content_name[v.content]);
  return 1;
}

/* --- plan --- */

static uint32_t read_access(lua_State *L, int arg, const char *access) {
  uint32_t all = 0;
  for (const char *s = access; *s; s++) {
    uint32_t bit = *s == 'r' ? HW_BREAKPOINT_R : *s == 'w' ? HW_BREAKPOINT_W : *s == 'x' ? HW_BREAKPOINT_X : 0;
    if (bit == 0 || (all & bit) != 0)
      luaL_argerror(L, arg, lua_pushfstring(L, "access '%s' is not of r, w and x", access));
    all |= bit;
  }
  return all;
}

/* { path = , name = , access = "rw", content = true } on top of the stack */
static int add_point(lua_State *L, struct pml_watchpoint_plan *p) {
  struct point {
    const char *path, *name, *access;
    bool content;
  } o = {.access = ""};
  static const struct option known[] = {OPTIONS(struct point, path, name, access, content), OPTION_END};
  int t = lua_gettop(L);
  option_read(L, t, known, &o);
  if (o.path == NULL || o.name == NULL) return luaL_argerror(L, 2, "a point needs path and name");
  int err = pml_watchpoint_plan_add(p, o.path, o.name, read_access(L, 2, o.access), o.content);
  lua_settop(L, t);
  return err;
}

static int l_plan(lua_State *L) {
  struct pml_watchpoint_plan p = {.points = 0};
  const char *path = lutil_string(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  p.values = (uint64_t)lutil_optint(L, 3, 0, 0, (lua_Integer)PML_WATCHPOINT_VALUES_MAX);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
  if (n < 1) return luaL_argerror(L, 2, "a list of points is needed");
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, 2, i) != LUA_TTABLE) return luaL_argerror(L, 2, "a point is a table");
    int err = add_point(L, &p);
    if (err < 0) return pml_pusherr(L, err, "watchpoint.plan");
    lua_settop(L, 3);
  }
  return pml_pushdone(L, pml_watchpoint_plan_write(&p, path), "watchpoint.plan");
}

/* --- stored accesses --- */

struct handle {
  struct lutil_handle h;
  struct pml_watchpoint_store *store;
};

LUTIL_CLASS(watchpoints, handle, pml_watchpoint_unload(h->store))

static const struct pml_watchpoint_store *check(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &watchpoints_class))->store;
}

static int l_load(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct handle *s = lutil_new(L, &watchpoints_class, 0, 0);
  int err = pml_watchpoint_load(&s->store, path);
  return lutil_opened(L, &s->h, err, "watchpoint.load");
}

static void push_point(lua_State *L, const void *summary, size_t i) {
  static const struct field fields[] = FIELDS(struct pml_watchpoint, name, type, address, length);
  const struct pml_watchpoint_summary *s = summary;
  const struct pml_watchpoint *p = &s->point[i];
  char access[4] = "";
  size_t n = 0;
  if (p->access & HW_BREAKPOINT_R) access[n++] = 'r';
  if (p->access & HW_BREAKPOINT_W) access[n++] = 'w';
  if (p->access & HW_BREAKPOINT_X) access[n++] = 'x';
  field_push(L, fields, p);
  lutil_setstr(L, "access", access);
  lutil_setstr(L, "content", content_name[p->content <= PML_CONTENT_LONG_DOUBLE ? p->content : PML_CONTENT_NONE]);
  if (s->hits[i] >= 0) lutil_setint(L, "hits", (uint64_t)s->hits[i]);
}

static int l_summary(lua_State *L) {
  static const struct field fields[] =
      FIELDS(struct pml_watchpoint_summary, pid, program, lanes, lost, unexplained, start_ticks, ticks_per_second);
  struct pml_watchpoint_summary s;
  pml_watchpoint_summary(check(L), &s);
  field_push(L, fields, &s);
  lutil_setbool(L, "closed", s.hits[0] == PML_WATCHPOINT_CLOSED);
  if (s.stop_ticks != 0) lutil_setint(L, "stop_ticks", s.stop_ticks);
  field_each(L, "points", s.points, push_point, &s);
  return 1;
}

static int l_lane(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_watchpoint_lane, tid, accesses, late, dropped);
  struct pml_watchpoint_lane lane;
  const struct pml_watchpoint_store *s = check(L);
  lua_Integer i = lutil_int(L, 2, 1, INT32_MAX);
  if (pml_watchpoint_lane(s, (unsigned)(i - 1), &lane) < 0) return luaL_argerror(L, 2, "there is no such lane");
  field_push(L, fields, &lane);
  lutil_setint(L, "point", lane.point + 1u);
  return 1;
}

/* lane -> ticks, values: two arrays. The store is looked at anew in every round: a finalizer may have closed it. */
static int l_values(lua_State *L) {
  struct pml_watchpoint_value v[SLICE];
  struct pml_watchpoint_cursor c = {0};
  struct pml_watchpoint_summary s;
  struct pml_watchpoint_lane lane;
  lua_Integer i = lutil_int(L, 2, 1, INT32_MAX), at = 0;
  pml_watchpoint_summary(check(L), &s);
  if (pml_watchpoint_lane(check(L), (unsigned)(i - 1), &lane) < 0) return luaL_argerror(L, 2, "there is no such lane");
  lua_settop(L, 2);
  lua_newtable(L);
  lua_newtable(L);
  for (size_t n; (n = pml_watchpoint_collect(check(L), (unsigned)(i - 1), &c, v, SLICE)) > 0;) {
    for (size_t k = 0; k < n; k++) {
      at++;
      lua_pushinteger(L, (lua_Integer)v[k].ticks);
      lua_rawseti(L, 3, at);
      const struct pml_value value = pml_watchpoint_decode(&s.point[lane.point], v[k].bits);
      lutil_pushvalue(L, &value);
      lua_rawseti(L, 4, at);
    }
  }
  return 2;
}

int luaopen_pmlua_watchpoint(lua_State *L) {
  static const luaL_Reg methods[] = {{"summary", l_summary}, {"lane", l_lane}, {"values", l_values}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"available", l_available}, {"find", l_find}, {"plan", l_plan}, {"load", l_load}, {NULL, NULL}};
  lutil_class(L, &watchpoints_class, methods, NULL);
  return lutil_module(L, functions);
}
