/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/instrument/clang_table.c - declarations, errors and includes of a translation unit as Lua tables. */
#include "instrument/clang.h"

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
    if (cl.isTranslationUnit(kind) != 0 || cl.isInvalid(kind) != 0) break;
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
    if (cl.isTranslationUnit(kind) != 0 || cl.isInvalid(kind) != 0) break;
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
  setflag(L, "unusual", cl.getFunctionTypeCallingConv(type) != CXCallingConv_C); /* in its calling convention */
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

void clang_push(lua_State *L, const struct unit *u) {
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
}
