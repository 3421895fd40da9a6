/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/locate.c - location of pmlua's Lua folder. */
#include "embed/locate.h"

#include "base/pml_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
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

/* The first folder that the application gave: for states of the service, where code and folder are apart. */
static char first_given[LOCATE_MAX];
static _Atomic int given_state; /* 0: none, 1: written by a thread, 2: there; the store of 2 publishes the text */

int locate_given(const char *dir) {
  char found[LOCATE_MAX];
  int none = 0;
  if (holds(found, dir, "")) {
    if (atomic_compare_exchange_strong(&given_state, &none, 1)) {
      memcpy(first_given, found, sizeof found);
      atomic_store(&given_state, 2);
    }
    return 0;
  }
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
  if (atomic_load(&given_state) == 2) {
    memcpy(dir, first_given, sizeof first_given);
    return 0;
  }
  if (realpath("/proc/self/exe", path) != NULL && near(dir, path)) return 0;
  return pml_fail(-ENOENT,
                  "pmlua's Lua modules are not in the folders of its code; set PMLUA_LUA to the folder that holds "
                  "pmlua/init.lua");
}
