/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/coverage.h - included before every file of a build that spec/coverage_map.lua runs: notes executed lines of Lua,
 * and writes the counts of C (gcov) of children that end by _exit.
 *
 * The lines go to a mapped file, COVERAGE_LUA, with a byte for each line of each module, so that processes that are
 * killed lose none. A hook is set where a module of bindings registers functions; coroutines created later inherit it.
 */
#ifndef SPEC_COVERAGE_H
#define SPEC_COVERAGE_H
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COVERAGE_LINES 1024
static const char *const coverage_modules[] = {
#include "coverage_modules.h"
};
__attribute__((weak)) unsigned char *coverage_bytes;

__attribute__((weak)) void coverage_note(lua_State *L, lua_Debug *ar) {
  static __thread const char *last;
  static __thread size_t module;
  if (lua_getinfo(L, "S", ar) == 0) return;
  if (ar->source != last) {
    const char *name = strstr(ar->source, "lua/pmlua/");
    size_t n = sizeof coverage_modules / sizeof *coverage_modules;
    for (module = 0; name != NULL && module < n && strcmp(coverage_modules[module], name) != 0;) module++;
    if (name == NULL) module = n;
    last = ar->source;
  }
  if (module >= sizeof coverage_modules / sizeof *coverage_modules || ar->currentline >= COVERAGE_LINES) return;
  coverage_bytes[module * COVERAGE_LINES + (size_t)ar->currentline] = 1;
}

__attribute__((weak)) void coverage_hook(lua_State *L) {
  const char *path = getenv("COVERAGE_LUA");
  int fd = coverage_bytes == NULL ? open(path != NULL ? path : COVERAGE_REST, O_RDWR | O_CLOEXEC) : -1;
  if (fd >= 0) {
    size_t bytes = sizeof coverage_modules / sizeof *coverage_modules * COVERAGE_LINES;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p != MAP_FAILED) coverage_bytes = p;
  }
  if (coverage_bytes == NULL || lua_gethook(L) != NULL) return;
  lua_sethook(L, coverage_note, LUA_MASKLINE, 0);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_sethook(lua_tothread(L, -1), coverage_note, LUA_MASKLINE, 0);
  lua_pop(L, 1);
}
#define luaL_setfuncs(L, l, n) (coverage_hook(L), luaL_setfuncs(L, l, n))
#endif
