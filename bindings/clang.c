/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/clang.c - pmlua.clang, a Lua module of its own: what C and C++ headers declare, as libclang reads them.
 *
 * libclang is opened when it is first asked for, so that nothing else depends on it. Cursors are gathered first and
 * turned into tables later: no Lua error may unwind through libclang.
 */
#include <clang-c/Index.h>
#include <lauxlib.h>
#include <lua.h>

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- libclang ----------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define CALLS(X) \
  X(createIndex) X(disposeIndex) X(parseTranslationUnit2) X(disposeTranslationUnit) X(getClangVersion) \
  X(getCString) X(disposeString) X(disposeStringSet) \
  X(getNumDiagnostics) X(getDiagnostic) X(disposeDiagnostic) X(getDiagnosticSeverity) X(getDiagnosticSpelling) \
  X(getDiagnosticLocation) X(getExpansionLocation) X(getFileName) X(getInclusions) \
  X(getTranslationUnitCursor) X(visitChildren) X(getCursorKind) X(getCursorSpelling) X(getCursorLocation) \
  X(getCursorSemanticParent) X(getCursorType) X(getCursorResultType) X(getTypeSpelling) X(getCanonicalType) \
  X(getCursorLinkage) X(getCXXAccessSpecifier) X(getCursorAvailability) X(isCursorDefinition) X(getCursorDefinition) \
  X(getCursorReferenced) X(getIncludedFile) X(Location_isFromMainFile) X(isVirtualBase) X(isInvalid) X(isFunctionTypeVariadic) \
  X(Cursor_isNull) X(Cursor_getNumArguments) X(Cursor_getArgument) X(Cursor_getMangling) X(Cursor_getCXXManglings) \
  X(Cursor_isFunctionInlined) X(CXXMethod_isStatic) X(CXXMethod_isConst) X(CXXMethod_isVirtual) \
  X(CXXMethod_isPureVirtual)
/* clang-format on */

#define POINTER(name) __typeof__(&clang_##name) name;
static struct {
  void *library;
  CALLS(POINTER)
} cl;

#define FIND(name) cl.name = (__typeof__(cl.name))(uintptr_t)dlsym(so, "clang_" #name);
#define LACKING(name) || cl.name == NULL
static bool use(const char *path) {
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) return false;
  CALLS(FIND)
  if (false CALLS(LACKING)) {
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
  const char *given = getenv("PMLUA_LIBCLANG");
  if (given != NULL) return use(given);
  if (use("libclang.so.1") || use("libclang.so")) return true;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (use_any(places[i])) return true;
  return false;
}

static int refuse(lua_State *L, const char *code, const char *text) {
  lua_pushnil(L);
  lua_pushfstring(L, "clang.parse: %s: %s", code, text);
  lua_pushstring(L, code);
  return 3;
}

static int missing(lua_State *L) {
  return refuse(L, "ENOENT", "libclang is not found; install libclang-dev (or set PMLUA_LIBCLANG to its file)");
}

/* --- what a translation unit declares, gathered without Lua ------------------------------------------------------- */

struct included {
  CXFile file;
  unsigned line; /* of the main file, whose include brought it */
  bool direct;   /* the main file itself includes it, though another may have been first */
};

struct unit {
  CXIndex index;
  CXTranslationUnit tu;
  CXCursor *cursor;
  size_t cursors, cursor_room;
  struct included *include;
  size_t includes, include_room;
  bool full; /* no memory for more */
};

static void *grown(void *array, size_t n, size_t *room, size_t size) {
  if (n < *room) return array;
  size_t wanted = *room > 0 ? 2 * *room : 256;
  void *more = realloc(array, wanted * size);
  if (more != NULL) *room = wanted;
  return more;
}

static bool kept(struct unit *u, CXCursor c) {
  CXCursor *more = grown(u->cursor, u->cursors, &u->cursor_room, sizeof *more);
  u->full = more == NULL;
  if (u->full) return false;
  u->cursor = more;
  u->cursor[u->cursors++] = c;
  return true;
}

static void keep_include(struct unit *u, CXFile file, CXSourceLocation at, bool direct) {
  struct included *more = grown(u->include, u->includes, &u->include_room, sizeof *more);
  u->full = u->full || more == NULL;
  if (more == NULL || file == NULL) return;
  u->include = more;
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

static enum CXChildVisitResult look_for_virtual_base(CXCursor c, CXCursor parent, CXClientData found) {
  (void)parent;
  if (cl.getCursorKind(c) != CXCursor_CXXBaseSpecifier) return CXChildVisit_Continue;
  CXCursor base = cl.getCursorDefinition(cl.getCursorReferenced(c));
  if (cl.isVirtualBase(c) != 0)
    *(bool *)found = true;
  else if (cl.Cursor_isNull(base) == 0)
    cl.visitChildren(base, look_for_virtual_base, found);
  return *(bool *)found ? CXChildVisit_Break : CXChildVisit_Continue;
}

static bool has_virtual_base(CXCursor class) {
  bool found = false;
  cl.visitChildren(class, look_for_virtual_base, &found);
  return found;
}

/* --- tables -------------------------------------------------------------------------------------------------------
 */

/* A Lua error between here and the disposal would leak a string; only "out of memory" can raise. */
static void setstring(lua_State *L, const char *key, CXString s) {
  const char *text = cl.getCString(s);
  lua_pushstring(L, text != NULL ? text : "");
  cl.disposeString(s);
  lua_setfield(L, -2, key);
}

static void setflag(lua_State *L, const char *key, bool v) {
  if (!v) return;
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, key);
}

static void setplace(lua_State *L, CXSourceLocation at) {
  CXFile file = NULL;
  unsigned line = 0;
  cl.getExpansionLocation(at, &file, &line, NULL, NULL);
  if (file != NULL) setstring(L, "file", cl.getFileName(file));
  lua_pushinteger(L, line);
  lua_setfield(L, -2, "line");
}

/* "ns::Class::", pushed. */
static void push_scope(lua_State *L, CXCursor c) {
  lua_pushliteral(L, "");
  for (CXCursor p = cl.getCursorSemanticParent(c); cl.Cursor_isNull(p) == 0; p = cl.getCursorSemanticParent(p)) {
    enum CXCursorKind kind = cl.getCursorKind(p);
    if (kind == CXCursor_TranslationUnit || cl.isInvalid(kind) != 0) break;
    CXString s = cl.getCursorSpelling(p);
    const char *name = cl.getCString(s);
    bool named = name != NULL && name[0] != '\0' && kind != CXCursor_LinkageSpec && kind != CXCursor_UnexposedDecl;
    if (named) {
      lua_pushfstring(L, "%s::%s", name, lua_tostring(L, -1));
      lua_remove(L, -2);
    }
    cl.disposeString(s);
  }
}

static void settypes(lua_State *L, const char *spelt, const char *canonical, CXType t) {
  setstring(L, spelt, cl.getTypeSpelling(t));
  setstring(L, canonical, cl.getTypeSpelling(cl.getCanonicalType(t)));
}

static void setparameters(lua_State *L, CXCursor c) {
  int n = cl.Cursor_getNumArguments(c);
  lua_createtable(L, n > 0 ? n : 0, 0);
  for (int i = 0; i < n; i++) {
    CXCursor p = cl.Cursor_getArgument(c, (unsigned)i);
    lua_createtable(L, 0, 4);
    setstring(L, "name", cl.getCursorSpelling(p));
    settypes(L, "type", "canonical", cl.getCursorType(p));
    lua_pushinteger(L, cl.getCanonicalType(cl.getCursorType(p)).kind);
    lua_setfield(L, -2, "kind");
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "parameters");
}

/* A constructor and a destructor are several functions of the library: complete, base, deleting. */
static void setsymbols(lua_State *L, CXCursor c, bool several) {
  CXStringSet *set = several ? cl.Cursor_getCXXManglings(c) : NULL;
  lua_newtable(L);
  for (unsigned i = 0; set != NULL && i < set->Count; i++) {
    const char *name = cl.getCString(set->Strings[i]);
    lua_pushstring(L, name != NULL ? name : "");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  if (set != NULL) cl.disposeStringSet(set);
  if (!several) {
    CXString s = cl.Cursor_getMangling(c);
    const char *name = cl.getCString(s);
    if (name != NULL && name[0] == '\1') name++; /* the source names it itself */
    lua_pushstring(L, name != NULL ? name : "");
    cl.disposeString(s);
    lua_rawseti(L, -2, 1);
  }
  lua_setfield(L, -2, "symbols");
}

static const char *kind_of(enum CXCursorKind kind) {
  switch ((int)kind) {
  case CXCursor_CXXMethod:
    return "method";
  case CXCursor_Constructor:
    return "constructor";
  case CXCursor_Destructor:
    return "destructor";
  case CXCursor_ConversionFunction:
    return "conversion";
  case CXCursor_ClassTemplate:
    return "class template";
  case CXCursor_FunctionTemplate:
    return "function template";
  default:
    return "function";
  }
}

static const char *access_of(CXCursor c) {
  switch (cl.getCXXAccessSpecifier(c)) {
  case CX_CXXPublic:
    return "public";
  case CX_CXXProtected:
    return "protected";
  case CX_CXXPrivate:
    return "private";
  default:
    return NULL;
  }
}

static const char *linkage_of(CXCursor c) {
  switch (cl.getCursorLinkage(c)) {
  case CXLinkage_External:
    return "external";
  case CXLinkage_UniqueExternal:
    return "unique";
  case CXLinkage_Internal:
    return "internal";
  default:
    return "none";
  }
}

static void setmethod(lua_State *L, CXCursor c) {
  setflag(L, "static", cl.CXXMethod_isStatic(c) != 0);
  setflag(L, "const", cl.CXXMethod_isConst(c) != 0);
  setflag(L, "virtual", cl.CXXMethod_isVirtual(c) != 0);
  setflag(L, "pure", cl.CXXMethod_isPureVirtual(c) != 0);
  lua_pushstring(L, access_of(c));
  lua_setfield(L, -2, "access");
}

/* A function of a template has no types yet, and no symbol. */
static bool in_template(CXCursor c) {
  for (CXCursor p = c; cl.Cursor_isNull(p) == 0; p = cl.getCursorSemanticParent(p)) {
    enum CXCursorKind kind = cl.getCursorKind(p);
    if (kind == CXCursor_ClassTemplate || kind == CXCursor_FunctionTemplate) return true;
    if (kind == CXCursor_TranslationUnit || cl.isInvalid(kind) != 0) break;
  }
  return false;
}

static void push_declaration(lua_State *L, CXCursor c) {
  enum CXCursorKind kind = cl.getCursorKind(c);
  bool born = kind == CXCursor_Constructor || kind == CXCursor_Destructor;
  lua_createtable(L, 0, 16);
  lua_pushstring(L, kind_of(kind));
  lua_setfield(L, -2, "kind");
  setstring(L, "name", cl.getCursorSpelling(c));
  push_scope(L, c);
  lua_setfield(L, -2, "scope");
  setplace(L, cl.getCursorLocation(c));
  if (in_template(c)) {
    setflag(L, "template", true);
    setflag(L, "static", cl.CXXMethod_isStatic(c) != 0);
    return;
  }
  CXType type = cl.getCursorType(c);
  setsymbols(L, c, born);
  settypes(L, "result", "canonical_result", cl.getCursorResultType(c));
  lua_pushinteger(L, cl.getCanonicalType(cl.getCursorResultType(c)).kind);
  lua_setfield(L, -2, "result_kind");
  setparameters(L, c);
  setflag(L, "variadic", cl.isFunctionTypeVariadic(type) != 0);
  setflag(L, "unprototyped", type.kind == CXType_FunctionNoProto);
  setflag(L, "inline", cl.Cursor_isFunctionInlined(c) != 0);
  setflag(L, "definition", cl.isCursorDefinition(c) != 0);
  setflag(L, "deleted", cl.getCursorAvailability(c) == CXAvailability_NotAvailable);
  lua_pushstring(L, linkage_of(c));
  lua_setfield(L, -2, "linkage");
  if (kind != CXCursor_FunctionDecl) setmethod(L, c);
  if (born) setflag(L, "virtual_base", has_virtual_base(cl.getCursorSemanticParent(c)));
}

static void push_errors(lua_State *L, const struct unit *u) {
  lua_newtable(L);
  unsigned n = cl.getNumDiagnostics(u->tu);
  for (unsigned i = 0, kept = 0; i < n; i++) {
    CXDiagnostic d = cl.getDiagnostic(u->tu, i);
    if (cl.getDiagnosticSeverity(d) >= CXDiagnostic_Error) {
      lua_createtable(L, 0, 3);
      setstring(L, "text", cl.getDiagnosticSpelling(d));
      setplace(L, cl.getDiagnosticLocation(d));
      lua_rawseti(L, -2, (lua_Integer)++kept);
    }
    cl.disposeDiagnostic(d);
  }
}

static void push_includes(lua_State *L, const struct unit *u) {
  lua_createtable(L, (int)u->includes, 0);
  for (size_t i = 0; i < u->includes; i++) {
    lua_createtable(L, 0, 3);
    setstring(L, "file", cl.getFileName(u->include[i].file));
    lua_pushinteger(L, u->include[i].line);
    lua_setfield(L, -2, "line");
    setflag(L, "direct", u->include[i].direct);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
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
  if (err == CXError_Crashed) return refuse(L, "EFAULT", "libclang crashed while it read the headers");
  if (err != CXError_Success) return refuse(L, "EINVAL", "libclang does not accept the file or the flags");
  cl.visitChildren(cl.getTranslationUnitCursor(u->tu), gather, u);
  cl.getInclusions(u->tu, gather_include, u);
  if (u->full) return refuse(L, "ENOMEM", "the headers declare more than fits into memory");
  lua_createtable(L, 0, 4);
  lua_createtable(L, (int)u->cursors, 0);
  for (size_t i = 0; i < u->cursors; i++) {
    push_declaration(L, u->cursor[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "declarations");
  push_errors(L, u);
  lua_setfield(L, -2, "errors");
  push_includes(L, u);
  lua_setfield(L, -2, "includes");
  setstring(L, "version", cl.getClangVersion());
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
