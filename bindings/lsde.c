/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/lsde.c - pml.sde: software-defined events, made by scripts and read from whoever made them. */
#include "lutil.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whatever a handle points to lives as long as its event is referred to, also when the library takes it back. */
struct handle {
  struct lutil_handle h;
  struct pml_sde_event *event;
  union {
    struct pml_sde_library *library; /* never freed */
    struct pml_sde_counter *counter;
    struct pml_recorder *recorder;
    struct pml_sde_set *set;
  };
};

static void handle_close(void *handle) {
  struct handle *h = handle;
  pml_sde_release(h->event);
  h->event = NULL;
}

static const struct lutil_class library_class = {"sdelibrary", sizeof(struct handle), handle_close};
static const struct lutil_class counter_class = {"sdecounter", sizeof(struct handle), handle_close};
static const struct lutil_class recorder_class = {"recorder", sizeof(struct handle), handle_close};
static const struct lutil_class set_class = {"countingset", sizeof(struct handle), handle_close};
static const struct lutil_class event_class = {"sdeevent", sizeof(struct handle), handle_close};

static int open_handle(struct handle *h) {
  h->h.open = 1;
  return 1;
}

/* --- libraries --- */

static int l_library(lua_State *L) {
  const char *name = lutil_string(L, 1);
  struct handle *h = lutil_new(L, &library_class, 0, 0);
  int err = pml_sde_library(&h->library, name);
  return err < 0 ? pml_pusherr(L, err, "sde.library") : open_handle(h);
}

static struct pml_sde_library *check_library(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &library_class))->library;
}

/* A new handle of @class that refers to EVENT of the library: first of all, so that what is made then cannot go. */
static struct handle *new_event(lua_State *L, const struct lutil_class *class, const char *event, int *err) {
  struct handle *h = lutil_new(L, class, 0, 0);
  *err = pml_sde_find_in(check_library(L), event, &h->event);
  if (*err == 0) h->h.open = 1;
  return h;
}

static unsigned mode_of(lua_State *L, int arg) {
  return (lutil_flag(L, arg, "readonly") ? PML_SDE_RO : PML_SDE_RW) |
         (lutil_flag(L, arg, "instant") ? PML_SDE_INSTANT : PML_SDE_DELTA);
}

static int l_counter(lua_State *L) {
  static const char *const known[] = {"readonly", "instant", NULL};
  struct pml_sde_library *lib = check_library(L);
  const char *event = lutil_string(L, 2);
  lutil_options(L, 3, known);
  unsigned mode = mode_of(L, 3);
  int err;
  struct handle *h = new_event(L, &counter_class, event, &err);
  if (err == 0) err = pml_sde_create(lib, event, mode, &h->counter);
  if (err == 0) return 1;
  lutil_close(&h->h);
  return pml_pusherr(L, err, "sdelibrary.counter");
}

static const char *const type_names[] = {"int64", "int32", "double", "float", "other"};

static enum pml_type type_option(lua_State *L, int arg) {
  const char *name = lutil_stringfield(L, arg, "type", "double");
  for (int i = 0; i < PML_TYPE_OTHER; i++)
    if (strcmp(name, type_names[i]) == 0) return (enum pml_type)i;
  luaL_argerror(L, arg, "option 'type' must be int64, int32, double or float");
  return PML_TYPE_OTHER;
}

static struct pml_recorder_options recorder_options(lua_State *L, int arg) {
  static const char *const known[] = {"type", "keep", "alpha", "cap", NULL};
  lutil_options(L, arg, known);
  struct pml_recorder_options o = {.type = type_option(L, arg)};
  const char *keep = lutil_stringfield(L, arg, "keep", "all");
  if (strcmp(keep, "sketch") == 0)
    o.keep = PML_KEEP_SKETCH;
  else if (strcmp(keep, "all") != 0)
    luaL_argerror(L, arg, "option 'keep' must be all or sketch");
  o.cap = (uint64_t)lutil_intfield(L, arg, "cap", 0, 0, LUA_MAXINTEGER);
  int type = lutil_field(L, arg, "alpha");
  o.alpha = type == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
  if (type != LUA_TNIL && !(o.alpha > 0 && o.alpha < 1))
    luaL_argerror(L, arg, "option 'alpha' must be a number between 0 and 1");
  return o;
}

static int l_recorder(lua_State *L) {
  struct pml_sde_library *lib = check_library(L);
  const char *event = lutil_string(L, 2);
  lua_settop(L, 3);
  struct pml_recorder_options o = recorder_options(L, 3);
  int err;
  struct handle *h = new_event(L, &recorder_class, event, &err);
  if (err == 0) err = pml_sde_create_recorder(lib, event, &o, &h->recorder);
  if (err == 0) return 1;
  lutil_close(&h->h);
  return pml_pusherr(L, err, "sdelibrary.recorder");
}

static int l_set(lua_State *L) {
  struct pml_sde_library *lib = check_library(L);
  const char *event = lutil_string(L, 2);
  int err;
  struct handle *h = new_event(L, &set_class, event, &err);
  if (err == 0) err = pml_sde_create_set(lib, event, &h->set);
  if (err == 0) return 1;
  lutil_close(&h->h);
  return pml_pusherr(L, err, "sdelibrary.set");
}

static int l_group(lua_State *L) {
  static const char *const operations[] = {"sum", "max", "min", NULL};
  struct pml_sde_library *lib = check_library(L);
  const char *group = lutil_string(L, 2);
  int operation = luaL_checkoption(L, 3, NULL, operations);
  const char *event = lutil_string(L, 4);
  int err = pml_sde_group_add(lib, event, group, (enum pml_sde_operation)operation);
  return pml_pushdone(L, err, "sdelibrary.group");
}

static int l_describe(lua_State *L) {
  struct pml_sde_library *lib = check_library(L);
  const char *event = lutil_string(L, 2);
  return pml_pushdone(L, pml_sde_describe(lib, event, lutil_string(L, 3)), "sdelibrary.describe");
}

static int l_unregister(lua_State *L) {
  struct pml_sde_library *lib = check_library(L);
  return pml_pushdone(L, pml_sde_unregister(lib, lutil_string(L, 2)), "sdelibrary.unregister");
}

static int l_shutdown(lua_State *L) {
  return pml_pushdone(L, pml_sde_shutdown(check_library(L)), "sdelibrary.shutdown");
}

/* --- created counters --- */

static struct pml_sde_counter *check_counter(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &counter_class))->counter;
}

static int l_counter_add(lua_State *L) {
  struct pml_sde_counter *c = check_counter(L);
  pml_sde_increment(c, luaL_optinteger(L, 2, 1));
  return 0;
}

static int l_counter_read(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pml_sde_counter_read(check_counter(L)));
  return 1;
}

static int l_counter_reset(lua_State *L) {
  pml_sde_counter_reset(check_counter(L));
  return 0;
}

/* --- recorders --- */

static struct pml_recorder *check_recorder(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &recorder_class))->recorder;
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
  struct pml_recorder *r = check_recorder(L);
  const struct pml_recorder_options o = pml_recorder_options(r);
  union element e;
  int err = pml_recorder_push(r, check_element(L, 2, &o, &e));
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

/* values([first [, n]]): the recorder may be closed by a finalizer, so what is needed of it is taken at once. */
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

static int push_value(lua_State *L, const struct pml_value *v) {
  if (v->type == PML_TYPE_DOUBLE)
    lua_pushnumber(L, v->d);
  else
    lua_pushinteger(L, (lua_Integer)v->i);
  return 1;
}

static int l_recorder_quantile(lua_State *L) {
  struct pml_value v;
  struct pml_recorder *r = check_recorder(L);
  int err = pml_recorder_quantile(r, (unsigned)lutil_int(L, 2, 0, 100), &v);
  return err < 0 ? pml_pusherr(L, err, "recorder.quantile") : push_value(L, &v);
}

static int l_recorder_count(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pml_recorder_count(check_recorder(L)));
  return 1;
}

static int l_recorder_dropped(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pml_recorder_dropped(check_recorder(L)));
  return 1;
}

static int l_recorder_nans(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pml_recorder_nans(check_recorder(L)));
  return 1;
}

static int l_recorder_error(lua_State *L) {
  lua_pushnumber(L, pml_recorder_error(check_recorder(L)));
  return 1;
}

static int l_recorder_reset(lua_State *L) {
  pml_recorder_reset(check_recorder(L));
  return 0;
}

/* --- counting sets --- */

static struct pml_sde_set *check_set(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &set_class))->set;
}

static int l_set_insert(lua_State *L) {
  size_t len;
  struct pml_sde_set *s = check_set(L);
  const char *element = luaL_checklstring(L, 2, &len);
  uint32_t type_id = (uint32_t)lutil_optint(L, 3, 0, 0, UINT32_MAX);
  return pml_pushdone(L, pml_sde_set_insert(s, len, len, element, type_id), "countingset.insert");
}

static int l_set_remove(lua_State *L) {
  size_t len;
  struct pml_sde_set *s = check_set(L);
  const char *element = luaL_checklstring(L, 2, &len);
  uint32_t type_id = (uint32_t)lutil_optint(L, 3, 0, 0, UINT32_MAX);
  return pml_pushdone(L, pml_sde_set_remove(s, len, element, type_id), "countingset.remove");
}

/* C strings with their lengths, one after the other: no visitor of the core may enter Lua, which may raise. */
struct rows {
  struct lutil_handle h;
  char *text;
  size_t used, capacity;
};

static void rows_close(void *handle) {
  struct rows *r = handle;
  free(r->text);
  r->text = NULL;
}

static const struct lutil_class rows_class = {"sderows", sizeof(struct rows), rows_close};

static int rows_add(struct rows *r, const void *data, size_t n) {
  if (n > r->capacity - r->used) {
    size_t capacity = 2 * r->capacity + n + 4096;
    char *text = realloc(r->text, capacity);
    if (text == NULL) return -ENOMEM;
    r->text = text;
    r->capacity = capacity;
  }
  memcpy(r->text + r->used, data, n);
  r->used += n;
  return 0;
}

static struct rows *new_rows(lua_State *L) {
  struct rows *r = lutil_new(L, &rows_class, 0, 0);
  r->h.open = 1;
  return r;
}

static int visit_element(const struct pml_sde_element *e, void *rows) {
  int err = rows_add(rows, e, sizeof *e);
  return err < 0 ? err : rows_add(rows, e->element, e->bytes);
}

static int l_set_values(lua_State *L) {
  check_set(L);
  struct rows *r = new_rows(L);
  struct pml_sde_set *s = check_set(L);
  int err = pml_sde_set_visit(s, visit_element, r);
  if (err < 0) return pml_pusherr(L, err, "countingset.values");
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t at = 0; at < r->used;) {
    struct pml_sde_element e;
    memcpy(&e, r->text + at, sizeof e);
    at += sizeof e;
    lua_createtable(L, 0, 3);
    lua_pushlstring(L, r->text + at, e.bytes);
    lua_setfield(L, -2, "element");
    lutil_setint(L, "count", e.count);
    lutil_setint(L, "type_id", e.type_id);
    lua_rawseti(L, -2, ++n);
    at += e.bytes;
  }
  lutil_close(&r->h);
  return 1;
}

/* --- events --- */

static struct pml_sde_event *check_event(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &event_class))->event;
}

static int l_find(lua_State *L) {
  const char *name = lutil_string(L, 1);
  bool made;
  struct handle *h = lutil_new(L, &event_class, 0, 0);
  int err = pml_sde_find(name, &h->event, &made);
  return err < 0 ? pml_pusherr(L, err, "sde.find") : open_handle(h);
}

static int l_event_read(lua_State *L) {
  struct pml_value v;
  int err = pml_sde_read(check_event(L), &v);
  return err < 0 ? pml_pusherr(L, err, "sdeevent.read") : push_value(L, &v);
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

/* Copied before a table is made: a finalizer may close the event, and the strings would go with it. */
static int push_info(lua_State *L, struct pml_sde_event *ev) {
  static const char *const kinds[] = {"placeholder", "registered", "callback", "created", "recorder",
                                      "quantile",    "count",      "group",    "set"};
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
  lutil_setstr(L, "kind", kinds[info.kind]);
  lutil_setstr(L, "type", type_names[info.type]);
  lutil_setbool(L, "writable", (info.mode & PML_SDE_RW) != 0);
  lutil_setbool(L, "instant", (info.mode & PML_SDE_INSTANT) != 0);
  return 1;
}

static int l_event_info(lua_State *L) {
  return push_info(L, check_event(L));
}

/* The recorder or counting set behind an event, with a reference of its own; nil if it has none. */
static int l_event_open(lua_State *L) {
  char name[320];
  struct pml_sde_info info;
  int err = pml_sde_info(check_event(L), &info);
  if (err < 0) return pml_pusherr(L, err, "sdeevent.open");
  if (info.recorder == NULL && info.set == NULL)
    return pml_pusherr(L, pml_fail(PML_EMODE, "%s is neither a recorder nor a counting set", info.full_name),
                       "sdeevent.open");
  snprintf(name, sizeof name, "%s", info.full_name);
  struct handle *h = lutil_new(L, info.recorder != NULL ? &recorder_class : &set_class, 0, 0);
  err = pml_sde_find(name, &h->event, NULL);
  if (err == 0) err = pml_sde_info(h->event, &info);
  if (err < 0) return pml_pusherr(L, err, "sdeevent.open");
  h->h.open = 1;
  bool recorder = h->h.class == &recorder_class;
  if (recorder)
    h->recorder = info.recorder;
  else
    h->set = info.set;
  if (recorder ? h->recorder != NULL : h->set != NULL) return 1;
  lutil_close(&h->h); /* taken back meanwhile */
  return pml_pusherr(L, pml_fail(PML_EMODE, "%s was unregistered", name), "sdeevent.open");
}

static int visit_name(const struct pml_sde_info *info, void *rows) {
  return rows_add(rows, info->full_name, strlen(info->full_name) + 1);
}

static int l_list(lua_State *L) {
  lua_settop(L, 0);
  struct rows *r = new_rows(L);
  int err = pml_sde_list(visit_name, r);
  if (err < 0) return pml_pusherr(L, err, "sde.list");
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t at = 0; at < r->used; at += strlen(r->text + at) + 1) {
    struct handle *h = lutil_new(L, &event_class, 0, 0);
    if (pml_sde_find(r->text + at, &h->event, NULL) == 0) {
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

int luaopen_pmlua_sde(lua_State *L) {
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const luaL_Reg library[] = {
      {"counter", l_counter},   {"recorder", l_recorder},     {"set", l_set},           {"group", l_group},
      {"describe", l_describe}, {"unregister", l_unregister}, {"shutdown", l_shutdown}, {NULL, NULL}};
  static const luaL_Reg counter[] = {
      {"add", l_counter_add}, {"read", l_counter_read}, {"reset", l_counter_reset}, {NULL, NULL}};
  static const luaL_Reg recorder[] = {{"push", l_recorder_push},         {"values", l_recorder_values},
                                      {"quantile", l_recorder_quantile}, {"count", l_recorder_count},
                                      {"dropped", l_recorder_dropped},   {"nans", l_recorder_nans},
                                      {"error", l_recorder_error},       {"reset", l_recorder_reset},
                                      {"__len", l_recorder_count},       {NULL, NULL}};
  static const luaL_Reg set[] = {
      {"insert", l_set_insert}, {"remove", l_set_remove}, {"values", l_set_values}, {NULL, NULL}};
  static const luaL_Reg event[] = {{"read", l_event_read}, {"write", l_event_write}, {"reset", l_event_reset},
                                   {"info", l_event_info}, {"open", l_event_open},   {NULL, NULL}};
  static const luaL_Reg functions[] = {{"library", l_library}, {"find", l_find}, {"list", l_list}, {NULL, NULL}};
  lutil_class(L, &library_class, library, NULL);
  lutil_class(L, &counter_class, counter, NULL);
  lutil_class(L, &recorder_class, recorder, NULL);
  lutil_class(L, &set_class, set, NULL);
  lutil_class(L, &event_class, event, NULL);
  lutil_class(L, &rows_class, none, NULL);
  luaL_newlib(L, functions);
  return 1;
}
