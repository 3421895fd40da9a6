/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_read.c - pml.trace.open: reading OTF2 archives of any writer. */
#include "substrate/ltrace_read.h"

#include <stdlib.h>

static void reader_close(void *handle) {
  struct ltrace_reader *r = handle;
  pml_otf2_events_close(r->events);
  r->events = NULL;
  pml_otf2_read_close(r->trace);
}

static const struct lutil_class reader_class = {"tracereader", sizeof(struct ltrace_reader), reader_close};

struct ltrace_reader *ltrace_reader(lua_State *L, int arg) {
  return lutil_check(L, arg, &reader_class);
}

static void free_results(struct ltrace_results *r) {
  pml_otf2_answer_close(&r->answer);
  free(r->pairs.pair);
  pml_otf2_series_close(&r->series);
  pml_otf2_levels_close(&r->levels);
}

LUTIL_CLASS(traceresults, ltrace_results, free_results(h))

struct ltrace_results *ltrace_results(lua_State *L) {
  struct ltrace_results *r = lutil_new(L, &traceresults_class, 0, 0);
  r->h.open = 1;
  return r;
}

/* Also runs at the end of the scope. The function given to trace.open() is called once, after the files are closed. */
static int l_close(lua_State *L) {
  struct ltrace_reader *r = lutil_self(L, 1, &reader_class);
  if (!r->h.open) return 0;
  lutil_close(&r->h);
  if (lua_getiuservalue(L, 1, 1) != LUA_TNIL) lua_call(L, 0, 0);
  return 0;
}

/* trace.open(path, after) */
int ltrace_open(lua_State *L) {
  const char *path = lutil_string(L, 1);
  lua_settop(L, 2);
  struct ltrace_reader *r = lutil_new(L, &reader_class, 0, 1);
  int err = pml_otf2_read_open(&r->trace, path);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  return lutil_opened(L, &r->h, err, "trace.open");
}

void ltrace_read_classes(lua_State *L) {
  static const luaL_Reg methods[] = {{"about", ltrace_about},
                                     {"regions", ltrace_regions},
                                     {"processes", ltrace_processes},
                                     {"locations", ltrace_locations},
                                     {"metrics", ltrace_metrics},
                                     {"system", ltrace_system},
                                     {"groups", ltrace_groups},
                                     {"communicators", ltrace_communicators},
                                     {"properties", ltrace_properties},
                                     {"each", ltrace_each},
                                     {"group", ltrace_group},
                                     {"messages", ltrace_messages},
                                     {"paths", ltrace_paths},
                                     {"export", ltrace_export},
                                     {"series", ltrace_series},
                                     {"concurrency", ltrace_concurrency},
                                     {"clocks", ltrace_clocks},
                                     {"close", l_close},
                                     {"__close", l_close},
                                     {NULL, NULL}};
  lutil_class(L, &reader_class, methods, NULL);
  lutil_class(L, &traceresults_class, NULL, NULL);
  ltrace_each_class(L);
}
