/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_classify.c - the counter of an LLVM instruction. */
#include "instrument/instrument_private.h"

#include "base/pml_array.h"

#include <errno.h>
#include <string.h>

enum { NO_LENGTH = 1, NONE }; /* further results besides 0 and -ENOMEM */

int pml_counts_add(struct pml_counts *c, unsigned cell, int64_t n) {
  uint32_t i = 0;
  while (i < c->used && c->at[i].cell != cell) i++;
  if (!PML__ARRAY_ROOM(c->at, c->room, i + 1)) return -ENOMEM;
  if (i == c->used) c->at[c->used++] = (struct pml_counts_at){.cell = (uint16_t)cell};
  c->at[i].n += n;
  return 0;
}

int64_t pml_lanes(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMScalableVectorTypeKind) return 0;
  return kind == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

static LLVMTypeRef element_of(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind == LLVMVectorTypeKind || kind == LLVMScalableVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* The forms of a precision, from the scalar to the widest vector. */
static bool forms_of(LLVMTypeKind kind, unsigned *first, unsigned *last) {
  switch (kind) {
  case LLVMHalfTypeKind:
  case LLVMBFloatTypeKind:
    *first = PML_FP_FORM_half;
    *last = PML_FP_FORM_half_512;
    return true;
  case LLVMFloatTypeKind:
    *first = PML_FP_FORM_float;
    *last = PML_FP_FORM_float_512;
    return true;
  case LLVMDoubleTypeKind:
    *first = PML_FP_FORM_double;
    *last = PML_FP_FORM_double_512;
    return true;
  case LLVMX86_FP80TypeKind:
    *first = *last = PML_FP_FORM_extended;
    return true;
  case LLVMFP128TypeKind:
  case LLVMPPC_FP128TypeKind:
    *first = *last = PML_FP_FORM_quad;
    return true;
  default:
    return false;
  }
}

#define FORM_LANES(form, what, lanes, bits, ...) lanes,
static const int64_t form_lanes[PML_FP_FORM_COUNT] = {PML_FP_FORMS(FORM_LANES, 0)};

/* A vector of another length counts as the widest vectors that fit; the remaining lanes are divided in the same way. */
int pml_counts_fp(struct pml_counts *c, enum pml_fp_kind kind, LLVMTypeRef type, int64_t times) {
  unsigned first, form;
  int64_t lanes = pml_lanes(type);
  if (!forms_of(LLVMGetTypeKind(element_of(type)), &first, &form) || lanes == 0) return NO_LENGTH;
  for (; lanes > 0; lanes %= form_lanes[form--]) {
    int64_t n = lanes / form_lanes[form];
    int err = n > 0 ? pml_counts_add(c, PML_CELL_FP + (unsigned)kind * PML_FP_FORM_COUNT + form, n * times) : 0;
    if (err || form == first) return err;
  }
  return 0;
}

int pml_counts_int(struct pml_counts *c, enum pml_int_kind kind, LLVMTypeRef type, int64_t times) {
  int64_t lanes = pml_lanes(type);
  if (lanes == 0) return NO_LENGTH;
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  return pml_counts_add(c, (vector ? PML_CELL_INT_VECTOR : PML_CELL_INT) + (unsigned)kind, lanes * times);
}

#define MEMORY_BYTES(form, what, bytes) bytes,
static const unsigned memory_bytes[PML_MEMORY_FORM_COUNT] = {PML_MEMORY_FORMS(MEMORY_BYTES)};

static unsigned form_between(unsigned first, unsigned last, uint64_t bytes) {
  for (unsigned f = first; f <= last; f++)
    if (memory_bytes[f] == bytes) return f;
  return PML_MEMORY_other;
}

static unsigned memory_form(LLVMTypeRef type, uint64_t bytes) {
  unsigned first, last;
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMVectorTypeKind) return form_between(PML_MEMORY_vector_8, PML_MEMORY_vector_64, bytes);
  if (kind == LLVMPointerTypeKind) return form_between(PML_MEMORY_pointer_4, PML_MEMORY_pointer_8, bytes);
  if (kind == LLVMIntegerTypeKind) return form_between(PML_MEMORY_int_1, PML_MEMORY_int_16, bytes);
  return forms_of(kind, &first, &last) ? form_between(PML_MEMORY_fp_2, PML_MEMORY_fp_16, bytes) : PML_MEMORY_other;
}

int pml_counts_memory(const struct pml_module *m, struct pml_counts *c, bool store, LLVMTypeRef type) {
  if (pml_lanes(type) == 0) return NO_LENGTH;
  uint64_t bytes = LLVMStoreSizeOfType(m->data, type);
  unsigned form = memory_form(type, bytes);
  int err = pml_counts_add(c, (store ? PML_CELL_STORE : PML_CELL_LOAD) + form, 1);
  if (!err && form == PML_MEMORY_other)
    err = pml_counts_add(c, store ? PML_CELL_store_other_bytes : PML_CELL_load_other_bytes, (int64_t)bytes);
  return err;
}

/* Like Byfl, counts no bits of pointers, labels and structures. */
static int64_t bits_of(LLVMTypeRef type) {
  LLVMTypeRef element = element_of(type);
  unsigned first, last;
  LLVMTypeKind kind = LLVMGetTypeKind(element);
  if (kind == LLVMIntegerTypeKind) return pml_lanes(type) * LLVMGetIntTypeWidth(element);
  if (!forms_of(kind, &first, &last)) return 0;
  int64_t bits = kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ? 16
                 : kind == LLVMFloatTypeKind                            ? 32
                 : kind == LLVMDoubleTypeKind                           ? 64
                 : kind == LLVMX86_FP80TypeKind                         ? 80
                                                                        : 128;
  return pml_lanes(type) * bits;
}

int pml_counts_op_bits(LLVMValueRef instruction, struct pml_counts *counts) {
  int64_t bits = bits_of(LLVMTypeOf(instruction));
  for (int i = LLVMGetNumOperands(instruction); i-- > 0;)
    bits += bits_of(LLVMTypeOf(LLVMGetOperand(instruction, (unsigned)i)));
  return bits > 0 ? pml_counts_add(counts, PML_CELL_op_bits, bits) : 0;
}

/* Without an offset the instruction only renames a pointer. */
static bool is_offset(LLVMValueRef gep) {
  for (int i = LLVMGetNumOperands(gep); i-- > 1;) {
    LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
    if (!LLVMIsConstant(index) || !LLVMIsNull(index)) return true;
  }
  return false;
}

static int add_access(const struct pml_module *m, struct pml_counts *c, bool store, LLVMTypeRef type,
                      LLVMValueRef address) {
  if (pml_is_private(m, address)) return 0;
  int err = pml_counts_memory(m, c, store, type);
  return err ? err : pml_counts_region(c, store, address, LLVMStoreSizeOfType(m->data, type));
}

static int add_read_modify_write(const struct pml_module *m, LLVMTypeRef type, LLVMValueRef address,
                                 struct pml_counts *counts) {
  int err = add_access(m, counts, false, type, address);
  if (!err) err = add_access(m, counts, true, type, address);
  return err ? err : pml_counts_add(counts, PML_CELL_atomic, 1);
}

static bool asm_is_empty(LLVMValueRef called) {
  char *text = LLVMPrintValueToString(called); /* TYPE asm FLAGS "TEXT", "CONSTRAINTS" */
  char *quote = strchr(text, '"');
  bool empty = quote != NULL && quote[1] == '"';
  LLVMDisposeMessage(text);
  return empty;
}

/* Whether a function of flang's runtime computes, or moves arrays; input and output do neither. */
static bool fortran_carries_out(const char *name) {
  static const char *const known[] = {
      "Assign",      "CShift",   "Cshift", "DotProduct", "EOShift",   "Eoshift", "ErfcScaled", "Exponent",
      "FPow",        "Fraction", "Matmul", "Maxloc",     "Maxval",    "Minloc",  "Minval",     "Mod",
      "Nearest",     "Norm2",    "Pack",   "Product",    "RRSpacing", "Reduce",  "Reshape",    "Scale",
      "SetExponent", "Spacing",  "Spread", "Sum",        "Transpose", "Unpack",  "cpow",       "zpow"};
  if (strncmp(name, "_FortranA", 9) != 0) return false;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strncmp(name + 9, known[i], strlen(known[i])) == 0) return true;
  return false;
}

static int classify_call(const struct pml_module *m, LLVMValueRef call, struct pml_counts *counts,
                         struct pml_class *c) {
  LLVMValueRef called = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(called)) {
    if (!asm_is_empty(called)) c->uncounted = "inline assembly";
    return 0;
  }
  const char *intrinsic = pml_calls_intrinsic(call);
  if (intrinsic != NULL) return pml_classify_intrinsic(m, call, intrinsic, counts, c);
  while (LLVMIsAConstantExpr(called) && LLVMGetNumOperands(called) > 0) called = LLVMGetOperand(called, 0);
  bool named = LLVMIsAFunction(called) || LLVMIsAGlobalAlias(called) || LLVMIsAGlobalIFunc(called);
  if (named && LLVMIsDeclaration(called)) {
    size_t n;
    const char *name = LLVMGetValueName2(called, &n);
    if (strcmp(name, "siglongjmp") == 0) c->uncounted = "a loop that a signal handler leaves by siglongjmp";
    if (fortran_carries_out(name)) c->uncounted = "an operation inside Fortran's runtime library";
    int err = pml_classify_copy(call, name, counts, c);
    if (err <= 0) return err;
    err = pml_classify_math(m, call, name, counts);
    if (err <= 0) return err ? err : pml_counts_op_bits(call, counts);
  }
  int err = pml_counts_add(counts, named ? PML_CELL_call_direct : PML_CELL_call_indirect, 1);
  return err ? err : pml_counts_op_bits(call, counts);
}

/* Operations whose cell depends on their type. Returns NONE for others. */
static int classify_arithmetic(LLVMOpcode op, LLVMValueRef i, struct pml_counts *c) {
  static const signed char fp[] = {
      [LLVMFAdd] = 1 + PML_FP_add, [LLVMFSub] = 1 + PML_FP_sub, [LLVMFMul] = 1 + PML_FP_mul,
      [LLVMFDiv] = 1 + PML_FP_div, [LLVMFRem] = 1 + PML_FP_rem, [LLVMFNeg] = 1 + PML_FP_sign};
  static const signed char whole[] = {
      [LLVMAdd] = 1 + PML_INT_add,     [LLVMSub] = 1 + PML_INT_add,       [LLVMMul] = 1 + PML_INT_mul,
      [LLVMUDiv] = 1 + PML_INT_div,    [LLVMSDiv] = 1 + PML_INT_div,      [LLVMURem] = 1 + PML_INT_div,
      [LLVMSRem] = 1 + PML_INT_div,    [LLVMShl] = 1 + PML_INT_shift,     [LLVMLShr] = 1 + PML_INT_shift,
      [LLVMAShr] = 1 + PML_INT_shift,  [LLVMAnd] = 1 + PML_INT_logic,     [LLVMOr] = 1 + PML_INT_logic,
      [LLVMXor] = 1 + PML_INT_logic,   [LLVMTrunc] = 1 + PML_INT_convert, [LLVMZExt] = 1 + PML_INT_convert,
      [LLVMSExt] = 1 + PML_INT_convert};
  if ((size_t)op < sizeof fp && fp[op]) return pml_counts_fp(c, (enum pml_fp_kind)(fp[op] - 1), LLVMTypeOf(i), 1);
  if ((size_t)op < sizeof whole && whole[op])
    return pml_counts_int(c, (enum pml_int_kind)(whole[op] - 1), LLVMTypeOf(i), 1);
  LLVMTypeRef from = LLVMGetNumOperands(i) > 0 ? LLVMTypeOf(LLVMGetOperand(i, 0)) : NULL;
  switch (op) {
  case LLVMFCmp:
    return pml_counts_fp(c, PML_FP_compare, from, 1);
  case LLVMICmp:
    return pml_counts_int(c, PML_INT_compare, from, 1);
  case LLVMFPToUI:
  case LLVMFPToSI:
  case LLVMFPTrunc: /* counted with the wider type */
    return pml_counts_fp(c, PML_FP_convert, from, 1);
  case LLVMUIToFP:
  case LLVMSIToFP:
  case LLVMFPExt:
    return pml_counts_fp(c, PML_FP_convert, LLVMTypeOf(i), 1);
  default:
    return NONE;
  }
}

static int classify_memory(const struct pml_module *m, LLVMOpcode op, LLVMValueRef i, struct pml_counts *c) {
  switch (op) {
  case LLVMLoad:
    return add_access(m, c, false, LLVMTypeOf(i), LLVMGetOperand(i, 0));
  case LLVMStore:
    return add_access(m, c, true, LLVMTypeOf(LLVMGetOperand(i, 0)), LLVMGetOperand(i, 1));
  case LLVMAtomicRMW:
    return add_read_modify_write(m, LLVMTypeOf(i), LLVMGetOperand(i, 0), c);
  case LLVMAtomicCmpXchg:
    return add_read_modify_write(m, LLVMTypeOf(LLVMGetOperand(i, 1)), LLVMGetOperand(i, 0), c);
  default:
    return NONE;
  }
}

/* The cell of an operation that is the same for all types; PML_CELL_COUNT: not an operation. */
static unsigned cell_of(LLVMOpcode op, LLVMValueRef i) {
  switch (op) {
  case LLVMBr:
    return LLVMIsConditional(i) ? PML_CELL_branch : PML_CELL_COUNT;
  case LLVMSwitch:
    return PML_CELL_branch_switch;
  case LLVMIndirectBr:
    return PML_CELL_branch_indirect;
  case LLVMSelect:
    return PML_CELL_select;
  case LLVMFence:
    return PML_CELL_fence;
  case LLVMExtractElement:
  case LLVMInsertElement:
  case LLVMShuffleVector:
    return PML_CELL_vector_move;
  case LLVMVAArg:
    return PML_CELL_other;
  case LLVMAlloca:
    return LLVMIsConstant(LLVMGetOperand(i, 0)) ? PML_CELL_COUNT : PML_CELL_other;
  default:
    return PML_CELL_COUNT;
  }
}

/* Returns 0; -ENOMEM; NO_LENGTH; NONE: not an operation. */
static int classify_operation(LLVMOpcode op, LLVMValueRef i, struct pml_counts *counts) {
  int err = classify_arithmetic(op, i, counts);
  if (err != NONE) return err;
  if (op == LLVMGetElementPtr && is_offset(i)) {
    int64_t lanes = pml_lanes(LLVMTypeOf(i));
    return lanes == 0 ? NO_LENGTH : pml_counts_add(counts, PML_CELL_address, lanes);
  }
  unsigned cell = cell_of(op, i);
  return cell == PML_CELL_COUNT ? NONE : pml_counts_add(counts, cell, 1);
}

int pml_classify(const struct pml_module *m, LLVMValueRef i, struct pml_counts *counts, struct pml_class *c) {
  *c = (struct pml_class){0};
  LLVMOpcode op = LLVMGetInstructionOpcode(i);
  if (op == LLVMCall || op == LLVMInvoke || op == LLVMCallBr) return classify_call(m, i, counts, c);
  int err = classify_memory(m, op, i, counts);
  if (err == NONE) {
    err = classify_operation(op, i, counts);
    if (err == 0) err = pml_counts_op_bits(i, counts);
  }
  if (err == NO_LENGTH) c->uncounted = "vectors of scalable length";
  return err < 0 ? err : 0;
}
