/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_table.c - the table of a module, its constructor and destructor. */
#include "instrument/instrument_private.h"

#include <stdlib.h>
#include <string.h>

/* Creates a constant of type struct pml_count_module. */
static LLVMValueRef make_table(struct pml_module *m) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(m->context);
  LLVMValueRef words[PML_COUNT_CELLS / 64];
  for (unsigned i = 0; i < PML_COUNT_CELLS / 64; i++) words[i] = LLVMConstInt(m->i64, m->used[i], 0);
  LLVMValueRef text = LLVMConstStringInContext(m->context, m->o->name, (unsigned)strlen(m->o->name), 0);
  LLVMValueRef name = LLVMAddGlobal(m->module, LLVMTypeOf(text), "pml_count_name");
  LLVMSetInitializer(name, text);
  LLVMSetLinkage(name, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(name, 1);
  LLVMValueRef fields[] = {LLVMConstInt(i32, PML_COUNT_ABI, 0),
                           LLVMConstInt(i32, m->o->final ? PML_COUNT_FINAL : PML_COUNT_SOURCE, 0),
                           LLVMConstBitCast(name, LLVMPointerType(LLVMInt8TypeInContext(m->context), 0)),
                           LLVMConstArray(m->i64, words, PML_COUNT_CELLS / 64), LLVMConstInt(m->i64, m->uncounted, 0)};
  LLVMValueRef value = LLVMConstStructInContext(m->context, fields, sizeof fields / sizeof fields[0], 0);
  LLVMValueRef table = LLVMAddGlobal(m->module, LLVMTypeOf(value), "pml_count_module");
  LLVMSetInitializer(table, value);
  LLVMSetLinkage(table, LLVMInternalLinkage);
  LLVMSetGlobalConstant(table, 1);
  return table;
}

/* Create a function that passes the table to @runtime. */
static LLVMValueRef make_caller(struct pml_module *m, LLVMValueRef table, const char *name, const char *runtime) {
  LLVMTypeRef nothing = LLVMVoidTypeInContext(m->context), taken = LLVMTypeOf(table);
  LLVMTypeRef type = LLVMFunctionType(nothing, &taken, 1, 0);
  LLVMValueRef called = LLVMAddFunction(m->module, runtime, type);
  LLVMValueRef f = LLVMAddFunction(m->module, name, LLVMFunctionType(nothing, NULL, 0, 0));
  LLVMSetLinkage(f, LLVMInternalLinkage);
  LLVMPositionBuilderAtEnd(m->builder, LLVMAppendBasicBlockInContext(m->context, f, "entry"));
  LLVMBuildCall2(m->builder, type, called, &table, 1, "");
  LLVMBuildRetVoid(m->builder);
  return f;
}

/* Lists of this kind cannot be extended, so a longer copy replaces the old list. */
static void append_to(struct pml_module *m, const char *list, LLVMValueRef function, unsigned priority) {
  LLVMTypeRef byte = LLVMPointerType(LLVMInt8TypeInContext(m->context), 0);
  LLVMValueRef fields[] = {LLVMConstInt(LLVMInt32TypeInContext(m->context), priority, 0), function,
                           LLVMConstNull(byte)};
  LLVMValueRef entry = LLVMConstStructInContext(m->context, fields, 3, 0);
  LLVMValueRef old = LLVMGetNamedGlobal(m->module, list), before = old != NULL ? LLVMGetInitializer(old) : NULL;
  unsigned n = before != NULL && LLVMIsAConstantArray(before) ? (unsigned)LLVMGetNumOperands(before) : 0;
  LLVMValueRef *entries = calloc(n + 1, sizeof *entries);
  if (entries == NULL) return;
  for (unsigned i = 0; i < n; i++) entries[i] = LLVMGetOperand(before, i);
  entries[n] = entry;
  LLVMValueRef array = LLVMConstArray(LLVMTypeOf(entry), entries, n + 1);
  if (old != NULL) LLVMDeleteGlobal(old);
  LLVMValueRef now = LLVMAddGlobal(m->module, LLVMTypeOf(array), list);
  LLVMSetInitializer(now, array);
  LLVMSetLinkage(now, LLVMAppendingLinkage);
  free(entries);
}

/* The first priority not reserved for the implementation: the program's constructors run later and may count. */
#define PRIORITY 101

void pml_instrument_table(struct pml_module *m) {
  LLVMValueRef table = make_table(m);
  append_to(m, "llvm.global_ctors", make_caller(m, table, "pml_count_enter", "pml_count_module_begin"), PRIORITY);
  append_to(m, "llvm.global_dtors", make_caller(m, table, "pml_count_leave", "pml_count_module_end"), PRIORITY);
}
