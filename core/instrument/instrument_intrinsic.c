/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_intrinsic.c - counters of LLVM's intrinsics and libm's operations. */
#include "instrument/instrument_private.h"

#include <stdio.h>
#include <string.h>

/* kind: the kind of FP, INT and reductions; for masked families, the operand number of the mask. */
enum family { NOTHING, FP, FMULADD, INT, COPY, SET, MASKED_LOAD, MASKED_STORE, CALL, OTHER, REDUCE_FP, REDUCE_INT };

struct rule {
  enum family family;
  unsigned kind;
  const char *names; /* each the whole name, or a prefix followed by "." and types */
};

/* Without "experimental." and "constrained."; the longest match wins. */
static const struct rule rules[] = {
    {NOTHING, 0,
     "allow annotation arithmetic.fence assume convergence dbg donothing eh expect "
     "frameaddress invariant is.constant launder.invariant.group lifetime localescape "
     "noalias.scope.decl objectsize pseudoprobe ptr.annotation returnaddress sideeffect "
     "ssa.copy stackrestore stacksave strip.invariant.group threadlocal.address va_copy va_end "
     "va_start var.annotation"},
    {CALL, 0,
     "acos asin atan atan2 cos cosh exp exp10 exp2 frexp ldexp log log10 log2 pow powi sin sinh "
     "tan tanh"},
    {OTHER, 0,
     "prefetch vector.deinterleave2 vector.extract vector.insert vector.interleave2 "
     "vector.reverse vector.splice"},
    {FP, PML_FP_sign, "canonicalize copysign fabs"},
    {FP, PML_FP_round, "ceil floor nearbyint rint round roundeven trunc"},
    {FP, PML_FP_convert,
     "convert.from.fp16 convert.to.fp16 fpext fptosi fptoui fptrunc llrint llround "
     "lrint lround sitofp uitofp"},
    {FP, PML_FP_add, "fadd"},
    {FP, PML_FP_compare, "fcmp fcmps is.fpclass"},
    {FP, PML_FP_div, "fdiv"},
    {FP, PML_FP_fma, "fma"},
    {FP, PML_FP_mul, "fmul"},
    {FP, PML_FP_rem, "frem"},
    {FP, PML_FP_sub, "fsub"},
    {FP, PML_FP_max, "maximum maxnum"},
    {FP, PML_FP_min, "minimum minnum"},
    {FP, PML_FP_sqrt, "sqrt"},
    {FMULADD, 0, "fmuladd"},
    {INT, PML_INT_minmax, "abs smax smin umax umin"},
    {INT, PML_INT_logic, "bitreverse bswap ctlz ctpop cttz"},
    {INT, PML_INT_shift, "fshl fshr sshl.sat ushl.sat"},
    {INT, PML_INT_add,
     "sadd.sat sadd.with.overflow ssub.sat ssub.with.overflow uadd.sat "
     "uadd.with.overflow usub.sat usub.with.overflow"},
    {INT, PML_INT_compare, "scmp ucmp"},
    {INT, PML_INT_mul, "smul.with.overflow umul.with.overflow"},
    {REDUCE_FP, PML_FP_add, "vector.reduce.fadd"},
    {REDUCE_FP, PML_FP_max, "vector.reduce.fmax vector.reduce.fmaximum"},
    {REDUCE_FP, PML_FP_min, "vector.reduce.fmin vector.reduce.fminimum"},
    {REDUCE_FP, PML_FP_mul, "vector.reduce.fmul"},
    {REDUCE_INT, PML_INT_add, "vector.reduce.add"},
    {REDUCE_INT, PML_INT_logic, "vector.reduce.and vector.reduce.or vector.reduce.xor"},
    {REDUCE_INT, PML_INT_mul, "vector.reduce.mul"},
    {REDUCE_INT, PML_INT_minmax,
     "vector.reduce.smax vector.reduce.smin vector.reduce.umax "
     "vector.reduce.umin"},
    {COPY, 0, "memcpy memmove"},
    {SET, 0, "memset"},
    {MASKED_LOAD, 1, "masked.expandload"},
    {MASKED_LOAD, 2, "masked.gather masked.load"},
    {MASKED_STORE, 2, "masked.compressstore"},
    {MASKED_STORE, 3, "masked.scatter masked.store"},
};

static bool is_listed(const char *name, const char *names) {
  size_t n = strlen(name);
  for (const char *at = names; n > 0 && (at = strstr(at, name)) != NULL; at += n)
    if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
  return false;
}

static const struct rule *find_in(const struct rule *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (is_listed(name, list[i].names)) return &list[i];
  return NULL;
}

static const struct rule *find(const char *name) {
  static const char *const left_out[] = {"experimental.", "constrained."};
  char head[128];
  for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
    if (strncmp(name, left_out[i], strlen(left_out[i])) == 0) name += strlen(left_out[i]);
  (void)snprintf(head, sizeof head, "%s", name);
  for (;;) {
    const struct rule *r = find_in(rules, sizeof rules / sizeof rules[0], head);
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
static const struct rule *find_math(const char *name) {
  static const struct rule math[] = {{FP, PML_FP_round, "ceil floor nearbyint rint round roundeven trunc"},
                                     {FP, PML_FP_sign, "copysign fabs"},
                                     {FP, PML_FP_fma, "fma"},
                                     {FP, PML_FP_max, "fmax"},
                                     {FP, PML_FP_min, "fmin"},
                                     {FP, PML_FP_sqrt, "sqrt"}};
  char head[16] = "";
  size_t n = strlen(name);
  const struct rule *r = find_in(math, sizeof math / sizeof math[0], name);
  if (r != NULL || n < 2 || n >= sizeof head || strchr("fl", name[n - 1]) == NULL) return r;
  memcpy(head, name, n - 1);
  return find_in(math, sizeof math / sizeof math[0], head);
}

int pml_classify_math(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts) {
  LLVMTypeRef type = LLVMTypeOf(call);
  if (!pml_is_fp(type) || LLVMGetNumArgOperands(call) == 0 || LLVMTypeOf(LLVMGetArgOperand(call, 0)) != type) return 1;
  if (pml_call_has_attribute(m, call, PML_ATTR_NOBUILTIN)) return 1;
  const struct rule *r = find_math(name);
  return r != NULL ? pml_counts_fp(counts, (enum pml_fp_kind)r->kind, type, 1) : 1;
}
