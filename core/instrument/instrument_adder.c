/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_adder.c - functions of a module that add to cells, for what would stand in several places.
 *
 * They keep all registers, so that a call is hardly more than a jump there and back.
 */
#include "instrument/instrument_function.h"

#include <string.h>

#define KEEPS_ALL 15u /* LLVM's preserve_allcc */

static void give(struct pml_module *m, LLVMValueRef f, const char *attribute) {
  unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
  LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(m->context, kind, 0));
}

/* Of other processors LLVM 14 knows none, or none that keeps vectors. */
bool pml_adders_are(const struct pml_module *m) {
  return strncmp(LLVMGetTarget(m->module), "x86_64", 6) == 0;
}

LLVMValueRef pml_adder_new(struct pml_module *m, uint32_t numbers) {
  LLVMTypeRef taken[PML_ADDER_NUMBERS_MAX + 1] = {m->i64_pointer};
  for (uint32_t i = 1; i <= numbers; i++) taken[i] = m->i64;
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), taken, numbers + 1, 0);
  LLVMValueRef f = LLVMAddFunction(m->module, "pml_count.add", type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  LLVMSetFunctionCallConv(f, KEEPS_ALL);
  give(m, f, "nounwind");
  give(m, f, "willreturn");
  give(m, f, "noinline");
  return f;
}

void pml_adder_use(struct pml_module *m, LLVMValueRef adder, LLVMValueRef *args) {
  LLVMTypeRef type = LLVMGlobalGetValueType(adder);
  LLVMSetInstructionCallConv(LLVMBuildCall2(m->builder, type, adder, args, LLVMCountParamTypes(type), ""), KEEPS_ALL);
}
