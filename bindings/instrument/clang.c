/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/instrument/clang.c - pmlua.clang, a separate Lua module: declarations of C and C++ headers, by libclang.
 *
 * libclang is opened when it is first asked for, so that nothing else depends on it. Cursors are gathered first and
 * turned into tables later (clang_table.c): no Lua error may unwind through libclang.
 */
#include "instrument/clang.h"

#include "base/pml_array.h"

#include <dlfcn.h>
#include <glob.h>
#include <lauxlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct clang cl;
/* --- libclang ----------------------------------------------------------------------------------------------------- */

#define FIND(name) cl.name = (__typeof__(cl.name))(uintptr_t)dlsym(so, "clang_" #name);
#define LACKING(name) || cl.name == NULL
static bool use(const char *path) {
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) return false;
  CLANG_CALLS(FIND)
  if (false CLANG_CALLS(LACKING)) {
    dlclose(so);
    return false;
  }
  cl.library = so;
  return true;
}

static bool use_any(const char *pattern) {
  glob_t found;
  bool used = false;
  if (glob(pattern, 0, NULL, &found) != 0) return false;
  for (size_t i = found.gl_pathc; i > 0 && !used; i--) used = use(found.gl_pathv[i - 1]);
  globfree(&found);
  return used;
}

/* The library that PMLUA_LIBCLANG names, or the newest that is found. */
static bool opened(void) {
  static const char *const places[] = {"/usr/lib/llvm-*/lib/libclang.so*", "/usr/lib/*/libclang-*.so*",
                                       "/usr/lib64/libclang.so*", "/usr/local/lib/libclang.so*"};
  if (cl.library != NULL) return true;
  const char *given = secure_getenv("PMLUA_LIBCLANG");
  if (given != NULL) return use(given);
  if (use("libclang.so.1") || use("libclang.so")) return true;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (use_any(places[i])) return true;
  return false;
}

/* A failure, whose class pmlua.core has made. */
static int refuse(lua_State *L, const char *code, const char *text, const char *remedy) {
  const char *const fields[] = {"place", "clang.parse", "code", code, "text", text, "remedy", remedy};
  lua_pushnil(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i += 2) {
    lua_pushstring(L, fields[i + 1]);
    lua_setfield(L, -2, fields[i]);
  }
  luaL_setmetatable(L, "pml.failure");
  lua_pushstring(L, code);
  return 3;
}

static int missing(lua_State *L) {
  return refuse(L, "ENOENT", "libclang is not found", "install libclang-dev (or set PMLUA_LIBCLANG to its file)");
}

/* --- what a translation unit declares, gathered without Lua ------------------------------------------------------- */

static bool kept(struct unit *u, CXCursor c) {
  u->full = !PML__ARRAY_ROOM(u->cursor, u->cursor_room, u->cursors + 1);
  if (!u->full) u->cursor[u->cursors++] = c;
  return !u->full;
}

static void keep_include(struct unit *u, CXFile file, CXSourceLocation at, bool direct) {
  if (file == NULL) return;
  if (!PML__ARRAY_ROOM(u->include, u->include_room, u->includes + 1)) {
    u->full = true;
    return;
  }
  struct included *i = &u->include[u->includes++];
  i->file = file;
  i->direct = direct;
  cl.getExpansionLocation(at, NULL, &i->line, NULL, NULL);
}

static enum CXChildVisitResult gather(CXCursor c, CXCursor parent, CXClientData arg) {
  struct unit *u = arg;
  (void)parent;
  switch ((int)cl.getCursorKind(c)) {
  case CXCursor_Namespace:
  case CXCursor_LinkageSpec:
  case CXCursor_UnexposedDecl: /* extern "C", until LLVM 15 */
  case CXCursor_ClassDecl:
  case CXCursor_StructDecl:
  case CXCursor_UnionDecl:
  case CXCursor_FriendDecl:
    return CXChildVisit_Recurse;
  case CXCursor_FunctionDecl:
  case CXCursor_CXXMethod:
  case CXCursor_Constructor:
  case CXCursor_Destructor:
  case CXCursor_ConversionFunction:
  case CXCursor_FunctionTemplate:
    return kept(u, c) ? CXChildVisit_Continue : CXChildVisit_Break;
  case CXCursor_ClassTemplate:
    return kept(u, c) ? CXChildVisit_Recurse : CXChildVisit_Break;
  case CXCursor_InclusionDirective:
    if (cl.Location_isFromMainFile(cl.getCursorLocation(c)) != 0)
      keep_include(u, cl.getIncludedFile(c), cl.getCursorLocation(c), true);
    return CXChildVisit_Continue;
  default:
    return CXChildVisit_Continue;
  }
}

static void gather_include(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData arg) {
  if (depth > 0) keep_include(arg, file, stack[depth - 1], false);
}

/* --- the module ---------------------------------------------------------------------------------------------------
 */

static int unit_gc(lua_State *L) {
  struct unit *u = lua_touserdata(L, 1);
  if (u->tu != NULL) cl.disposeTranslationUnit(u->tu);
  if (u->index != NULL) cl.disposeIndex(u->index);
  free(u->cursor);
  free(u->include);
  memset(u, 0, sizeof *u);
  return 0;
}

static struct unit *new_unit(lua_State *L) {
  struct unit *u = lua_newuserdatauv(L, sizeof *u, 0);
  memset(u, 0, sizeof *u);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, unit_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return u;
}

/* The strings of the array at @idx; they live as long as it does. */
static const char **arguments(lua_State *L, int idx, int *n) {
  lua_Integer len = luaL_len(L, idx);
  luaL_argcheck(L, len >= 0 && len < 100000, idx, "too many arguments");
  const char **list = lua_newuserdatauv(L, (size_t)(len + 1) * sizeof *list, 0);
  for (lua_Integer i = 1; i <= len; i++) {
    if (lua_rawgeti(L, idx, i) != LUA_TSTRING) luaL_argerror(L, idx, "an element is not a string");
    list[i - 1] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  *n = (int)len;
  return list;
}

/*
 * clang.parse(file, arguments) - { declarations, errors, includes, version }; nil, why and its code where libclang is
 * not there or cannot make anything of the file. Headers with errors give what could be read.
 */
static int l_parse(lua_State *L) {
  int n = 0;
  const char *file = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  const char **list = arguments(L, 2, &n);
  if (!opened()) return missing(L);
  struct unit *u = new_unit(L);
  u->index = cl.createIndex(0, 0);
  enum CXErrorCode err =
      cl.parseTranslationUnit2(u->index, file, list, n, NULL, 0, CXTranslationUnit_DetailedPreprocessingRecord, &u->tu);
  if (err == CXError_Crashed) return refuse(L, "EFAULT", "libclang crashed while it read the headers", NULL);
  if (err != CXError_Success) return refuse(L, "EINVAL", "libclang does not accept the file or the flags", NULL);
  cl.visitChildren(cl.getTranslationUnitCursor(u->tu), gather, u);
  cl.getInclusions(u->tu, gather_include, u);
  if (u->full) return refuse(L, "ENOMEM", "the headers declare more than fits into memory", NULL);
  clang_push(L, u);
  return 1;
}

/* clang.available() - true, or false and what to install. */
static int l_available(lua_State *L) {
  if (!opened()) {
    missing(L);
    lua_pushboolean(L, 0);
    lua_replace(L, -4);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_pmlua_clang(lua_State *L);
int luaopen_pmlua_clang(lua_State *L) {
  static const luaL_Reg functions[] = {{"parse", l_parse}, {"available", l_available}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
