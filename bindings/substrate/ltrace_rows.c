/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_rows.c - sums over an archive's events, as tables. */
#include "substrate/ltrace_read.h"

#include "record/quantile/pml_sketch.h"

#include <stdlib.h>

/* Which fields rows have. */
struct shape {
  unsigned fields;
  size_t nquantiles;
  double quantile[LTRACE_QUANTILES_MAX];
};

static void set_place(lua_State *L, const char *key, size_t place) {
  if (place != PML_OTF2_NONE) lutil_setint(L, key, (uint64_t)place + 1);
}

static struct shape read_shape(lua_State *L, int arg) {
  struct shape s = {.fields = ltrace_fields(L, arg)};
  s.nquantiles = ltrace_quantiles(L, arg, s.quantile);
  return s;
}

static bool has(const struct shape *s, unsigned field) {
  return s->fields >> field & 1;
}

static void push_quantiles(lua_State *L, const struct pml_otf2_row *r, const struct shape *s) {
  lua_createtable(L, (int)s->nquantiles, 0);
  for (size_t i = 0; i < s->nquantiles; i++) {
    lua_pushnumber(L, pml_sketch_value(r->durations, s->quantile[i]));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "quantiles");
  lutil_setnum(L, "quantile_error", pml_sketch_error(r->durations));
}

static void set_sums(lua_State *L, const struct pml_otf2_row *r, const struct shape *s) {
  static const struct field messages[] = FIELDS(struct pml_otf2_row, sent, sent_bytes, received, received_bytes);
  bool called = r->least_s <= r->most_s;
  if (has(s, LTRACE_COUNT)) lutil_setint(L, "calls", r->calls);
  if (has(s, LTRACE_COUNT)) lutil_setint(L, "unreturned", r->unreturned);
  if (has(s, LTRACE_INCLUSIVE)) lutil_setnum(L, "inclusive_s", r->inclusive_s);
  if (has(s, LTRACE_EXCLUSIVE)) lutil_setnum(L, "exclusive_s", r->exclusive_s);
  if (has(s, LTRACE_BYTES)) field_set(L, messages, r);
  if (called && has(s, LTRACE_SHORTEST)) lutil_setnum(L, "least_s", r->least_s);
  if (called && has(s, LTRACE_LONGEST)) {
    lutil_setnum(L, "most_s", r->most_s);
    lutil_setnum(L, "most_began_s", r->most_began_s);
    set_place(L, "most_location", r->most_location);
  }
  if (r->calls > 0 && has(s, LTRACE_FIRST)) lutil_setnum(L, "first_s", r->first_s);
  if (called && has(s, LTRACE_LAST)) lutil_setnum(L, "last_s", r->last_s);
  if (r->durations != NULL) push_quantiles(L, r, s);
}

static void push_row(lua_State *L, const struct pml_otf2_read *t, const struct pml_otf2_row *r, const struct shape *s) {
  static const struct field places[] = {FIELD_OF(struct pml_otf2_row, "number", region, FIELD_PLACE),
                                        FIELD_OF(struct pml_otf2_row, "process", process, FIELD_PLACE),
                                        FIELD_OF(struct pml_otf2_row, "location", location, FIELD_PLACE),
                                        FIELD_OF(struct pml_otf2_row, "column", column, FIELD_PLACE), FIELD_END};
  field_push(L, places, r);
  if (r->region != PML_OTF2_NONE) lutil_setstr(L, "region", pml_otf2_read_region(t, r->region)->name);
  if (r->process != PML_OTF2_NONE && pml_otf2_read_process(t, r->process)->rank >= 0)
    lutil_setint(L, "rank", (uint64_t)pml_otf2_read_process(t, r->process)->rank);
  set_sums(L, r, s);
}

static void push_odd(lua_State *L, const struct pml_otf2_answer *a) {
  static const struct field counts[] = FIELDS(struct pml_otf2_answer, events, unmatched, backward, unknown, outside,
                                              damaged, undefined, lost, uncounted);
  field_push(L, counts, a);
  lua_createtable(L, 0, (int)a->nkinds);
  for (size_t i = 0; i < a->nkinds; i++) lutil_setint(L, a->kind[i].name, a->kind[i].events);
  lua_setfield(L, -2, "kinds");
}

/* Rows of a place are consecutive, and a path comes after its parent, whose row is stored in @row_of. */
static void push_rows(lua_State *L, const struct pml_otf2_read *t, const struct pml_otf2_answer *a,
                      const struct shape *s) {
  size_t *row_of = a->npaths > 0 ? lua_newuserdatauv(L, a->npaths * sizeof *row_of, 0) : NULL;
  lua_createtable(L, (int)(a->n < INT32_MAX ? a->n : 0), 0);
  for (size_t i = 0; i < a->n; i++) {
    const struct pml_otf2_row *r = &a->row[i];
    push_row(L, t, r, s);
    if (row_of != NULL && r->path != PML_OTF2_NONE) {
      size_t parent = a->path[r->path].parent;
      row_of[r->path] = i;
      if (parent != PML_OTF2_NONE) set_place(L, "parent", row_of[parent]);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static int ask(lua_State *L, unsigned more, const char *where) {
  struct pml_otf2_read *t = ltrace_reader(L, 1)->trace;
  struct pml_otf2_question q = ltrace_question(L, t, 2, more);
  const struct shape s = read_shape(L, 2);
  q.sketches = s.nquantiles > 0;
  struct ltrace_results *rows = ltrace_results(L);
  int err = pml_otf2_read_sums(t, &q, &rows->answer);
  if (err < 0) return pml_pusherr(L, err, where);
  push_rows(L, t, &rows->answer, &s);
  push_odd(L, &rows->answer);
  lutil_close(&rows->h);
  return 2;
}

/* t:group(question) - rows, and the anomalies. */
int ltrace_group(lua_State *L) {
  return ask(L, LTRACE_BY, "trace.group");
}

/* t:paths(question) - rows of call paths, parents first, and the anomalies. */
int ltrace_paths(lua_State *L) {
  return ask(L, LTRACE_PATHS, "trace.paths");
}

static int by_bytes(const void *a, const void *b) {
  const struct pml_otf2_pair *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* t:messages(question) - rows, how many messages have an unknown receiver, and how many pairs there are. */
int ltrace_messages(lua_State *L) {
  static const struct field fields[] = {
      FIELD_OF(struct pml_otf2_pair, "from", from, FIELD_PLACE), FIELD_OF(struct pml_otf2_pair, "to", to, FIELD_PLACE),
      FIELD(struct pml_otf2_pair, messages), FIELD(struct pml_otf2_pair, bytes), FIELD_END};
  struct pml_otf2_read *t = ltrace_reader(L, 1)->trace;
  const struct pml_otf2_question q = ltrace_question(L, t, 2, 0);
  lua_Integer top = lua_isnil(L, 2) ? 0 : lutil_intfield(L, 2, "top", 0, 0, INT32_MAX);
  struct ltrace_results *rows = ltrace_results(L);
  int err = pml_otf2_read_pairs(t, &q, &rows->pairs);
  if (err < 0) return pml_pusherr(L, err, "trace.messages");
  const struct pml_otf2_pairs *p = &rows->pairs;
  size_t n = top > 0 && (size_t)top < p->n ? (size_t)top : p->n;
  if (top > 0 && p->n > 0) qsort(p->pair, p->n, sizeof *p->pair, by_bytes);
  field_list(L, fields, p->pair, n, sizeof *p->pair);
  lua_pushinteger(L, (lua_Integer)p->unknown);
  lua_pushinteger(L, (lua_Integer)p->n);
  lutil_close(&rows->h);
  return 3;
}
