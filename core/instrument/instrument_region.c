/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_region.c - classification of memory accesses as local or global.
 *
 * As far as the function itself says: its address is followed back to what it was computed from. What comes in a
 * parameter, from memory or from a call is not known, be it the heap's or another function's local.
 */
#include "instrument/instrument_private.h"

#include <string.h>

#define SEEN_MAX 16u
#define STEPS_MAX 64u

enum region { ANY, LOCAL, GLOBAL, UNKNOWN }; /* ANY: says nothing against another */

struct walk {
  LLVMValueRef seen[SEEN_MAX]; /* phis */
  uint32_t nseen, steps;
};

static enum region region_of(struct walk *w, LLVMValueRef v);

static enum region both(enum region a, enum region b) {
  if (a == ANY || a == b) return b;
  return b == ANY ? a : UNKNOWN;
}

static enum region region_of_phi(struct walk *w, LLVMValueRef phi) {
  enum region all = ANY;
  for (uint32_t i = 0; i < w->nseen; i++)
    if (w->seen[i] == phi) return ANY;
  if (w->nseen == SEEN_MAX) return UNKNOWN;
  w->seen[w->nseen++] = phi;
  for (unsigned i = LLVMCountIncoming(phi); i-- > 0 && all != UNKNOWN;)
    all = both(all, region_of(w, LLVMGetIncomingValue(phi, i)));
  return all;
}

/* What an address was computed from by an offset or another type; @v itself: it was not. */
static LLVMValueRef base_of(LLVMValueRef v) {
  if (LLVMIsAGlobalAlias(v)) return LLVMAliasGetAliasee(v);
  if (LLVMIsACallInst(v)) {
    const char *name = pml_calls_intrinsic(v);
    return name != NULL && strncmp(name, "threadlocal.address", 19) == 0 ? LLVMGetArgOperand(v, 0) : v;
  }
  if (!LLVMIsAConstantExpr(v) && !LLVMIsAInstruction(v)) return v;
  LLVMOpcode op = LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) : LLVMGetInstructionOpcode(v);
  return op == LLVMGetElementPtr || op == LLVMBitCast || op == LLVMAddrSpaceCast ? LLVMGetOperand(v, 0) : v;
}

static enum region region_of(struct walk *w, LLVMValueRef v) {
  for (LLVMValueRef base = base_of(v); base != v; v = base, base = base_of(v))
    if (++w->steps > STEPS_MAX) return UNKNOWN;
  if (++w->steps > STEPS_MAX) return UNKNOWN;
  if (LLVMIsAAllocaInst(v)) return LOCAL;
  if (LLVMIsAGlobalVariable(v)) return GLOBAL;
  if (LLVMIsAPHINode(v)) return region_of_phi(w, v);
  if (LLVMIsASelectInst(v)) return both(region_of(w, LLVMGetOperand(v, 1)), region_of(w, LLVMGetOperand(v, 2)));
  return UNKNOWN;
}

int pml_counts_region(struct pml_counts *c, bool store, LLVMValueRef address, uint64_t bytes) {
  struct walk w = {.nseen = 0};
  enum region r = region_of(&w, address);
  if (r != LOCAL && r != GLOBAL) return 0;
  unsigned loaded = r == LOCAL ? PML_CELL_local_bytes_loaded : PML_CELL_global_bytes_loaded;
  unsigned stored = r == LOCAL ? PML_CELL_local_bytes_stored : PML_CELL_global_bytes_stored;
  return pml_counts_add(c, store ? stored : loaded, (int64_t)bytes);
}
