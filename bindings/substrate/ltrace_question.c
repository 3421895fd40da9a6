/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_question.c - options of trace queries: by and where. */
#include "substrate/ltrace_read.h"

#include <math.h>
#include <string.h>

/* ---- the window ---- */

static double second_of(lua_State *L, int window, int i, double whole) {
  double s = lua_rawgeti(L, window, i) == LUA_TNIL ? whole : lua_isnumber(L, -1) ? lua_tonumber(L, -1) : (double)NAN;
  lua_pop(L, 1);
  if (s != s) luaL_error(L, "where.window: a time is not a number");
  return s;
}

static void read_window(lua_State *L, int where, struct pml_otf2_question *q) {
  int type = lutil_field(L, where, "window");
  if (type == LUA_TNIL) return;
  if (type != LUA_TTABLE) luaL_error(L, "where.window: give { FROM, TO } in seconds");
  q->from_s = second_of(L, lua_gettop(L), 1, 0);
  q->to_s = second_of(L, lua_gettop(L), 2, INFINITY);
  if (q->from_s > q->to_s) luaL_error(L, "where.window: it ends before it begins");
}

/* ---- lists ---- */

/* The place of the text on top in @names. */
static unsigned place_of(lua_State *L, const char *key, const char *const *names) {
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
  unsigned i = 0;
  while (names[i] != NULL && strcmp(names[i], name) != 0) i++;
  if (names[i] != NULL) return i;
  luaL_Buffer list;
  luaL_buffinit(L, &list);
  for (i = 0; names[i] != NULL; i++) {
    if (i > 0) luaL_addstring(&list, ", ");
    luaL_addstring(&list, names[i]);
  }
  luaL_pushresult(&list);
  return (unsigned)luaL_error(L, "%s: unknown name '%s'; choose from %s", key, name, lua_tostring(L, -1));
}

/* The bits of the names in the list at @list. */
static unsigned read_names(lua_State *L, int list, const char *key, const char *const *names) {
  unsigned bits = 0;
  if (!lua_istable(L, list)) luaL_error(L, "%s: give a list of names", key);
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    bits |= 1u << place_of(L, key, names);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return bits;
}

/* The number of location @i that a field of where selects by. */
typedef lua_Integer number_of(const struct pml_otf2_read *t, size_t i);

static lua_Integer location_number(const struct pml_otf2_read *t, size_t i) {
  (void)t;
  return (lua_Integer)i + 1;
}

static lua_Integer process_number(const struct pml_otf2_read *t, size_t i) {
  return (lua_Integer)pml_otf2_read_location(t, i)->process + 1;
}

static lua_Integer rank_number(const struct pml_otf2_read *t, size_t i) {
  return pml_otf2_read_process(t, pml_otf2_read_location(t, i)->process)->rank;
}

/* The number or list on top becomes a table whose keys are the numbers. */
static void push_numbers(lua_State *L, const char *key) {
  int list = lua_gettop(L), is = 1;
  lua_newtable(L);
  for (lua_Integer i = 1; is; i++) {
    if (lua_istable(L, list) && lua_rawgeti(L, list, i) == LUA_TNIL) break;
    if (!lua_istable(L, list)) lua_pushvalue(L, list);
    lua_Integer n = lua_tointegerx(L, -1, &is);
    if (!is || n < 0) luaL_error(L, "where.%s: give a number, or a list of numbers", key);
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
    lua_rawseti(L, list + 1, n);
    if (!lua_istable(L, list)) break;
  }
  lua_settop(L, list + 1);
}

static void select_by(lua_State *L, const struct pml_otf2_read *t, int where, const char *key, number_of *number,
                      bool *locations) {
  if (lutil_field(L, where, key) == LUA_TNIL) return;
  push_numbers(L, key);
  for (size_t i = 0; pml_otf2_read_location(t, i) != NULL; i++) {
    locations[i] &= lua_rawgeti(L, -1, number(t, i)) != LUA_TNIL;
    lua_pop(L, 1);
  }
}

static void read_locations(lua_State *L, const struct pml_otf2_read *t, int where, struct pml_otf2_question *q) {
  struct pml_otf2_read_about about;
  bool *locations;
  pml_otf2_read_about(t, &about);
  locations = lua_newuserdatauv(L, about.nlocations + 1, 0);
  memset(locations, true, about.nlocations + 1);
  q->locations = locations;
  select_by(L, t, where, "location", location_number, locations);
  select_by(L, t, where, "process", process_number, locations);
  select_by(L, t, where, "rank", rank_number, locations);
}

/* ---- questions ---- */

static void read_where(lua_State *L, const struct pml_otf2_read *t, int where, unsigned more,
                       struct pml_otf2_question *q) {
#define NAME(id, name) name,
  static const char *const kinds[] = {PML_OTF2_KINDS(NAME) NULL};
#undef NAME
  static const char *const known[] = {"window", "region", "kind", "process", "rank", "location", NULL},
                           *const with_kinds[] = {"window", "region",   "kind",  "process",
                                                  "rank",   "location", "kinds", NULL};
  lutil_options(L, where, more & LTRACE_ORDER ? with_kinds : known);
  q->region = lutil_stringfield(L, where, "region", NULL);
  q->kind = lutil_stringfield(L, where, "kind", NULL);
  read_window(L, where, q);
  read_locations(L, t, where, q);
  if (lutil_field(L, where, "kinds") == LUA_TNIL) return;
  q->kinds = read_names(L, lua_gettop(L), "where.kinds", kinds);
  if (q->kinds == 0) luaL_error(L, "where.kinds: the list is empty");
}

static void read_by(lua_State *L, int arg, unsigned more, struct pml_otf2_question *q) {
  static const struct {
    const char *name;
    unsigned by;
  } known[] = {{"region", PML_OTF2_BY_REGION},
               {"process", PML_OTF2_BY_PROCESS},
               {"rank", PML_OTF2_BY_PROCESS},
               {"location", PML_OTF2_BY_LOCATION},
               {"column", PML_OTF2_BY_COLUMN}};
  static const char *const all[] = {"region", "process", "rank", "location", "column", NULL};
  static const char *const of_paths[] = {"process", "rank", "location", NULL};
  bool paths = more & LTRACE_PATHS;
  if (paths) q->by = PML_OTF2_BY_PATH;
  if (lutil_field(L, arg, "by") == LUA_TNIL) return;
  unsigned names = read_names(L, lua_gettop(L), "by", paths ? of_paths : all);
  if (!paths) q->by = 0;
  for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
    if (names & 1u << (paths ? i - 1 : i) && (!paths || (i >= 1 && i <= 3))) q->by |= known[i].by;
}

static void read_columns(lua_State *L, int arg, struct pml_otf2_question *q, bool always) {
  q->columns = (size_t)lutil_intfield(L, arg, "columns", 0, 0, (lua_Integer)PML_OTF2_COLUMNS_MAX);
  if (q->columns == 0 && always) q->columns = LTRACE_COLUMNS;
  if (q->columns == 0 && (q->by & PML_OTF2_BY_COLUMN))
    luaL_error(L, "by: columns are asked for; say how many in columns");
  if (q->columns > 0 && !always) q->by |= PML_OTF2_BY_COLUMN;
}

#define THREADS_MAX 256
#define NAME(id, name) name,

unsigned ltrace_fields(lua_State *L, int arg) {
  static const char *const names[] = {LTRACE_FIELDS(NAME) NULL};
  if (lua_isnil(L, arg) || lutil_field(L, arg, "sum") == LUA_TNIL)
    return 1u << LTRACE_COUNT | 1u << LTRACE_INCLUSIVE | 1u << LTRACE_EXCLUSIVE | 1u << LTRACE_SHORTEST |
           1u << LTRACE_LONGEST;
  return read_names(L, lua_gettop(L), "sum", names);
}
#undef NAME

size_t ltrace_quantiles(lua_State *L, int arg, double q[LTRACE_QUANTILES_MAX]) {
  if (lua_isnil(L, arg) || lutil_field(L, arg, "quantiles") == LUA_TNIL) return 0;
  int list = lua_gettop(L);
  if (!lua_istable(L, list)) luaL_error(L, "quantiles: give a list of numbers from 0 to 1");
  size_t n = lua_rawlen(L, list);
  if (n > LTRACE_QUANTILES_MAX) luaL_error(L, "quantiles: at most %d", LTRACE_QUANTILES_MAX);
  for (size_t i = 0; i < n; i++) {
    int is = 0;
    (void)lua_rawgeti(L, list, (lua_Integer)i + 1);
    q[i] = lua_tonumberx(L, -1, &is);
    if (!is || !(q[i] >= 0 && q[i] <= 1)) luaL_error(L, "quantiles: give a list of numbers from 0 to 1");
    lua_pop(L, 1);
  }
  return n;
}

struct pml_otf2_question ltrace_question(lua_State *L, const struct pml_otf2_read *t, int arg, unsigned more) {
  static const char *const
      plain[] = {"where", "threads", "top", NULL},
      *const sums[] = {"where", "threads", "by", "columns", "sum", "quantiles", NULL},
      *const paths[] = {"where", "threads", "by", "sum", "quantiles", NULL}, *const order[] = {"where", "order", NULL},
      *const series[] = {"where", "threads", "columns", "metric", NULL}, *const columns[] = {"where", "columns", NULL};
  struct pml_otf2_question q = {.by = PML_OTF2_BY_REGION, .to_s = INFINITY, .process = -1};
  if (more & LTRACE_PATHS) q.by = PML_OTF2_BY_PATH;
  if (more & (LTRACE_SERIES | LTRACE_LEVELS)) q.columns = LTRACE_COLUMNS;
  lua_settop(L, arg);
  if (lua_isnil(L, arg)) return q;
  lutil_options(L, arg,
                more & LTRACE_BY       ? sums
                : more & LTRACE_PATHS  ? paths
                : more & LTRACE_ORDER  ? order
                : more & LTRACE_SERIES ? series
                : more & LTRACE_LEVELS ? columns
                                       : plain);
  if (more & (LTRACE_BY | LTRACE_PATHS)) read_by(L, arg, more, &q);
  if (more & (LTRACE_BY | LTRACE_SERIES | LTRACE_LEVELS)) read_columns(L, arg, &q, !(more & LTRACE_BY));
  if (!(more & (LTRACE_ORDER | LTRACE_LEVELS)))
    q.threads = (unsigned)lutil_intfield(L, arg, "threads", 0, 0, THREADS_MAX);
  if (lutil_field(L, arg, "where") != LUA_TNIL) read_where(L, t, lua_gettop(L), more, &q);
  return q;
}
