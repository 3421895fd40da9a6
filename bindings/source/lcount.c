/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/lcount.c - pml.count: files of compiler counts, and the kinds of operation. */
#include "module.h"

#include "read/log/pml_count_read.h"
#include "source/compiler/pml_count_file.h"

/* Sums of Byfl first, then the kinds of operation: those that were counted. */
static void push_counts(lua_State *L, const struct pml_counts *c) {
  const char *name, *description;
  lua_createtable(L, 0, (int)c->nevents);
  for (size_t i = 0; i < c->nevents && pml_count_kind(i, &name, &description); i++) lutil_setint(L, name, c->event[i]);
  lua_setfield(L, -2, "events");
  lua_newtable(L);
  for (size_t i = 0; i < c->ncells && pml_count_kind(c->nevents + i, &name, &description); i++)
    if (c->cell[i] > 0) lutil_setint(L, name, c->cell[i]);
  lua_setfield(L, -2, "operations");
}

static void push_part(lua_State *L, const void *counts, size_t i) {
  static const struct field fields[] = FIELDS(struct pml_count_part, name, uncounted);
  const struct pml_count_part *p = &((const struct pml_counts *)counts)->part[i];
  field_push(L, fields, p);
  lutil_setstr(L, "at", pml_count_at_name(p->at));
}

static void push_all(lua_State *L, const struct pml_counts *c) {
  static const struct field process[] =
      FIELDS(struct pml_counts, pid, parent, started_ns, ended, host, command, others);
  static const struct field counts[] =
      FIELDS(struct pml_counts, threads, sharing, underway, modules, refused, uncounted);
  field_push(L, process, c);
  field_set(L, counts, c);
  lutil_setstr(L, "at", pml_count_at_name(c->at));
  push_counts(L, c);
  field_each(L, "parts", c->nparts, push_part, c);
}

static void free_counts(void *counts) {
  pml_counts_free(counts);
}

static int l_read(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct pml_counts *c = NULL;
  struct lutil_guard *guard = lutil_guard(L, free_counts);
  int err = pml_count_read(path, &c);
  if (err < 0) return pml_pusherr(L, err, "count.read");
  guard->of = c;
  push_all(L, c);
  lutil_close(&guard->h);
  return 1;
}

static int l_kinds(lua_State *L) {
  const char *name, *description;
  lua_newtable(L);
  for (size_t i = 0; pml_count_kind(i, &name, &description); i++) {
    lua_createtable(L, 0, 2);
    lutil_setstr(L, "name", name);
    lutil_setstr(L, "description", description);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int l_here(lua_State *L) {
  lua_pushboolean(L, pml_count_active());
  lua_pushstring(L, pml_count_at_name(pml_count_here()));
  return 2;
}

int luaopen_pmlua_count(lua_State *L) {
  static const luaL_Reg functions[] = {{"read", l_read}, {"kinds", l_kinds}, {"here", l_here}, {NULL, NULL}};
  return lutil_module(L, functions);
}
