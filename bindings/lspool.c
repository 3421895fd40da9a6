/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/lspool.c - pml.spool: what a recorded process left, as a story, call paths and a trace. */
#include "lutil.h"

#include <errno.h>

struct handle {
  struct lutil_handle h;
  struct pml_spool_reader *reader;
};

static void spool_close(void *handle) {
  struct handle *h = handle;
  pml_spool_read_close(h->reader);
  h->reader = NULL;
}

static const struct lutil_class spool_class = {"spool", sizeof(struct handle), spool_close};

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &spool_class);
}

static int l_open(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct handle *h = lutil_new(L, &spool_class, 0, 0);
  int err = pml_spool_read_open(&h->reader, path);
  if (err < 0) return pml_pusherr(L, err, "spool.open");
  h->h.open = 1;
  return 1;
}

static int l_story(lua_State *L) {
  static const char *const ended[] = {"running", "exit", "_exit", "failed"};
  struct pml_spool_story s;
  pml_spool_read_story(check(L)->reader, &s);
  lua_createtable(L, 0, 12);
  lua_pushstring(L, s.text); /* before anything that may run a finalizer */
  lua_setfield(L, -2, "text");
  lutil_setint(L, "pid", (uint64_t)(int64_t)s.pid);
  lutil_setint(L, "parent", (uint64_t)(int64_t)s.parent);
  lutil_setstr(L, "ended", ended[s.ended]);
  lutil_setbool(L, "traced", s.traced);
  lutil_setint(L, "lost_children", s.lost_children);
  lutil_setint(L, "dropped", s.dropped);
  lutil_setint(L, "unmatched", s.unmatched);
  lutil_setint(L, "unrecorded", s.unrecorded);
  lutil_setint(L, "deep", s.deep);
  lutil_setint(L, "brief", s.brief);
  lutil_setint(L, "often", s.often);
  return 1;
}

static int l_profile(lua_State *L) {
  struct handle *s = check(L);
  struct pml_profile *p;
  int err = pml_spool_read_profile(s->reader, &p);
  if (err < 0) return pml_pusherr(L, err, "spool.profile");
  lutil_pushprofile(L, p);
  return 1;
}

/* An error in the function ends the work and is raised when all is closed; its value is on the stack then. */
static int tell_progress(uint64_t done, uint64_t all, void *arg) {
  lua_State *L = arg;
  if (lua_isnil(L, 4)) return 0;
  lua_pushvalue(L, 4);
  lua_pushinteger(L, (lua_Integer)done);
  lua_pushinteger(L, (lua_Integer)all);
  return lua_pcall(L, 2, 0, 0) == LUA_OK ? 0 : -ECANCELED;
}

/* trace(dir, process [, progress]): how many calls were open at the end. The handle is closed to others meanwhile. */
static int l_trace(lua_State *L) {
  struct handle *h = check(L);
  const char *dir = lutil_string(L, 2), *process = lutil_string(L, 3);
  lua_settop(L, 4);
  if (!lua_isnil(L, 4)) luaL_checktype(L, 4, LUA_TFUNCTION);
  luaL_checkstack(L, 8, NULL);
  uint64_t open;
  h->h.open = 0;
  int err = pml_spool_read_trace(h->reader, dir, process, tell_progress, L, &open);
  h->h.open = 1;
  if (err == -ECANCELED && lua_gettop(L) > 4) return lua_error(L);
  if (err < 0) return pml_pusherr(L, err, "spool.trace");
  lua_pushinteger(L, (lua_Integer)open);
  return 1;
}

int luaopen_pmlua_spool(lua_State *L) {
  static const luaL_Reg methods[] = {{"story", l_story}, {"profile", l_profile}, {"trace", l_trace}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &spool_class, methods, NULL);
  luaL_newlib(L, functions);
  return 1;
}
