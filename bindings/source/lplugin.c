/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lplugin.c - pml.plugin: metric plugins in C or Lua, and their series. */
#include "embed/locate.h"
#include "module.h"
#include "shared.h"
#include "source/plugin_code.h"

#include "read/log/pml_plugin_load_log.h"
#include "source/plugin/pml_plugin_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METRICS_MAX 1024

/* A plugin outlives its handles: closing one does not affect it. */
struct handle {
  struct lutil_handle h;
  struct pml_plugin *plugin;
};

static const struct lutil_class plugin_class = {"plugin", sizeof(struct handle), NULL};

struct pml_plugin *lutil_plugin(lua_State *L, int idx) {
  return ((struct handle *)lutil_check(L, idx, &plugin_class))->plugin;
}

static int opened(struct handle *h, struct pml_plugin *p) {
  h->plugin = p;
  h->h.open = 1;
  return 1;
}

/* --- loading --- */

/* The strings of the field, kept on the stack; an empty list is also valid. */
static const char *const *gettokens(lua_State *L, const char **token, size_t *n) {
  int type = lutil_field(L, 1, "metrics"), list = lua_gettop(L);
  *n = 0;
  if (type == LUA_TNIL) return NULL;
  if (type != LUA_TTABLE) luaL_argerror(L, 1, "option 'metrics' must be an array of strings");
  if (lua_rawlen(L, list) > 0) *n = lutil_names(L, list, token, METRICS_MAX);
  return token;
}

static int l_load(lua_State *L) {
  static const char *const known[] = {"name", "path", "metrics", NULL};
  const char *token[METRICS_MAX];
  lua_settop(L, 1);
  if (lua_isnoneornil(L, 1)) {
    pml_plugin_load_environment();
    lua_pushboolean(L, 1);
    return 1;
  }
  lutil_options(L, 1, known);
  struct pml_plugin_options o = {.name = lutil_stringfield(L, 1, "name", NULL)};
  if (o.name == NULL) luaL_argerror(L, 1, "option 'name' is missing");
  o.path = lutil_stringfield(L, 1, "path", NULL);
  o.metrics = gettokens(L, token, &o.nmetrics);
  struct handle *h = lutil_new(L, &plugin_class, 0, 0);
  struct pml_plugin *p;
  int err = pml_plugin_load(&o, &p);
  return err < 0 ? pml_pusherr(L, err, "plugin.load") : opened(h, p);
}

static int l_find(lua_State *L) {
  const char *name = lutil_string(L, 1);
  struct handle *h = lutil_new(L, &plugin_class, 0, 0);
  pml_plugin_load_environment();
  struct pml_plugin *p = pml_plugin_find(name);
  if (p == NULL) {
    int err = pml_fail(-ENOENT, "no plugin \"%.64s\" is loaded", name);
    return pml_pusherr(L, err, "plugin.find");
  }
  return opened(h, p);
}

/* --- provided by Lua code --- */

static void getmetric(lua_State *L, int arg, struct pml_plugin_metric *m) {
  static const struct option known[] = {OPTIONS(struct pml_plugin_metric, name, description, unit),
                                        OPTION_UNREAD("mode"),
                                        OPTION_UNREAD("type"),
                                        OPTION_UNREAD("base"),
                                        OPTION_RANGE(struct pml_plugin_metric, "exponent", exponent, -300, 300),
                                        OPTION_END};
  static const char *const types[] = {"integer", "float", NULL};
  const char *modes[PML_MODES + 1] = {NULL};
  for (int i = 0; i < PML_MODES; i++) modes[i] = pml_mode_name((enum pml_mode)i);
  luaL_checkstack(L, 10, NULL);
  *m = (struct pml_plugin_metric){.description = "", .unit = ""};
  option_read(L, arg, known, m);
  if (m->name == NULL) luaL_argerror(L, 1, "an event has no name");
  m->mode = (enum pml_mode)lutil_choice(L, arg, "mode", modes, PML_MODE_ABSOLUTE_POINT);
  m->value = lutil_choice(L, arg, "type", types, 1) == 0 ? PML_PLUGIN_INT64 : PML_PLUGIN_DOUBLE;
  m->binary = lutil_intfield(L, arg, "base", 10, 2, 10) == 2;
}

static size_t getmetrics(lua_State *L, struct pml_plugin_metric **metric) {
  if (lutil_field(L, 1, "events") != LUA_TTABLE) luaL_argerror(L, 1, "option 'events' must be an array of tables");
  int list = lua_gettop(L);
  size_t n = lua_rawlen(L, list);
  if (n < 1 || n > METRICS_MAX) luaL_argerror(L, 1, "a list of 1 to 1024 events is needed");
  struct pml_plugin_metric *m = lua_newuserdatauv(L, n * sizeof *m, 0);
  luaL_checkstack(L, (int)n * 6 + LUA_MINSTACK, "too many events");
  for (size_t i = 0; i < n; i++) {
    if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE) luaL_argerror(L, 1, "an event is not a table");
    getmetric(L, lua_gettop(L), &m[i]);
  }
  *metric = m;
  return n;
}

/* pmlua.plugin makes one of what the user says. */
static int l_provide(lua_State *L) {
  static const char *const known[] = {"name", "kind", "text", "scope", "every", "events", NULL};
  const char *scopes[PML_PLUGIN_SCOPES + 1] = {NULL};
  struct pml_plugin_metric *metric;
  struct pml_plugin *p;
  lua_settop(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  lutil_options(L, 1, known);
  struct plugin_code_options o = {.name = lutil_stringfield(L, 1, "name", NULL)};
  if (o.name == NULL) luaL_argerror(L, 1, "option 'name' is missing");
  o.kind = lutil_stringfield(L, 1, "kind", "");
  if (lutil_field(L, 1, "text") != LUA_TSTRING) luaL_argerror(L, 1, "option 'text' must be a string");
  o.text = lua_tolstring(L, -1, &o.length);
  int type = lutil_field(L, 1, "every");
  o.every_s = type == LUA_TNIL ? 0 : type == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  if (!(o.every_s >= 0 && o.every_s < 1e6)) luaL_argerror(L, 1, "option 'every' must be seconds");
  for (int i = 0; i < PML_PLUGIN_SCOPES; i++) scopes[i] = pml_plugin_scope_name((enum pml_plugin_scope)i);
  o.scope = (enum pml_plugin_scope)lutil_choice(L, 1, "scope", scopes, PML_PLUGIN_PROCESS);
  if (o.scope == PML_PLUGIN_THREAD) luaL_argerror(L, 1, "a plugin in Lua cannot be per thread");
  o.nmetrics = getmetrics(L, &metric);
  o.metric = metric;
  struct handle *h = lutil_new(L, &plugin_class, 0, 0);
  int err = plugin_code_provide(&o, &p);
  return err < 0 ? pml_pusherr(L, err, "plugin.define") : opened(h, p);
}

/* --- a plugin --- */

static int l_start(lua_State *L) {
  return pml_pushdone(L, pml_plugin_start(lutil_plugin(L, 1)), "plugin.start");
}

static int l_collect(lua_State *L) {
  return pml_pushdone(L, pml_plugin_collect(lutil_plugin(L, 1)), "plugin.collect");
}

static int l_stop(lua_State *L) {
  return pml_pushdone(L, pml_plugin_end(lutil_plugin(L, 1)), "plugin.stop");
}

static void push_metric(lua_State *L, const char *plugin, const struct pml_plugin_metric *m) {
  static const struct field fields[] = FIELDS(struct pml_plugin_metric, name, description, unit, exponent);
  field_push(L, fields, m);
  lua_pushfstring(L, "plugin::%s::%s", plugin, m->name);
  lua_setfield(L, -2, "event");
  lutil_setstr(L, "mode", pml_mode_name(m->mode));
  lutil_setstr(L, "type",
               m->value == PML_PLUGIN_DOUBLE   ? "float"
               : m->value == PML_PLUGIN_UINT64 ? "unsigned"
                                               : "integer");
  lutil_setint(L, "base", m->binary ? 2 : 10);
  lutil_setnum(L, "scale", pml_plugin_scale(m));
}

static void push_metric_at(lua_State *L, const void *info, size_t i) {
  const struct pml_plugin_info *of = info;
  push_metric(L, of->name, &of->metric[i]);
}

static void pushinfo(lua_State *L, struct pml_plugin *p) {
  static const struct field fields[] = {EACH(FIELD, struct pml_plugin_info, name, path, here),
                                        FIELD_OF(struct pml_plugin_info, "trouble", trouble, FIELD_FILLED), FIELD_END};
  struct pml_plugin_info info;
  pml_plugin_describe(p, &info);
  field_push(L, fields, &info);
  lutil_setstr(L, "sync", pml_plugin_sync_name(info.sync));
  lutil_setstr(L, "scope", pml_plugin_scope_name(info.scope));
  lutil_setstr(L, "state", pml_plugin_state_name(info.state));
  field_each(L, "metrics", info.nmetrics, push_metric_at, &info);
}

static int l_info(lua_State *L) {
  pushinfo(L, lutil_plugin(L, 1));
  return 1;
}

/* Plugins are never freed, and new ones come behind: a walk that counts finds the i-th again. */
struct nth {
  size_t left;
  struct pml_plugin *plugin;
};

static int visit_nth(struct pml_plugin *p, void *arg) {
  struct nth *nth = arg;
  nth->plugin = p;
  return nth->left-- == 0;
}

static int l_list(lua_State *L) {
  pml_plugin_load_environment();
  lua_newtable(L);
  for (size_t i = 0;; i++) {
    struct nth nth = {.left = i};
    if (pml_plugin_list(visit_nth, &nth) == 0) return 1;
    pushinfo(L, nth.plugin);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* --- series: copied while the plugin is locked, made into tables afterwards --- */

struct copy {
  struct pml_plugin_series of;
  struct pml_plugin_metric metric; /* for a series from a log, with the plugin's name */
  char *plugin;
  struct pml_plugin_pair *pair;
  struct copy *next;
};

struct copies {
  struct lutil_handle h;
  struct pml_plugin_log_clock clock; /* for series from a log; tick_ns 0: this process's clock */
  struct copy *first, **end;
};

static void copies_close(void *handle) {
  struct copies *all = handle;
  for (struct copy *c = all->first, *next; c != NULL; c = next) {
    next = c->next;
    free(c->plugin);
    free(c->pair);
    free(c);
  }
  all->first = NULL;
}

static const struct lutil_class copies_class = {"pluginseries", sizeof(struct copies), copies_close};

static int keep(const struct pml_plugin_series *s, void *arg) {
  struct copies *all = arg;
  struct copy *c = calloc(1, sizeof *c);
  if (c != NULL) c->pair = malloc(s->n * sizeof *c->pair + 1);
  if (c == NULL || c->pair == NULL) {
    free(c);
    return pml_fail(-ENOMEM, "no memory for a series of %zu values", s->n);
  }
  if (s->n > 0) memcpy(c->pair, s->pair, s->n * sizeof *c->pair);
  c->of = *s;
  *all->end = c;
  all->end = &c->next;
  return 0;
}

/* The strings of a series that is read from a log are gone afterwards: one block has them, the plugin's name first. */
static int keep_loaded(const char *plugin, const struct pml_plugin_series *s, const struct pml_plugin_log_clock *clock,
                       void *arg) {
  struct copies *all = arg;
  all->clock = *clock;
  struct copy **at = all->end;
  int err = keep(s, all);
  if (err < 0) return err;
  struct copy *c = *at;
  const char *text[] = {plugin, s->metric->name, s->metric->unit, s->metric->description};
  size_t bytes = 0;
  for (size_t i = 0; i < 4; i++) bytes += strlen(text[i]) + 1;
  char *to = c->plugin = malloc(bytes);
  c->metric = *s->metric;
  c->of.metric = &c->metric;
  if (to == NULL) return pml_fail(-ENOMEM, "no memory for the names of a series");
  to = stpcpy(to, plugin) + 1;
  c->metric.name = to;
  to = stpcpy(to, s->metric->name) + 1;
  c->metric.unit = to;
  to = stpcpy(to, s->metric->unit) + 1;
  c->metric.description = to;
  (void)stpcpy(to, s->metric->description);
  return 0;
}

/* An unsigned value above Lua's largest integer becomes a float. */
static void pushvalue(lua_State *L, enum pml_plugin_value type, uint64_t value) {
  if (type == PML_PLUGIN_UINT64 && value > INT64_MAX)
    lua_pushnumber(L, (double)value);
  else
    lutil_pushbits(L, value, type == PML_PLUGIN_DOUBLE);
}

/* Time on this process's clock; for a log the wall clock's, because the clock of its process is unknown here. */
static lua_Integer moment(const struct pml_plugin_log_clock *clock, uint64_t ticks) {
  if (clock->tick_ns == 0) return (lua_Integer)pml_clock_at_ns(ticks);
  return (lua_Integer)clock->realtime_ns + llround((double)(int64_t)(ticks - clock->ticks) * clock->tick_ns);
}

static void pushcopy(lua_State *L, const char *plugin, const struct copy *c, const struct pml_plugin_log_clock *clock) {
  int n = c->of.n < 1 << 28 ? (int)c->of.n : 0;
  push_metric(L, plugin, c->of.metric);
  if (c->of.thread != 0) lutil_setint(L, "thread", (uint64_t)c->of.tid);
  lutil_setint(L, "outside", c->of.outside);
  lutil_setint(L, "backwards", c->of.backwards);
  lua_createtable(L, n, 0);
  lua_createtable(L, n, 0);
  for (size_t i = 0; i < c->of.n; i++) {
    lua_pushinteger(L, moment(clock, c->pair[i].ticks));
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    pushvalue(L, c->of.metric->value, c->pair[i].value);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -3, "value");
  lua_setfield(L, -2, "ns");
}

static struct copies *new_copies(lua_State *L) {
  struct copies *all = lutil_new(L, &copies_class, 0, 0);
  all->end = &all->first;
  all->h.open = 1;
  return all;
}

/* An array of all copies; @plugin: their plugin's name, NULL: each copy has it. */
static int pushcopies(lua_State *L, struct copies *all, const char *plugin) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (const struct copy *c = all->first; c != NULL; c = c->next) {
    pushcopy(L, plugin != NULL ? plugin : c->plugin, c, &all->clock);
    lua_rawseti(L, -2, ++n);
  }
  lutil_close(&all->h);
  return 1;
}

static int l_series(lua_State *L) {
  struct pml_plugin *p = lutil_plugin(L, 1);
  struct pml_plugin_info info;
  lua_settop(L, 1);
  pml_plugin_describe(p, &info);
  struct copies *all = new_copies(L);
  int err = pml_plugin_series(p, keep, all);
  return err < 0 ? pml_pusherr(L, err, "plugin.series") : pushcopies(L, all, info.name);
}

/* read(path): the series that a recorded process left in its log; their moments are nanoseconds of CLOCK_REALTIME. */
static int l_read(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct copies *all = new_copies(L);
  int err = pml_plugin_load_series(path, keep_loaded, all);
  return err < 0 ? pml_pusherr(L, err, "plugin.read") : pushcopies(L, all, NULL);
}

/* --- trouble --- */

static void say(const char *line) {
  char text[600];
  int n = snprintf(text, sizeof text, "pmlua: %s\n", line);
  if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0) return; /* nowhere else to report */
}

/* Plugins end with the process. The module that loaded this code may be gone by then, so the code must stay loaded. */
static void stay_loaded(void) {
  char path[PATH_MAX];
  locate_code(path);
  (void)dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

int luaopen_pmlua_plugin(lua_State *L) {
  static const luaL_Reg methods[] = {{"start", l_start},   {"collect", l_collect}, {"stop", l_stop},
                                     {"series", l_series}, {"info", l_info},       {NULL, NULL}};
  static const luaL_Reg functions[] = {{"load", l_load},       {"find", l_find}, {"list", l_list},
                                       {"provide", l_provide}, {"read", l_read}, {NULL, NULL}};
  stay_loaded();
  pml_plugin_on_trouble(say);
  lutil_class(L, &plugin_class, methods, NULL);
  lutil_class(L, &copies_class, NULL, NULL);
  return lutil_module(L, functions);
}
