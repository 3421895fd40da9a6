/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/llog.c - pmlua.core.log: a log's head, notes and raw definitions (docs/log.md). */
#include "module.h"

#include "read/log/pml_log_read.h"

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

int luaopen_pmlua_log(lua_State *L) {
  static const luaL_Reg functions[] = {{"read", l_read}, {NULL, NULL}};
  lutil_class(L, &log_class, NULL, NULL);
  return lutil_module(L, functions);
}
