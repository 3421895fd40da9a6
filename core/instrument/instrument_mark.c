/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_mark.c - marking of operations before inlining, for counting after it.
 *
 * Without marks, each call of a small function would add to the cells in memory, iteration by iteration, although a
 * loop could count in a register. Until inlining is done, a volatile store represents each stretch, and a call
 * represents each amount that is known at run time only: the optimiser copies both with the surrounding code and does
 * not change them.
 */
#include "instrument/instrument_function.h"

#include <errno.h>
#include <stdlib.h>

void pml_marks_open(struct pml_module *m) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(m->context), taken[] = {i32, m->i64};
  m->mark = LLVMAddGlobal(m->module, i32, "pml_count_mark");
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), taken, 2, 0);
  m->mark_dynamic = LLVMAddFunction(m->module, "pml_count_mark_dynamic", type);
  LLVMAttributeRef stays =
      LLVMCreateEnumAttribute(m->context, m->attribute[PML_ATTR_NOUNWIND], 0); /* so that calls of it are not invokes */
  LLVMAddAttributeAtIndex(m->mark_dynamic, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, stays);
}

void pml_marks_close(struct pml_module *m) {
  for (uint32_t i = 0; i < m->marks; i++) free(m->marked[i].at);
  free(m->marked);
  m->marked = NULL;
  m->marks = m->mark_room = 0;
  if (m->mark == NULL) return;
  LLVMDeleteGlobal(m->mark);
  LLVMDeleteFunction(m->mark_dynamic);
  m->mark = m->mark_dynamic = NULL;
}

/* Moves the counts to the module. */
static int mark_stretch(struct pml_body *f, struct pml_stretch *s) {
  struct pml_module *m = f->m;
  struct pml_counts *kept = pml_one_more((void **)&m->marked, &m->marks, &m->mark_room, sizeof *kept);
  if (kept == NULL) return -ENOMEM;
  *kept = s->counts;
  s->counts = (struct pml_counts){0};
  LLVMPositionBuilderBefore(m->builder, s->before);
  LLVMTypeRef i32 = LLVMInt32TypeInContext(m->context);
  LLVMSetVolatile(LLVMBuildStore(m->builder, LLVMConstInt(i32, m->marks - 1, 0), m->mark), 1);
  return 0;
}

int pml_body_mark(struct pml_body *f) {
  struct pml_module *m = f->m;
  int err = 0;
  for (uint32_t d = 0; d < f->dynamics; d++) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->context);
    LLVMPositionBuilderBefore(m->builder, f->dynamic[d].before);
    LLVMValueRef args[] = {LLVMConstInt(i32, f->dynamic[d].what.dynamic_cell, 0),
                           pml_body_amount(f, &f->dynamic[d].what)};
    LLVMBuildCall2(m->builder, LLVMGlobalGetValueType(m->mark_dynamic), m->mark_dynamic, args, 2, "");
  }
  for (uint32_t s = 0; s < f->stretches && !err; s++)
    if (f->stretch[s].counts.used > 0) err = mark_stretch(f, &f->stretch[s]);
  return err;
}

int pml_mark_read(const struct pml_module *m, LLVMValueRef i, struct pml_counts *counts, struct pml_class *c) {
  *c = (struct pml_class){0};
  if (LLVMIsACallInst(i) && LLVMGetCalledValue(i) == m->mark_dynamic) {
    c->dynamic_cell = (unsigned)LLVMConstIntGetZExtValue(LLVMGetArgOperand(i, 0));
    c->dynamic_also = PML_CELL_COUNT;
    c->dynamic = LLVMGetArgOperand(i, 1);
    return 1;
  }
  if (!LLVMIsAStoreInst(i) || LLVMGetOperand(i, 1) != m->mark) return 0;
  const struct pml_counts *marked = &m->marked[LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0))];
  for (uint32_t k = 0; k < marked->used; k++)
    if (pml_counts_add(counts, marked->at[k].cell, marked->at[k].n) < 0) return -ENOMEM;
  return 1;
}

void pml_marks_erase(const struct pml_module *m, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b != NULL; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
      next = LLVMGetNextInstruction(i);
      bool call = LLVMIsACallInst(i) && LLVMGetCalledValue(i) == m->mark_dynamic;
      if (call || (LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == m->mark)) LLVMInstructionEraseFromParent(i);
    }
}
