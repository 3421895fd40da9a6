/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_touch.c - runtime calls for accessed memory: loads, stores, atomic operations, copies.
 * Masked accesses, and accesses whose length is determined at run time by the processor, are not reported. */
#include "instrument/instrument_function.h"

#include <string.h>

static void touch(struct pml_body *f, LLVMValueRef pointer, LLVMValueRef bytes) {
  struct pml_module *m = f->m;
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != 0 || pml_is_private(m, pointer)) return;
  LLVMTypeRef type = LLVMGlobalGetValueType(m->touch), taken[3];
  LLVMGetParamTypes(type, taken);
  LLVMValueRef args[] = {f->cells, LLVMBuildBitCast(m->builder, pointer, taken[1], ""),
                         LLVMBuildIntCast2(m->builder, bytes, m->i64, 0, "")};
  LLVMBuildCall2(m->builder, type, m->touch, args, 3, "");
  m->used[PML_CELL_lines / 64] |= UINT64_C(1) << PML_CELL_lines % 64;
}

static void touch_type(struct pml_body *f, LLVMValueRef pointer, LLVMTypeRef type) {
  if (pml_lanes(type) != 0) touch(f, pointer, LLVMConstInt(f->m->i64, LLVMStoreSizeOfType(f->m->data, type), 0));
}

static void touch_copy(struct pml_body *f, LLVMValueRef call) {
  const char *name = pml_calls_intrinsic(call);
  if (name == NULL ||
      (strncmp(name, "memcpy", 6) != 0 && strncmp(name, "memmove", 7) != 0 && strncmp(name, "memset", 6) != 0))
    return;
  touch(f, LLVMGetArgOperand(call, 0), LLVMGetArgOperand(call, 2));
  if (strncmp(name, "memset", 6) != 0) touch(f, LLVMGetArgOperand(call, 1), LLVMGetArgOperand(call, 2));
}

static void touch_instruction(struct pml_body *f, LLVMValueRef i) {
  LLVMPositionBuilderBefore(f->m->builder, i);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad:
    touch_type(f, LLVMGetOperand(i, 0), LLVMTypeOf(i));
    break;
  case LLVMStore:
    touch_type(f, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)));
    break;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
    touch_type(f, LLVMGetOperand(i, 0), LLVMTypeOf(LLVMGetOperand(i, 1)));
    break;
  case LLVMCall:
    touch_copy(f, i);
    break;
  default:
    break;
  }
}

void pml_body_touch(struct pml_body *f) {
  for (uint32_t b = 0; b < f->blocks; b++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(f->block[b].block); i != NULL; i = LLVMGetNextInstruction(i))
      touch_instruction(f, i);
}
