/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_read.c - pml.trace.read: OTF2 archives of any writer. */
#include "substrate/ltrace_read.h"

#include "substrate/trace/read/pml_otf2_paths.h"

#include <stdlib.h>

/* Rows that are on their way into tables, so that an error of Lua frees them. */
struct rows {
  struct lutil_handle h;
  void *row;
};

static void reader_close(void *handle) {
  struct ltrace_reader *r = handle;
  pml_otf2_events_close(r->events);
  r->events = NULL;
  pml_otf2_read_close(r->trace);
}

static void rows_close(void *handle) {
  free(((struct rows *)handle)->row);
}

static const struct lutil_class reader_class = {"tracereader", sizeof(struct ltrace_reader), reader_close};
static const struct lutil_class rows_class = {"tracerows", sizeof(struct rows), rows_close};

struct ltrace_reader *ltrace_reader(lua_State *L, int arg) {
  return lutil_check(L, arg, &reader_class);
}

static struct pml_otf2_read *check(lua_State *L) {
  return ltrace_reader(L, 1)->trace;
}

int ltrace_read(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct ltrace_reader *r = lutil_new(L, &reader_class, 0, 0);
  int err = pml_otf2_read_open(&r->trace, path);
  if (err < 0) return pml_pusherr(L, err, "trace.read");
  r->h.open = 1;
  return 1;
}

static int l_about(lua_State *L) {
  struct pml_otf2_read_about a;
  pml_otf2_read_about(check(L), &a);
  lua_createtable(L, 0, 11);
  lutil_setstr(L, "creator", a.creator);
  lutil_setstr(L, "machine", a.machine);
  lutil_setint(L, "ticks_per_second", a.ticks_per_second);
  lutil_setnum(L, "length_s", a.length_s);
  if (a.began_ns > 0) lutil_setint(L, "began_ns", a.began_ns);
  lutil_setint(L, "events", a.events);
  lutil_setint(L, "regions", a.nregions);
  lutil_setint(L, "processes", a.nprocesses);
  lutil_setint(L, "locations", a.nlocations);
  lutil_setint(L, "metrics", a.nmetrics);
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

static int l_metrics(lua_State *L) {
  const struct pml_otf2_read_metric *m;
  (void)check(L);
  lua_newtable(L);
  for (size_t i = 0; (m = pml_otf2_read_metric(check(L), i)) != NULL; i++) {
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "name", m->name);
    set_text(L, "description", m->description);
    set_text(L, "unit", m->unit);
    lutil_setnum(L, "scale", m->scale);
    lutil_setbool(L, "accumulated", m->accumulated);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
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
  const struct pml_otf2_question q = ltrace_question(L, t, 2, LTRACE_BY);
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
  const struct pml_otf2_question q = ltrace_question(L, t, 2, 0);
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

/* t:paths(question) - the tree of call paths as rows, parents first, and how many events have no partner. */
static int l_paths(lua_State *L) {
  struct pml_otf2_paths p;
  struct pml_otf2_read *t = check(L);
  const struct pml_otf2_question q = ltrace_question(L, t, 2, 0);
  struct rows *rows = lutil_new(L, &rows_class, 0, 0);
  int err = pml_otf2_read_paths(check(L), &q, &p);
  if (err < 0) return pml_pusherr(L, err, "trace.paths");
  rows->row = p.path;
  rows->h.open = 1;
  lua_createtable(L, (int)(p.n < INT32_MAX ? p.n : 0), 0);
  for (size_t i = 0; i < p.n; i++) {
    lua_createtable(L, 0, 6);
    set_place(L, "parent", p.path[i].parent);
    set_place(L, "number", p.path[i].region);
    lutil_setstr(L, "region", pml_otf2_read_region(check(L), p.path[i].region)->name);
    lutil_setint(L, "calls", p.path[i].calls);
    lutil_setnum(L, "inclusive_s", p.path[i].inclusive_s);
    lutil_setnum(L, "exclusive_s", p.path[i].exclusive_s);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(L, (lua_Integer)p.unmatched);
  lutil_close(&rows->h);
  return 2;
}

void ltrace_read_classes(lua_State *L) {
  static const luaL_Reg methods[] = {{"about", l_about},         {"regions", l_regions},
                                     {"processes", l_processes}, {"locations", l_locations},
                                     {"metrics", l_metrics},     {"each", ltrace_each},
                                     {"group", l_group},         {"messages", l_messages},
                                     {"paths", l_paths},         {NULL, NULL}};
  static const luaL_Reg none[] = {{NULL, NULL}};
  lutil_class(L, &reader_class, methods, NULL);
  lutil_class(L, &rows_class, none, NULL);
  ltrace_each_class(L);
}
