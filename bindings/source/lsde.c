/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lsde.c - pml.sde: libraries of software-defined events, created counters, and the list of events. */
#include "source/lsde.h"

#include "live/limit.h"
#include "source/sde/pml_sde_hook.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lsde_handle_close(void *handle) {
  struct lsde_handle *h = handle;
  pml_sde_release(h->event);
  h->event = NULL;
}

static const struct lutil_class library_class = {"sdelibrary", sizeof(struct lsde_handle), lsde_handle_close};
static const struct lutil_class counter_class = {"sdecounter", sizeof(struct lsde_handle), lsde_handle_close};
static const struct lutil_class event_class = {"sdeevent", sizeof(struct lsde_handle), lsde_handle_close};

int lsde_charge(lua_State *L, size_t bytes, struct lsde_charge *c) {
  c->bytes = bytes;
  int err = limit_charge(L, bytes, &c->account); /* may run finalizers */
  c->grown = pml_sde_grown();
  return err;
}

void lsde_settle(const struct lsde_charge *c) {
  if (pml_sde_grown() == c->grown) limit_discharge(c->account, c->bytes);
}

/* --- libraries --- */

static int l_library(lua_State *L) {
  const char *name = lutil_string(L, 1);
  struct lsde_handle *h = lutil_new(L, &library_class, 0, 0);
  struct lsde_charge c;
  int err = lsde_charge(L, LSDE_EVENT_BYTES + strlen(name), &c);
  if (err == 0) err = pml_sde_library(&h->library, name);
  lsde_settle(&c);
  return lutil_opened(L, &h->h, err, "sde.library");
}

struct pml_sde_library *lsde_library(lua_State *L) {
  return ((struct lsde_handle *)lutil_check(L, 1, &library_class))->library;
}

struct lsde_handle *lsde_new(lua_State *L, const struct lutil_class *class, const char *event, int *err) {
  struct lsde_handle *h = lutil_new(L, class, 0, 0);
  *err = pml_sde_find_in(lsde_library(L), event, &h->event);
  if (*err == 0) h->h.open = 1;
  return h;
}

int lsde_done(lua_State *L, struct lsde_handle *h, int err, const char *where) {
  if (err == 0) return 1;
  lutil_close(&h->h);
  return pml_pusherr(L, err, where);
}

static unsigned mode_of(lua_State *L, int arg) {
  return (lutil_flag(L, arg, "readonly") ? PML_SDE_RO : PML_SDE_RW) |
         (lutil_flag(L, arg, "instant") ? PML_SDE_INSTANT : PML_SDE_DELTA);
}

static int l_counter(lua_State *L) {
  static const char *const known[] = {"readonly", "instant", NULL};
  struct pml_sde_library *lib = lsde_library(L);
  const char *event = lutil_string(L, 2);
  lutil_options(L, 3, known);
  unsigned mode = mode_of(L, 3);
  int err;
  struct lsde_handle *h = lsde_new(L, &counter_class, event, &err);
  struct lsde_charge c = {NULL, 0, 0};
  if (err == 0) err = lsde_charge(L, LSDE_EVENT_BYTES + strlen(event), &c);
  if (err == 0) err = pml_sde_create(lib, event, mode, &h->counter);
  lsde_settle(&c);
  return lsde_done(L, h, err, "sdelibrary.counter");
}

static int l_group(lua_State *L) {
  static const char *const operations[] = {"sum", "max", "min", NULL};
  struct pml_sde_library *lib = lsde_library(L);
  const char *group = lutil_string(L, 2);
  int operation = luaL_checkoption(L, 3, NULL, operations);
  const char *event = lutil_string(L, 4);
  struct lsde_charge c;
  int err = lsde_charge(L, LSDE_EVENT_BYTES + strlen(group), &c);
  if (err == 0) err = pml_sde_group_add(lib, event, group, (enum pml_sde_operation)operation);
  lsde_settle(&c);
  return pml_pushdone(L, err, "sdelibrary.group");
}

static int l_describe(lua_State *L) {
  struct pml_sde_library *lib = lsde_library(L);
  const char *event = lutil_string(L, 2);
  const char *description = lutil_string(L, 3);
  struct lsde_charge c;
  int err = lsde_charge(L, sizeof(void *) + strlen(description) + 1, &c);
  if (err == 0) err = pml_sde_describe(lib, event, description);
  lsde_settle(&c);
  return pml_pushdone(L, err, "sdelibrary.describe");
}

static int l_unregister(lua_State *L) {
  struct pml_sde_library *lib = lsde_library(L);
  return pml_pushdone(L, pml_sde_unregister(lib, lutil_string(L, 2)), "sdelibrary.unregister");
}

static int l_shutdown(lua_State *L) {
  return pml_pushdone(L, pml_sde_shutdown(lsde_library(L)), "sdelibrary.shutdown");
}

/* --- created counters --- */

static struct pml_sde_counter *check_counter(lua_State *L) {
  return ((struct lsde_handle *)lutil_check(L, 1, &counter_class))->counter;
}

static int l_counter_add(lua_State *L) {
  struct pml_sde_counter *c = check_counter(L);
  pml_sde_increment(c, luaL_optinteger(L, 2, 1));
  return 0;
}

static int l_counter_read(lua_State *L) {
  return lutil_pushint(L, (uint64_t)pml_sde_counter_read(check_counter(L)));
}

static int l_counter_reset(lua_State *L) {
  pml_sde_counter_reset(check_counter(L));
  return 0;
}

/* --- events --- */

static struct pml_sde_event *check_event(lua_State *L) {
  return ((struct lsde_handle *)lutil_check(L, 1, &event_class))->event;
}

static int l_find(lua_State *L) {
  const char *name = lutil_string(L, 1);
  bool made = false;
  struct lsde_handle *h = lutil_new(L, &event_class, 0, 0);
  int err = lutil_charge(L, &h->h, LSDE_EVENT_BYTES + strlen(name)); /* a placeholder goes with its last handle */
  if (err == 0) err = pml_sde_find(name, &h->event, &made);
  if (!made) lutil_uncharge(&h->h);
  return lutil_opened(L, &h->h, err, "sde.find");
}

static int l_event_read(lua_State *L) {
  struct pml_value v;
  int err = pml_sde_read(check_event(L), &v);
  return err < 0 ? pml_pusherr(L, err, "sdeevent.read") : lutil_pushvalue(L, &v);
}

static int l_event_write(lua_State *L) {
  struct pml_sde_event *ev = check_event(L);
  struct pml_value v = {.type = PML_TYPE_DOUBLE, .d = luaL_checknumber(L, 2)};
  if (lua_isinteger(L, 2)) v = (struct pml_value){.type = PML_TYPE_INT64, .i = lua_tointeger(L, 2)};
  return pml_pushdone(L, pml_sde_write(ev, &v), "sdeevent.write");
}

static int l_event_reset(lua_State *L) {
  return pml_pushdone(L, pml_sde_reset(check_event(L)), "sdeevent.reset");
}

const char *lsde_kind(enum pml_sde_kind kind) {
  static const char *const kinds[] = {"placeholder", "registered", "callback", "created", "recorder",
                                      "quantile",    "count",      "group",    "set",     "per thread"};
  return kinds[kind];
}

const char *lsde_type(enum pml_type type) {
  static const char *const types[] = {"int64", "int32", "double", "float", "other"};
  return types[type];
}

/* Copied before a table is made: a finalizer may close the event, and the strings would go with it. */
static int push_info(lua_State *L, struct pml_sde_event *ev) {
  struct pml_sde_info info;
  char library[256], name[256], full[320], description[1024];
  int err = pml_sde_info(ev, &info);
  if (err < 0) return pml_pusherr(L, err, "sdeevent.info");
  snprintf(library, sizeof library, "%s", info.library);
  snprintf(name, sizeof name, "%s", info.name);
  snprintf(full, sizeof full, "sde:::%s", info.full_name);
  snprintf(description, sizeof description, "%s", info.description);
  lua_createtable(L, 0, 8);
  lutil_setstr(L, "library", library);
  lutil_setstr(L, "event", name);
  lutil_setstr(L, "name", full);
  lutil_setstr(L, "description", description);
  lutil_setstr(L, "kind", lsde_kind(info.kind));
  lutil_setstr(L, "type", lsde_type(info.type));
  lutil_setbool(L, "writable", (info.mode & PML_SDE_RW) != 0);
  lutil_setbool(L, "instant", (info.mode & PML_SDE_INSTANT) != 0);
  return 1;
}

int lsde_info(lua_State *L) {
  static const struct lutil_class *const with_event[] = {&event_class, &counter_class, &lsde_recorder_class,
                                                         &lsde_set_class};
  const size_t n = sizeof with_event / sizeof *with_event;
  size_t i = 0;
  while (i < n - 1 && lutil_test(L, 1, with_event[i]) == NULL) i++;
  return push_info(L, ((struct lsde_handle *)lutil_check(L, 1, with_event[i]))->event);
}

/* The recorder or counting set behind an event, with a separate reference, or nil. */
static int l_event_open(lua_State *L) {
  char name[320];
  struct pml_sde_info info;
  int err = pml_sde_info(check_event(L), &info);
  if (err < 0) return pml_pusherr(L, err, "sdeevent.open");
  if (info.recorder == NULL && info.set == NULL)
    return pml_pusherr(L, pml_fail(PML_EMODE, "%s is neither a recorder nor a counting set", info.full_name),
                       "sdeevent.open");
  snprintf(name, sizeof name, "%s", info.full_name);
  struct lsde_handle *h = lutil_new(L, info.recorder != NULL ? &lsde_recorder_class : &lsde_set_class, 0, 0);
  err = pml_sde_find(name, &h->event, NULL);
  if (err == 0) err = pml_sde_info(h->event, &info);
  if (err < 0) return pml_pusherr(L, err, "sdeevent.open");
  h->h.open = 1;
  bool recorder = h->h.class == &lsde_recorder_class;
  if (recorder)
    h->recorder = info.recorder;
  else
    h->set = info.set;
  if (recorder ? h->recorder != NULL : h->set != NULL) return 1;
  lutil_close(&h->h); /* taken back meanwhile */
  return pml_pusherr(L, pml_fail(PML_EMODE, "%s was unregistered", name), "sdeevent.open");
}

static int visit_name(const struct pml_sde_info *info, void *rows) {
  return lutil_add(rows, info->full_name, strlen(info->full_name) + 1);
}

/* A table of what the names in @r are now; @r is at 1, and closed. */
static int push_events(lua_State *L, struct lutil_rows *r) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t at = 0; at < r->used; at += strlen(r->at + at) + 1) {
    struct lsde_handle *h = lutil_new(L, &event_class, 0, 0);
    if (pml_sde_find(r->at + at, &h->event, NULL) == 0) {
      h->h.open = 1;
      if (push_info(L, h->event) == 1)
        lua_rawseti(L, 2, ++n);
      else
        lua_settop(L, 3);
      lutil_close(&h->h);
    }
    lua_settop(L, 2);
  }
  lutil_close(&r->h);
  return 1;
}

static int l_list(lua_State *L) {
  lua_settop(L, 0);
  struct lutil_rows *r = lutil_rows(L);
  int err = pml_sde_list(visit_name, r);
  return err < 0 ? pml_pusherr(L, err, "sde.list") : push_events(L, r);
}

#define PATTERNS_MAX 1000
#define SELECTED_MAX 10000

/* select(patterns, most, from) - the events, as for list(), and the `from` of the next call; nil: no more. */
static int l_select(lua_State *L) {
  const char *pattern[PATTERNS_MAX];
  struct pml_sde_selection s = {.pattern = pattern};
  luaL_checktype(L, 1, LUA_TTABLE);
  s.most = (size_t)lutil_int(L, 2, 1, SELECTED_MAX);
  s.from = lua_isnoneornil(L, 3) ? 0 : (uint64_t)lutil_int(L, 3, 0, UINT32_MAX + INT64_C(1));
  lua_settop(L, 1);
  s.n = lua_rawlen(L, 1);
  luaL_argcheck(L, s.n <= PATTERNS_MAX, 1, "too many patterns");
  luaL_checkstack(L, (int)s.n + 8, "patterns");
  for (size_t i = 0; i < s.n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    pattern[i] = lutil_element(L, 1);
  }
  struct lutil_rows *r = lutil_rows(L);
  int err = pml_sde_select(&s, visit_name, r);
  if (err < 0) return pml_pusherr(L, err, "sde.select");
  lua_replace(L, 1);
  lua_settop(L, 1);
  (void)push_events(L, r);
  if (!s.more) return 1;
  lua_pushinteger(L, (lua_Integer)s.from);
  return 2;
}

static int l_count(lua_State *L) {
  return lutil_pushint(L, pml_sde_count());
}

/* Its code runs here, and stays. */
static int l_hook(lua_State *L) {
  return pml_pushdone(L, pml_sde_hook(lutil_string(L, 1)), "sde.hook");
}

int luaopen_pmlua_sde(lua_State *L) {
  static const luaL_Reg library[] = {
      {"counter", l_counter},   {"recorder", lsde_library_recorder}, {"set", lsde_library_set}, {"group", l_group},
      {"describe", l_describe}, {"unregister", l_unregister},        {"shutdown", l_shutdown},  {NULL, NULL}};
  static const luaL_Reg counter[] = {
      {"add", l_counter_add}, {"read", l_counter_read}, {"reset", l_counter_reset}, {"info", lsde_info}, {NULL, NULL}};
  static const luaL_Reg event[] = {{"read", l_event_read}, {"write", l_event_write}, {"reset", l_event_reset},
                                   {"info", lsde_info},    {"open", l_event_open},   {NULL, NULL}};
  static const luaL_Reg functions[] = {{"library", l_library}, {"find", l_find}, {"list", l_list}, {"select", l_select},
                                       {"count", l_count},     {"hook", l_hook}, {NULL, NULL}};
  lutil_class(L, &library_class, library, NULL);
  lutil_class(L, &counter_class, counter, NULL);
  lsde_open_recorders(L);
  lsde_open_sets(L);
  lutil_class(L, &event_class, event, NULL);
  return lutil_module(L, functions);
}
