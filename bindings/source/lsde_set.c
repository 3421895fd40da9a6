/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lsde_set.c - counting sets of software-defined events. */
#include "source/lsde.h"

#include <stdint.h>
#include <string.h>

const struct lutil_class lsde_set_class = {"countingset", sizeof(struct lsde_handle), lsde_handle_close};

int lsde_library_set(lua_State *L) {
  struct pml_sde_library *lib = lsde_library(L);
  const char *event = lutil_string(L, 2);
  int err;
  struct lsde_handle *h = lsde_new(L, &lsde_set_class, event, &err);
  if (err == 0) err = pml_sde_create_set(lib, event, &h->set);
  return lsde_done(L, h, err, "sdelibrary.set");
}

static struct pml_sde_set *check_set(lua_State *L) {
  return ((struct lsde_handle *)lutil_check(L, 1, &lsde_set_class))->set;
}

static int l_set_insert(lua_State *L) {
  size_t len;
  struct pml_sde_set *s = check_set(L);
  const char *element = luaL_checklstring(L, 2, &len);
  uint32_t type_id = (uint32_t)lutil_optint(L, 3, 0, 0, UINT32_MAX);
  return pml_pushdone(L, pml_sde_set_insert(s, len, len, element, type_id), "countingset.insert");
}

static int l_set_remove(lua_State *L) {
  size_t len;
  struct pml_sde_set *s = check_set(L);
  const char *element = luaL_checklstring(L, 2, &len);
  uint32_t type_id = (uint32_t)lutil_optint(L, 3, 0, 0, UINT32_MAX);
  return pml_pushdone(L, pml_sde_set_remove(s, len, element, type_id), "countingset.remove");
}

static int visit_element(const struct pml_sde_element *e, void *rows) {
  int err = lsde_add(rows, e, sizeof *e);
  return err < 0 ? err : lsde_add(rows, e->element, e->bytes);
}

static int l_set_values(lua_State *L) {
  check_set(L);
  struct lsde_rows *r = lsde_newrows(L);
  struct pml_sde_set *s = check_set(L);
  int err = pml_sde_set_visit(s, visit_element, r);
  if (err < 0) return pml_pusherr(L, err, "countingset.values");
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t at = 0; at < r->used;) {
    struct pml_sde_element e;
    memcpy(&e, r->text + at, sizeof e);
    at += sizeof e;
    lua_createtable(L, 0, 3);
    lua_pushlstring(L, r->text + at, e.bytes);
    lua_setfield(L, -2, "element");
    lutil_setint(L, "count", e.count);
    lutil_setint(L, "type_id", e.type_id);
    lua_rawseti(L, -2, ++n);
    at += e.bytes;
  }
  lutil_close(&r->h);
  return 1;
}

void lsde_open_sets(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"insert", l_set_insert}, {"remove", l_set_remove}, {"values", l_set_values}, {"info", lsde_info}, {NULL, NULL}};
  lutil_class(L, &lsde_set_class, methods, NULL);
}
