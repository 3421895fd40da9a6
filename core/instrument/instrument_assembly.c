/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_assembly.c - additions to a thread's counters, in x86-64 assembly.
 *
 * An addition in LLVM's IR is four instructions. Each pass of the optimiser processes them, and keeps cells in
 * registers across blocks, so that the program has too few registers. Assembly takes one instruction for a whole
 * stretch, and is declared to access no memory visible to the program.
 */
#include "instrument/instrument_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)
#define LINE_BYTES 48u /* limit of assembly text per line */

/* Not on x32, where pointers have 32 bits. */
bool pml_assembles(const char *target) {
  return strncmp(target, "x86_64", 6) == 0 && strstr(target, "x32") == NULL;
}

void pml_give(const struct pml_module *m, LLVMValueRef function, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, FUNCTION, LLVMCreateEnumAttribute(m->context, kind, 0));
}

static void promise(const struct pml_module *m, LLVMValueRef called, const char *name, uint64_t value) {
  LLVMAttributeRef a = LLVMCreateEnumAttribute(m->context, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
  if (LLVMIsAFunction(called))
    LLVMAddAttributeAtIndex(called, FUNCTION, a);
  else
    LLVMAddCallSiteAttribute(called, FUNCTION, a);
}

void pml_promise(const struct pml_module *m, LLVMValueRef called, enum pml_promise what) {
  promise(m, called, "nounwind", 0);
  promise(m, called, "willreturn", 0);
#if PML_LLVM_MAJOR < 16
  promise(m, called, what == PML_TOUCHES_CELLS ? "inaccessiblememonly" : "readnone", 0);
#else
  promise(m, called, "memory",
          what == PML_TOUCHES_CELLS ? 3 << 2
                                    : 0); /* two bits for each kind of memory; the second kind is inaccessible memory */
#endif
}

int pml_offset_of(unsigned cell) {
  return 8 * ((int)pml_count_place(cell) - (int)PML_COUNT_ORIGIN);
}

static void assemble(const struct pml_module *m, LLVMValueRef cells, char *text, size_t bytes, LLVMValueRef n) {
  char constraints[] = "r,r,~{flags}", *given = constraints + (n != NULL ? 0 : 2);
  LLVMTypeRef taken[] = {m->i64_pointer, m->i64};
  unsigned args = n != NULL ? 2 : 1;
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), taken, args, 0);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, bytes, given, strlen(given), 1, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef call = LLVMBuildCall2(m->builder, type, code, (LLVMValueRef[]){cells, n}, args, "");
  pml_promise(m, call, PML_TOUCHES_CELLS);
}

/*
 * A function that returns the thread's cells, and calls the runtime at the first use. It preserves all registers except
 * r13, which contains the result. Calls of the program preserve r13, and so do functions that add: the cells stay there
 * for the whole function. A naked function consists of this text only.
 */
static LLVMValueRef make_look_up(struct pml_module *m) {
  static char text[] = "movq pml_count_self@GOTTPOFF(%rip), %r13\n"
                       "movq %fs:(%r13), %r13\n"
                       "testq %r13, %r13\n"
                       "je 1f\n"
                       "ret\n"
                       "1: jmpq *${0:c}@GOTPCREL(%rip)";
  static char constraints[] = "s";
  static const char *const traits[] = {"naked", "noinline", "nounwind", "optsize"};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), NULL, 0, 0);
  LLVMValueRef f = LLVMAddFunction(m->module, "pml_count.cells", type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  for (size_t i = 0; i < sizeof traits / sizeof traits[0]; i++) pml_give(m, f, traits[i]);
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(m->context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(m->context, f, ""));
  LLVMValueRef first = LLVMAddFunction(m->module, "pml_count_first",
                                       type); /* declared so that the linker also searches libraries for it */
  LLVMTypeRef taken = LLVMTypeOf(first), asked = LLVMFunctionType(LLVMVoidTypeInContext(m->context), &taken, 1, 0);
  LLVMValueRef code = LLVMGetInlineAsm(asked, text, sizeof text - 1, constraints, sizeof constraints - 1, 1, 0,
                                       LLVMInlineAsmDialectATT, 0);
  LLVMBuildCall2(builder, asked, code, &first, 1, "");
  LLVMBuildUnreachable(builder);
  LLVMDisposeBuilder(builder);
  return f;
}

/* It accesses no memory, so that one look-up remains after inlining. It aligns the stack of a leaf function. */
LLVMValueRef pml_assemble_look_up(struct pml_module *m) {
  static char text[] = "call ${1:P}", constraints[] = "={r13},s,~{flags}";
  if (m->look_up == NULL) m->look_up = make_look_up(m);
  LLVMTypeRef taken = LLVMTypeOf(m->look_up), type = LLVMFunctionType(m->i64_pointer, &taken, 1, 0);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1, 0, 1,
                                       LLVMInlineAsmDialectATT, 0);
  LLVMValueRef call = LLVMBuildCall2(m->builder, type, code, &m->look_up, 1, "cells");
  pml_promise(m, call, PML_TOUCHES_NOTHING);
  return call;
}

static int put_addition(char *to, size_t room, const struct pml_counts_at *at) {
  if (at->n == 1) return snprintf(to, room, "incq %d($0)\n", pml_offset_of(at->cell));
  if (at->n == -1) return snprintf(to, room, "decq %d($0)\n", pml_offset_of(at->cell));
  return snprintf(to, room, "addq $$%lld, %d($0)\n", (long long)at->n, pml_offset_of(at->cell));
}

uint32_t pml_assembled_bytes(const struct pml_counts *c) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < c->used; i++) {
    int64_t n = c->at[i].n;
    int offset = pml_offset_of(c->at[i].cell);
    if (n != 0)
      sum += 3u + (offset >= -128 && offset < 128 ? 1u : 4u) + (n == 1 || n == -1 ? 0 : n >= -128 && n < 128 ? 1u : 4u);
  }
  return sum;
}

int pml_assemble_counts(const struct pml_module *m, LLVMValueRef cells, const struct pml_counts *c) {
  size_t room = c->used * LINE_BYTES + 1, used = 0;
  char *text = malloc(room);
  if (text == NULL) return -ENOMEM;
  for (uint32_t i = 0; i < c->used; i++)
    if (c->at[i].n != 0) used += (size_t)put_addition(text + used, room - used, &c->at[i]);
  if (used > 0) assemble(m, cells, text, used - 1, NULL);
  free(text);
  return 0;
}

/* Whether the constant fits into the 32 bits of an immediate operand. */
bool pml_is_short(LLVMValueRef n) {
  return LLVMIsAConstantInt(n) && LLVMConstIntGetSExtValue(n) == (int32_t)LLVMConstIntGetSExtValue(n);
}

void pml_assemble_one(const struct pml_module *m, LLVMValueRef cells, unsigned cell, LLVMValueRef n) {
  char text[LINE_BYTES];
  int used = snprintf(text, sizeof text, "addq $1, %d($0)", pml_offset_of(cell));
  if (pml_is_short(n)) {
    struct pml_counts_at at = {.cell = (uint16_t)cell, .n = LLVMConstIntGetSExtValue(n)};
    used = put_addition(text, sizeof text, &at) - 1;
    n = NULL;
  }
  assemble(m, cells, text, (size_t)used, n);
}
