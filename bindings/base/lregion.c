/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/base/lregion.c - pml.region: names of code regions and their ids. */
#include "live/limit.h"
#include "module.h"

#include "base/text/pml_demangle.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 64 /* size of a region without its names */

static int l_intern(lua_State *L) {
  const char *name = lutil_string(L, 1), *file = lutil_optstring(L, 2, NULL);
  lua_Integer line = lutil_optint(L, 3, 0, 0, UINT32_MAX);
  pml_region_t id = 0;
  struct limit *account;
  size_t bytes = strlen(name) + (file != NULL ? strlen(file) : 0) + ENTRY_BYTES;
  int err = limit_charge(L, bytes, &account);
  uint32_t before = pml_region_count();
  if (err == 0) err = pml_region_intern(name, file, (uint32_t)line, &id);
  if (pml_region_count() == before) limit_discharge(account, bytes); /* it was there, or there is no room */
  if (err < 0) return pml_pusherr(L, err, "region.intern");
  return lutil_pushint(L, (uint64_t)id);
}

static int l_describe(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_region_info, name, file, line);
  struct pml_region_info info;
  int err = pml_region_describe((pml_region_t)lutil_int(L, 1, 0, UINT32_MAX), &info);
  if (err < 0) return pml_pusherr(L, err, "region.describe");
  return field_push(L, fields, &info);
}

static int l_count(lua_State *L) {
  return lutil_pushint(L, (uint64_t)pml_region_count());
}

/* A C++ name demangled; the name itself if it is not mangled or there is no C++ library. */
static int l_demangle(lua_State *L) {
  char *nice = pml__demangled(lutil_string(L, 1));
  lua_settop(L, 1);
  if (nice == NULL) return 1;
  lua_pushstring(L, nice);
  free(nice);
  return 1;
}

int luaopen_pmlua_region(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"intern", l_intern}, {"describe", l_describe}, {"count", l_count}, {"demangle", l_demangle}, {NULL, NULL}};
  return lutil_module(L, functions);
}
