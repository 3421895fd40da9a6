/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_intrinsic.c - counters of LLVM's intrinsics and libm's operations. */
#include "instrument/instrument_private.h"

#include <stdlib.h>
#include <string.h>

/* kind: the kind of FP, INT and reductions; for masked families, the operand number of the mask. */
enum family { NOTHING, FP, FMULADD, INT, COPY, SET, MASKED_LOAD, MASKED_STORE, CALL, OTHER, REDUCE_FP, REDUCE_INT };

struct rule {
  const char *name; /* the whole name, or a prefix followed by "." and types */
  enum family family;
  unsigned kind;
};

/* Sorted by name; the longest match wins. */
static const struct rule rules[] = {
    {"abs", INT, PML_INT_minmax},
    {"acos", CALL, 0},
    {"allow", NOTHING, 0},
    {"annotation", NOTHING, 0},
    {"arithmetic.fence", NOTHING, 0},
    {"asin", CALL, 0},
    {"assume", NOTHING, 0},
    {"atan", CALL, 0},
    {"atan2", CALL, 0},
    {"bitreverse", INT, PML_INT_logic},
    {"bswap", INT, PML_INT_logic},
    {"canonicalize", FP, PML_FP_sign},
    {"ceil", FP, PML_FP_round},
    {"convert.from.fp16", FP, PML_FP_convert},
    {"convert.to.fp16", FP, PML_FP_convert},
    {"copysign", FP, PML_FP_sign},
    {"cos", CALL, 0},
    {"cosh", CALL, 0},
    {"ctlz", INT, PML_INT_logic},
    {"ctpop", INT, PML_INT_logic},
    {"cttz", INT, PML_INT_logic},
    {"dbg", NOTHING, 0},
    {"donothing", NOTHING, 0},
    {"eh", NOTHING, 0},
    {"exp", CALL, 0},
    {"exp10", CALL, 0},
    {"exp2", CALL, 0},
    {"expect", NOTHING, 0},
    {"experimental.constrained", CALL, 0},
    {"experimental.constrained.ceil", FP, PML_FP_round},
    {"experimental.constrained.fadd", FP, PML_FP_add},
    {"experimental.constrained.fcmp", FP, PML_FP_compare},
    {"experimental.constrained.fcmps", FP, PML_FP_compare},
    {"experimental.constrained.fdiv", FP, PML_FP_div},
    {"experimental.constrained.floor", FP, PML_FP_round},
    {"experimental.constrained.fma", FP, PML_FP_fma},
    {"experimental.constrained.fmul", FP, PML_FP_mul},
    {"experimental.constrained.fmuladd", FMULADD, 0},
    {"experimental.constrained.fpext", FP, PML_FP_convert},
    {"experimental.constrained.fptosi", FP, PML_FP_convert},
    {"experimental.constrained.fptoui", FP, PML_FP_convert},
    {"experimental.constrained.fptrunc", FP, PML_FP_convert},
    {"experimental.constrained.frem", FP, PML_FP_rem},
    {"experimental.constrained.fsub", FP, PML_FP_sub},
    {"experimental.constrained.llrint", FP, PML_FP_convert},
    {"experimental.constrained.llround", FP, PML_FP_convert},
    {"experimental.constrained.lrint", FP, PML_FP_convert},
    {"experimental.constrained.lround", FP, PML_FP_convert},
    {"experimental.constrained.maximum", FP, PML_FP_max},
    {"experimental.constrained.maxnum", FP, PML_FP_max},
    {"experimental.constrained.minimum", FP, PML_FP_min},
    {"experimental.constrained.minnum", FP, PML_FP_min},
    {"experimental.constrained.nearbyint", FP, PML_FP_round},
    {"experimental.constrained.rint", FP, PML_FP_round},
    {"experimental.constrained.round", FP, PML_FP_round},
    {"experimental.constrained.roundeven", FP, PML_FP_round},
    {"experimental.constrained.sitofp", FP, PML_FP_convert},
    {"experimental.constrained.sqrt", FP, PML_FP_sqrt},
    {"experimental.constrained.trunc", FP, PML_FP_round},
    {"experimental.constrained.uitofp", FP, PML_FP_convert},
    {"experimental.convergence", NOTHING, 0},
    {"experimental.noalias.scope.decl", NOTHING, 0},
    {"experimental.vector.deinterleave2", OTHER, 0},
    {"experimental.vector.extract", OTHER, 0},
    {"experimental.vector.insert", OTHER, 0},
    {"experimental.vector.interleave2", OTHER, 0},
    {"experimental.vector.reverse", OTHER, 0},
    {"experimental.vector.splice", OTHER, 0},
    {"fabs", FP, PML_FP_sign},
    {"floor", FP, PML_FP_round},
    {"fma", FP, PML_FP_fma},
    {"fmuladd", FMULADD, 0},
    {"fptosi", FP, PML_FP_convert},
    {"fptoui", FP, PML_FP_convert},
    {"fptrunc.round", FP, PML_FP_convert},
    {"frameaddress", NOTHING, 0},
    {"frexp", CALL, 0},
    {"fshl", INT, PML_INT_shift},
    {"fshr", INT, PML_INT_shift},
    {"invariant", NOTHING, 0},
    {"is.constant", NOTHING, 0},
    {"is.fpclass", FP, PML_FP_compare},
    {"launder.invariant.group", NOTHING, 0},
    {"ldexp", CALL, 0},
    {"lifetime", NOTHING, 0},
    {"llrint", FP, PML_FP_convert},
    {"llround", FP, PML_FP_convert},
    {"localescape", NOTHING, 0},
    {"log", CALL, 0},
    {"log10", CALL, 0},
    {"log2", CALL, 0},
    {"lrint", FP, PML_FP_convert},
    {"lround", FP, PML_FP_convert},
    {"masked.compressstore", MASKED_STORE, 2},
    {"masked.expandload", MASKED_LOAD, 1},
    {"masked.gather", MASKED_LOAD, 2},
    {"masked.load", MASKED_LOAD, 2},
    {"masked.scatter", MASKED_STORE, 3},
    {"masked.store", MASKED_STORE, 3},
    {"maximum", FP, PML_FP_max},
    {"maxnum", FP, PML_FP_max},
    {"memcpy", COPY, 0},
    {"memmove", COPY, 0},
    {"memset", SET, 0},
    {"minimum", FP, PML_FP_min},
    {"minnum", FP, PML_FP_min},
    {"nearbyint", FP, PML_FP_round},
    {"objectsize", NOTHING, 0},
    {"pow", CALL, 0},
    {"powi", CALL, 0},
    {"prefetch", OTHER, 0},
    {"pseudoprobe", NOTHING, 0},
    {"ptr.annotation", NOTHING, 0},
    {"returnaddress", NOTHING, 0},
    {"rint", FP, PML_FP_round},
    {"round", FP, PML_FP_round},
    {"roundeven", FP, PML_FP_round},
    {"sadd.sat", INT, PML_INT_add},
    {"sadd.with.overflow", INT, PML_INT_add},
    {"scmp", INT, PML_INT_compare},
    {"sideeffect", NOTHING, 0},
    {"sin", CALL, 0},
    {"sinh", CALL, 0},
    {"smax", INT, PML_INT_minmax},
    {"smin", INT, PML_INT_minmax},
    {"smul.with.overflow", INT, PML_INT_mul},
    {"sqrt", FP, PML_FP_sqrt},
    {"ssa.copy", NOTHING, 0},
    {"sshl.sat", INT, PML_INT_shift},
    {"ssub.sat", INT, PML_INT_add},
    {"ssub.with.overflow", INT, PML_INT_add},
    {"stackrestore", NOTHING, 0},
    {"stacksave", NOTHING, 0},
    {"strip.invariant.group", NOTHING, 0},
    {"tan", CALL, 0},
    {"tanh", CALL, 0},
    {"threadlocal.address", NOTHING, 0},
    {"trunc", FP, PML_FP_round},
    {"uadd.sat", INT, PML_INT_add},
    {"uadd.with.overflow", INT, PML_INT_add},
    {"ucmp", INT, PML_INT_compare},
    {"umax", INT, PML_INT_minmax},
    {"umin", INT, PML_INT_minmax},
    {"umul.with.overflow", INT, PML_INT_mul},
    {"ushl.sat", INT, PML_INT_shift},
    {"usub.sat", INT, PML_INT_add},
    {"usub.with.overflow", INT, PML_INT_add},
    {"va_copy", NOTHING, 0},
    {"va_end", NOTHING, 0},
    {"va_start", NOTHING, 0},
    {"var.annotation", NOTHING, 0},
    {"vector.deinterleave2", OTHER, 0},
    {"vector.extract", OTHER, 0},
    {"vector.insert", OTHER, 0},
    {"vector.interleave2", OTHER, 0},
    {"vector.reduce.add", REDUCE_INT, PML_INT_add},
    {"vector.reduce.and", REDUCE_INT, PML_INT_logic},
    {"vector.reduce.fadd", REDUCE_FP, PML_FP_add},
    {"vector.reduce.fmax", REDUCE_FP, PML_FP_max},
    {"vector.reduce.fmaximum", REDUCE_FP, PML_FP_max},
    {"vector.reduce.fmin", REDUCE_FP, PML_FP_min},
    {"vector.reduce.fminimum", REDUCE_FP, PML_FP_min},
    {"vector.reduce.fmul", REDUCE_FP, PML_FP_mul},
    {"vector.reduce.mul", REDUCE_INT, PML_INT_mul},
    {"vector.reduce.or", REDUCE_INT, PML_INT_logic},
    {"vector.reduce.smax", REDUCE_INT, PML_INT_minmax},
    {"vector.reduce.smin", REDUCE_INT, PML_INT_minmax},
    {"vector.reduce.umax", REDUCE_INT, PML_INT_minmax},
    {"vector.reduce.umin", REDUCE_INT, PML_INT_minmax},
    {"vector.reduce.xor", REDUCE_INT, PML_INT_logic},
    {"vector.reverse", OTHER, 0},
    {"vector.splice", OTHER, 0},
};

static int by_name(const void *key, const void *rule) {
  return strcmp(key, ((const struct rule *)rule)->name);
}

static const struct rule *find(const char *name) {
  char head[128];
  size_t n = strlen(name);
  if (n >= sizeof head) n = sizeof head - 1;
  memcpy(head, name, n);
  head[n] = '\0';
  for (;;) {
    const struct rule *r = bsearch(head, rules, sizeof rules / sizeof rules[0], sizeof rules[0], by_name);
    char *dot = strrchr(head, '.');
    if (r != NULL || dot == NULL) return r;
    *dot = '\0';
  }
}

bool pml_is_fp(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMVectorTypeKind || kind == LLVMScalableVectorTypeKind)
    kind = LLVMGetTypeKind(LLVMGetElementType(type));
  return (kind >= LLVMHalfTypeKind && kind <= LLVMPPC_FP128TypeKind) || kind == LLVMBFloatTypeKind;
}

/* The type that counts for an instruction: the operands' type for comparisons, the wider type for conversions. */
LLVMTypeRef pml_fp_type(const struct pml_module *m, LLVMValueRef call) {
  LLVMTypeRef result = LLVMTypeOf(call);
  if (LLVMGetNumArgOperands(call) == 0) return result;
  LLVMTypeRef from = LLVMTypeOf(LLVMGetArgOperand(call, 0));
  if (!pml_is_fp(result)) return from;
  return pml_is_fp(from) && LLVMStoreSizeOfType(m->data, from) > LLVMStoreSizeOfType(m->data, result) ? from : result;
}

static LLVMValueRef caller_of(LLVMValueRef call) {
  return LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
}

/* Whether a * b + c becomes one instruction is decided at code generation: only if the function's cpu supports it. */
static bool has_fma(const struct pml_module *m, LLVMValueRef call) {
  const char *arch = LLVMGetTarget(m->module);
  if (strncmp(arch, "aarch64", 7) == 0 || strncmp(arch, "arm64", 5) == 0 || strncmp(arch, "powerpc", 7) == 0)
    return true;
  LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(caller_of(call), (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                     "target-features", 15);
  unsigned n = 0;
  const char *features = a != NULL ? LLVMGetStringAttributeValue(a, &n) : NULL;
  return features != NULL && (strstr(features, "+fma,") != NULL || strstr(features, "+fma4,") != NULL ||
                              (n >= 4 && strcmp(features + n - 4, "+fma") == 0));
}

static int count_fmuladd(const struct pml_module *m, LLVMValueRef call, struct pml_counts *counts) {
  LLVMTypeRef type = LLVMTypeOf(call);
  if (m->o->final && has_fma(m, call)) return pml_counts_fp(counts, PML_FP_fma, type, 1);
  int err = pml_counts_fp(counts, PML_FP_mul, type, 1);
  return err ? err : pml_counts_fp(counts, PML_FP_add, type, 1);
}

/* A floating-point sum starts with a given value, other reductions with the first lane. */
static int count_reduction(const struct rule *r, LLVMValueRef call, struct pml_counts *counts) {
  unsigned operands = LLVMGetNumArgOperands(call);
  int64_t lanes = pml_lanes(LLVMTypeOf(LLVMGetArgOperand(call, operands - 1)));
  if (lanes == 0) return 1;
  int64_t n = operands == 2 ? lanes : lanes - 1;
  LLVMTypeRef type = LLVMTypeOf(call);
  return r->family == REDUCE_FP ? pml_counts_fp(counts, (enum pml_fp_kind)r->kind, type, n)
                                : pml_counts_int(counts, (enum pml_int_kind)r->kind, type, n);
}

/* Adds @length to @cell and, unless it is PML_CELL_COUNT, to @also. */
static int add_length(LLVMValueRef length, unsigned cell, unsigned also, struct pml_counts *counts,
                      struct pml_class *c) {
  if (!LLVMIsAConstantInt(length)) {
    c->dynamic = length;
    c->dynamic_cell = cell;
    c->dynamic_also = also;
    return 0;
  }
  int64_t n = (int64_t)LLVMConstIntGetZExtValue(length);
  int err = pml_counts_add(counts, cell, n);
  return err || also == PML_CELL_COUNT ? err : pml_counts_add(counts, also, n);
}

static int count_copy(LLVMValueRef call, struct pml_counts *counts, struct pml_class *c) {
  int err = pml_counts_add(counts, PML_CELL_copy, 1);
  if (err) return err;
  return add_length(LLVMGetArgOperand(call, 2), PML_CELL_copy_bytes_loaded, PML_CELL_copy_bytes_stored, counts, c);
}

static int count_set(LLVMValueRef call, struct pml_counts *counts, struct pml_class *c) {
  int err = pml_counts_add(counts, PML_CELL_set, 1);
  return err ? err : add_length(LLVMGetArgOperand(call, 2), PML_CELL_set_bytes, PML_CELL_COUNT, counts, c);
}

/* Covers calls that the compiler does not treat as builtins (-fno-builtin), and the checked variants. */
int pml_classify_copy(LLVMValueRef call, const char *name, struct pml_counts *counts, struct pml_class *c) {
  static const char *const copies[] = {"memcpy",       "memmove",       "mempcpy",      "bcopy",
                                       "__memcpy_chk", "__memmove_chk", "__mempcpy_chk"};
  static const char *const sets[] = {"memset", "__memset_chk"};
  if (LLVMGetNumArgOperands(call) < 3) return 1;
  if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(call, 2))) != LLVMIntegerTypeKind) return 1;
  for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
    if (strcmp(name, copies[i]) == 0) return count_copy(call, counts, c);
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
    if (strcmp(name, sets[i]) == 0) return count_set(call, counts, c);
  return 1;
}

static int count_masked(const struct pml_module *m, const struct rule *r, LLVMValueRef call, struct pml_counts *counts,
                        struct pml_class *c) {
  bool store = r->family == MASKED_STORE;
  LLVMTypeRef type = store ? LLVMTypeOf(LLVMGetArgOperand(call, 0)) : LLVMTypeOf(call);
  if (pml_lanes(type) == 0) return 1;
  c->dynamic = LLVMGetArgOperand(call, r->kind);
  c->dynamic_cell = store ? PML_CELL_store_other_bytes : PML_CELL_load_other_bytes;
  c->dynamic_also = PML_CELL_COUNT;
  c->lane_bytes = (unsigned)LLVMStoreSizeOfType(m->data, LLVMGetElementType(type));
  return pml_counts_add(counts, (store ? PML_CELL_STORE : PML_CELL_LOAD) + PML_MEMORY_other, 1);
}

static int count_rule(const struct pml_module *m, const struct rule *r, LLVMValueRef call, struct pml_counts *counts,
                      struct pml_class *c) {
  switch (r->family) {
  case FP:
    return pml_counts_fp(counts, (enum pml_fp_kind)r->kind, pml_fp_type(m, call), 1);
  case FMULADD:
    return count_fmuladd(m, call, counts);
  case INT:
    return pml_counts_int(counts, (enum pml_int_kind)r->kind, LLVMTypeOf(LLVMGetArgOperand(call, 0)), 1);
  case COPY:
    return count_copy(call, counts, c);
  case SET:
    return count_set(call, counts, c);
  case MASKED_LOAD:
  case MASKED_STORE:
    return count_masked(m, r, call, counts, c);
  case CALL:
    return pml_counts_add(counts, PML_CELL_call_direct, 1);
  case REDUCE_FP:
  case REDUCE_INT:
    return count_reduction(r, call, counts);
  default:
    return pml_counts_add(counts, PML_CELL_other, 1);
  }
}

int pml_classify_intrinsic(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts,
                           struct pml_class *c) {
  const struct rule *r = find(name);
  if (r != NULL && r->family == NOTHING) return 0;
  int err;
  bool machine = r == NULL && pml_is_machine(name);
  if (r != NULL)
    err = count_rule(m, r, call, counts, c);
  else if (machine)
    err = pml_classify_machine(m, call, name, counts, c);
  else
    err = pml_is_fp(pml_fp_type(m, call)) ? 1 : pml_counts_add(counts, PML_CELL_other, 1);
  if (err == 1) {
    c->uncounted = "an unknown operation";
    c->name = name;
  }
  if (err || machine ||
      (r != NULL && (r->family == COPY || r->family == SET || r->family == MASKED_LOAD || r->family == MASKED_STORE)))
    return err < 0 ? err : 0;
  return pml_counts_op_bits(call, counts);
}

/* One rule covers sqrt, sqrtf and sqrtl. */
static const struct rule *find_math(const char *name, size_t n) {
  static const struct rule math[] = {
      {"ceil", FP, PML_FP_round},  {"copysign", FP, PML_FP_sign},   {"fabs", FP, PML_FP_sign},
      {"floor", FP, PML_FP_round}, {"fma", FP, PML_FP_fma},         {"fmax", FP, PML_FP_max},
      {"fmin", FP, PML_FP_min},    {"nearbyint", FP, PML_FP_round}, {"rint", FP, PML_FP_round},
      {"round", FP, PML_FP_round}, {"roundeven", FP, PML_FP_round}, {"sqrt", FP, PML_FP_sqrt},
      {"trunc", FP, PML_FP_round}};
  for (size_t i = 0; i < sizeof math / sizeof math[0]; i++) {
    size_t known = strlen(math[i].name);
    if (strncmp(name, math[i].name, known) != 0) continue;
    if (n == known || (n == known + 1 && (name[known] == 'f' || name[known] == 'l'))) return &math[i];
  }
  return NULL;
}

int pml_classify_math(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts) {
  LLVMTypeRef type = LLVMTypeOf(call);
  if (!pml_is_fp(type) || LLVMGetNumArgOperands(call) == 0 || LLVMTypeOf(LLVMGetArgOperand(call, 0)) != type) return 1;
  if (pml_call_has_attribute(m, call, PML_ATTR_NOBUILTIN)) return 1;
  const struct rule *r = find_math(name, strlen(name));
  return r != NULL ? pml_counts_fp(counts, (enum pml_fp_kind)r->kind, type, 1) : 1;
}
