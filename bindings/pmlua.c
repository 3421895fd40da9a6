/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/pmlua.c - the table of contents of pmlua.core. */
#include "pmlua.h"
#include "lutil.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The file this code was loaded from (the command or core.so): folders that ship with it are found from there. */
static void pushorigin(lua_State *L) {
  Dl_info info;
  char *path = NULL;
  if (dladdr((void *)(uintptr_t)luaopen_pmlua_core, &info) != 0 && info.dli_fname != NULL)
    path = realpath(info.dli_fname, NULL);
  /* A position-dependent command may be known to the loader by the bare name it was called with. */
  if (path == NULL) path = realpath("/proc/self/exe", NULL);
  lua_pushstring(L, path != NULL ? path : "");
  free(path);
}

int luaopen_pmlua_core(lua_State *L) {
  int err = pml_clock_init();
  if (err < 0) {
    pml_pusherr(L, err, "pmlua.core");
    lua_pop(L, 1);
    return lua_error(L);
  }
  lua_newtable(L);
  lua_pushliteral(L, PML_VERSION);
  lua_setfield(L, -2, "version");
  pushorigin(L);
  lua_setfield(L, -2, "origin");
#define MODULE(name)                                                                                                   \
  luaopen_pmlua_##name(L);                                                                                             \
  lua_setfield(L, -2, #name);
  LUTIL_MODULES(MODULE)
#undef MODULE
  return 1;
}
