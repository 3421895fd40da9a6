/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lsummary.c - pmlua.core.summary: measurements of many processes, summed by name. */
#include "record/lsection_cache.h"
#include "record/lsection_process.h"

#include "read/job/pml_mpi_reduction.h"
#include "read/recording/pml_recording_read.h"
#include "read/section/pml_section_totals.h"
#include "read/summary/pml_summary.h"
#include "substrate/profile/pml_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct handle {
  struct lutil_handle h;
  struct pml_summary *summary;
};

LUTIL_CLASS(summary, handle, pml_summary_close(h->summary))

static struct pml_summary *check(lua_State *L, int arg) {
  return ((struct handle *)lutil_check(L, arg, &summary_class))->summary;
}

static int l_open(lua_State *L) {
  struct handle *h = lutil_new(L, &summary_class, 0, 0);
  return lutil_opened(L, &h->h, pml_summary_open(&h->summary), "summary.open");
}

/* ---- logs ---- */

/* A log without recorded calls (ENODATA) adds nothing. */
static int add_calls(const char *path, struct pml_summary *s, int64_t number) {
  struct pml_recording_reader *r = NULL;
  struct pml_profile *p = NULL;
  int err = pml_recording_read_open(&r, path);
  if (err == -ENODATA) return 0;
  if (err == 0) err = pml_recording_read_profile(r, &p);
  if (err == 0) err = pml_profile_summary(p, s, number);
  if (err == 0) err = pml__mpi_time_summary(s, number);
  pml_profile_close(p);
  pml_recording_read_close(r);
  return err;
}

/* s:process(path, number) - add all that a log has, or nothing on failure. */
static int l_process(lua_State *L) {
  struct pml_summary *s = check(L, 1);
  const char *path = lutil_string(L, 2);
  int64_t number = lutil_int(L, 3, 0, INT64_MAX / 2);
  struct pml_summary *one;
  int err = pml_summary_open(&one);
  if (err == 0) err = pml__section_log_summary(path, one, number);
  if (err == 0) err = add_calls(path, one, number);
  if (err == 0) err = pml_summary_merge(s, one);
  pml_summary_close(one);
  return pml_pushdone(L, err, "summary.process");
}

/* ---- what there is ---- */

static void set_spread(lua_State *L, const char *name, const struct pml_summary_spread *s) {
  static const struct field fields[] = {EACH(FIELD, struct pml_summary_spread, sum, least, most),
                                        FIELD_AS(struct pml_summary_spread, "mean", of.mean),
                                        FIELD_AS(struct pml_summary_spread, "min", of.min),
                                        FIELD_AS(struct pml_summary_spread, "max", of.max), FIELD_END};
  field_push(L, fields, s);
  lutil_setint(L, "n", s->of.count < 0x1p63 ? (uint64_t)s->of.count : INT64_MAX); /* more is of damaged files */
  lutil_setnum(L, "deviation", pml_sums_deviation(&s->of));
  lua_setfield(L, -2, name);
}

static void push_value(lua_State *L, const void *row, size_t i) {
  const struct pml_summary_value *v = &((const struct pml_summary_row *)row)->value[i];
  lua_createtable(L, 0, 3);
  lutil_setstr(L, "name", v->name);
  if (v->real)
    lutil_setnum(L, "sum", v->of.sum);
  else
    lutil_setint(L, "sum", (uint64_t)v->whole);
  set_spread(L, "spread", &v->of);
}

/* Quantiles of calls, or of elements: 0, 25, 50, 75, 95, 99 and 100 %. */
static void set_sketch(lua_State *L, const struct pml_sketch *sketch) {
  double quantile[PML__QUANTILES];
  if (sketch == NULL || pml_sketch_count(sketch) == 0) return;
  for (unsigned i = 0; i < PML__QUANTILES; i++) quantile[i] = pml_sketch_value(sketch, pml__quantile_share(i));
  field_values(L, "quantiles", FIELD_DOUBLE, quantile, PML__QUANTILES);
  lutil_setint(L, "quantiles_of", pml_sketch_count(sketch));
}

static void push_row(lua_State *L, const struct pml_summary_row *row) {
  static const struct field fields[] = {FIELD_AS(struct pml_summary_row, "label", name),
                                        EACH(FIELD, struct pml_summary_row, detail, processes, threads, first),
                                        FIELD_END};
  field_push(L, fields, row);
  lutil_setbool(L, "communication", row->flags & PML_SUMMARY_COMMUNICATION);
  lutil_setbool(L, "inclusive", row->flags & PML_SUMMARY_INCLUSIVE);
  set_spread(L, "calls", &row->calls);
  set_spread(L, "time", &row->time);
  set_spread(L, "self", &row->self);
  set_sketch(L, row->sketch);
  field_each(L, "values", row->nvalues, push_value, row);
}

static int push_rows(lua_State *L, enum pml_summary_kind kind) {
  const struct pml_summary_row *row;
  (void)check(L, 1);
  lua_newtable(L);
  for (size_t i = 0, n = 0; (row = pml_summary_row(check(L, 1), i)) != NULL; i++) {
    if (row->kind != kind) continue;
    push_row(L, row);
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  return 1;
}

/* s:sections() - a table for each, in the order of their first appearance. s:rows(kind) - the same of another kind. */
static int l_sections(lua_State *L) {
  return push_rows(L, PML_SUMMARY_SECTION);
}

/* s:section(i) - the i-th row if it is a section's, false if it is another's, nil behind the last. */
static int l_section(lua_State *L) {
  const struct pml_summary_row *row = pml_summary_row(check(L, 1), (size_t)lutil_int(L, 2, 1, INT64_MAX) - 1);
  if (row == NULL)
    lua_pushnil(L);
  else if (row->kind != PML_SUMMARY_SECTION)
    lua_pushboolean(L, 0);
  else
    push_row(L, row);
  return 1;
}

static int l_rows(lua_State *L) {
  static const char *const kinds[] = {"host", "program", "note", "section", "call", "counter", "recorder", "mpi", NULL};
  _Static_assert(sizeof kinds / sizeof kinds[0] == PML_SUMMARY_KINDS + 1, "each kind has its name");
  return push_rows(L, (enum pml_summary_kind)luaL_checkoption(L, 2, NULL, kinds));
}

/* s:numbers() - the numbers of its processes, as pairs of first and last of each gapless range. */
static int l_numbers(lua_State *L) {
  int64_t first, last;
  (void)check(L, 1);
  lua_newtable(L);
  for (size_t i = 0; pml_summary_range(check(L, 1), i, &first, &last); i++) {
    lua_createtable(L, 2, 0);
    lua_pushinteger(L, first);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, last);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- one section of a log ---- */

struct reading {
  struct lutil_handle h;
  bool cached; /* the reader is a cache's */
  struct pml__section_reader reader;
  struct pml__section_items rows;
  struct pml__sde_log left;
  struct pml__log_timeline *timeline; /* one thread's */
  struct pml_summary *sum;
};

static void reading_close(void *handle) {
  struct reading *r = handle;
  if (!r->cached) pml__section_reader_close(&r->reader);
  pml__section_drop(&r->rows);
  pml__sde_log_drop(&r->left);
  free(r->timeline);
  pml_summary_close(r->sum);
}

static const struct lutil_class reading_class = {"summaryreading", sizeof(struct reading), reading_close};

static void set_values(lua_State *L, const struct pml__section_stored *kept) {
  const struct pml__section_definition *section = kept->entry.section;
  struct pml_section_value value[PML_SECTION_EVENTS_MAX];
  pml__section_values(kept->values, section->nevents, section->real, value);
  lua_createtable(L, 0, (int)section->nevents);
  for (uint32_t i = 0; i < section->nevents; i++) {
    if (value[i].real)
      lutil_setnum(L, section->event[i], value[i].d);
    else
      lutil_setint(L, section->event[i], (uint64_t)value[i].i);
  }
  lua_setfield(L, -2, "values");
}

static void set_misuse(lua_State *L, const struct pml_section_row *row) {
  lua_newtable(L);
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++)
    if (row->misuse[m] > 0) lutil_setint(L, pml_section_misuse_name((enum pml_section_misuse)m), row->misuse[m]);
  lua_setfield(L, -2, "misuse");
}

static void push_thread(lua_State *L, const struct pml__section_stored *kept, double ticks_per_second) {
  static const struct field fields[] = FIELDS(struct pml_section_row, running, count, total_ns, self_ns, min_ns, max_ns,
                                              mean_ns, stddev_ns, work, iterations);
  struct pml_section_row row;
  pml__section_row(&kept->entry.sums, kept->entry.section->exclusive, ticks_per_second, &row);
  field_push(L, fields, &row);
  lutil_setint(L, "thread", kept->entry.thread);
  if (kept->entry.torn) lutil_setbool(L, "torn", 1);
  set_values(L, kept);
  set_misuse(L, &row);
}

static void set_quantiles(lua_State *L, const struct pml__section_definition *section) {
  if (section->has_quantiles) field_values(L, "quantiles", FIELD_DOUBLE, section->quantile, PML__QUANTILES);
}

static int read_log(struct reading *r, const char *path, const char *label, const char *interface) {
  struct pml__section_totals totals = {0};
  int err = pml__section_reader_open(&r->reader, path, label, interface);
  r->h.open = 1;
  if (err == 0) err = pml_summary_open(&r->sum);
  if (err == 0 && label != NULL) err = pml__section_reader_summary(&r->reader, r->sum, 0, &totals);
  return err == 0 && label != NULL && totals.recorded ? pml__section_reader_durations(&r->reader, false) : err;
}

static int read_cache(struct reading *r, const struct pml__section_cache *cache, const char *label,
                      const char *interface) {
  struct pml__section_totals totals;
  pml__section_cache_view(cache, label, interface, &r->reader);
  r->cached = true;
  r->h.open = 1;
  int err = pml_summary_open(&r->sum);
  return err == 0 ? pml__section_reader_summary(&r->reader, r->sum, 0, &totals) : err;
}

/* Set @name of the table on top to the rows of one section, from *@at on, and *@at to the next section. */
static void set_threads(lua_State *L, const struct reading *r, size_t *at, const char *name) {
  lua_newtable(L);
  for (size_t n = 0, first = *at; *at < r->rows.n; ++*at) {
    const struct pml__section_stored *kept = r->rows.at[*at], *one = r->rows.at[first];
    if (kept->entry.section != one->entry.section) break;
    push_thread(L, kept, r->reader.log.head.ticks_per_second);
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lua_setfield(L, -2, name);
}

/*
 * one(path or cache, label, threads, interface) - the rows of one section of a log: all, as for sections(); its
 * threads, on request; the quantiles of its calls. Nothing if the process was not in it.
 */
static int l_one(lua_State *L) {
  const struct pml__section_cache *cache = lsection_cache_at(L, 1);
  const char *path = cache == NULL ? lutil_string(L, 1) : NULL, *label = lutil_string(L, 2);
  const char *interface = lua_isnoneornil(L, 4) ? "" : lutil_string(L, 4);
  int threads = lua_toboolean(L, 3);
  struct reading *r = lutil_new(L, &reading_class, 0, 0);
  size_t at = 0;
  int err = cache != NULL ? read_cache(r, cache, label, interface) : read_log(r, path, label, interface);
  if (err == 0 && threads) err = pml__section_reader_sorted(&r->reader, &r->rows);
  if (err < 0) return pml_pusherr(L, err, "summary.one");
  const struct pml_summary_row *all = pml_summary_row(r->sum, 0);
  if (all == NULL) return 0;
  lua_createtable(L, 0, 3);
  push_row(L, all);
  lua_setfield(L, -2, "all");
  set_quantiles(L, r->reader.sections.at[0]);
  set_threads(L, r, &at, "threads");
  lutil_close(&r->h);
  return 1;
}

/* all(path) - each section of a log that was used: label, interface, communication, inclusive, threads. */
static int l_all(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct reading *r = lutil_new(L, &reading_class, 0, 0);
  int err = read_log(r, path, NULL, NULL);
  if (err == 0) err = pml__section_reader_sorted(&r->reader, &r->rows);
  if (err < 0) return pml_pusherr(L, err, "summary.all");
  lua_newtable(L);
  for (size_t n = 0, at = 0; at < r->rows.n;) {
    const struct pml__section_stored *first = r->rows.at[at];
    const struct pml__section_definition *section = first->entry.section;
    lua_createtable(L, 0, 4);
    lutil_setstr(L, "label", section->label);
    lutil_setstr(L, "interface", section->interface);
    lutil_setbool(L, "communication", section->type == PML_SECTION_COMMUNICATION);
    lutil_setbool(L, "inclusive", !section->exclusive);
    set_threads(L, r, &at, "threads");
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lutil_close(&r->h);
  return 1;
}

/* s:log(path, number) - add a log's sections; return its process without sections and timeline, and "totals" of the
 * sections for a report. */
static int l_log(lua_State *L) {
  static const struct field fields[] = {
      EACH(FIELD, struct pml__section_totals, threads, rows, exclusive_ns, recorded, sketch),
      FIELD_AS(struct pml__section_totals, "self_ns", own_ns), FIELD_END};
  struct pml_summary *s = check(L, 1);
  const char *path = lutil_string(L, 2);
  int64_t number = lutil_int(L, 3, 0, INT64_MAX / 2);
  struct pml__section_totals totals = {0};
  struct reading *r = lutil_new(L, &reading_class, 0, 0);
  int err = read_log(r, path, NULL, NULL);
  if (err == 0) err = pml__sde_log_read(&r->left, &r->reader.log, &r->reader.cells);
  if (err == 0) err = pml__section_reader_summary(&r->reader, s, number, &totals);
  if (err < 0) return pml_pusherr(L, err, "summary.log");
  lsection_process_push(L, &r->reader, &r->left);
  field_push(L, fields, &totals);
  lua_setfield(L, -2, "totals");
  lutil_close(&r->h);
  return 1;
}

static void set_sections(lua_State *L, const struct reading *r) {
  lua_newtable(L);
  for (size_t n = 0, at = 0; at < r->rows.n;) {
    const struct pml__section_definition *section = ((const struct pml__section_stored *)r->rows.at[at])->entry.section;
    lsection_process_section(L, section);
    set_quantiles(L, section);
    set_threads(L, r, &at, "rows");
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lua_setfield(L, -2, "sections");
}

static int set_timeline(lua_State *L, struct reading *r) {
  int err = 0;
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < r->reader.log.n && err == 0; i++) {
    free(r->timeline);
    r->timeline = pml__section_reader_timeline(&r->reader, i, &err);
    if (r->timeline == NULL) continue;
    lsection_process_timeline(L, &r->reader, i, r->timeline);
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lua_setfield(L, -2, "timeline");
  return err;
}

/* whole(path) - all that a log has of sections, counters and recorders: pmlua.SectionProcess. */
static int l_whole(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct reading *r = lutil_new(L, &reading_class, 0, 0);
  int err = read_log(r, path, NULL, NULL);
  if (err == 0) err = pml__section_reader_durations(&r->reader, false);
  if (err == 0) err = pml__section_reader_sorted(&r->reader, &r->rows);
  if (err == 0) err = pml__sde_log_read(&r->left, &r->reader.log, &r->reader.cells);
  if (err < 0) return pml_pusherr(L, err, "summary.whole");
  lsection_process_push(L, &r->reader, &r->left);
  set_sections(L, r);
  err = set_timeline(L, r);
  if (err < 0) return pml_pusherr(L, err, "summary.whole");
  lutil_close(&r->h);
  return 1;
}

/* misuses() - what each misuse of a section means, by its name. */
static int l_misuses(lua_State *L) {
  lua_createtable(L, 0, PML_SECTION_MISUSES);
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++)
    lutil_setstr(L, pml_section_misuse_name((enum pml_section_misuse)m),
                 pml_section_misuse_text((enum pml_section_misuse)m));
  return 1;
}

/* ---- as bytes ---- */

static int l_unpack(lua_State *L) {
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  struct handle *h = lutil_new(L, &summary_class, 0, 0);
  return lutil_opened(L, &h->h, pml_summary_unpack(&h->summary, bytes, n), "summary.unpack");
}

int luaopen_pmlua_summary(lua_State *L) {
  static const luaL_Reg methods[] = {{"log", l_log},   {"sections", l_sections}, {"process", l_process},
                                     {"rows", l_rows}, {"numbers", l_numbers},   {"section", l_section},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open},       {"one", l_one},
                                       {"all", l_all},         {"unpack", l_unpack},
                                       {"misuses", l_misuses}, {"cache", lsection_cache_open},
                                       {"whole", l_whole},     {NULL, NULL}};
  lsection_cache_class(L);
  lutil_class(L, &summary_class, methods, NULL);
  lutil_class(L, &reading_class, NULL, NULL);
  return lutil_module(L, functions);
}
