/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lsection_process.c - a log's process as a Lua table: pmlua.SectionProcess. */
#include "record/lsection_process.h"

#include "base/pml_error.h"

#include <stdlib.h>
#include <string.h>

/* ---- the process ---- */

static void set_head(lua_State *L, const struct pml__section_reader *b) {
  static const struct field fields[] =
      FIELDS(struct pml__log_head, pid, host, command, started_ns, clock, ticks_per_second, born);
  const struct pml__log_head *h = &b->log.head;
  uint64_t written = h->ended_ns != 0 ? h->ended_ns : b->log.modified_ns;
  field_set(L, fields, h);
  lutil_setstr(L, "name", b->log.path);
  lutil_setstr(L, "log", b->log.path);
  if (h->rank >= 0) lutil_setint(L, "rank", (uint64_t)h->rank);
  if (h->rank >= 0 && h->size >= 0) lutil_setint(L, "size", (uint64_t)h->size);
  lutil_setint(L, "written_ns", written > h->started_ns ? written : h->started_ns);
  if (h->ended != PML__LOG_SNAPSHOT) lutil_setstr(L, "ended", h->ended == PML__LOG_ENDED_EXIT ? "exit" : "unknown");
  if (h->refused > 0 && h->refused < 4096) lutil_setstr(L, "refused", pml_error_text(-h->refused));
  if (b->log.missing > 0) lutil_setint(L, "missing", b->log.missing);
}

/* Notes of the process; a text that pmlua does not write is left out. */
static void set_notes(lua_State *L, const struct pml__section_reader *b) {
  static const char *const counted[] = {"source", "final", "mixed", "none"};
  for (size_t i = 0; i < sizeof counted / sizeof counted[0] && b->note[PML__SECTION_COUNTED] != NULL; i++)
    if (strcmp(b->note[PML__SECTION_COUNTED], counted[i]) == 0) lutil_setstr(L, "counted", counted[i]);
  const char *left_out = b->note[PML__SECTION_UNCOUNTED];
  char *end;
  uint64_t places = left_out != NULL ? strtoull(left_out, &end, 10) : 0;
  if (left_out != NULL && *end == '\t') {
    lutil_setint(L, "uncounted", places & INT64_MAX);
    lutil_setstr(L, "others", end + 1);
  }
  lutil_setstr(L, "permission", b->note[PML__SECTION_PERMISSION]);
  if (b->unseen != NULL) lutil_setint(L, "unseen", strtoull(b->unseen, NULL, 10) & INT64_MAX);
}

/* ---- counters and recorders ---- */

static void push_counter(lua_State *L, const struct pml__sde_left *c) {
  static const struct field fields[] = {EACH(FIELD, struct pml__sde_left, name, kind, instant),
                                        FIELD_OF(struct pml__sde_left, "as_of_ns", as_of_ns, FIELD_NATURAL), FIELD_END};
  field_push(L, fields, c);
  lutil_setbits(L, "value", c->bits, c->real);
}

static void push_recorder(lua_State *L, const struct pml__sde_left *r) {
  static const struct field fields[] = FIELDS(struct pml__sde_left, name, count, dropped, nans, cut);
  field_push(L, fields, r);
  if (r->has_quantiles) field_values(L, "quantiles", FIELD_DOUBLE, r->quantile, PML__QUANTILES);
}

static void set_left(lua_State *L, const struct pml__sde_log *left, bool counters) {
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < left->n; i++) {
    if ((left->at[i].kind != NULL) != counters) continue;
    if (counters)
      push_counter(L, &left->at[i]);
    else
      push_recorder(L, &left->at[i]);
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lua_setfield(L, -2, counters ? "counters" : "recorders");
}

void lsection_process_push(lua_State *L, const struct pml__section_reader *b, const struct pml__sde_log *left) {
  static const char *const lists[] = {"sections", "timeline", "regions"};
  lua_createtable(L, 0, 24);
  set_head(L, b);
  set_notes(L, b);
  set_left(L, left, true);
  set_left(L, left, false);
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    lua_newtable(L);
    lua_setfield(L, -2, lists[i]);
  }
}

/* ---- sections ---- */

static void push_section_event(lua_State *L, const void *section, size_t i) {
  const struct pml__section_definition *s = section;
  lua_createtable(L, 0, 2);
  lutil_setstr(L, "name", s->event[i]);
  lutil_setbool(L, "real", (s->real >> i & 1) != 0);
}

void lsection_process_section(lua_State *L, const struct pml__section_definition *s) {
  static const struct field fields[] = FIELDS(struct pml__section_definition, label, exclusive);
  static const char *const record[] = {"none", "all", "sketch"};
  field_push(L, fields, s);
  lutil_setstr(L, "type", s->type == PML_SECTION_COMMUNICATION ? "communication" : "calculation");
  lutil_setstr(L, "record", record[s->record]);
  lutil_setstr(L, "interface", s->interface[0] != '\0' ? s->interface : NULL);
  field_each(L, "events", s->nevents, push_section_event, s);
}

/* ---- the timeline ---- */

/* The names of all regions in the table on top. */
static void set_names(lua_State *L, const struct pml__section_reader *b) {
  for (size_t i = 0; i < b->regions.n; i++) {
    const struct pml__section_region *r = b->regions.at[i];
    lua_pushstring(L, r->name);
    lua_rawseti(L, -2, (lua_Integer)r->region);
  }
}

/* A name may have found no room in the log. */
static void name_region(lua_State *L, int regions, uint32_t region) {
  if (lua_rawgeti(L, regions, (lua_Integer)region) == LUA_TNIL) {
    lua_pushfstring(L, "region %I", (lua_Integer)region);
    lua_rawseti(L, regions, (lua_Integer)region);
  }
  lua_pop(L, 1);
}

static void push_event(lua_State *L, const struct pml__section_reader *b, const struct pml__log_event *e) {
  const struct pml__log_head *h = &b->log.head;
  double ns = (double)(int64_t)(e->ticks - h->started_ticks) * 1e9 / h->ticks_per_second;
  lua_createtable(L, 0, 3);
  lutil_setint(L, "ns", ns >= 0 && ns < 0x1p53 ? (uint64_t)ns : 0);
  lutil_setint(L, "region", (uint32_t)e->word);
  lutil_setbool(L, "leave", e->word >> 32 == PML__LOG_LEAVE);
}

void lsection_process_timeline(lua_State *L, const struct pml__section_reader *b, size_t i,
                               const struct pml__log_timeline *timeline) {
  const struct pml__log_event *event = (const struct pml__log_event *)(timeline + 1);
  lua_getfield(L, -2, "regions");
  int regions = lua_gettop(L);
  if (lua_rawlen(L, regions) == 0) set_names(L, b);
  lua_createtable(L, 0, 3);
  lutil_setint(L, "thread", b->log.entry[i].owner);
  lutil_setint(L, "dropped", timeline->dropped);
  lua_createtable(L, (int)timeline->n, 0);
  for (uint32_t k = 0; k < timeline->n; k++) {
    push_event(L, b, &event[k]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
    name_region(L, regions, (uint32_t)event[k].word);
  }
  lua_setfield(L, -2, "events");
  lua_remove(L, regions);
}
