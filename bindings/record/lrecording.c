/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/record/lrecording.c - pmlua.core.recording: recordings of processes: metadata, call paths, one archive of
 * all.
 */
#include "module.h"
#include "shared.h"

#include "adapter/foreign/pml_foreign.h"
#include "read/archive/pml_archive.h"
#include "read/recording/pml_recording_read.h"
#include "read/recording/pml_recording_rows.h"
#include "record/pml_mailbox.h"
#include "source/plugin/pml_plugin_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct handle {
  struct lutil_handle h;
  struct pml_recording_reader *reader;
};

LUTIL_CLASS(recording, handle, pml_recording_read_close(h->reader))

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &recording_class);
}

/* open(path, any): any: it may have no recorded calls. */
static int l_open(lua_State *L) {
  const char *path = lutil_string(L, 1);
  int any = lua_toboolean(L, 2);
  struct handle *h = lutil_new(L, &recording_class, 0, 0);
  int err = any ? pml_recording_read_open_any(&h->reader, path) : pml_recording_read_open(&h->reader, path);
  return lutil_opened(L, &h->h, err, "recording.open");
}

/* reasons(dir): makes the file in which processes of a recording say why they are not recorded. */
static int l_reasons(lua_State *L) {
  return pml_pushdone(L, pml_mailbox_make(lutil_string(L, 1)), "recording.reasons");
}

/* waited(path, status, signal, ns): the process of that log ended so then; a signal is nil, or its status is. */
static int l_waited(lua_State *L) {
  lua_Integer signal = luaL_optinteger(L, 3, 0), status = luaL_optinteger(L, 2, 0);
  uint32_t waited = signal > 0 ? 257 + (uint32_t)(signal & 0x7f) : 1 + (uint32_t)(status & 0xff);
  int err = pml_recording_waited(lutil_string(L, 1), waited, (uint64_t)luaL_checkinteger(L, 4));
  return pml_pushdone(L, err, "recording.waited");
}

static const char *const endings[] = {"running", "exit", "_exit", "failed"}; /* enum pml_recording_end */

static int l_story(lua_State *L) {
  static const struct field process[] = FIELDS(struct pml_recording_story, pid, parent, host, end_known, traced);
  static const struct field counts[] =
      FIELDS(struct pml_recording_story, lost_children, dropped, unmatched, unrecorded, deep, brief, often, missing);
  struct pml_recording_story s;
  pml_recording_read_story(check(L)->reader, &s);
  field_push(L, process, &s);
  field_set(L, counts, &s);
  lutil_setstr(L, "ended", endings[s.ended]);
  if (s.waited > 257) lutil_setint(L, "signal", s.waited - 257);
  if (s.waited > 0 && s.waited <= 256) lutil_setint(L, "status", s.waited - 1);
  lutil_setstr(L, "counted", pml_count_at_name(s.counted));
  lutil_setstr(L, "refused", s.refused != 0 ? pml_error_text(s.refused) : "");
  lutil_setstr(L, "uncounted", s.uncounted != 0 ? pml_error_text(s.uncounted) : "");
  lutil_setint(L, "older", s.older_bytes);
  return 1;
}

/* note(key): the process's note under this key; nil: none. */
static int l_note(lua_State *L) {
  return lutil_pushstr(L, pml_recording_read_note(check(L)->reader, lutil_string(L, 2)));
}

/* tick_ns(): how long a tick of the process's clock was. */
static int l_tick_ns(lua_State *L) {
  return lutil_pushnum(L, pml_recording_tick_ns(check(L)->reader));
}

static int l_profile(lua_State *L) {
  struct handle *s = check(L);
  struct pml_profile *p;
  int err = pml_recording_read_profile(s->reader, &p);
  if (err < 0) return pml_pusherr(L, err, "recording.profile");
  lutil_pushprofile(L, p);
  return 1;
}

/* The value at @key of the table on top grows by that much. */
static void add_value(lua_State *L, lua_Integer key, uint64_t more, bool real) {
  if (lua_rawgeti(L, -1, key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushinteger(L, 0);
  }
  lutil_pushbits(L, more, real);
  lua_arith(L, LUA_OPADD);
  lua_rawseti(L, -2, key);
}

/* On top is the table of functions by region. */
static int add_sums(const struct pml_recording_function_sums *f, void *arg) {
  lua_State *L = arg;
  if (lua_rawgeti(L, -1, f->region) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, (int)f->n, 2);
    field_set_region(L, f->region);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, f->region);
  }
  for (uint32_t i = 0; i < f->n; i++) add_value(L, i + 1, f->sum[i], (f->real >> i & 1) != 0);
  lua_pop(L, 1);
  return 0;
}

/* The method @name: rows of one kind, which @add adds to the list on top. */
#define ROWS(name, add)                                                                                                \
  static int read_##name(lua_State *L) {                                                                               \
    luaL_checkstack(L, 8, NULL);                                                                                       \
    lua_newtable(L);                                                                                                   \
    int err = pml_recording_read_##name(lua_touserdata(L, 1), add, L);                                                 \
    return err < 0 ? pml_pusherr(L, err, "recording." #name) : 1;                                                      \
  }                                                                                                                    \
  static int l_##name(lua_State *L) {                                                                                  \
    struct handle *h = check(L);                                                                                       \
    return lutil_call_closed(L, &h->h, read_##name, h->reader);                                                        \
  }

/* sums(): of each region by its number, name, file and the sums in the order of the events. */
ROWS(sums, add_sums)

static int add_openmp(const struct pml_recording_openmp *o, void *arg) {
  static const struct field fields[] =
      FIELDS(struct pml_recording_openmp, construct, runtime, index, threads, calls, count, ns, waited_ns);
  lua_State *L = arg;
  field_push(L, fields, o);
  field_set_region(L, o->region);
  lua_rawseti(L, -2, luaL_len(L, -2) + 1);
  return 0;
}

/* openmp(): a list of constructs, each as far as one thread executed it with one number in its team. */
ROWS(openmp, add_openmp)

static int add_child(const struct pml_recording_child *c, void *arg) {
  static const struct field fields[] = FIELDS(struct pml_recording_child, pid, parent, has_log);
  lua_State *L = arg;
  field_push(L, fields, c);
  lutil_setstr(L, "ended", endings[c->ended]);
  if (c->refused != 0) lutil_setstr(L, "refused", pml_error_text(c->refused));
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  return 0;
}

/* children(): the noted forked children, in their present state. */
ROWS(children, add_child)

/* On top is the list. */
static int add_function_value(const struct pml_recording_function_value *v, void *arg) {
  static const struct field fields[] = {FIELD_AS(struct pml_recording_function_value, "value", name),
                                        FIELD(struct pml_recording_function_value, count),
                                        FIELD(struct pml_recording_function_value, sum),
                                        FIELD_AS(struct pml_recording_function_value, "min", least),
                                        FIELD_AS(struct pml_recording_function_value, "max", most),
                                        FIELD_END};
  lua_State *L = arg;
  field_push(L, fields, v);
  field_set_region(L, v->region);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  return 0;
}

/* values(): a list of what calls of functions were given and gave, with counts, sums and extremes. */
ROWS(values, add_function_value)

/* An error in the function ends the work and is raised when all is closed; its value is on the stack then. */
struct progress {
  lua_State *L;
  int function; /* its place */
};

static int tell_progress(uint64_t done, uint64_t all, void *arg) {
  const struct progress *p = arg;
  lua_State *L = p->L;
  if (lua_isnil(L, p->function)) return 0;
  lua_pushvalue(L, p->function);
  lua_pushinteger(L, (lua_Integer)done);
  lua_pushinteger(L, (lua_Integer)all);
  return lua_pcall(L, 2, 0, 0) == LUA_OK ? 0 : -ECANCELED;
}

/* The last argument, a function or nil. */
static struct progress progress_at(lua_State *L, int arg) {
  lua_settop(L, arg);
  if (!lua_isnil(L, arg)) luaL_checktype(L, arg, LUA_TFUNCTION);
  luaL_checkstack(L, 8, NULL);
  return (struct progress){L, arg};
}

/* flow([progress]): stopped. The handle is closed to others meanwhile. */
static int l_flow(lua_State *L) {
  struct handle *h = check(L);
  struct progress p = progress_at(L, 2);
  struct pml_flow *flow;
  h->h.open = 0;
  int err = pml_recording_read_flow(h->reader, &flow, tell_progress, &p);
  h->h.open = 1;
  if (err == -ECANCELED && lua_gettop(L) > 2) return lua_error(L);
  if (err < 0) return pml_pusherr(L, err, "recording.flow");
  lutil_pushflow(L, flow);
  return 1;
}

/* ---- calls as rows ---- */

/* The string at @idx, which the table at @kept keeps. */
static const char *kept_string(lua_State *L, int idx, int kept) {
  luaL_checktype(L, idx, LUA_TSTRING);
  lua_pushvalue(L, idx);
  lua_rawseti(L, kept, (lua_Integer)lua_rawlen(L, kept) + 1);
  return lutil_string(L, idx);
}

/* The names that the function at @namer returns for a region. */
static struct pml__recording_names names_of(lua_State *L, pml_region_t region, int namer, int kept) {
  struct pml_region_info info = {.name = "?"};
  struct pml__recording_names names;
  (void)pml_region_describe(region, &info);
  lua_pushvalue(L, namer);
  lua_pushstring(L, info.name);
  lua_pushstring(L, info.file);
  lua_pushstring(L, pml__region_kind(region));
  lua_call(L, 3, 2);
  names.library = kept_string(L, -2, kept);
  names.function = kept_string(L, -1, kept);
  lua_pop(L, 2);
  return names;
}

/* Name each called region once; the array, by region, is in memory on top. */
static const struct pml__recording_names *name_all(lua_State *L, const struct pml__recording_rows *rows, int namer) {
  pml_region_t most = 0;
  for (size_t i = 0; i < rows->n; i++)
    if (rows->call[i].node.region > most) most = rows->call[i].node.region;
  lua_newtable(L);
  int kept = lua_gettop(L);
  struct pml__recording_names *names = lua_newuserdatauv(L, (most + 1u) * sizeof *names, 0);
  memset(names, 0, (most + 1u) * sizeof *names);
  for (size_t i = 0; i < rows->n; i++) {
    pml_region_t region = rows->call[i].node.region;
    if (names[region].library == NULL) names[region] = names_of(L, region, namer, kept);
  }
  return names;
}

/*
 * calls { form, process, name } - a row of text for each call path of each thread, and how many; process: a list of
 * rank, host, pid in the form; name(name, file, kind): library and function of a region in the form.
 */
static int l_calls(lua_State *L) {
  static const char *const known[] = {"form", "process", "name", NULL};
  struct handle *h = check(L);
  struct pml__recording_rows rows = {0};
  lutil_options(L, 2, known);
  lua_settop(L, 2);
  luaL_argcheck(L, lutil_field(L, 2, "name") == LUA_TFUNCTION, 2, "option 'name' must be a function");
  luaL_argcheck(L, lutil_field(L, 2, "process") == LUA_TTABLE, 2, "option 'process' must be a table");
  for (unsigned i = 0; i < PML__RECORDING_PROCESS_CELLS; i++) {
    bool absent = lua_rawgeti(L, 4, (lua_Integer)i + 1) == LUA_TNIL;
    rows.process[i] = absent ? NULL : lutil_element(L, 2);
  }
  int form = lutil_form(L, 2);
  struct pml_recording_call *calls = NULL;
  struct pml__cells_writer w = {.form = (enum pml__cells_form)form, .indent = ""};
  struct lutil_guard *of_calls = lutil_guard(L, free), *of_text = lutil_guard(L, free);
  int err = pml_recording_read_calls(h->reader, &calls, &rows.n);
  of_calls->of = calls;
  if (err < 0) return pml_pusherr(L, err, "recording.calls");
  rows.call = calls;
  rows.name = name_all(L, &rows, 3);
  pml__recording_rows_write(&rows, &w);
  of_text->of = w.text.at;
  if (w.text.failed) return pml_pusherr(L, -ENOMEM, "recording.calls");
  lua_pushlstring(L, w.text.at != NULL ? w.text.at : "", w.text.n);
  lua_pushinteger(L, (lua_Integer)rows.n);
  lutil_close(&of_calls->h);
  lutil_close(&of_text->h);
  return 2;
}

/* ---- the archive of several ---- */

/* series(folder, name): write the series of all plugins of this process to a log for an archive; their number. */
static int l_series(lua_State *L) {
  size_t n;
  int err = pml_plugin_save(lutil_string(L, 1), lutil_string(L, 2), &n);
  if (err < 0) return pml_pusherr(L, err, "recording.series");
  return lutil_pushint(L, n);
}

/* Push a field of the table on top, without asking its metatable. */
static void push_field(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  lua_rawget(L, -2);
}

/* A list of strings on top, in memory on top in its place; the table below keeps the list. */
static const char **check_strings(lua_State *L, size_t *n) {
  luaL_argcheck(L, lua_istable(L, -1), 2, "a log has no list 'series'");
  *n = lua_rawlen(L, -1);
  const char **list = lua_newuserdatauv(L, (*n + 1) * sizeof *list, 0);
  for (size_t i = 0; i < *n; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    list[i] = lutil_element(L, 2);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return list;
}

/* The list of logs at @arg, in memory that the stack keeps; its strings are kept by their tables. */
static struct pml_archive_log *check_logs(lua_State *L, int arg, size_t *n) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *n = lua_rawlen(L, arg);
  struct pml_archive_log *log = lua_newuserdatauv(L, (*n + 1) * sizeof *log, 0);
  lua_newtable(L); /* keeps the memory of the lists */
  for (size_t i = 0; i < *n; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    luaL_argcheck(L, lua_istable(L, -1), arg, "a log is not a table");
    push_field(L, "path");
    log[i].path = lutil_element(L, arg); /* not a number, whose text would go with the stack */
    lua_pop(L, 1);
    push_field(L, "series");
    log[i].series = check_strings(L, &log[i].nseries);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    lua_pop(L, 1);
  }
  return log;
}

/* clock(): the value of PMLUA_CLOCK_RATE for processes that this one starts. */
static int l_clock(lua_State *L) {
  char text[100];
  (void)pml_clock_init();
  (void)pml__clock_tell(text, sizeof text);
  return lutil_pushstr(L, text);
}

/* interfaces(): the annotation interfaces: a table of name, variables and before for each. */
static int l_interfaces(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_foreign_about, name, variables, before);
  lua_createtable(L, PML_FOREIGN_INTERFACES, 0);
  for (int i = 0; i < PML_FOREIGN_INTERFACES; i++) {
    field_push(L, fields, pml_foreign_about((enum pml_foreign_interface)i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static void push_archive_story(lua_State *L, const struct pml_archive_story *s) {
  static const struct field fields[] = FIELDS(struct pml_archive_story, processes, jobs, ranks, missing, events, open,
                                              messages, unmatched, elsewhere, early, still_early);
  static const struct field waits[] = FIELDS(struct pml_archive_wait, late_sender_ns, collective_ns);
  field_push(L, fields, s);
  field_list(L, waits, s->wait, s->wait != NULL ? s->ranks + s->missing : 0, sizeof *s->wait);
  lua_setfield(L, -2, "waits");
}

/* archive(dir, logs [, progress]): its summary. Each of logs is a table with a path and a list of files of series. */
static int l_archive(lua_State *L) {
  const char *dir = lutil_string(L, 1);
  struct progress p = progress_at(L, 3);
  struct pml_archive_story story;
  size_t n;
  const struct pml_archive_log *log = check_logs(L, 2, &n);
  int top = lua_gettop(L);
  int err = pml_archive_write(dir, log, n, tell_progress, &p, &story);
  if (err == -ECANCELED && lua_gettop(L) > top) return lua_error(L);
  if (err < 0) return pml_pusherr(L, err, "recording.archive");
  push_archive_story(L, &story);
  free(story.wait);
  return 1;
}

int luaopen_pmlua_recording(lua_State *L) {
  static const luaL_Reg methods[] = {{"story", l_story},     {"note", l_note},     {"tick_ns", l_tick_ns},
                                     {"profile", l_profile}, {"sums", l_sums},     {"values", l_values},
                                     {"flow", l_flow},       {"openmp", l_openmp}, {"children", l_children},
                                     {"calls", l_calls},     {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"open", l_open},       {"reasons", l_reasons}, {"waited", l_waited},         {"clock", l_clock},
      {"archive", l_archive}, {"series", l_series},   {"interfaces", l_interfaces}, {NULL, NULL}};
  lutil_class(L, &recording_class, methods, NULL);
  return lutil_module(L, functions);
}
