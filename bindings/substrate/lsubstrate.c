/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/lsubstrate.c - pml.substrate: event consumers: plugins, and Lua functions. */
#include "substrate/substrate_state.h"

#include "substrate/scorep/pml_scorep.h"

/* ---- plugins ---- */

struct plugin {
  struct lutil_handle h;
  struct pml_scorep *plugin;
};

LUTIL_CLASS(substrateplugin, plugin, pml_scorep_close(h->plugin))

static struct pml_scorep *check_plugin(lua_State *L) {
  return ((struct plugin *)lutil_check(L, 1, &substrateplugin_class))->plugin;
}

static int l_load(lua_State *L) {
  static const struct option known[] = {OPTIONS(struct pml_scorep_options, path, directory), OPTION_END};
  struct pml_scorep_options o = {.name = lutil_string(L, 1)};
  lua_settop(L, 2);
  option_read(L, 2, known, &o);
  struct plugin *h = lutil_new(L, &substrateplugin_class, 0, 0);
  int err = pml_scorep_open(&h->plugin, &o);
  return lutil_opened(L, &h->h, err, "substrate.load");
}

static int l_record(lua_State *L) {
  struct pml_scorep *p = check_plugin(L);
  luaL_checktype(L, 2, LUA_TBOOLEAN);
  pml_scorep_record(p, lua_toboolean(L, 2));
  return 0;
}

static int l_plugin_stats(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_scorep_stats, threads, regions, metrics, unmatched, dropped);
  struct pml_scorep_stats s;
  pml_scorep_stats(check_plugin(L), &s);
  return field_push(L, fields, &s);
}

/* lines() -> the messages about plugins, so far. */
static int l_lines(lua_State *L) {
  const char *line;
  lua_newtable(L);
  for (lua_Integer i = 0; (line = pml_scorep_line((size_t)i)) != NULL; i++) {
    lua_pushstring(L, line);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- functions ---- */

struct functions {
  struct lutil_handle h;
  struct substrate_state *state;
  bool busy; /* in flush: closing waits for its end */
};

static void functions_close(void *handle) {
  struct functions *h = handle;
  if (h->busy) return;
  substrate_state_free(h->state);
  h->state = NULL;
}

static const struct lutil_class functions_class = {"luasubstrate", sizeof(struct functions), functions_close};

static struct functions *check_functions(lua_State *L) {
  return lutil_check(L, 1, &functions_class);
}

/* each{ enter = f, leave = f, metric = f, flush = f }: copies of them are called at each event. */
static int l_each(lua_State *L) {
  static const char *const known[] = {"enter", "leave", "metric", "flush", NULL};
  int at[SUBSTRATE_FUNCTIONS] = {0}, events = 0;
  char misuse[256];
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lutil_options(L, 1, known);
  for (int i = 0; i < SUBSTRATE_FUNCTIONS; i++) {
    int type = lutil_field(L, 1, known[i]);
    if (type != LUA_TNIL && type != LUA_TFUNCTION)
      luaL_argerror(L, 1, lua_pushfstring(L, "%s must be a function", known[i]));
    at[i] = type == LUA_TFUNCTION ? lua_gettop(L) : 0;
    if (i < SUBSTRATE_FLUSH) events += type == LUA_TFUNCTION;
  }
  if (events == 0) luaL_argerror(L, 1, "enter, leave or metric is needed");
  struct functions *h = lutil_new(L, &functions_class, 0, 0);
  int err = substrate_state_new(&h->state, L, at, misuse);
  if (err < 0 && misuse[0] != '\0') luaL_argerror(L, 1, misuse);
  if (err == 0) {
    h->h.open = 1;
    err = substrate_state_start(h->state);
  }
  return err < 0 ? pml_pusherr(L, err, "substrate.each") : 1;
}

struct flush {
  struct functions *h;
  char error[512];
  int err;
};

static int flush(lua_State *L) {
  struct flush *f = lua_touserdata(L, 1);
  int n;
  f->err = substrate_state_flush(f->h->state, L, &n, f->error);
  return n;
}

/* flush() -> what the function of that name returns. */
static int l_flush(lua_State *L) {
  struct flush f = {.h = check_functions(L)};
  lua_settop(L, 1);
  if (f.h->busy) luaL_error(L, "substrate: flush is already running");
  lua_pushcfunction(L, flush);
  lua_pushlightuserdata(L, &f);
  f.h->busy = true;
  int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
  f.h->busy = false;
  if (!f.h->h.open) functions_close(f.h); /* a finalizer closed it */
  if (failed != LUA_OK) return lua_error(L);
  if (f.err < 0) { /* which says where, in the script */
    lua_pushfstring(L, "substrate: %s", f.error);
    return lua_error(L);
  }
  return lua_gettop(L) - 1;
}

static int l_functions_stats(lua_State *L) {
  static const struct field fields[] = {FIELD(struct substrate_stats, events), FIELD(struct substrate_stats, late),
                                        FIELD_OF(struct substrate_stats, "error", error, FIELD_WRITTEN), FIELD_END};
  struct substrate_stats s;
  substrate_state_stats(check_functions(L)->state, &s);
  return field_push(L, fields, &s);
}

/* ---- consumers of events ---- */

static int l_list(lua_State *L) {
  static const char *const kind[] = {"enter", "leave", "metric"};
  struct pml_stream_listed list[PML_STREAM_CONSUMERS_MAX];
  size_t n = pml_stream_list(list);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "name", list[i].name);
    for (int k = 0; k < SUBSTRATE_FLUSH; k++) lutil_setbool(L, kind[k], list[i].wants[k]);
    lutil_setbool(L, "plain", list[i].fast);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int luaopen_pmlua_substrate(lua_State *L) {
  static const luaL_Reg plugin[] = {{"record", l_record}, {"stats", l_plugin_stats}, {NULL, NULL}};
  static const luaL_Reg each[] = {{"flush", l_flush}, {"stats", l_functions_stats}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"load", l_load}, {"lines", l_lines}, {"each", l_each}, {"list", l_list}, {NULL, NULL}};
  lutil_class(L, &substrateplugin_class, plugin, NULL);
  lutil_class(L, &functions_class, each, NULL);
  return lutil_module(L, functions);
}
