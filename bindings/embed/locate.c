/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/locate.c - location of pmlua's Lua folder. */
#include "embed/locate.h"

#include "base/pml_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEVELS 5 /* PREFIX/lib/lua/5.4/pmlua/core.so */

static bool holds(char out[LOCATE_MAX], const char *dir, const char *below) {
  char probe[LOCATE_MAX + 32];
  if (snprintf(out, LOCATE_MAX, "%.*s%s", PATH_MAX - 1, dir, below) >= LOCATE_MAX) return false;
  snprintf(probe, sizeof probe, "%s/pmlua/init.lua", out);
  return access(probe, R_OK) == 0;
}

static bool near(char out[LOCATE_MAX], char path[PATH_MAX]) {
  for (int level = 0; level <= LEVELS; level++) {
    char *slash = strrchr(path, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    if (holds(out, path, "/lua") || holds(out, path, "/share/pmlua/lua")) return true;
  }
  return false;
}

/*
 * The loader's name for the program is the one in the call, which may be a bare name that also matches another file
 * in the current folder, so the kernel provides the path. For a library the loader has the path.
 */
void locate_code(char path[PATH_MAX]) {
  Dl_info info;
  struct link_map *map = NULL;
  bool known = dladdr1((void *)(uintptr_t)locate_code, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL;
  const char *name = known && map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
  if (realpath(name, path) == NULL) path[0] = '\0';
}

int locate_given(const char *dir) {
  char found[LOCATE_MAX];
  if (holds(found, dir, "")) return 0;
  return pml_fail(-ENOENT, "%.200s does not hold pmlua/init.lua; give the folder of pmlua's Lua modules", dir);
}

int locate_lua(char dir[LOCATE_MAX]) {
  char path[PATH_MAX];
  const char *given = secure_getenv("PMLUA_LUA");
  if (given != NULL) {
    if (holds(dir, realpath(given, path) != NULL ? path : given, "")) return 0;
    return pml_fail(-ENOENT, "PMLUA_LUA is %.200s, which does not hold pmlua/init.lua", given);
  }
  locate_code(path);
  if (near(dir, path)) return 0;
  if (realpath("/proc/self/exe", path) != NULL && near(dir, path)) return 0;
  return pml_fail(-ENOENT, "pmlua's Lua modules are not found beside its code; set PMLUA_LUA to the folder that holds "
                           "pmlua/init.lua");
}
