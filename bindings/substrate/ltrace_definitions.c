/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_definitions.c - definitions of an archive as tables. */
#include "substrate/ltrace_read.h"

static void set_place(lua_State *L, const char *key, size_t place) {
  if (place != PML_OTF2_NONE) lutil_setint(L, key, (uint64_t)place + 1);
}

int ltrace_about(lua_State *L) {
  struct pml_otf2_read_about a;
  pml_otf2_read_about(ltrace_reader(L, 1)->trace, &a);
  lua_createtable(L, 0, 13);
  lutil_setstr(L, "creator", a.creator);
  lutil_setstr(L, "machine", a.machine);
  lutil_setint(L, "ticks_per_second", a.ticks_per_second);
  lutil_setint(L, "first_tick", a.first);
  lutil_setnum(L, "length_s", a.length_s);
  if (a.began_ns > 0) lutil_setint(L, "began_ns", a.began_ns);
  lutil_setint(L, "events", a.events);
  lutil_setint(L, "regions", a.nregions);
  lutil_setint(L, "processes", a.nprocesses);
  lutil_setint(L, "locations", a.nlocations);
  lutil_setint(L, "metrics", a.nmetrics);
  lutil_setint(L, "hosts", a.nhosts);
  lutil_setint(L, "ranks", a.nranks);
  return 1;
}

static void set_text(lua_State *L, const char *key, const char *text) {
  if (text[0] != '\0') lutil_setstr(L, key, text);
}

int ltrace_regions(lua_State *L) {
  const struct pml_otf2_read_region *r;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (r = pml_otf2_read_region(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "name", r->name);
    set_text(L, "file", r->file);
    set_text(L, "paradigm", r->paradigm);
    set_text(L, "role", r->role);
    if (r->line > 0) lutil_setint(L, "line", r->line);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_processes(lua_State *L) {
  const struct pml_otf2_read_process *p;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (p = pml_otf2_read_process(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 4);
    lutil_setstr(L, "name", p->name);
    set_text(L, "host", p->host);
    if (p->rank >= 0) lutil_setint(L, "rank", (uint64_t)p->rank);
    set_place(L, "node", p->node);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_locations(lua_State *L) {
  const struct pml_otf2_read_location *l;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (l = pml_otf2_read_location(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 3);
    lutil_setstr(L, "name", l->name);
    lutil_setint(L, "process", (uint64_t)l->process + 1);
    lutil_setint(L, "events", l->events);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_metrics(lua_State *L) {
  const struct pml_otf2_read_metric *m;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (m = pml_otf2_read_metric(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 5);
    lutil_setstr(L, "name", m->name);
    set_text(L, "description", m->description);
    set_text(L, "unit", m->unit);
    lutil_setnum(L, "scale", m->scale);
    lutil_setbool(L, "accumulated", m->accumulated);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_system(lua_State *L) {
  const struct pml_otf2_read_node *n;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (n = pml_otf2_read_node(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 3);
    lutil_setstr(L, "name", n->name);
    set_text(L, "kind", n->kind);
    set_place(L, "parent", n->parent);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_groups(lua_State *L) {
  const struct pml_otf2_read_group *g;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (g = pml_otf2_read_group(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 4);
    lutil_setstr(L, "name", g->name);
    set_text(L, "kind", g->kind);
    set_text(L, "paradigm", g->paradigm);
    lua_createtable(L, g->n < INT32_MAX ? (int)g->n : 0, 0);
    for (size_t k = 0; k < g->n; k++) {
      lua_pushinteger(L, (lua_Integer)g->member[k]);
      lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "members");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_communicators(lua_State *L) {
  const struct pml_otf2_read_comm *c;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (c = pml_otf2_read_comm(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 4);
    lutil_setstr(L, "name", c->name);
    lutil_setint(L, "id", c->id);
    set_place(L, "group", c->group);
    set_place(L, "remote_group", c->remote);
    set_place(L, "parent", c->parent);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int ltrace_properties(lua_State *L) {
  static const char *const owners[] = {"node", "process", "location"};
  const struct pml_otf2_read_property *p;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (p = pml_otf2_read_property(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    lua_createtable(L, 0, 4);
    lutil_setstr(L, "name", p->name);
    lutil_setstr(L, "value", p->value);
    lutil_setstr(L, "of", owners[p->of]);
    set_place(L, "number", p->owner);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* t:clocks() - of locations whose clock the archive says to differ. */
int ltrace_clocks(lua_State *L) {
  struct pml_otf2_read *t = ltrace_reader(L, 1)->trace;
  struct pml_otf2_read_clock c;
  lua_Integer n = 0;
  lua_newtable(L);
  for (size_t i = 0; pml_otf2_read_clock(t, i, &c) == 0; i++) {
    if (c.offsets == 0) continue;
    lua_createtable(L, 0, 4);
    set_place(L, "location", i);
    lutil_setint(L, "offsets", c.offsets);
    lutil_setnum(L, "least_s", c.least_s);
    lutil_setnum(L, "most_s", c.most_s);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}
