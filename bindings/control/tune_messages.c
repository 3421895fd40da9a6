/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/control/tune_messages.c - lines and logs of tuners and balancers. */
#include "control/tune_messages.h"

#include "control/tune/pml_tune.h"

#include <string.h>

void tune_push_lines(lua_State *L, const struct lutil_handle *h, const char *(*line)(const void *h, size_t i)) {
  const char *text;
  lua_newtable(L);
  for (lua_Integer i = 0; h->open && (text = line(h, (size_t)i)) != NULL; i++) {
    lua_pushstring(L, text);
    lua_rawseti(L, -2, i + 1);
  }
}

void tune_push_log(lua_State *L, const struct lutil_handle *h,
                   bool (*entry)(const void *h, size_t i, struct pml_tune_entry *e)) {
  struct pml_tune_entry e;
  struct pml_region_info info;
  lua_newtable(L);
  for (lua_Integer i = 0; h->open && entry(h, (size_t)i, &e); i++) {
    char what[512];
    strncpy(what, e.what, sizeof what - 1);
    what[sizeof what - 1] = '\0';
    lua_createtable(L, 0, 5);
    lutil_setint(L, "ns", e.ns);
    lutil_setint(L, "thread", e.thread);
    lutil_setstr(L, "what", what);
    lutil_setstr(L, "value", e.text);
    if (pml_region_describe(e.region, &info) == 0) lutil_setstr(L, "region", info.name);
    lua_rawseti(L, -2, i + 1);
  }
}
