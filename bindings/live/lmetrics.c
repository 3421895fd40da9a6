/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/lmetrics.c - pmlua.core.metrics: the values of running programs, and lines of text with them. */
#include "module.h"
#include "source/lsde.h"

#include "base/pml_array.h"
#include "read/export/pml_export_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lines {
  struct lutil_handle h;
  struct pml__metrics_lines of;
  char *text; /* where the lines are written, of @room bytes: kept, because they are written again */
  size_t room;
};

LUTIL_CLASS(metricslines, lines, (pml__metrics_free(&h->of), free(h->text)))

static int parse(lua_State *L, int arg, struct pml__metrics_answer *a) {
  size_t n;
  const char *bytes = luaL_checklstring(L, arg, &n);
  return pml__metrics_parse(a, bytes, n);
}

/* The names stay valid: they are in the argument. */
static int push_events(lua_State *L, struct pml__metrics_answer *a) {
  struct pml__metrics_event e = {0};
  int rc = 1;
  lua_createtable(L, (int)(a->events < a->names.left ? a->events : a->names.left), 0);
  for (lua_Integer i = 1; (rc = pml__metrics_next(a, &e)) > 0; i++) {
    lua_createtable(L, 0, 8);
    lutil_setstr(L, "name", e.name);
    if (e.description[0] != '\0') lutil_setstr(L, "description", e.description);
    lutil_setstr(L, "kind", lsde_kind(e.kind));
    lutil_setstr(L, "type", lsde_type(e.type));
    lutil_setbool(L, "writable", (e.mode & PML_SDE_RW) != 0);
    lutil_setbool(L, "instant", (e.mode & PML_SDE_INSTANT) != 0);
    lutil_setint(L, "word", (uint64_t)e.word + 1);
    lua_rawseti(L, -2, i);
  }
  return rc;
}

/* answer(bytes) -> { generation, missing, text, events }, without events if the answer has no names; or a failure. */
static int l_answer(lua_State *L) {
  struct pml__metrics_answer a;
  int rc = parse(L, 1, &a);
  if (rc < 0) return pml_pusherr(L, rc, "metrics.answer");
  lua_createtable(L, 0, 4);
  lutil_setint(L, "generation", a.generation);
  lutil_setint(L, "missing", a.missing);
  lua_pushlstring(L, a.text, a.text_bytes);
  lua_setfield(L, -2, "text");
  if (a.names.left == 0 && a.events > 0) return 1;
  rc = push_events(L, &a);
  if (rc < 0) return pml_pusherr(L, rc, "metrics.answer");
  lua_setfield(L, -2, "events");
  return 1;
}

/* value(bytes, word) -> the value of a word from 1, or nil. */
static int l_value(lua_State *L) {
  struct pml__metrics_answer a;
  struct pml_value v;
  uint32_t word = (uint32_t)lutil_int(L, 2, 1, UINT32_MAX) - 1;
  int rc = parse(L, 1, &a);
  if (rc < 0) return pml_pusherr(L, rc, "metrics.value");
  if (!pml__metrics_value(&a, word, &v)) return 0;
  v.type == PML_TYPE_DOUBLE ? lua_pushnumber(L, v.d) : lua_pushinteger(L, v.i);
  return 1;
}

static int l_lines(lua_State *L) {
  struct lines *l = lutil_new(L, &metricslines_class, 0, 0);
  return lutil_opened(L, &l->h, 0, "metrics.lines");
}

/* add(text) for a constant one; add(text, program, word, rising): the value of a word of the program's answer follows.
 */
static int l_add(lua_State *L) {
  struct lines *l = lutil_check(L, 1, &metricslines_class);
  size_t n;
  const char *text = luaL_checklstring(L, 2, &n);
  bool constant = lua_isnoneornil(L, 3);
  uint32_t program = constant ? PML__METRICS_CONSTANT : (uint32_t)lutil_int(L, 3, 1, INT32_MAX) - 1;
  uint32_t word = constant ? 0 : (uint32_t)lutil_int(L, 4, 1, UINT32_MAX) - 1;
  return pml_pushdone(L, pml__metrics_add(&l->of, text, n, program, word, lua_toboolean(L, 5)), "metricslines.add");
}

/* Parse the replies in the list at @arg; pushes a userdata and a list that keep them alive. */
static struct pml__metrics_answer *check_answers(lua_State *L, int arg, uint32_t *n) {
  luaL_checktype(L, arg, LUA_TTABLE);
  lua_Integer given = luaL_len(L, arg);
  luaL_argcheck(L, given >= 0 && given < 65536, arg, "must be a list of at most 65535 answers");
  *n = (uint32_t)given;
  struct pml__metrics_answer *a = lua_newuserdatauv(L, (*n + 1) * sizeof *a, 0);
  lua_createtable(L, (int)*n, 0); /* a list that no finalizer changes */
  for (uint32_t i = 0; i < *n; i++) {
    size_t size;
    a[i] = (struct pml__metrics_answer){0}; /* a program without an answer has no values */
    if (lua_rawgeti(L, arg, i + 1) == LUA_TSTRING) {
      const char *bytes = lua_tolstring(L, -1, &size);
      if (pml__metrics_parse(&a[i], bytes, size) < 0) a[i].words = 0;
    }
    lua_rawseti(L, -2, i + 1);
  }
  return a;
}

/* text(answers, behind) -> the lines, and then another text; fallen(answers) -> the lines whose counters are negative
 * or NaN, by number. */
static int l_text(lua_State *L) {
  uint32_t n;
  size_t behind;
  const char *text = luaL_checklstring(L, 3, &behind);
  struct pml__metrics_answer *a = check_answers(L, 2, &n);
  struct lutil_guard *guard = lutil_guard(L, free);
  struct lines *l = lutil_check(L, 1, &metricslines_class);
  if (!PML__ARRAY_ROOM(l->text, l->room, pml__metrics_room(&l->of) + behind))
    return pml_pusherr(L, pml_fail(-ENOMEM, "out of memory for lines of metrics"), "metricslines.text");
  size_t size = pml__metrics_write(&l->of, a, n, l->text);
  memcpy(l->text + size, text, behind);
  size_t room = l->room;
  guard->of = l->text; /* a finalizer may close the lines while the text is copied, or write it again */
  l->text = NULL;
  l->room = 0;
  lua_pushlstring(L, guard->of, size + behind);
  if (l->h.open && l->text == NULL) {
    l->text = guard->of;
    l->room = room;
    guard->of = NULL;
  }
  lutil_close(&guard->h);
  return 1;
}

static int l_fallen(lua_State *L) {
  uint32_t n;
  const struct pml__metrics_answer *a = check_answers(L, 2, &n);
  lua_newtable(L);
  const struct lines *l = lutil_check(L, 1, &metricslines_class);
  size_t i = pml__metrics_fallen(&l->of, a, n, 0);
  for (lua_Integer k = 1; i < l->of.n; k++) {
    lua_pushinteger(L, (lua_Integer)i + 1);
    lua_rawseti(L, -2, k);
    l = lutil_check(L, 1, &metricslines_class);
    i = pml__metrics_fallen(&l->of, a, n, i + 1);
  }
  return 1;
}

int luaopen_pmlua_metrics(lua_State *L) {
  static const luaL_Reg methods[] = {{"add", l_add}, {"text", l_text}, {"fallen", l_fallen}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"answer", l_answer}, {"value", l_value}, {"lines", l_lines}, {NULL, NULL}};
  lutil_class(L, &metricslines_class, methods, NULL);
  return lutil_module(L, functions);
}
