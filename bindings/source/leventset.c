/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/leventset.c - pml.eventset: events of any sources, read together. */
#include "module.h"
#include "shared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The values are part of the userdata, so that a read allocates nothing and finds them without another look-up. */
struct handle {
  struct lutil_handle h;
  struct pml_eventset *set;
  int n;
  int typed; /* some events may be doubles or absent, so types must be queried */
  uint64_t value[];
};

static void eventset_close(void *handle) {
  struct handle *s = handle;
  pml_eventset_close(s->set);
  s->set = NULL;
}

static const struct lutil_class eventset_class = {"eventset", sizeof(struct handle), eventset_close};

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &eventset_class);
}

struct pml_eventset *lutil_eventset(lua_State *L, int idx) {
  return ((struct handle *)lutil_check(L, idx, &eventset_class))->set;
}

static int l_open(lua_State *L) {
  static const struct option known[] = {
      OPTIONS_TARGET(struct pml_eventset_options, target),
      OPTION_BIT(struct pml_eventset_options, "no_page", flags, PML_EVENTSET_NO_PAGE),
      OPTION_BIT(struct pml_eventset_options, "ungrouped", flags, PML_EVENTSET_UNGROUPED),
      OPTION_BIT(struct pml_eventset_options, "multiplex", flags, PML_EVENTSET_MULTIPLEX),
      OPTION_BIT(struct pml_eventset_options, "on_exec", flags, PML_EVENTSET_ON_EXEC),
      OPTION_UNREAD("cgroup"),
      OPTION_END};
  const char *name[PML_EVENTSET_MAX];
  struct pml_eventset_options options = {0};
  lua_settop(L, 2);
  option_read(L, 2, known, &options);
  const char *cgroup = lutil_stringfield(L, 2, "cgroup", NULL);
  if (cgroup != NULL && options.target.pid != 0) return luaL_argerror(L, 2, "pid and cgroup exclude each other");
  size_t n = lutil_names(L, 1, name, PML_EVENTSET_MAX);
  struct handle *s = lutil_new(L, &eventset_class, n * sizeof s->value[0], 0);
  int err = lutil_charge(L, &s->h, pml_eventset_bytes(n));
  if (err == 0 && cgroup != NULL) err = pml_target_cgroup(&options.target, cgroup);
  if (err == 0) err = pml_eventset_open(&s->set, name, n, &options);
  pml_target_release(&options.target);
  s->n = (int)n;
  s->typed = err == 0 && pml_eventset_typed(s->set);
  return lutil_opened(L, &s->h, err, "eventset.open");
}

/* pml.eventset {...}: the first argument is the module. */
static int l_call(lua_State *L) {
  lua_settop(L, 3);
  lua_remove(L, 1);
  return l_open(L);
}

static int is_double(const struct handle *s, int i) {
  return s->typed && pml_eventset_type(s->set, (size_t)i) == PML_TYPE_DOUBLE;
}

/* The bits of a double, as the core gives them. */
static void pushtyped(lua_State *L, uint64_t bits, int as_double) {
  double d;
  memcpy(&d, &bits, sizeof d);
  if (as_double)
    lua_pushnumber(L, d);
  else
    lua_pushinteger(L, (lua_Integer)bits);
}

static void pushvalue(lua_State *L, const struct handle *s, int i) {
  if (pml_eventset_absent(s->set, (size_t)i, s->value[i]))
    lua_pushnil(L);
  else
    pushtyped(L, s->value[i], is_double(s, i));
}

static int pushvalues(lua_State *L, const struct handle *s) {
  int n = s->n;
  if (n > LUA_MINSTACK - 2) luaL_checkstack(L, n, NULL);
  if (PML_UNLIKELY(s->typed))
    for (int i = 0; i < n; i++) pushvalue(L, s, i);
  else
    for (int i = 0; i < n; i++) lua_pushinteger(L, (lua_Integer)s->value[i]);
  return n;
}

static int l_start(lua_State *L) {
  int err = pml_eventset_start(check(L)->set);
  if (err < 0) return pml_pusherr(L, err, "eventset.start");
  lua_settop(L, 1);
  return 1;
}

static int l_read(lua_State *L) {
  struct handle *s = check(L);
  int err = pml_eventset_read(s->set, s->value);
  return err < 0 ? pml_pusherr(L, err, "eventset.read") : pushvalues(L, s);
}

static int l_read_ts(lua_State *L) {
  struct handle *s = check(L);
  uint64_t ticks;
  int err = pml_eventset_read_ts(s->set, s->value, &ticks);
  if (err < 0) return pml_pusherr(L, err, "eventset.read_ts");
  lua_pushinteger(L, (lua_Integer)ticks);
  return 1 + pushvalues(L, s);
}

static int l_stop(lua_State *L) {
  struct handle *s = check(L);
  int err = pml_eventset_stop(s->set, s->value);
  return err < 0 ? pml_pusherr(L, err, "eventset.stop") : pushvalues(L, s);
}

static int l_reset(lua_State *L) {
  int err = pml_eventset_reset(check(L)->set);
  if (err < 0) return pml_pusherr(L, err, "eventset.reset");
  lua_settop(L, 1);
  return 1;
}

/* Sums are checked before the counts are taken: once taken they are gone. A double's sum may be an integer's. */
static void takesums(lua_State *L, struct handle *s) {
  for (int i = 0; i < s->n; i++) {
    int type = lua_rawgeti(L, 2, i + 1), number = is_double(s, i);
    if (type != LUA_TNIL && !lua_isinteger(L, -1) && !(s->typed && type == LUA_TNUMBER))
      luaL_argerror(L, 2, lua_pushfstring(L, "sum %d is a %s, not an integer", i + 1, luaL_typename(L, -1)));
    double d = lua_tonumber(L, -1);
    s->value[i] = (uint64_t)lua_tointeger(L, -1);
    if (number) memcpy(&s->value[i], &d, sizeof d);
    lua_pop(L, 1);
  }
}

static int l_accum(lua_State *L) {
  struct handle *s = check(L);
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    lua_createtable(L, s->n, 0);
    lua_replace(L, 2);
    s = check(L);
  }
  luaL_checktype(L, 2, LUA_TTABLE);
  takesums(L, s);
  int err = pml_eventset_accum(s->set, s->value);
  if (err < 0) return pml_pusherr(L, err, "eventset.accum");
  for (int i = 0; i < s->n; i++) {
    if (s->set != NULL)
      pushvalue(L, s, i);
    else
      pushtyped(L, s->value[i], 0);
    lua_rawseti(L, 2, i + 1);
  }
  return 1;
}

/* The closure's only upvalue is the handle: no argument to check, no method to look up. */
static int reader(lua_State *L) {
  struct handle *s = lua_touserdata(L, lua_upvalueindex(1));
  if (PML_UNLIKELY(s->set == NULL)) return luaL_error(L, "eventset: the handle is closed");
  int err = pml_eventset_read(s->set, s->value);
  return PML_UNLIKELY(err < 0) ? pml_pusherr(L, err, "eventset.read") : pushvalues(L, s);
}

static int l_reader(lua_State *L) {
  check(L);
  lua_settop(L, 1);
  lua_pushcclosure(L, reader, 1);
  return 1;
}

/* The description of an event, copied: a finalizer may close the set while tables are built from it. */
struct copy {
  struct pml_eventset_event info;
  char name[PML_EVENT_NAME_MAX], unit[64], why[256];
};

static void copyevent(const struct pml_eventset *set, size_t i, struct copy *c) {
  memset(c, 0, sizeof *c);
  if (pml_eventset_event(set, i, &c->info) < 0) return;
  snprintf(c->name, sizeof c->name, "%s", c->info.name);
  snprintf(c->unit, sizeof c->unit, "%s", c->info.unit);
  if (c->info.why != NULL) snprintf(c->why, sizeof c->why, "%s", c->info.why);
}

static int l_readings(lua_State *L) {
  struct handle *s = check(L);
  struct pml_reading r[PML_EVENTSET_MAX];
  double scaled[PML_EVENTSET_MAX];
  int err = pml_eventset_scaled(s->set, r, scaled);
  if (err < 0) return pml_pusherr(L, err, "eventset.readings");
  lua_createtable(L, s->n, 0);
  for (int i = 0; i < s->n; i++) {
    struct copy c;
    copyevent(check(L)->set, (size_t)i, &c);
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "name", c.name);
    lutil_setreading(L, &r[i]);
    lutil_setnum(L, "scaled", scaled[i]);
    if (c.info.type == PML_TYPE_DOUBLE) lutil_setnum(L, "raw", scaled[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int l_event(lua_State *L) {
  static const struct field fields[] = {FIELD(struct copy, name),
                                        FIELD(struct copy, unit),
                                        FIELD_OF(struct copy, "why", why, FIELD_WRITTEN),
                                        FIELD_AS(struct copy, "scale", info.scale),
                                        FIELD_AS(struct copy, "nparts", info.nparts),
                                        FIELD_AS(struct copy, "exponent", info.exponent),
                                        FIELD_END};
  const struct handle *s = check(L);
  struct copy c;
  copyevent(s->set, (size_t)lutil_int(L, 2, 1, s->n) - 1, &c);
  field_push(L, fields, &c);
  lutil_setstr(L, "path", c.info.path == PML_PATH_PAGE ? "page" : "read");
  lutil_setstr(L, "type", c.info.type == PML_TYPE_DOUBLE ? "float" : c.info.is_unsigned ? "unsigned" : "integer");
  lutil_setstr(L, "mode", pml_mode_name(c.info.mode));
  lutil_setint(L, "base", c.info.binary ? 2 : 10);
  return 1;
}

static int l_parts(lua_State *L) {
  const struct handle *s = check(L);
  size_t i = (size_t)lutil_int(L, 2, 1, s->n) - 1;
  lua_newtable(L);
  for (unsigned p = 0; p < PML_EVENT_PARTS_MAX; p++) {
    const char *name = "";
    char pmu[64 + PML_EVENT_PLACE_MAX];
    struct pml_reading r;
    int err = pml_eventset_part(check(L)->set, i, p, &name, &r);
    if (err == -ENOENT /* past the last */) break;
    if (err < 0) return pml_pusherr(L, err, "eventset.parts");
    snprintf(pmu, sizeof pmu, "%s", name);
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "pmu", pmu);
    lutil_setreading(L, &r);
    lua_rawseti(L, -2, (lua_Integer)p + 1);
  }
  return 1;
}

static int l_len(lua_State *L) {
  return lutil_pushint(L, (uint64_t)check(L)->n);
}

int luaopen_pmlua_eventset(lua_State *L) {
  static const luaL_Reg methods[] = {{"start", l_start},   {"read", l_read},         {"read_ts", l_read_ts},
                                     {"stop", l_stop},     {"reset", l_reset},       {"accum", l_accum},
                                     {"reader", l_reader}, {"readings", l_readings}, {"event", l_event},
                                     {"parts", l_parts},   {"__len", l_len},         {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &eventset_class, methods, NULL);
  luaL_newlib(L, functions);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, l_call);
  lua_setfield(L, -2, "__call");
  lua_setmetatable(L, -2);
  return 1;
}
