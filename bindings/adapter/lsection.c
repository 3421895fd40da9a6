/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/adapter/lsection.c - pml.section: sections of scripts, and the report over all sections of the process. */
#include "live/limit.h"
#include "module.h"

#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_snapshot.h"
#include "base/text/pml_text.h"

#include <stdlib.h>
#include <string.h>

/* A section is never freed: closing its handle ends the handle. */
struct handle {
  struct lutil_handle h;
  struct pml_section *section;
};

/* The result of section:enter(): an open call of the section, which ends when it is closed. */
struct scope {
  struct lutil_handle h;
  struct pml_section *section;
};

/* Holds a report while tables are built from it. */
struct report {
  struct lutil_handle h;
  struct pml_section_report report;
};

static const struct lutil_class section_class = {"section", sizeof(struct handle), NULL};
LUTIL_CLASS(sectionscope, scope, (void)pml_section_stop(h->section))
LUTIL_CLASS(sectionreport, report, pml_section_report_free(&h->report))

static struct pml_section *check(lua_State *L) {
  return ((struct handle *)lutil_check(L, 1, &section_class))->section;
}

/* --- defining --- */

static const char *const type_name[] = {"calculation", "communication", NULL};

static enum pml_section_record record_option(lua_State *L, int arg) {
  int type = lutil_field(L, arg, "record"), yes = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (type == LUA_TNIL || type == LUA_TBOOLEAN) return yes ? PML_SECTION_RECORD_ALL : PML_SECTION_NO_RECORD;
  const char *name = lutil_stringfield(L, arg, "record", "all");
  if (strcmp(name, "all") == 0) return PML_SECTION_RECORD_ALL;
  if (strcmp(name, "sketch") == 0) return PML_SECTION_RECORD_SKETCH;
  luaL_argerror(L, arg, "option 'record' must be true, false, 'all' or 'sketch'");
  return PML_SECTION_NO_RECORD;
}

#define DEFINED_BYTES 512 /* size of a section without its names, values and counters of threads */

/* Sections are never freed, nor is the memory charged for them; each is charged once. */
static int define(lua_State *L, const char *label, const struct pml_section_options *o, struct pml_section **s) {
  struct limit *account;
  size_t bytes = 2 * strlen(label) + (o->file != NULL ? strlen(o->file) : 0) + DEFINED_BYTES;
  int err = limit_charge(L, bytes, &account);
  uint32_t before = pml_region_count();
  if (err == 0) err = pml_section_define(label, o, s);
  if (pml_region_count() == before) limit_discharge(account, bytes);
  return err;
}

static int l_define(lua_State *L) {
  static const char *const known[] = {"label", "type", "exclusive", "events", "record", "file", "line", NULL};
  const char *events[PML_SECTION_EVENTS_MAX];
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lutil_options(L, 1, known);
  const char *label = lutil_stringfield(L, 1, "label", NULL);
  if (label == NULL || *label == '\0')
    return luaL_argerror(L, 1, "option 'label' is needed, a string that is not empty");
  struct pml_section_options o = {.type = (enum pml_section_type)lutil_choice(L, 1, "type", type_name, 0),
                                  .exclusive = lutil_flag(L, 1, "exclusive"),
                                  .record = record_option(L, 1),
                                  .events = events,
                                  .file = lutil_stringfield(L, 1, "file", NULL),
                                  .line = (uint32_t)lutil_intfield(L, 1, "line", 0, 0, UINT32_MAX)};
  if (lutil_field(L, 1, "events") != LUA_TNIL)
    o.nevents = lutil_names(L, lua_gettop(L), events, PML_SECTION_EVENTS_MAX);
  struct handle *h = lutil_new(L, &section_class, 0, 0);
  int err = define(L, label, &o, &h->section);
  return lutil_opened(L, &h->h, err, "section.define");
}

/* --- starting and stopping --- */

struct work {
  bool given;
  double work;
  lua_Integer iterations;
};

/* Accept "operations" or "bytes" for both types of section: the report chooses the name. */
static struct work read_work(lua_State *L, int arg) {
  static const char *const known[] = {"operations", "bytes", "iterations", NULL};
  struct work w = {.iterations = 1};
  if (lua_isnoneornil(L, arg)) return w;
  lutil_options(L, arg, known);
  for (int i = 0; i < 2; i++) {
    int type = lutil_field(L, arg, known[i]);
    if (type != LUA_TNIL && type != LUA_TNUMBER)
      luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' must be a number", known[i]));
    if (type == LUA_TNUMBER) w = (struct work){true, w.work + lua_tonumber(L, -1), 1};
    lua_pop(L, 1);
  }
  w.iterations = lutil_intfield(L, arg, "iterations", 1, 0, LUA_MAXINTEGER);
  w.given = true;
  return w;
}

static int stop(struct pml_section *s, const struct work *w) {
  return w->given ? pml_section_stop_work(s, w->work, (uint64_t)w->iterations) : pml_section_stop(s);
}

static int l_section_start(lua_State *L) {
  return pml_pushdone(L, pml_section_start(check(L)), "section.start");
}

static int l_section_stop(lua_State *L) {
  struct work w = read_work(L, 2);
  return pml_pushdone(L, stop(check(L), &w), "section.stop");
}

static int l_enter(lua_State *L) {
  struct scope *scope = lutil_new(L, &sectionscope_class, 0, 0);
  scope->section = check(L);
  return lutil_opened(L, &scope->h, pml_section_start(scope->section), "section.enter");
}

static int l_scope_stop(lua_State *L) {
  struct work w = read_work(L, 2);
  struct scope *scope = lutil_check(L, 1, &sectionscope_class);
  scope->h.open = 0;
  return pml_pushdone(L, stop(scope->section, &w), "section.stop");
}

static int l_start(lua_State *L) {
  return pml_pushdone(L, pml_section_start_label(lutil_string(L, 1)), "section.start");
}

static int l_stop(lua_State *L) {
  const char *label = lutil_string(L, 1);
  struct work w = read_work(L, 2);
  int err =
      w.given ? pml_section_stop_label_work(label, w.work, (uint64_t)w.iterations) : pml_section_stop_label(label);
  return pml_pushdone(L, err, "section.stop");
}

/* --- telling --- */

static int l_info(lua_State *L) {
  static const char *const record_name[] = {NULL, "all", "sketch"};
  static const struct field fields[] = FIELDS(struct pml_section_info, label, region, exclusive);
  struct pml_section_info info;
  pml_section_describe(check(L), &info);
  field_push(L, fields, &info);
  lutil_setstr(L, "type", type_name[info.type]);
  lutil_setstr(L, "record", record_name[info.record]);
  if (info.events != NULL) field_values(L, "events", FIELD_TEXT, info.events->name, info.events->n);
  return 1;
}

static int l_quantile(lua_State *L) {
  struct pml_section *s = check(L);
  double ns;
  int err = pml_section_quantile(s, (unsigned)lutil_int(L, 2, 0, 100), &ns);
  return err < 0 ? pml_pusherr(L, err, "section.quantile") : lutil_pushnum(L, ns);
}

/* misuse = { name = count }, counts above 0 only; nil: no misuse. */
static void setmisuse(lua_State *L, const struct pml_section_row *row) {
  bool any = false;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) {
    if (row->misuse[m] == 0) continue;
    if (!any) lua_createtable(L, 0, 1);
    any = true;
    lutil_setint(L, pml_section_misuse_name((enum pml_section_misuse)m), row->misuse[m]);
  }
  if (any) lua_setfield(L, -2, "misuse");
}

static void setevents(lua_State *L, const struct pml_section_row *row, const struct pml_stream_metrics *events) {
  lua_createtable(L, 0, (int)events->n);
  for (uint32_t i = 0; i < events->n; i++) {
    if (row->value[i].real)
      lutil_setnum(L, events->name[i], row->value[i].d);
    else
      lutil_setint(L, events->name[i], (uint64_t)row->value[i].i);
  }
  lua_setfield(L, -2, "events");
}

static void pushrow(lua_State *L, const struct pml_section_row *row, int by_thread) {
  static const struct field fields[] =
      FIELDS(struct pml_section_row, running, count, total_ns, self_ns, min_ns, max_ns, mean_ns, stddev_ns, iterations);
  struct pml_section_info info;
  pml_section_describe(row->section, &info);
  field_push(L, fields, row);
  const char *interface = pml__section_interface(row->section);
  lutil_setstr(L, "label", info.label);
  lutil_setstr(L, "interface", interface[0] != '\0' ? interface : NULL);
  lutil_setstr(L, "type", type_name[info.type]);
  lutil_setbool(L, "exclusive", info.exclusive);
  if (by_thread) lutil_setint(L, "thread", row->thread);
  lutil_setint(L, "threads", row->nthreads);
  lutil_setnum(L, info.type == PML_SECTION_COMMUNICATION ? "bytes" : "operations", row->work);
  setmisuse(L, row);
  if (row->value != NULL) setevents(L, row, info.events);
}

static int l_report(lua_State *L) {
  static const char *const known[] = {"threads", NULL};
  lutil_options(L, 1, known);
  int by_thread = lutil_flag(L, 1, "threads");
  struct report *r = lutil_new(L, &sectionreport_class, 0, 0);
  int err = pml_section_report(by_thread, &r->report);
  if (err < 0) return pml_pusherr(L, err, "section.report");
  r->h.open = 1;
  lua_createtable(L, r->report.n > 1000 ? 1000 : (int)r->report.n, 0);
  for (size_t i = 0; i < r->report.n; i++) {
    pushrow(L, &r->report.row[i], by_thread);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lutil_close(&r->h);
  return 1;
}

static int l_snapshot(lua_State *L) {
  static const char *const known[] = {"timeline", NULL};
  lutil_options(L, 1, known);
  size_t n;
  char *at;
  bool timeline = lutil_flag(L, 1, "timeline");
  struct lutil_guard *bytes = lutil_guard(L, pml__free);
  int err = pml__section_snapshot(timeline, &at, &n);
  if (err < 0) return pml_pusherr(L, err, "section.snapshot");
  bytes->of = at;
  lua_pushlstring(L, at, n);
  lutil_close(&bytes->h);
  return 1;
}

static int l_write(lua_State *L) {
  return pml_pushdone(L, pml_section_write(lutil_string(L, 1)), "section.write");
}

static int l_timeline(lua_State *L) {
  uint32_t events = (uint32_t)lutil_int(L, 1, 0, PML_SECTION_TIMELINE_EVENTS_MAX);
  return pml_pushdone(L, pml_section_timeline(events), "section.timeline");
}

static int l_reset(lua_State *L) {
  (void)L;
  pml_section_reset();
  return 0;
}

static int l_enable(lua_State *L) {
  luaL_checktype(L, 1, LUA_TBOOLEAN);
  pml_section_enable(lua_toboolean(L, 1));
  return 0;
}

int luaopen_pmlua_section(lua_State *L) {
  static const luaL_Reg section_methods[] = {{"start", l_section_start}, {"stop", l_section_stop}, {"enter", l_enter},
                                             {"info", l_info},           {"quantile", l_quantile}, {NULL, NULL}};
  static const luaL_Reg scope_methods[] = {{"stop", l_scope_stop}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"define", l_define}, {"start", l_start},       {"stop", l_stop},   {"report", l_report},     {"reset", l_reset},
      {"enable", l_enable}, {"snapshot", l_snapshot}, {"write", l_write}, {"timeline", l_timeline}, {NULL, NULL}};
  lutil_class(L, &section_class, section_methods, NULL);
  lutil_class(L, &sectionscope_class, scope_methods, NULL);
  lutil_class(L, &sectionreport_class, NULL, NULL);
  return lutil_module(L, functions);
}
