/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_read.c - pml.trace.read: OTF2 archives of any writer. */
#include "substrate/ltrace_read.h"

#include "substrate/trace/read/pml_otf2_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  struct lutil_handle h;
  struct pml_otf2_read *trace;
};

/* Rows that are on their way into tables, so that an error of Lua frees them. */
struct rows {
  struct lutil_handle h;
  void *row;
};

static void reader_close(void *handle) {
  pml_otf2_read_close(((struct reader *)handle)->trace);
}

static void rows_close(void *handle) {
  free(((struct rows *)handle)->row);
}

static const struct lutil_class reader_class = {"tracereader", sizeof(struct reader), reader_close};
static const struct lutil_class rows_class = {"tracerows", sizeof(struct rows), rows_close};

static struct pml_otf2_read *check(lua_State *L) {
  return ((struct reader *)lutil_check(L, 1, &reader_class))->trace;
}

int ltrace_read(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct reader *r = lutil_new(L, &reader_class, 0, 0);
  int err = pml_otf2_read_open(&r->trace, path);
  if (err < 0) return pml_pusherr(L, err, "trace.read");
  r->h.open = 1;
  return 1;
}

static int l_about(lua_State *L) {
  struct pml_otf2_read_about a;
  pml_otf2_read_about(check(L), &a);
  lua_createtable(L, 0, 10);
  lutil_setstr(L, "creator", a.creator);
  lutil_setstr(L, "machine", a.machine);
  lutil_setint(L, "ticks_per_second", a.ticks_per_second);
  lutil_setnum(L, "length_s", a.length_s);
  if (a.began_ns > 0) lutil_setint(L, "began_ns", a.began_ns);
  lutil_setint(L, "events", a.events);
  lutil_setint(L, "regions", a.nregions);
  lutil_setint(L, "processes", a.nprocesses);
  lutil_setint(L, "locations", a.nlocations);
  lutil_setint(L, "ranks", a.nranks);
  return 1;
}

static void set_text(lua_State *L, const char *key, const char *text) {
  if (text[0] != '\0') lutil_setstr(L, key, text);
}

static int l_regions(lua_State *L) {
  const struct pml_otf2_read_region *r;
  (void)check(L);
  lua_newtable(L);
  for (size_t i = 0; (r = pml_otf2_read_region(check(L), i)) != NULL; i++) {
    lua_createtable(L, 0, 4);
    lutil_setstr(L, "name", r->name);
    set_text(L, "file", r->file);
    set_text(L, "paradigm", r->paradigm);
    if (r->line > 0) lutil_setint(L, "line", r->line);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int l_processes(lua_State *L) {
  const struct pml_otf2_read_process *p;
  (void)check(L);
  lua_newtable(L);
  for (size_t i = 0; (p = pml_otf2_read_process(check(L), i)) != NULL; i++) {
    lua_createtable(L, 0, 3);
    lutil_setstr(L, "name", p->name);
    set_text(L, "host", p->host);
    if (p->rank >= 0) lutil_setint(L, "rank", (uint64_t)p->rank);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int l_locations(lua_State *L) {
  const struct pml_otf2_read_location *l;
  (void)check(L);
  lua_newtable(L);
  for (size_t i = 0; (l = pml_otf2_read_location(check(L), i)) != NULL; i++) {
    lua_createtable(L, 0, 3);
    lutil_setstr(L, "name", l->name);
    lutil_setint(L, "process", (uint64_t)l->process + 1);
    lutil_setint(L, "events", l->events);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- questions ---- */

static double second_of(lua_State *L, int window, int i, double whole) {
  double s = lua_rawgeti(L, window, i) == LUA_TNIL ? whole : luaL_checknumber(L, -1);
  lua_pop(L, 1);
  if (s != s) luaL_error(L, "where.window: a time is not a number");
  return s;
}

/* The table at @where, whose strings stay on the stack. */
static void read_where(lua_State *L, int where, struct pml_otf2_question *q) {
  static const char *const known[] = {"window", "region", "process", NULL};
  lutil_options(L, where, known);
  q->region = lutil_stringfield(L, where, "region", NULL);
  q->process = lutil_intfield(L, where, "process", 0, 1, INT32_MAX) - 1;
  int type = lutil_field(L, where, "window");
  if (type == LUA_TNIL) return;
  if (type != LUA_TTABLE) luaL_error(L, "where.window: give { FROM, TO } in seconds");
  q->from_s = second_of(L, lua_gettop(L), 1, 0);
  q->to_s = second_of(L, lua_gettop(L), 2, INFINITY);
  if (q->from_s > q->to_s) luaL_error(L, "where.window: it ends before it begins");
}

static unsigned read_by(lua_State *L, int by) {
  static const char *const names[] = {"region", "process", "location", NULL};
  unsigned bits = 0;
  luaL_checktype(L, by, LUA_TTABLE);
  for (lua_Integer i = 1; lua_rawgeti(L, by, i) != LUA_TNIL; i++) {
    bits |= 1u << luaL_checkoption(L, -1, NULL, names);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return bits;
}

static struct pml_otf2_question read_question(lua_State *L, bool grouped) {
  static const char *const known[] = {"where", "by", NULL}, *const where[] = {"where", NULL};
  struct pml_otf2_question q = {.by = PML_OTF2_BY_REGION, .to_s = INFINITY, .process = -1};
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) return q;
  lutil_options(L, 2, grouped ? known : where);
  if (grouped && lutil_field(L, 2, "by") != LUA_TNIL) q.by = read_by(L, lua_gettop(L));
  if (lutil_field(L, 2, "where") != LUA_TNIL) read_where(L, lua_gettop(L), &q);
  return q;
}

/* ---- answers ---- */

static void set_place(lua_State *L, const char *key, size_t place) {
  if (place != PML_OTF2_NONE) lutil_setint(L, key, (uint64_t)place + 1);
}

static void push_row(lua_State *L, const struct pml_otf2_read *t, const struct pml_otf2_row *r) {
  lua_createtable(L, 0, 11);
  set_place(L, "number", r->region);
  set_place(L, "process", r->process);
  set_place(L, "location", r->location);
  if (r->region != PML_OTF2_NONE) lutil_setstr(L, "region", pml_otf2_read_region(t, r->region)->name);
  if (r->process != PML_OTF2_NONE && pml_otf2_read_process(t, r->process)->rank >= 0)
    lutil_setint(L, "rank", (uint64_t)pml_otf2_read_process(t, r->process)->rank);
  lutil_setint(L, "calls", r->calls);
  lutil_setint(L, "unreturned", r->unreturned);
  lutil_setnum(L, "inclusive_s", r->inclusive_s);
  lutil_setnum(L, "exclusive_s", r->exclusive_s);
  if (r->least_s > r->most_s) return;
  lutil_setnum(L, "least_s", r->least_s);
  lutil_setnum(L, "most_s", r->most_s);
}

/* t:group(question) - rows, and what was odd. */
static int l_group(lua_State *L) {
  struct pml_otf2_answer a;
  struct pml_otf2_read *t = check(L);
  const struct pml_otf2_question q = read_question(L, true);
  struct rows *rows = lutil_new(L, &rows_class, 0, 0);
  int err = pml_otf2_read_sums(t, &q, &a);
  if (err < 0) return pml_pusherr(L, err, "trace.group");
  rows->row = a.row;
  rows->h.open = 1;
  lua_createtable(L, (int)(a.n < INT32_MAX ? a.n : 0), 0);
  for (size_t i = 0; i < a.n; i++) {
    push_row(L, check(L), &a.row[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_createtable(L, 0, 4);
  lutil_setint(L, "events", a.events);
  lutil_setint(L, "unmatched", a.unmatched);
  lutil_setint(L, "backward", a.backward);
  lutil_setint(L, "unknown", a.unknown);
  lutil_close(&rows->h);
  return 2;
}

/* t:messages(question) - rows, and how many messages have an unknown receiver. */
static int l_messages(lua_State *L) {
  struct pml_otf2_pairs p;
  struct pml_otf2_read *t = check(L);
  const struct pml_otf2_question q = read_question(L, false);
  struct rows *rows = lutil_new(L, &rows_class, 0, 0);
  int err = pml_otf2_read_pairs(t, &q, &p);
  if (err < 0) return pml_pusherr(L, err, "trace.messages");
  rows->row = p.pair;
  rows->h.open = 1;
  lua_createtable(L, (int)(p.n < INT32_MAX ? p.n : 0), 0);
  for (size_t i = 0; i < p.n; i++) {
    lua_createtable(L, 0, 4);
    set_place(L, "from", p.pair[i].from);
    set_place(L, "to", p.pair[i].to);
    lutil_setint(L, "messages", p.pair[i].messages);
    lutil_setint(L, "bytes", p.pair[i].bytes);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(L, (lua_Integer)p.unknown);
  lutil_close(&rows->h);
  return 2;
}

void ltrace_read_classes(lua_State *L) {
  static const luaL_Reg methods[] = {{"about", l_about},
                                     {"regions", l_regions},
                                     {"processes", l_processes},
                                     {"locations", l_locations},
                                     {"group", l_group},
                                     {"messages", l_messages},
                                     {NULL, NULL}};
  static const luaL_Reg none[] = {{NULL, NULL}};
  lutil_class(L, &reader_class, methods, NULL);
  lutil_class(L, &rows_class, none, NULL);
}
