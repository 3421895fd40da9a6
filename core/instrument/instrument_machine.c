/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_machine.c - counters of target-specific intrinsics, by name.
 *
 * Masked memory accesses count the lanes whose mask is set at run time. Masked arithmetic counts all lanes, because the
 * processor computes all lanes, and because LLVM's masked arithmetic (an operation and a select) also counts all.
 * Approximations count as the exact operation. An unknown instruction is not counted; the report names it.
 */
#include "instrument/instrument_private.h"

#include <string.h>

#define NO_OPERAND UINT8_MAX

static bool has_one_of(const char *name, const char *const *part, size_t parts) {
  for (size_t i = 0; i < parts; i++)
    if (strstr(name, part[i]) != NULL) return true;
  return false;
}

/* --- memory --- */

struct access { /* operand numbers; for a load, the result is the data */
  const char *part;
  bool store;
  uint8_t mask, data, index;
};

/* The first match wins. */
static const struct access accesses[] = {
    {".maskload.", false, 1, NO_OPERAND, NO_OPERAND},
    {".maskstore.", true, 1, 2, NO_OPERAND},
    {"avx2.gather.", false, 3, NO_OPERAND, 2},
    {"avx512.mask.gather", false, 3, NO_OPERAND, 2},
    {"avx512.mask.scatter", true, 1, 3, 2},
    {".maskmov.dqu", true, 1, 0, NO_OPERAND},
    {".maskmovq", true, 1, 0, NO_OPERAND},
    {".mem.", true, 2, 1, NO_OPERAND}, /* pmov narrows and stores */
    {".ldu.dq", false, NO_OPERAND, NO_OPERAND, NO_OPERAND},
    {"mmx.movnt.dq", true, NO_OPERAND, 1, NO_OPERAND},
};

static const struct access *access_of(const char *name) {
  for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++)
    if (strstr(name, accesses[i].part) != NULL) return &accesses[i];
  return NULL;
}

/* Bytes of a lane in memory: "pmov.db.mem" stores bytes. */
static unsigned lane_bytes(const struct pml_module *m, const char *name, LLVMTypeRef type) {
  const char *memory = strstr(name, ".mem.");
  if (memory != NULL && memory > name) return memory[-1] == 'b' ? 1 : memory[-1] == 'w' ? 2 : 4;
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return 1; /* MMX */
  return (unsigned)LLVMStoreSizeOfType(m->data, LLVMGetElementType(type));
}

static int count_access(const struct pml_module *m, const struct access *a, LLVMValueRef call, const char *name,
                        struct pml_counts *counts, struct pml_class *c) {
  LLVMTypeRef type = a->store ? LLVMTypeOf(LLVMGetArgOperand(call, a->data)) : LLVMTypeOf(call);
  if (a->mask == NO_OPERAND) return pml_counts_memory(m, counts, a->store, type);
  c->dynamic = LLVMGetArgOperand(call, a->mask);
  c->dynamic_cell = a->store ? PML_CELL_store_other_bytes : PML_CELL_load_other_bytes;
  c->dynamic_also = PML_CELL_COUNT;
  c->lane_bytes = lane_bytes(m, name, type);
  c->lanes = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 8;
  if (a->index != NO_OPERAND) { /* wider indices: fewer lanes than the vector has */
    unsigned indices = (unsigned)pml_lanes(LLVMTypeOf(LLVMGetArgOperand(call, a->index)));
    if (indices < c->lanes) c->lanes = indices;
  }
  return pml_counts_add(counts, (a->store ? PML_CELL_STORE : PML_CELL_LOAD) + PML_MEMORY_other, 1);
}

/* --- dot products --- */

/* dpps and dppd multiply the elements selected by the upper bits, and sum the products, in each 16 bytes. */
static int count_chosen_products(LLVMValueRef call, struct pml_counts *counts) {
  LLVMTypeRef type = LLVMTypeOf(call), element = LLVMGetElementType(type);
  LLVMValueRef choice = LLVMGetArgOperand(call, 2);
  if (!LLVMIsAConstantInt(choice)) return 1;
  unsigned each = LLVMGetTypeKind(element) == LLVMDoubleTypeKind ? 2 : 4;
  int64_t parts = (int64_t)(LLVMGetVectorSize(type) / each);
  unsigned chosen = (unsigned)LLVMConstIntGetZExtValue(choice) >> 4 & ((1u << each) - 1);
  int err = chosen == 0 ? 0 : pml_counts_fp(counts, PML_FP_mul, element, __builtin_popcount(chosen) * parts);
  return err ? err : pml_counts_fp(counts, PML_FP_add, element, (each - 1) * parts);
}

struct whole { /* operations per lane of the result */
  const char *part;
  int64_t add, mul, minmax, shift, logic;
};

static const struct whole wholes[] = {
    {".vpdpbusd", 4, 4, 0, 0, 0}, {".vpdpwssd", 2, 2, 0, 0, 0}, {".pmadd.", 1, 2, 0, 0, 0},
    {".pmul", 0, 1, 0, 0, 0},     {".psad.bw", 15, 0, 8, 0, 0}, {".phadd", 1, 0, 0, 0, 0},
    {".phsub", 1, 0, 0, 0, 0},    {".psll", 0, 0, 0, 1, 0},     {".psrl", 0, 0, 0, 1, 0},
    {".psra", 0, 0, 0, 1, 0},     {".psign", 0, 0, 1, 0, 0},    {".pternlog", 0, 0, 0, 0, 1},
};

static int count_whole(LLVMValueRef call, const char *name, struct pml_counts *counts) {
  LLVMTypeRef type = LLVMTypeOf(call);
  const struct whole *w = NULL;
  for (size_t i = 0; i < sizeof wholes / sizeof wholes[0] && w == NULL; i++)
    if (strstr(name, wholes[i].part) != NULL) w = &wholes[i];
  if (w == NULL || LLVMGetTypeKind(type) != LLVMVectorTypeKind) return pml_counts_add(counts, PML_CELL_other, 1);
  const struct {
    enum pml_int_kind kind;
    int64_t n;
  } done[] = {{PML_INT_add, w->add},
              {PML_INT_mul, w->mul},
              {PML_INT_minmax, w->minmax},
              {PML_INT_shift, w->shift},
              {PML_INT_logic, w->logic}};
  int err = 0;
  for (size_t i = 0; i < sizeof done / sizeof done[0] && !err; i++)
    if (done[i].n > 0) err = pml_counts_int(counts, done[i].kind, type, done[i].n);
  return err;
}

/* --- the rest --- */

/* Whether the instruction operates on one lane of a vector: its name ends in .ss or .sd, or it is a scalar conversion
 * or comparison. */
static bool on_one_lane(const char *name) {
  static const char *const part[] = {"cvtss", "cvtsd", "cvttss", "cvttsd", "comi", "cvtsi"};
  const char *end = strrchr(name, '.');
  if (end != NULL && (strcmp(end, ".ss") == 0 || strcmp(end, ".sd") == 0)) return true;
  return has_one_of(name, part, sizeof part / sizeof part[0]);
}

static int count_fp(const char *name, LLVMTypeRef type, struct pml_counts *counts) {
  static const struct {
    const char *part;
    enum pml_fp_kind kind;
  } known[] = {
      {"vfm", PML_FP_fma},          {"vfnm", PML_FP_fma},      {".fmla", PML_FP_fma},    {".add.", PML_FP_add},
      {".addsub.", PML_FP_add},     {".hadd.p", PML_FP_add},   {".hsub.p", PML_FP_sub},  {".fadd", PML_FP_add},
      {".sub.", PML_FP_sub},        {".mul.", PML_FP_mul},     {".fmul", PML_FP_mul},    {".scalef.", PML_FP_mul},
      {".div.", PML_FP_div},        {".rcp", PML_FP_div},      {".frecpe", PML_FP_div},  {".sqrt.", PML_FP_sqrt},
      {".rsqrt", PML_FP_sqrt},      {".frsqrte", PML_FP_sqrt}, {".min.", PML_FP_min},    {".max.", PML_FP_max},
      {".range.", PML_FP_min},      {".fmin", PML_FP_min},     {".fmax", PML_FP_max},    {".cmp.", PML_FP_compare},
      {"comi", PML_FP_compare},     {"cvt", PML_FP_convert},   {".get", PML_FP_convert}, {".round.", PML_FP_round},
      {".rndscale.", PML_FP_round}, {".reduce.", PML_FP_round}};
  if (on_one_lane(name) && LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  if (strstr(name, ".dpbf16ps.") != NULL) return pml_counts_fp(counts, PML_FP_fma, type, 2);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strstr(name, known[i].part) != NULL) return pml_counts_fp(counts, known[i].kind, type, 1);
  return 1;
}

static int count_operation(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts) {
  static const char *const memory[] = {".ld1", ".ld2", ".ld3", ".ld4",     ".st1",
                                       ".st2", ".st3", ".st4", "tileload", "tilestore"};
  static const char *const moves[] = {"blendv", "perm",  "movmsk",     "test",     "insert", "extr",      "shuf",
                                      "pack",   "pshuf", ".compress.", ".expand.", "fixup",  "multishift"};
  if (has_one_of(name, memory, sizeof memory / sizeof memory[0])) return 1;
  if (has_one_of(name, moves, sizeof moves / sizeof moves[0])) return pml_counts_add(counts, PML_CELL_vector_move, 1);
  if (strstr(name, ".dp.ps") != NULL || strstr(name, ".dpps") != NULL || strstr(name, ".dppd") != NULL)
    return count_chosen_products(call, counts);
  LLVMTypeRef type = pml_fp_type(m, call);
  return pml_is_fp(type) ? count_fp(name, type, counts) : count_whole(call, name, counts);
}

bool pml_is_machine(const char *name) {
  return strncmp(name, "x86.", 4) == 0 || strncmp(name, "aarch64.", 8) == 0 || strncmp(name, "arm.", 4) == 0;
}

int pml_classify_machine(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts,
                         struct pml_class *c) {
  const struct access *a = access_of(name);
  if (a != NULL) return count_access(m, a, call, name, counts, c);
  int err = count_operation(m, call, name, counts);
  return err ? err : pml_counts_op_bits(call, counts);
}
