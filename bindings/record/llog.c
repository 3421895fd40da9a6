/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/llog.c - pmlua.core.log: a log's head, notes and raw definitions (docs/log.md). */
#include "module.h"

#include "read/log/pml_history_read.h"
#include "read/log/pml_log_read.h"

#include <errno.h>
#include <string.h>

struct handle {
  struct lutil_handle h;
  struct pml__log_reader reader;
};

LUTIL_CLASS(log, handle, pml__log_read_close(&h->reader))

static void push_head(lua_State *L, const struct pml__log_head *head) {
  static const struct field fields[] = FIELDS(struct pml__log_head, pid, parent, started_ns, host, command);
  field_push(L, fields, head);
  lutil_setbool(L, "ended", head->ended == PML__LOG_ENDED_EXIT);
}

/* The table of notes is below the table on top. */
static void add_note(lua_State *L, const char *at, size_t bytes) {
  const char *key = pml__log_text(&at, &bytes), *text = key != NULL ? pml__log_text(&at, &bytes) : NULL;
  if (text != NULL) lutil_setstr(L, key, text);
}

struct reading {
  lua_State *L;
  int notes, definitions; /* where their tables are */
};

static int add_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  const struct reading *r = arg;
  lua_State *L = r->L;
  lua_pushvalue(L, r->notes);
  if (what == PML__LOG_NOTE) add_note(L, at, bytes);
  lua_pop(L, 1);
  if (lua_rawgeti(L, r->definitions, (lua_Integer)what) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, r->definitions, (lua_Integer)what);
  }
  lua_pushlstring(L, at, bytes);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
  return 0;
}

/* read(path): the head's fields, how many extents the file is too short for, notes by key, and by number lists of
 * definitions, each behind its first 8 bytes. */
static int l_read(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct handle *h = lutil_new(L, &log_class, 0, 0); /* an error of memory closes it */
  int err = pml__log_read_open(&h->reader, path);
  if (err < 0) return pml_pusherr(L, err, "log.read");
  h->h.open = 1;
  push_head(L, &h->reader.head);
  lutil_setint(L, "missing", h->reader.missing);
  struct reading r = {L, lua_gettop(L) + 1, lua_gettop(L) + 2};
  lua_newtable(L);
  lua_newtable(L);
  err = pml__log_read_definitions(&h->reader, add_definition, &r);
  if (err < 0) return pml_pusherr(L, err, "log.read");
  lua_setfield(L, -3, "definitions");
  lua_setfield(L, -2, "notes");
  return 1;
}

/* ---- history ---- */

/* The series that a call collects: in memory of C, because an error of Lua would leave the reader open. */
struct history {
  const char *name; /* NULL: all */
  struct lutil_rows *rows;
};
struct history_row {
  size_t bytes; /* size of this row */
  bool real, instant;
  uint64_t began_ns;
  size_t n, name;
};

static int keep_history(const struct pml_history *h, void *arg) {
  const struct history *to = arg;
  if (to->name != NULL && strcmp(to->name, h->name) != 0) return 0;
  struct history_row row = {0, h->real, h->instant, h->began_ns, h->n, strlen(h->name) + 1};
  size_t pad = (8 - row.name % 8) % 8;
  row.bytes = sizeof row + row.name + pad + 16 * h->n;
  if (lutil_add(to->rows, &row, sizeof row) < 0 || lutil_add(to->rows, h->name, row.name) < 0 ||
      lutil_add(to->rows, "\0\0\0\0\0\0\0", pad) < 0 || lutil_add(to->rows, h->ms, 8 * h->n) < 0 ||
      lutil_add(to->rows, h->value, 8 * h->n) < 0)
    return pml_fail(-ENOMEM, "no memory for the series of %s", h->name);
  return 0;
}

static void push_value(lua_State *L, bool real, uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  if (real)
    lua_pushnumber(L, d);
  else
    lua_pushinteger(L, (lua_Integer)bits);
}

static void push_history(lua_State *L, const struct history_row *row) {
  const char *name = (const char *)(row + 1);
  const char *ms = name + row->name + (8 - row->name % 8) % 8, *value = ms + 8 * row->n;
  lua_createtable(L, 0, 5);
  lutil_setstr(L, "name", name);
  lutil_setbool(L, "real", row->real);
  lutil_setbool(L, "instant", row->instant);
  lua_createtable(L, (int)row->n, 0);
  lua_createtable(L, (int)row->n, 0);
  for (size_t i = 0; i < row->n; i++) {
    int64_t at;
    uint64_t bits;
    memcpy(&at, ms + 8 * i, sizeof at);
    memcpy(&bits, value + 8 * i, sizeof bits);
    lua_pushnumber(L, (double)row->began_ns / 1e9 + (double)at / 1e3);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    push_value(L, row->real, bits);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -3, "values");
  lua_setfield(L, -2, "times_s");
}

/* history(path, name): series of events, each with name, real, instant, times_s since 1970 and values; name nil: all.
 */
static int l_history(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct history to = {.name = luaL_optstring(L, 2, NULL)};
  to.rows = lutil_rows(L);
  int err = pml_history_load(path, keep_history, &to);
  if (err < 0) return pml_pusherr(L, err, "log.history");
  lua_newtable(L);
  for (size_t at = 0; at < to.rows->used;) {
    const struct history_row *row = (const void *)(to.rows->at + at);
    push_history(L, row);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    at += row->bytes;
  }
  lutil_close(&to.rows->h);
  return 1;
}

int luaopen_pmlua_log(lua_State *L) {
  static const luaL_Reg functions[] = {{"read", l_read}, {"history", l_history}, {NULL, NULL}};
  lutil_class(L, &log_class, NULL, NULL);
  return lutil_module(L, functions);
}
