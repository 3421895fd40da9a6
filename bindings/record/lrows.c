/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lrows.c - pmlua.core.rows: the rows of logs as text, by a table's columns. */

#include "read/section/pml_section_rows.h"
#include "record/lsection_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 1 /* the user value that keeps all texts and arrays of a table alive */
#define TEXTS_MAX 64

struct handle {
  struct lutil_handle h;
  struct pml__section_table table;
  size_t of_process, of_section; /* texts */
};

static const struct lutil_class rows_class = {"rows", sizeof(struct handle), NULL};

/* ---- a table ---- */

/* Pop the value on top, and keep it alive in the table at @kept. */
static void keep(lua_State *L, int kept) {
  lua_rawseti(L, kept, (lua_Integer)lua_rawlen(L, kept) + 1);
}

static void *keep_array(lua_State *L, int kept, size_t n, size_t bytes) {
  void *at = lua_newuserdatauv(L, (n + 1) * bytes, 0);
  memset(at, 0, (n + 1) * bytes);
  keep(L, kept);
  return at;
}

/* The text on top, popped; NULL for nil. */
static const char *keep_text(lua_State *L, int kept) {
  const char *text = lua_isnil(L, -1) ? NULL : lutil_element(L, 1);
  keep(L, kept);
  return text;
}

static const char *kept_field(lua_State *L, int kept, const char *key) {
  (void)lutil_field(L, lua_gettop(L), key);
  return keep_text(L, kept);
}

/* The table t[key] of the one at 1, pushed, and its length. */
static size_t list_at(lua_State *L, const char *key) {
  luaL_argcheck(L, lutil_field(L, 1, key) == LUA_TTABLE, 1, key);
  return lua_rawlen(L, -1);
}

static enum pml__section_field field_named(lua_State *L, const char *name) {
  static const char *const names[] = {
#define NAME(id, name) name,
      PML__SECTION_FIELDS_LIST(NAME)
#undef NAME
  };
  for (unsigned i = 0; name != NULL && i < PML__SECTION_FIELDS; i++)
    if (strcmp(name, names[i]) == 0) return (enum pml__section_field)i;
  luaL_error(L, "no such field: %s", name != NULL ? name : "nil");
  return PML__SECTION_FIELDS;
}

/* The column on top, popped. */
static struct pml__section_column column_of(lua_State *L, struct handle *h, int kept) {
  struct pml__section_column c;
  luaL_argcheck(L, lua_istable(L, -1), 1, "a column is not a table");
  int at = lua_gettop(L);
  c.field = field_named(L, kept_field(L, kept, "field"));
  c.name = kept_field(L, kept, "name");
  c.text = kept_field(L, kept, "text");
  if (c.name == NULL || (c.field == PML__SECTION_FIELD_EVENT && c.text == NULL))
    luaL_error(L, "a column without a name, or of no event");
  c.which = (size_t)lutil_intfield(L, at, "which", 1, 1, TEXTS_MAX) - 1;
  (void)lutil_field(L, at, "divisor");
  c.divisor = luaL_optnumber(L, -1, 1);
  if (c.field == PML__SECTION_FIELD_PROCESS && c.which >= h->of_process) h->of_process = c.which + 1;
  bool of_section = c.field == PML__SECTION_FIELD_SECTION || c.field == PML__SECTION_FIELD_WORKED;
  if (of_section && c.which >= h->of_section) h->of_section = c.which + 1;
  lua_settop(L, at - 1);
  return c;
}

static void take_columns(lua_State *L, struct handle *h, int kept) {
  size_t n = list_at(L, "columns");
  struct pml__section_column *column = keep_array(L, kept, n, sizeof *column);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    column[i] = column_of(L, h, kept);
  }
  lua_pop(L, 1);
  h->table.column = column;
  h->table.ncolumns = n;
}

/* The list t[key], each with a label and @texts texts. */
static const struct pml__section_labelled *take_labelled(lua_State *L, int kept, const char *key, size_t texts,
                                                         size_t *n) {
  *n = list_at(L, key);
  struct pml__section_labelled *all = keep_array(L, kept, *n, sizeof *all);
  for (size_t i = 0; i < *n; i++) {
    const char **text = keep_array(L, kept, texts, sizeof *text);
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    luaL_argcheck(L, lua_istable(L, -1), 1, "a label is not in a table");
    lua_rawgeti(L, -1, 1);
    all[i].label = keep_text(L, kept);
    all[i].interface = lutil_field(L, lua_gettop(L), "interface") != LUA_TNIL ? lutil_element(L, 1) : "";
    keep(L, kept);
    if (all[i].label == NULL) luaL_error(L, "%s without a label", key);
    for (size_t k = 0; k < texts; k++) {
      lua_rawgeti(L, -1, (lua_Integer)k + 2);
      text[k] = keep_text(L, kept);
    }
    all[i].text = text;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return all;
}

static int by_label(const void *a, const void *b) {
  const struct pml__section_labelled *x = a, *y = b;
  int order = strcmp(x->label, y->label);
  return order != 0 ? order : strcmp(x->interface, y->interface);
}

/*
 * open { form, indent, columns, sections, events } - columns are { field, name, text, which, divisor }, sections {
 * label, text..., interface = }, events { event, name }; names and texts are in the form already.
 */
static int l_open(lua_State *L) {
  static const char *const known[] = {"form", "indent", "columns", "sections", "events", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lutil_options(L, 1, known);
  lua_settop(L, 1);
  struct handle *h = lutil_new(L, &rows_class, 0, 1);
  lua_newtable(L);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 2, KEPT);
  h->table.form = (enum pml__cells_form)lutil_form(L, 1);
  (void)lutil_field(L, 1, "indent");
  const char *indent = keep_text(L, 3);
  h->table.indent = indent != NULL ? indent : "";
  take_columns(L, h, 3);
  h->table.section = take_labelled(L, 3, "sections", h->of_section, &h->table.nsections);
  if (h->table.nsections > 0) /* the array is this binding's own */
    qsort((void *)(uintptr_t)h->table.section, h->table.nsections, sizeof *h->table.section, by_label);
  h->table.event = take_labelled(L, 3, "events", 1, &h->table.nevents);
  for (size_t i = 0; i < h->table.nevents; i++)
    if (h->table.event[i].text[0] == NULL) luaL_error(L, "an event without a name");
  h->h.open = 1;
  lua_settop(L, 2);
  return 1;
}

/* ---- a log ---- */

/*
 * rows:log { path, label, interface, text, threads, whole, own, counted_work, cache } - the rows of a log as text, and
 * their number; nil and a failure if it cannot be read. A cache has the log already.
 */
static int l_log(lua_State *L) {
  static const struct option known[] = {
      OPTIONS(struct pml__section_question, path, label, interface, counted_work, threads, own),
      OPTION_AS(struct pml__section_question, "whole", whole), OPTION_UNREAD("text"), OPTION_UNREAD("cache"),
      OPTION_END};
  const char *text[TEXTS_MAX + 1] = {NULL};
  struct pml__section_question q = {.text = text, .path = "", .interface = ""};
  struct handle *h = lutil_check(L, 1, &rows_class);
  lua_settop(L, 2);
  luaL_checkstack(L, TEXTS_MAX + LUA_MINSTACK, "texts");
  option_read(L, 2, known, &q);
  (void)lutil_field(L, 2, "cache"); /* the question's table keeps it alive */
  q.cache = lsection_cache_at(L, -1);
  luaL_argcheck(L, (q.threads && q.cache == NULL) || q.label != NULL, 2, "rows of a process or a cache are of a label");
  if (lutil_field(L, 2, "text") == LUA_TTABLE) {
    int texts = lua_gettop(L);
    for (size_t i = 0; i < h->of_process; i++)
      text[i] = lua_rawgeti(L, texts, (lua_Integer)i + 1) != LUA_TNIL ? lutil_element(L, 2) : NULL;
  }
  struct pml__cells_writer w = {0};
  struct lutil_guard *text_of_rows = lutil_guard(L, free);
  int err = pml__section_rows_write(&h->table, &q, &w);
  text_of_rows->of = w.text.at;
  if (err < 0) return pml_pusherr(L, err, "rows.log");
  lua_pushlstring(L, w.text.at != NULL ? w.text.at : "", w.text.n);
  lua_pushinteger(L, (lua_Integer)w.rows);
  lutil_close(&text_of_rows->h);
  return 2;
}

int luaopen_pmlua_rows(lua_State *L) {
  static const luaL_Reg methods[] = {{"log", l_log}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &rows_class, methods, NULL);
  return lutil_module(L, functions);
}
