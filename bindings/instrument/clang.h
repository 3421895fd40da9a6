/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/instrument/clang.h - libclang's functions, and declarations gathered from headers; for pmlua.clang only. */
#ifndef CLANG_H
#define CLANG_H

#include <clang-c/Index.h>
#include <lua.h>

#include <stdbool.h>
#include <stddef.h>

/* libclang is opened when it is first asked for. */
/* clang-format off */
#define CLANG_CALLS(X) \
  X(createIndex) X(disposeIndex) X(parseTranslationUnit2) X(disposeTranslationUnit) X(getClangVersion) \
  X(getCString) X(disposeString) X(disposeStringSet) \
  X(getNumDiagnostics) X(getDiagnostic) X(disposeDiagnostic) X(getDiagnosticSeverity) X(getDiagnosticSpelling) \
  X(getDiagnosticLocation) X(getExpansionLocation) X(getFileName) X(getInclusions) \
  X(getTranslationUnitCursor) X(visitChildren) X(getCursorKind) X(getCursorSpelling) X(getCursorLocation) \
  X(getCursorSemanticParent) X(getCursorType) X(getCursorResultType) X(getTypeSpelling) X(getCanonicalType) \
  X(getCursorLinkage) X(getCXXAccessSpecifier) X(getCursorAvailability) X(isCursorDefinition) X(getCursorDefinition) \
  X(getCursorReferenced) X(getIncludedFile) X(Location_isFromMainFile) X(isVirtualBase) X(isInvalid) X(isTranslationUnit) X(isFunctionTypeVariadic) X(getFunctionTypeCallingConv) \
  X(Cursor_isNull) X(Cursor_getNumArguments) X(Cursor_getArgument) X(Cursor_getMangling) X(Cursor_getCXXManglings) \
  X(Cursor_isFunctionInlined) X(CXXMethod_isStatic) X(CXXMethod_isConst) X(CXXMethod_isVirtual) \
  X(CXXMethod_isPureVirtual)
/* clang-format on */

#define POINTER(name) __typeof__(&clang_##name) name;
struct clang {
  void *library; /* NULL: not opened */
  CLANG_CALLS(POINTER)
};
#undef POINTER
extern struct clang cl;

/* A translation unit, and cursors of it, gathered without Lua. */
struct included {
  CXFile file;
  unsigned line; /* in the main file: the include that leads to this file */
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

/* clang_push - push what the unit declares: { declarations, errors, includes, version }. */
void clang_push(lua_State *L, const struct unit *u);

#endif
