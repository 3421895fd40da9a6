/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_definitions.c - definitions of an archive as tables. */
#include "substrate/ltrace_read.h"

int ltrace_about(lua_State *L) {
  static const struct field fields[] =
      FIELDS(struct pml_otf2_read_about, creator, machine, ticks_per_second, length_s, events);
  static const struct field counts[] = {FIELD_AS(struct pml_otf2_read_about, "first_tick", first),
                                        FIELD_AS(struct pml_otf2_read_about, "regions", nregions),
                                        FIELD_AS(struct pml_otf2_read_about, "processes", nprocesses),
                                        FIELD_AS(struct pml_otf2_read_about, "locations", nlocations),
                                        FIELD_AS(struct pml_otf2_read_about, "metrics", nmetrics),
                                        FIELD_AS(struct pml_otf2_read_about, "hosts", nhosts),
                                        FIELD_AS(struct pml_otf2_read_about, "ranks", nranks),
                                        FIELD_END};
  struct pml_otf2_read_about a;
  pml_otf2_read_about(ltrace_reader(L, 1)->trace, &a);
  field_push(L, fields, &a);
  field_set(L, counts, &a);
  if (a.began_ns > 0) lutil_setint(L, "began_ns", a.began_ns);
  return 1;
}

/* Push a list of a kind of definitions; @get gives the i-th, @more sets what @fields do not. */
typedef const void *(*definition)(const struct pml_otf2_read *t, size_t i);

static int push_definitions(lua_State *L, definition get, const struct field *fields,
                            void (*more)(lua_State *L, const void *of)) {
  const void *of;
  (void)ltrace_reader(L, 1);
  lua_newtable(L);
  for (size_t i = 0; (of = get(ltrace_reader(L, 1)->trace, i)) != NULL; i++) {
    field_push(L, fields, of);
    if (more != NULL) more(L, of);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

#define DEFINITION(name)                                                                                               \
  static const void *get_##name(const struct pml_otf2_read *t, size_t i) {                                             \
    return pml_otf2_read_##name(t, i);                                                                                 \
  }
DEFINITION(region)
DEFINITION(process)
DEFINITION(location)
DEFINITION(metric)
DEFINITION(node)
DEFINITION(group)
DEFINITION(comm)
DEFINITION(property)
#undef DEFINITION

#define TEXT(kind, m) FIELD_OF(struct pml_otf2_read_##kind, #m, m, FIELD_FILLED)
#define PLACE(kind, name, m) FIELD_OF(struct pml_otf2_read_##kind, name, m, FIELD_PLACE)

static void set_line(lua_State *L, const void *of) {
  const struct pml_otf2_read_region *r = of;
  if (r->line > 0) lutil_setint(L, "line", r->line);
}

int ltrace_regions(lua_State *L) {
  static const struct field fields[] = {FIELD(struct pml_otf2_read_region, name),
                                        TEXT(region, file),
                                        TEXT(region, paradigm),
                                        TEXT(region, role),
                                        TEXT(region, kind),
                                        FIELD_END};
  return push_definitions(L, get_region, fields, set_line);
}

int ltrace_processes(lua_State *L) {
  static const struct field fields[] = {FIELD(struct pml_otf2_read_process, name), TEXT(process, host),
                                        FIELD_OF(struct pml_otf2_read_process, "rank", rank, FIELD_NATURAL),
                                        PLACE(process, "node", node), FIELD_END};
  return push_definitions(L, get_process, fields, NULL);
}

int ltrace_locations(lua_State *L) {
  static const struct field fields[] = {FIELD(struct pml_otf2_read_location, name), PLACE(location, "process", process),
                                        FIELD(struct pml_otf2_read_location, events), FIELD_END};
  return push_definitions(L, get_location, fields, NULL);
}

int ltrace_metrics(lua_State *L) {
  static const struct field fields[] = {FIELD(struct pml_otf2_read_metric, name),
                                        TEXT(metric, description),
                                        TEXT(metric, unit),
                                        TEXT(metric, scope),
                                        FIELD(struct pml_otf2_read_metric, scale),
                                        FIELD(struct pml_otf2_read_metric, accumulated),
                                        FIELD_END};
  return push_definitions(L, get_metric, fields, NULL);
}

int ltrace_system(lua_State *L) {
  static const struct field fields[] = {FIELD(struct pml_otf2_read_node, name), TEXT(node, kind),
                                        PLACE(node, "parent", parent), FIELD_END};
  return push_definitions(L, get_node, fields, NULL);
}

static void set_members(lua_State *L, const void *of) {
  const struct pml_otf2_read_group *g = of;
  field_values(L, "members", FIELD_UINT64, g->member, g->n);
}

int ltrace_groups(lua_State *L) {
  static const struct field fields[] = {FIELD(struct pml_otf2_read_group, name), TEXT(group, kind),
                                        TEXT(group, paradigm), FIELD_END};
  return push_definitions(L, get_group, fields, set_members);
}

int ltrace_communicators(lua_State *L) {
  static const struct field fields[] = {
      FIELD(struct pml_otf2_read_comm, name), FIELD(struct pml_otf2_read_comm, id), PLACE(comm, "group", group),
      PLACE(comm, "remote_group", remote),    PLACE(comm, "parent", parent),        FIELD_END};
  return push_definitions(L, get_comm, fields, NULL);
}

static void set_owner(lua_State *L, const void *of) {
  static const char *const owners[] = {"node", "process", "location"};
  lutil_setstr(L, "of", owners[((const struct pml_otf2_read_property *)of)->of]);
}

int ltrace_properties(lua_State *L) {
  static const struct field fields[] = {EACH(FIELD, struct pml_otf2_read_property, name, value),
                                        PLACE(property, "number", owner), FIELD_END};
  return push_definitions(L, get_property, fields, set_owner);
}

/* t:clocks() - of locations whose clock the archive says to differ. */
int ltrace_clocks(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_otf2_read_clock, offsets, least_s, most_s);
  struct pml_otf2_read *t = ltrace_reader(L, 1)->trace;
  struct pml_otf2_read_clock c;
  lua_Integer n = 0;
  lua_newtable(L);
  for (size_t i = 0; pml_otf2_read_clock(t, i, &c) == 0; i++) {
    if (c.offsets == 0) continue;
    field_push(L, fields, &c);
    lutil_setint(L, "location", i + 1);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}
