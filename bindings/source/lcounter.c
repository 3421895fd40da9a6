/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lcounter.c - pml.counter: one perf_event counter. */
#include "module.h"

#include "adapter/arch/pml_known.h"

#include <stdio.h>

#define ROUNDS_MAX (1 << 30)

struct handle {
  struct lutil_handle h;
  struct pml_counter counter;
  char name[PML_EVENT_NAME_MAX];
};

LUTIL_CLASS(counter, handle, pml_counter_close(&h->counter))

static int l_open(lua_State *L) {
  struct options {
    struct pml_target target;
    unsigned flags, part;
  } o = {.flags = 0, .part = 1};
  static const struct option known[] = {OPTIONS_TARGET(struct options, target),
                                        OPTION_BIT(struct options, "no_page", flags, PML_OPEN_NO_PAGE),
                                        OPTION_BIT(struct options, "disabled", flags, PML_OPEN_DISABLED),
                                        OPTION_RANGE(struct options, "part", part, 1, PML_EVENT_PARTS_MAX), OPTION_END};
  const char *name = lutil_string(L, 1);
  option_read(L, 2, known, &o);
  struct handle *c = lutil_new(L, &counter_class, 0, 0);
  struct pml_event ev;
  int err = pml_event_parse(&ev, name);
  if (err == 0 && o.part > ev.nparts && ev.nparts > 0)
    return luaL_argerror(L, 2, lua_pushfstring(L, "the event has %d part(s)", (int)ev.nparts));
  if (err == 0) err = pml_counter_open(&c->counter, &ev, o.part - 1, &o.target, NULL, o.flags);
  snprintf(c->name, sizeof c->name, "%s%s", name, c->counter.flags & PML_OPENED_USER_ONLY ? ":u" : "");
  return lutil_opened(L, &c->h, err, "counter.open");
}

static int l_read(lua_State *L) {
  const struct handle *c = lutil_check(L, 1, &counter_class);
  struct pml_reading r;
  int err = pml_counter_read(&c->counter, &r);
  if (err < 0) return pml_pusherr(L, err, "counter.read");
  lua_pushinteger(L, (lua_Integer)r.raw);
  lua_pushinteger(L, (lua_Integer)r.enabled_ns);
  lua_pushinteger(L, (lua_Integer)r.running_ns);
  return 3;
}

static int l_path(lua_State *L) {
  const struct handle *c = lutil_check(L, 1, &counter_class);
  const char *why = NULL;
  enum pml_path path = pml_counter_path(&c->counter, &why);
  lua_pushstring(L, path == PML_PATH_PAGE ? "page" : "read");
  lua_pushstring(L, why);
  return 2;
}

/* The name of the counted event: the requested name, or NAME:u if the kernel refuses to count kernel mode. */
static int l_name(lua_State *L) {
  const struct handle *c = lutil_check(L, 1, &counter_class);
  return lutil_pushstr(L, c->name);
}

static int l_exercise(lua_State *L) {
  const char *name = lutil_string(L, 1);
  int err = pml_known_run(name, (uint64_t)lutil_int(L, 2, 0, ROUNDS_MAX));
  return pml_pushdone(L, err, "counter.exercise");
}

int luaopen_pmlua_counter(lua_State *L) {
  static const luaL_Reg methods[] = {{"read", l_read}, {"path", l_path}, {"name", l_name}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {"exercise", l_exercise}, {NULL, NULL}};
  lutil_class(L, &counter_class, methods, NULL);
  return lutil_module(L, functions);
}
