/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/program/lfilter.c - pml.filter: function filters in Score-P's file syntax. */
#include "module.h"

#include "program/pml_filter.h"

struct handle {
  struct lutil_handle h;
  struct pml_filter *filter;
};

LUTIL_CLASS(filter, handle, pml_filter_close(h->filter))

static int l_open(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct handle *s = lutil_new(L, &filter_class, 0, 0);
  int err = pml_filter_open(&s->filter, path);
  return lutil_opened(L, &s->h, err, "filter.open");
}

/* f:wants(file, name [, symbol]): any of them may be nil. */
static int l_wants(lua_State *L) {
  const struct pml_filter *f = ((struct handle *)lutil_check(L, 1, &filter_class))->filter;
  lua_pushboolean(
      L, pml_filter_wants(f, lutil_optstring(L, 2, NULL), lutil_optstring(L, 3, NULL), lutil_optstring(L, 4, NULL)));
  return 1;
}

int luaopen_pmlua_filter(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"wants", l_wants}, {NULL, NULL}};
  lutil_class(L, &filter_class, methods, NULL);
  return lutil_module(L, functions);
}
