/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/adapter/lintercept.c - pml.intercept: interception of calls between this process's libraries. */
#include "lutil.h"

#include "adapter/intercept/pml_intercept.h"
#include "adapter/wrap/pml_wrap.h"

/* There is one interception in a process: closing the handle ends it. */
struct handle {
  struct lutil_handle h;
};

static void intercept_close(void *handle) {
  (void)handle;
  pml_intercept_remove();
}

static const struct lutil_class intercept_class = {"interception", sizeof(struct handle), intercept_close};

static bool is_set(lua_State *L, const char *key) {
  lutil_field(L, 1, key);
  bool is = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

static int l_install(lua_State *L) {
  static const char *const known[] = {"lib", "sym", "not", "dlsym", NULL};
  lua_settop(L, 1);
  lutil_options(L, 1, known);
  const struct pml_intercept_options o = {.lib = lutil_stringfield(L, 1, "lib", NULL),
                                          .sym = lutil_stringfield(L, 1, "sym", NULL),
                                          .but = lutil_stringfield(L, 1, "not", NULL),
                                          .dlsym = is_set(L, "dlsym")};
  struct handle *h = lutil_new(L, &intercept_class, 0, 0);
  int err = pml_intercept_install(&o);
  if (err < 0) return pml_pusherr(L, err, "intercept.install");
  h->h.open = 1;
  return 1;
}

static int l_stats(lua_State *L) {
  struct pml_intercept_stats s;
  struct pml_wrap_stats w;
  lutil_check(L, 1, &intercept_class);
  pml_intercept_stats(&s);
  pml_wrap_stats(&w);
  lua_createtable(L, 0, 15);
  lutil_setint(L, "objects", s.objects);
  lutil_setint(L, "functions", s.functions);
  lutil_setint(L, "slots", s.slots);
  lutil_setint(L, "shared", s.shared);
  lutil_setint(L, "deep", s.deep);
  lutil_setint(L, "nested", s.nested);
  lutil_setint(L, "unseen", s.unseen);
  lutil_setint(L, "elsewhere", s.elsewhere);
  lutil_setint(L, "scans", s.scans);
  lutil_setint(L, "wrapped", w.functions);
  lutil_setint(L, "missing", w.missing);
  lutil_setint(L, "unrecorded", w.unrecorded);
  lutil_setint(L, "texts", w.texts);
  lutil_setint(L, "nameless", w.nameless);
  return 1;
}

int luaopen_pmlua_intercept(lua_State *L) {
  static const luaL_Reg methods[] = {{"stats", l_stats}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"install", l_install}, {NULL, NULL}};
  lutil_class(L, &intercept_class, methods, NULL);
  luaL_newlib(L, functions);
  return 1;
}
