/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_over_time.c - t:series and t:concurrency: values by time column, as lists. */
#include "substrate/ltrace_read.h"

/* from_s and step_s of the columns, in the table on top. */
static void set_columns(lua_State *L, const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  lutil_setnum(L, "from_s", q->from_s);
  lutil_setnum(L, "step_s", (pml_otf2_read_end(t, q) - q->from_s) / (double)q->columns);
}

/* ---- series ---- */

static void set_value(lua_State *L, int list, lua_Integer i, bool is, double v) {
  if (is)
    lua_pushnumber(L, v);
  else
    lua_pushboolean(L, 0);
  lua_rawseti(L, list, i);
}

static void push_samples(lua_State *L, const struct pml_otf2_sample *sample, size_t n) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 6, NULL);
  for (int i = 0; i < 4; i++) lua_createtable(L, (int)n, 0);
  for (size_t k = 0; k < n; k++) {
    lua_Integer i = (lua_Integer)k + 1;
    set_value(L, top + 1, i, sample[k].last == sample[k].last, sample[k].last);
    set_value(L, top + 2, i, sample[k].n > 0 && sample[k].least == sample[k].least, sample[k].least);
    set_value(L, top + 3, i, sample[k].n > 0 && sample[k].most == sample[k].most, sample[k].most);
    lua_pushinteger(L, (lua_Integer)sample[k].n);
    lua_rawseti(L, top + 4, i);
  }
  lua_setfield(L, top, "counts");
  lua_setfield(L, top, "most");
  lua_setfield(L, top, "least");
  lua_setfield(L, top, "values");
}

static void push_series(lua_State *L, const struct pml_otf2_read *t, const struct pml_otf2_series *s, size_t columns) {
  const struct pml_otf2_read_metric *m = pml_otf2_read_metric(t, s->metric);
  size_t process = pml_otf2_read_location(t, s->location)->process;
  lua_createtable(L, 0, 11);
  lutil_setstr(L, "metric", m->name);
  lutil_setstr(L, "unit", m->unit);
  lutil_setbool(L, "accumulated", m->accumulated);
  lutil_setint(L, "number", s->metric + 1);
  lutil_setint(L, "location", s->location + 1);
  lutil_setint(L, "process", process + 1);
  if (pml_otf2_read_process(t, process)->rank >= 0)
    lutil_setint(L, "rank", (uint64_t)pml_otf2_read_process(t, process)->rank);
  push_samples(L, s->sample, columns);
}

/* t:series(question) - metrics on locations, and what their columns are. */
int ltrace_series(lua_State *L) {
  struct pml_otf2_read *t = ltrace_reader(L, 1)->trace;
  const struct pml_otf2_question q = ltrace_question(L, t, 2, LTRACE_SERIES);
  const char *pattern = lua_isnil(L, 2) ? NULL : lutil_stringfield(L, 2, "metric", NULL);
  struct ltrace_results *o = ltrace_results(L);
  int err = pml_otf2_read_series(t, &q, pattern, &o->series);
  if (err < 0) return pml_pusherr(L, err, "trace.series");
  lua_createtable(L, (int)(o->series.n < INT32_MAX ? o->series.n : 0), 0);
  for (size_t i = 0; i < o->series.n; i++) {
    push_series(L, t, &o->series.series[i], q.columns);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_createtable(L, 0, 4);
  set_columns(L, t, &q);
  lutil_setint(L, "undefined", o->series.undefined);
  lutil_setint(L, "nans", o->series.nans);
  lutil_close(&o->h);
  return 2;
}

/* ---- concurrency ---- */

/* t:concurrency(question) - columns, and how long how many locations were in such calls. */
int ltrace_concurrency(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_otf2_level, mean, least, most);
  struct pml_otf2_read *t = ltrace_reader(L, 1)->trace;
  const struct pml_otf2_question q = ltrace_question(L, t, 2, LTRACE_LEVELS);
  struct ltrace_results *o = ltrace_results(L);
  int err = pml_otf2_read_levels(t, &q, &o->levels);
  if (err < 0) return pml_pusherr(L, err, "trace.concurrency");
  field_list(L, fields, o->levels.column, q.columns, sizeof *o->levels.column);
  lua_createtable(L, 0, 3);
  set_columns(L, t, &q);
  lua_newtable(L);
  for (size_t i = 0; i <= o->levels.locations; i++) {
    if (!(o->levels.spent_s[i] > 0)) continue;
    lua_pushnumber(L, o->levels.spent_s[i]);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
  lua_setfield(L, -2, "spent_s");
  lutil_close(&o->h);
  return 2;
}
