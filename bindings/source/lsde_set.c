/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lsde_set.c - counting sets of software-defined events. */
#include "source/lsde.h"

#include "live/limit.h"

#include <stdint.h>
#include <string.h>

const struct lutil_class lsde_set_class = {"countingset", sizeof(struct lsde_handle), lsde_handle_close};

int lsde_library_set(lua_State *L) {
  struct pml_sde_library *lib = lsde_library(L);
  const char *event = lutil_string(L, 2);
  int err;
  struct lsde_handle *h = lsde_new(L, &lsde_set_class, event, &err);
  struct lsde_charge c = {NULL, 0, 0};
  if (err == 0) err = lsde_charge(L, LSDE_EVENT_BYTES + strlen(event), &c);
  if (err == 0) err = pml_sde_create_set(lib, event, &h->set);
  lsde_settle(&c);
  return lsde_done(L, h, err, "sdelibrary.set");
}

static struct lsde_handle *check_handle(lua_State *L) {
  return lutil_check(L, 1, &lsde_set_class);
}

static struct pml_sde_set *check_set(lua_State *L) {
  return check_handle(L)->set;
}

#define ELEMENT_BYTES 64 /* beside what it is */

/* How many elements it has. */
static int64_t size_of(const struct lsde_handle *h) {
  struct pml_value v;
  return pml_sde_read(h->event, &v) == 0 ? v.i : 0;
}

/* Elements stay when the handle is closed, and so does the memory charged for them, each once. */
static int l_set_insert(lua_State *L) {
  size_t len;
  check_handle(L);
  const char *element = luaL_checklstring(L, 2, &len);
  uint32_t type_id = (uint32_t)lutil_optint(L, 3, 0, 0, UINT32_MAX);
  struct limit *account;
  int err = limit_charge(L, len + ELEMENT_BYTES, &account);
  struct lsde_handle *h = check_handle(L); /* a finalizer may have closed it */
  int64_t before = account != NULL ? size_of(h) : 0;
  if (err == 0) err = pml_sde_set_insert(h->set, len, len, element, type_id);
  if (account != NULL && size_of(h) == before)
    limit_discharge(account, len + ELEMENT_BYTES);
  else if (account != NULL)
    h->held += len + ELEMENT_BYTES;
  return pml_pushdone(L, err, "countingset.insert");
}

static int l_set_remove(lua_State *L) {
  size_t len;
  struct lsde_handle *h = check_handle(L);
  const char *element = luaL_checklstring(L, 2, &len);
  uint32_t type_id = (uint32_t)lutil_optint(L, 3, 0, 0, UINT32_MAX);
  int64_t before = size_of(h);
  int err = pml_sde_set_remove(h->set, len, element, type_id);
  if (h->held >= len + ELEMENT_BYTES && size_of(h) < before) {
    limit_discharge(limit_account(L), len + ELEMENT_BYTES);
    h->held -= len + ELEMENT_BYTES;
  }
  return pml_pushdone(L, err, "countingset.remove");
}

static int visit_element(const struct pml_sde_element *e, void *rows) {
  int err = lutil_add(rows, e, sizeof *e);
  return err < 0 ? err : lutil_add(rows, e->element, e->bytes);
}

static int l_set_values(lua_State *L) {
  check_set(L);
  struct lutil_rows *r = lutil_rows(L);
  struct pml_sde_set *s = check_set(L);
  int err = pml_sde_set_visit(s, visit_element, r);
  if (err < 0) return pml_pusherr(L, err, "countingset.values");
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t at = 0; at < r->used;) {
    struct pml_sde_element e;
    memcpy(&e, r->at + at, sizeof e);
    at += sizeof e;
    lua_createtable(L, 0, 3);
    lua_pushlstring(L, r->at + at, e.bytes);
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
