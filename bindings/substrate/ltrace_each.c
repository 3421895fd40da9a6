/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_each.c - t:each: a Lua function for each event of an archive. */
#include "substrate/ltrace_read.h"

#include <string.h>

/* Ends the reading, even after an error in the function. */
struct each {
  struct lutil_handle h;
  struct ltrace_reader *reader;
  struct pml_otf2_events *events;
};

static void each_close(void *handle) {
  struct each *e = handle;
  if (e->reader->events != e->events) return; /* the reader was closed, and with it the events */
  pml_otf2_events_close(e->events);
  e->reader->events = NULL;
}

static const struct lutil_class each_class = {"traceeach", sizeof(struct each), each_close};

/* Where things are on the stack: kind K has its table at TABLES + K, filled again for each event. */
enum { READER = 1, FUNCTION = 2, QUESTION = 3 };
struct stack {
  int regions, metrics, tables;     /* regions, metrics: names by number, added at their first event */
  size_t location[PML_OTF2_NKINDS]; /* location of the last event in each table */
};

static void set_number(lua_State *L, int table, const char *key, size_t place) {
  if (place != PML_OTF2_NONE)
    lua_pushinteger(L, (lua_Integer)place + 1);
  else
    lua_pushnil(L);
  lua_setfield(L, table, key);
}

/* Push the string that @names has for @place; it becomes @name. */
static void push_name(lua_State *L, int names, size_t place, const char *name) {
  if (lua_rawgeti(L, names, (lua_Integer)place + 1) != LUA_TNIL) return;
  lua_pop(L, 1);
  lua_pushstring(L, name);
  lua_pushvalue(L, -1);
  lua_rawseti(L, names, (lua_Integer)place + 1);
}

static void set_location(lua_State *L, int table, const struct pml_otf2_read *t, size_t location) {
  const struct pml_otf2_read_location *l = pml_otf2_read_location(t, location);
  int64_t rank = pml_otf2_read_process(t, l->process)->rank;
  set_number(L, table, "location", location);
  set_number(L, table, "process", l->process);
  if (rank >= 0)
    lua_pushinteger(L, rank);
  else
    lua_pushnil(L);
  lua_setfield(L, table, "rank");
}

static void set_region(lua_State *L, const struct stack *s, int table, const struct pml_otf2_read *t, size_t region) {
  push_name(L, s->regions, region, pml_otf2_read_region(t, region)->name);
  lua_setfield(L, table, "region");
  set_number(L, table, "number", region);
}

/* Set a number, or nil for 0. */
static void set_positive(lua_State *L, int table, const char *key, uint64_t number, uint64_t less) {
  if (number != 0)
    lua_pushinteger(L, (lua_Integer)(number - less));
  else
    lua_pushnil(L);
  lua_setfield(L, table, key);
}

static void set_message(lua_State *L, int table, const struct pml_otf2_event *e) {
  set_positive(L, table, "request", e->request, 0);
  set_number(L, table, e->kind == PML_OTF2_SEND ? "to" : "from", e->what);
  lua_pushinteger(L, (lua_Integer)e->bytes);
  lua_setfield(L, table, "bytes");
  lua_pushinteger(L, e->tag);
  lua_setfield(L, table, "tag");
  lua_pushinteger(L, e->comm);
  lua_setfield(L, table, "communicator");
}

static void set_communicator(lua_State *L, int table, const struct pml_otf2_event *e) {
  lua_pushinteger(L, e->members);
  lua_setfield(L, table, "members");
  lua_pushinteger(L, e->comm);
  lua_setfield(L, table, "communicator");
}

static void set_collective(lua_State *L, int table, const struct pml_otf2_event *e) {
  lua_pushstring(L, pml_otf2_operation(e->operation));
  lua_setfield(L, table, "operation");
  set_number(L, table, "root", e->what);
  lua_pushinteger(L, (lua_Integer)e->bytes);
  lua_setfield(L, table, "sent_bytes");
  lua_pushinteger(L, (lua_Integer)e->received_bytes);
  lua_setfield(L, table, "received_bytes");
  set_communicator(L, table, e);
  set_positive(L, table, "request", e->request, 0);
  set_positive(L, table, "window", e->window, 1);
}

static void set_request(lua_State *L, int table, const struct pml_otf2_event *e) {
  set_positive(L, table, "request", e->request, 0);
  lua_pushstring(L, pml_otf2_happened((enum pml_otf2_request)e->operation));
  lua_setfield(L, table, "what");
}

static void set_notification(lua_State *L, int table, const struct pml_otf2_event *e) {
  set_number(L, table, "process_there", e->what);
  lua_pushboolean(L, e->out);
  lua_setfield(L, table, "out");
  lua_pushinteger(L, e->comm);
  lua_setfield(L, table, "communicator");
  set_positive(L, table, "window", e->window, 1);
}

static void set_lock(lua_State *L, int table, const struct pml_otf2_event *e) {
  set_number(L, table, "process_there", e->what);
  set_positive(L, table, "window", e->window, 1);
  lua_pushboolean(L, e->exclusive);
  lua_setfield(L, table, "exclusive");
  lua_pushstring(L, pml_otf2_locked((enum pml_otf2_lock)e->operation));
  lua_setfield(L, table, "what");
}

static void set_record(lua_State *L, int table, const struct pml_otf2_event *e) {
  lua_pushstring(L, pml_otf2_record(e));
  lua_setfield(L, table, "record");
}

static void set_metric(lua_State *L, const struct stack *s, int table, const struct pml_otf2_read *t,
                       const struct pml_otf2_event *e) {
  if (e->what != PML_OTF2_NONE)
    push_name(L, s->metrics, e->what, pml_otf2_read_metric(t, e->what)->name);
  else
    lua_pushnil(L);
  lua_setfield(L, table, "metric");
  set_number(L, table, "number", e->what);
  if (e->is_integer)
    lua_pushinteger(L, e->value.integer);
  else
    lua_pushnumber(L, e->value.number);
  lua_setfield(L, table, "value");
}

/* Fill the table of the event's kind and push it. */
static void push_event(lua_State *L, struct stack *s, const struct pml_otf2_read *t, const struct pml_otf2_event *e) {
  int table = s->tables + e->kind;
  if (s->location[e->kind] != e->location) set_location(L, table, t, e->location);
  s->location[e->kind] = e->location;
  lua_pushnumber(L, pml_otf2_read_seconds(t, e->time));
  lua_setfield(L, table, "time_s");
  if (e->kind == PML_OTF2_ENTER || e->kind == PML_OTF2_LEAVE)
    set_region(L, s, table, t, e->what);
  else if (e->kind == PML_OTF2_SEND || e->kind == PML_OTF2_RECEIVE)
    set_message(L, table, e);
  else if (e->kind == PML_OTF2_COLLECTIVE)
    set_collective(L, table, e);
  else if (e->kind == PML_OTF2_TEAM_BEGIN || e->kind == PML_OTF2_TEAM_END)
    set_communicator(L, table, e);
  else if (e->kind == PML_OTF2_REQUEST)
    set_request(L, table, e);
  else if (e->kind == PML_OTF2_NOTIFY)
    set_notification(L, table, e);
  else if (e->kind == PML_OTF2_LOCK)
    set_lock(L, table, e);
  else if (e->kind == PML_OTF2_OTHER)
    set_record(L, table, e);
  else
    set_metric(L, s, table, t, e);
  lua_pushvalue(L, table);
}

static struct stack prepare(lua_State *L) {
#define NAME(id, name) name,
  static const char *const kinds[] = {PML_OTF2_KINDS(NAME)};
#undef NAME
  struct stack s = {.regions = lua_gettop(L) + 1, .metrics = lua_gettop(L) + 2, .tables = lua_gettop(L) + 3};
  luaL_checkstack(L, PML_OTF2_NKINDS + 10, NULL);
  lua_newtable(L);
  lua_newtable(L);
  for (size_t i = 0; i < PML_OTF2_NKINDS; i++) {
    lua_createtable(L, 0, 10);
    lutil_setstr(L, "kind", kinds[i]);
    s.location[i] = PML_OTF2_NONE;
  }
  return s;
}

static int read_order(lua_State *L) {
  static const char *const names[] = {"location", "time", NULL};
  return lua_isnil(L, QUESTION) ? 0 : lutil_choice(L, QUESTION, "order", names, 0);
}

/* t:each(function, question) - how many events the function got, which ends the reading by returning false; damaged
 * locations. */
int ltrace_each(lua_State *L) {
  const struct pml_otf2_event *event;
  struct ltrace_reader *r = ltrace_reader(L, READER);
  luaL_checktype(L, FUNCTION, LUA_TFUNCTION);
  const struct pml_otf2_question q = ltrace_question(L, r->trace, QUESTION, LTRACE_ORDER);
  int by_time = read_order(L), got;
  struct stack s = prepare(L);
  struct each *each = lutil_new(L, &each_class, 0, 0);
  int err = pml_otf2_events_open(&each->events, ltrace_reader(L, READER)->trace, &q, by_time);
  if (err < 0) return pml_pusherr(L, err, "trace.each");
  each->reader = r;
  r->events = each->events;
  each->h.open = 1;
  lua_toclose(L, -1);
  lua_Integer n = 0;
  while ((got = pml_otf2_events_next(each->events, &event)) > 0) {
    lua_pushvalue(L, FUNCTION);
    push_event(L, &s, r->trace, event);
    lua_call(L, 1, 1);
    n++;
    if (r->events != each->events) return luaL_error(L, "the trace was closed while its events were read");
    bool stop = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (stop) break;
  }
  if (got < 0) return pml_pusherr(L, got, "trace.each");
  lua_pushinteger(L, n);
  lua_pushinteger(L, (lua_Integer)pml_otf2_events_damaged(each->events));
  return 2;
}

void ltrace_each_class(lua_State *L) {
  lutil_class(L, &each_class, NULL, NULL);
}
