/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_returns.c - calls that are certain to return.
 *
 * A function returns if all functions that it calls return. All functions of the module are assumed to return until a
 * call is found that may not; then the callers are corrected as well, until nothing changes. Recursion in a module is
 * therefore no reason to assume that a function does not return.
 */
#include "instrument/instrument_private.h"

#include "base/pml_array.h"
#include "base/pml_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pml_functions {
  struct pml__map map;
  struct known {
    LLVMValueRef function;
    bool may_leave;
  } * at; /* by index in the map */
};

static struct known *known(const struct pml_functions *f, LLVMValueRef function) {
  uint64_t hash = pml__hash(PML__HASH, (uintptr_t)function);
  uint32_t at = 0, i = pml__map_next(&f->map, hash, &at);
  while (f->at[i].function != function) /* NOLINT(clang-analyzer-core.NullDereference): each function is in the map */
    i = pml__map_next(&f->map, hash, &at);
  return &f->at[i];
}

bool pml_has_attribute(const struct pml_module *m, LLVMValueRef function, enum pml_attribute a) {
  return LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, m->attribute[a]) != NULL;
}

bool pml_call_has_attribute(const struct pml_module *m, LLVMValueRef call, enum pml_attribute a) {
  return LLVMGetCallSiteEnumAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, m->attribute[a]) != NULL;
}

const char *pml_calls_intrinsic(LLVMValueRef call) {
  LLVMValueRef called = LLVMGetCalledValue(call);
  if (!LLVMIsAFunction(called) || !LLVMIsDeclaration(called)) return NULL;
  size_t n;
  const char *name = LLVMGetValueName2(called, &n);
  return strncmp(name, "llvm.", 5) == 0 ? name + 5 : NULL;
}

/* Functions of the C library that always return: they neither throw nor jump nor terminate, and do not call the
 * program. */
static bool library_returns(const char *name) {
  static const char *const known[] = {
      "abs",    "acos",  "acosh",     "asin",     "asinh",   "atan",    "atan2",     "atanh",   "atof",   "atoi",
      "calloc", "cbrt",  "ceil",      "copysign", "cos",     "cosh",    "erf",       "erfc",    "exp",    "exp2",
      "expm1",  "fabs",  "fdim",      "floor",    "fma",     "fmax",    "fmin",      "fmod",    "free",   "frexp",
      "hypot",  "ilogb", "isalnum",   "isalpha",  "isdigit", "isspace", "ldexp",     "lgamma",  "log",    "log10",
      "log1p",  "log2",  "logb",      "lrint",    "lround",  "malloc",  "memchr",    "memcmp",  "memcpy", "memmove",
      "memset", "modf",  "nearbyint", "pow",      "rand",    "realloc", "remainder", "rint",    "round",  "sin",
      "sinh",   "sqrt",  "strchr",    "strcmp",   "strcpy",  "strlen",  "strncmp",   "strncpy", "strtod", "strtol",
      "tan",    "tanh",  "tgamma",    "tolower",  "toupper", "trunc"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    size_t n = strlen(known[i]);
    if (strncmp(name, known[i], n) == 0 && (name[n] == '\0' || (strchr("fl", name[n]) != NULL && name[n + 1] == '\0')))
      return true;
  }
  return false;
}

static bool intrinsic_leaves(const char *name) {
  static const char *const known[] = {"trap",
                                      "ubsantrap",
                                      "debugtrap",
                                      "eh.sjlj",
                                      "experimental.patchpoint",
                                      "experimental.stackmap",
                                      "experimental.gc",
                                      "experimental.deoptimize",
                                      "coro."};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strncmp(name, known[i], strlen(known[i])) == 0) return true;
  return false;
}

bool pml_may_leave(const struct pml_module *m, LLVMValueRef call) {
  LLVMValueRef called = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(called)) return LLVMIsACallBrInst(call) != NULL;
  const char *intrinsic = pml_calls_intrinsic(call);
  if (intrinsic != NULL) return intrinsic_leaves(intrinsic);
  if (called == m->mark_dynamic) return false;
  if (!LLVMIsAFunction(called) || LLVMIsAInvokeInst(call)) return true;
  if (!LLVMIsDeclaration(called)) return known(m->functions, called)->may_leave;
  size_t n;
  return !library_returns(LLVMGetValueName2(called, &n));
}

static bool replaceable(LLVMValueRef function) {
  LLVMLinkage l = LLVMGetLinkage(function);
  return l == LLVMWeakAnyLinkage || l == LLVMLinkOnceAnyLinkage || l == LLVMExternalWeakLinkage;
}

static bool function_leaves(const struct pml_module *m, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b != NULL; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL; i = LLVMGetNextInstruction(i)) {
      LLVMOpcode op = LLVMGetInstructionOpcode(i);
      if (op == LLVMResume || ((op == LLVMCall || op == LLVMInvoke || op == LLVMCallBr) && pml_may_leave(m, i)))
        return true;
    }
  return false;
}

int pml_functions_open(struct pml_module *m) {
  uint32_t room = 0;
  m->functions = calloc(1, sizeof *m->functions);
  if (m->functions == NULL) return -ENOMEM;
  for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f != NULL; f = LLVMGetNextFunction(f)) {
    if (!PML__ARRAY_ROOM(m->functions->at, room, m->functions->map.n + 1)) return -ENOMEM;
    uint32_t i = pml__map_add(&m->functions->map, pml__hash(PML__HASH, (uintptr_t)f));
    if (i == PML__MAP_NONE) return -ENOMEM;
    m->functions->at[i] = (struct known){.function = f, .may_leave = replaceable(f)};
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f != NULL; f = LLVMGetNextFunction(f)) {
      struct known *s = known(m->functions, f);
      if (s->may_leave || LLVMIsDeclaration(f) || !function_leaves(m, f)) continue;
      s->may_leave = changed = true;
    }
  }
  return 0;
}

/* Every callee may count, except LLVM's intrinsics and functions of the C library. */
static bool may_count(LLVMValueRef function) {
  size_t n;
  const char *name = LLVMGetValueName2(function, &n);
  return !LLVMIsDeclaration(function) || (strncmp(name, "llvm.", 5) != 0 && !library_returns(name));
}

/* Attributes up to LLVM 15, and "memory", which replaces them since LLVM 16; a version lacks some of them. */
static const char *const memory_attributes[] = {
    "readnone",     "readonly", "writeonly", "argmemonly", "inaccessiblememonly", "inaccessiblemem_or_argmemonly",
    "speculatable", "memory"};
enum { MEMORY_ATTRIBUTES = sizeof memory_attributes / sizeof memory_attributes[0] };

static void forget_calls(LLVMValueRef function, const unsigned kind[MEMORY_ATTRIBUTES]) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b != NULL; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL; i = LLVMGetNextInstruction(i)) {
      if (!LLVMIsACallInst(i) && !LLVMIsAInvokeInst(i)) continue;
      LLVMValueRef called = LLVMGetCalledValue(i);
      if (LLVMIsAInlineAsm(called) || (LLVMIsAFunction(called) && !may_count(called))) continue;
      for (unsigned a = 0; a < MEMORY_ATTRIBUTES; a++)
        if (kind[a] != 0) LLVMRemoveCallSiteEnumAttribute(i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind[a]);
    }
}

void pml_functions_forget_memory(struct pml_module *m) {
  unsigned kind[MEMORY_ATTRIBUTES];
  for (unsigned a = 0; a < MEMORY_ATTRIBUTES; a++)
    kind[a] = LLVMGetEnumAttributeKindForName(memory_attributes[a], strlen(memory_attributes[a]));
  for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f != NULL; f = LLVMGetNextFunction(f)) {
    forget_calls(f, kind);
    for (unsigned a = 0; a < MEMORY_ATTRIBUTES && may_count(f); a++)
      if (kind[a] != 0) LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind[a]);
  }
}

void pml_functions_close(struct pml_module *m) {
  if (m->functions == NULL) return;
  pml__map_free(&m->functions->map);
  free(m->functions->at);
  free(m->functions);
  m->functions = NULL;
}
