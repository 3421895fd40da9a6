/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lgroup.c - pml.group: events scheduled together. */
#include "module.h"

#include "source/kernel/pml_group.h"

#include <stdio.h>

struct handle {
  struct lutil_handle h;
  struct pml_group group;
  char (*name)[PML_EVENT_NAME_MAX]; /* names of members: the user value */
};

LUTIL_CLASS(group, handle, pml_group_close(&h->group))

static int l_open(lua_State *L) {
  struct options {
    struct pml_target target;
    unsigned flags;
  } o = {.flags = 0};
  static const struct option known[] = {OPTIONS_TARGET(struct options, target),
                                        OPTION_BIT(struct options, "no_page", flags, PML_OPEN_NO_PAGE),
                                        OPTION_BIT(struct options, "disabled", flags, PML_OPEN_DISABLED), OPTION_END};
  const char *name[PML_EVENTSET_MAX];
  const struct pml_event *ev[PML_EVENTSET_MAX];
  lua_settop(L, 2);
  option_read(L, 2, known, &o);
  size_t n = lutil_names(L, 1, name, PML_EVENTSET_MAX);
  struct pml_event *parsed = lua_newuserdatauv(L, n * sizeof *parsed, 0);
  struct handle *g = lutil_new(L, &group_class, 0, 1);
  g->name = lua_newuserdatauv(L, n * sizeof *g->name, 0);
  lua_setiuservalue(L, -2, 1);
  int err = 0;
  for (size_t i = 0; i < n && err == 0; i++) {
    err = pml_event_parse(&parsed[i], name[i]);
    ev[i] = &parsed[i];
  }
  if (err == 0) err = pml_group_open(&g->group, ev, NULL, n, &o.target, o.flags, NULL);
  for (size_t i = 0; i < n && err == 0; i++)
    snprintf(g->name[i], sizeof g->name[i], "%s%s", name[i],
             g->group.member[i].flags & PML_OPENED_USER_ONLY ? ":u" : "");
  return lutil_opened(L, &g->h, err, "group.open");
}

static int l_read(lua_State *L) {
  struct handle *g = lutil_check(L, 1, &group_class);
  struct pml_reading r[PML_EVENTSET_MAX];
  size_t n = g->group.n;
  int retries = pml_group_read(&g->group, r);
  if (retries < 0) return pml_pusherr(L, retries, "group.read");
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "name", g->name[i]);
    lutil_setreading(L, &r[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(L, retries);
  return 2;
}

static int l_len(lua_State *L) {
  const struct handle *g = lutil_check(L, 1, &group_class);
  return lutil_pushint(L, g->group.n);
}

int luaopen_pmlua_group(lua_State *L) {
  static const luaL_Reg methods[] = {{"read", l_read}, {"__len", l_len}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &group_class, methods, NULL);
  return lutil_module(L, functions);
}
