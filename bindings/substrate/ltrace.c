/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace.c - pml.trace: writing OTF2 archives. */
#include "shared.h"
#include "substrate/ltrace_read.h"

#include <string.h>

#define METRICS_MAX 128
#define LOCATION_BYTES 65536 /* size of an event buffer */

struct trace {
  struct lutil_handle h;
  struct pml_otf2 *archive;
  size_t nmetrics;
  bool in_ns;                         /* times are ns, and there is no "now" */
  uint64_t real[METRICS_MAX / 64];    /* a bit for each metric whose values are doubles */
  uint64_t natural[METRICS_MAX / 64]; /* that are unsigned */
  uint64_t level[METRICS_MAX / 64];   /* that are absolute, and may have no value */
};

/* A location is the archive's; its user value keeps the trace from being collected. */
struct location {
  struct lutil_handle h;
  struct pml_otf2_location *location;
  const struct trace *trace;
};

static int close_trace(struct trace *t) {
  int err = pml_otf2_close(t->archive);
  t->archive = NULL;
  return err;
}

static void trace_close(void *handle) {
  (void)close_trace(handle);
}

static const struct lutil_class trace_class = {"trace", sizeof(struct trace), trace_close};
static const struct lutil_class location_class = {"location", sizeof(struct location), NULL};

static struct trace *checktrace(lua_State *L) {
  return lutil_check(L, 1, &trace_class);
}

static struct location *checklocation(lua_State *L) {
  struct location *l = lutil_check(L, 1, &location_class);
  if (!l->trace->h.open) luaL_error(L, "location: its trace is closed");
  return l;
}

/* --- create --- */

/* "accumulated" and "absolute" are the usual of their kind. */
static enum pml_mode readmode(lua_State *L, int arg, const char *name) {
  const char *mode = lutil_stringfield(L, arg, "mode", "accumulated");
  if (strcmp(mode, "accumulated") == 0) return PML_OTF2_ACCUMULATED;
  if (strcmp(mode, "absolute") == 0) return PML_OTF2_ABSOLUTE;
  for (int m = 0; m < PML_MODES; m++)
    if (strcmp(mode, pml_mode_name((enum pml_mode)m)) == 0) return (enum pml_mode)m;
  luaL_error(L, "the mode of metric '%s' must be 'accumulated', 'absolute', or one of the ten such as 'absolute_last'",
             name);
  return PML_OTF2_ACCUMULATED; /* not reached */
}

static void readmetric(lua_State *L, int arg, struct pml_otf2_metric *m) {
  static const struct option known[] = {OPTION_UNREAD("mode"),
                                        OPTION_UNREAD("type"),
                                        OPTION_UNREAD("base"),
                                        OPTIONS(struct pml_otf2_metric, name, description, unit),
                                        OPTION_RANGE(struct pml_otf2_metric, "exponent", exponent, -300, 300),
                                        OPTION_END};
  luaL_checkstack(L, 10, NULL);
  *m = (struct pml_otf2_metric){.name = "", .description = "", .unit = ""};
  option_read(L, arg, known, m);
  if (m->name[0] == '\0') luaL_error(L, "a metric has no name");
  m->mode = readmode(L, arg, m->name);
  m->binary = lutil_intfield(L, arg, "base", 10, 2, 10) == 2;
  const char *type = lutil_stringfield(L, arg, "type", "integer");
  m->real = strcmp(type, "float") == 0;
  m->is_signed = strcmp(type, "integer") == 0;
  if (!m->real && !m->is_signed && strcmp(type, "unsigned") != 0)
    luaL_error(L, "the type of metric '%s' must be 'integer', 'unsigned' or 'float'", m->name);
}

static size_t readmetrics(lua_State *L, struct pml_otf2_metric *metric) {
  int type = lutil_field(L, 2, "metrics"), list = lua_gettop(L);
  if (type == LUA_TNIL) return 0;
  if (type != LUA_TTABLE) luaL_argerror(L, 2, "metrics must be an array of tables");
  size_t n = lua_rawlen(L, list);
  if (n > METRICS_MAX) luaL_argerror(L, 2, lua_pushfstring(L, "more than %d metrics", METRICS_MAX));
  for (size_t i = 0; i < n; i++) {
    luaL_checkstack(L, 8, NULL);
    if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE) luaL_argerror(L, 2, "a metric is not a table");
    readmetric(L, lua_gettop(L), &metric[i]);
  }
  return n;
}

static int l_create(lua_State *L) {
  struct options {
    const char *process;
    uint64_t began_ns;
  } o = {0};
  static const struct option known[] = {OPTION_UNREAD("metrics"), OPTION(struct options, process),
                                        OPTION_RANGE(struct options, "began_ns", began_ns, 0, LUA_MAXINTEGER),
                                        OPTION_END};
  struct pml_otf2_metric metric[METRICS_MAX];
  const char *dir = lutil_string(L, 1);
  lua_settop(L, 2);
  option_read(L, 2, known, &o);
  size_t n = readmetrics(L, metric);
  struct trace *t = lutil_new(L, &trace_class, 0, 0);
  int err = pml_otf2_open(&t->archive, dir, metric, n);
  if (err < 0) return pml_pusherr(L, err, "trace.create");
  t->in_ns = o.process != NULL;
  t->nmetrics = n;
  for (size_t i = 0; i < n; i++) {
    t->real[i / 64] |= (uint64_t)metric[i].real << i % 64;
    t->natural[i / 64] |= (uint64_t)(!metric[i].real && !metric[i].is_signed) << i % 64;
    t->level[i / 64] |= (uint64_t)pml_mode_is_level(metric[i].mode) << i % 64;
  }
  t->h.open = 1;
  err = o.process != NULL ? pml_otf2_foreign(t->archive, o.process, o.began_ns) : 0;
  return err < 0 ? pml_pusherr(L, err, "trace.create") : 1;
}

/* --- a trace --- */

static int l_location(lua_State *L) {
  const char *name = lutil_string(L, 2), *process = lua_isnoneornil(L, 3) ? NULL : lutil_string(L, 3);
  luaL_argcheck(L, process == NULL || checktrace(L)->in_ns, 3, "the trace is of this process");
  checktrace(L);
  struct location *l = lutil_new(L, &location_class, 0, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  struct trace *t = checktrace(L);
  int err = lutil_charge(L, &t->h, LOCATION_BYTES); /* it stays until the trace is closed */
  if (err == 0)
    err = process != NULL ? pml_otf2_location_in(t->archive, process, name, &l->location)
                          : pml_otf2_location(t->archive, name, &l->location);
  if (err < 0) return pml_pusherr(L, err, "trace.location");
  l->trace = t;
  l->h.open = 1;
  return 1;
}

static int l_stats(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_otf2_stats, written, dropped, lifted, unmatched);
  struct pml_otf2_stats s;
  pml_otf2_stats(checktrace(L)->archive, &s);
  return field_push(L, fields, &s);
}

/* From now on the trace records sections and all other events of the stream, on every thread. */
static int l_attach(lua_State *L) {
  return pml_pushdone(L, pml_otf2_attach(checktrace(L)->archive), "trace.attach");
}

/* How many events had values that the trace has no place for; 0 if it was not attached. */
static int l_detach(lua_State *L) {
  uint64_t unrecorded;
  int err = pml_otf2_detach(checktrace(L)->archive, &unrecorded);
  return err < 0 ? pml_pusherr(L, err, "trace.detach") : lutil_pushint(L, unrecorded);
}

/* Write the series of a plugin, each on a separate location, from some ticks on; return the number of values. */
static int l_plugin(lua_State *L) {
  struct pml_plugin *p = lutil_plugin(L, 2);
  uint64_t since = (uint64_t)lutil_optint(L, 3, 0, 0, LUA_MAXINTEGER);
  size_t written;
  int err = pml_otf2_plugin(checktrace(L)->archive, p, since, &written);
  if (err < 0) return pml_pusherr(L, err, "trace.plugin");
  return lutil_pushint(L, written);
}

/* Unlike other handles' close this can fail, and then returns the failure. */
static int l_close(lua_State *L) {
  struct trace *t = lutil_self(L, 1, &trace_class);
  int err = 0;
  if (t->h.open) {
    t->h.open = 0;
    err = close_trace(t);
  }
  return pml_pushdone(L, err, "trace.close");
}

/* --- a location --- */

static uint64_t readticks(lua_State *L, int arg) {
  if (!lua_isnoneornil(L, arg)) return (uint64_t)lutil_int(L, arg, 0, LUA_MAXINTEGER);
  if (checklocation(L)->trace->in_ns) luaL_argerror(L, arg, "the trace is of another process: give the time in ns");
  return pml_clock_ticks();
}

static pml_region_t readregion(lua_State *L) {
  lua_Integer id = luaL_checkinteger(L, 2);
  if (id < 1 || id > (lua_Integer)pml_region_count()) luaL_argerror(L, 2, "no such region; use region.intern");
  return (pml_region_t)id;
}

static int l_enter(lua_State *L) {
  uint64_t ticks = readticks(L, 3);
  pml_region_t region = readregion(L);
  return pml_pushdone(L, pml_otf2_enter(checklocation(L)->location, ticks, region), "trace.enter");
}

static int l_leave(lua_State *L) {
  uint64_t ticks = readticks(L, 3);
  pml_region_t region = readregion(L);
  return pml_pushdone(L, pml_otf2_leave(checklocation(L)->location, ticks, region), "trace.leave");
}

/* As C has them: Lua's integers end where half of the unsigned ones are. All bits would be no value. */
static uint64_t read_unsigned(lua_State *L, int arg, int *good) {
  uint64_t v = (uint64_t)lua_tointegerx(L, arg, good);
  double d = *good ? 0 : lua_tonumberx(L, arg, good);
  *good = *good && d >= 0 && (d == 0 || d >= 0x1p63);
  return d == 0 ? v : d >= 0x1p64 ? PML_VALUE_ABSENT - 1 : (uint64_t)d;
}

/* Push the value of metric @i; false: no value. */
static uint64_t read_value(lua_State *L, const struct trace *t, size_t i) {
  int good;
  uint64_t value;
  bool real = (t->real[i / 64] >> i % 64 & 1) != 0, natural = (t->natural[i / 64] >> i % 64 & 1) != 0;
  if ((t->level[i / 64] >> i % 64 & 1) != 0 && lua_isboolean(L, -1) && !lua_toboolean(L, -1))
    return pml_value_absent(!real && !natural);
  if (real) {
    double d = lua_tonumberx(L, -1, &good);
    memcpy(&value, &d, sizeof d);
  } else {
    value = natural ? read_unsigned(L, -1, &good) : (uint64_t)lua_tointegerx(L, -1, &good);
  }
  if (!good)
    luaL_argerror(L, 2, lua_pushfstring(L, "value %d is not %s", (int)i + 1, real ? "a number" : "an integer"));
  return value;
}

static int l_metric(lua_State *L) {
  uint64_t value[METRICS_MAX], ticks = readticks(L, 3);
  const struct location *l = checklocation(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t n = l->trace->nmetrics;
  if (n == 0) luaL_error(L, "the trace was opened without metrics");
  if (lua_rawlen(L, 2) != n) luaL_argerror(L, 2, lua_pushfstring(L, "%d value(s) are needed", (int)n));
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    value[i] = read_value(L, l->trace, i);
    lua_pop(L, 1);
  }
  return pml_pushdone(L, pml_otf2_metric(l->location, ticks, value), "trace.metric");
}

int luaopen_pmlua_trace(lua_State *L) {
  static const luaL_Reg trace_methods[] = {
      {"location", l_location}, {"stats", l_stats}, {"attach", l_attach}, {"detach", l_detach},
      {"plugin", l_plugin},     {"close", l_close}, {NULL, NULL}};
  static const luaL_Reg location_methods[] = {
      {"enter", l_enter}, {"leave", l_leave}, {"metric", l_metric}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"create", l_create}, {"open", ltrace_open}, {NULL, NULL}};
  lutil_class(L, &trace_class, trace_methods, NULL);
  lutil_class(L, &location_class, location_methods, NULL);
  ltrace_read_classes(L);
  return lutil_module(L, functions);
}
