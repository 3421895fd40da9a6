/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/adapter/lintercept.c - pml.intercept: interception of calls between this process's libraries. */
#include "module.h"

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

static int l_install(lua_State *L) {
  static const struct option known[] = {OPTIONS(struct pml_intercept_options, lib, sym, func, dlsym),
                                        OPTION_AS(struct pml_intercept_options, "not", but), OPTION_END};
  struct pml_intercept_options o = {0};
  lua_settop(L, 1);
  option_read(L, 1, known, &o);
  struct handle *h = lutil_new(L, &intercept_class, 0, 0);
  int err = pml_intercept_install(&o);
  return lutil_opened(L, &h->h, err, "intercept.install");
}

static int l_stats(lua_State *L) {
  static const struct field calls[] =
      FIELDS(struct pml_intercept_stats, objects, functions, slots, shared, deep, nested, unseen, elsewhere, scans);
  static const struct field wrapped[] = FIELDS(struct pml_wrap_stats, missing, unrecorded, texts, nameless);
  struct pml_intercept_stats s;
  struct pml_wrap_stats w;
  lutil_check(L, 1, &intercept_class);
  pml_intercept_stats(&s);
  pml_wrap_stats(&w);
  field_push(L, calls, &s);
  field_set(L, wrapped, &w);
  lutil_setint(L, "wrapped", w.functions);
  return 1;
}

int luaopen_pmlua_intercept(lua_State *L) {
  static const luaL_Reg methods[] = {{"stats", l_stats}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"install", l_install}, {NULL, NULL}};
  lutil_class(L, &intercept_class, methods, NULL);
  return lutil_module(L, functions);
}
