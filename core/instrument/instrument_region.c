/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_region.c - classification of memory accesses as local or global.
 *
 * The classification uses the function's own code only: it follows an address back to its origin. The region of an
 * address that comes from a parameter, from memory or from a call is unknown, because the address may belong to the
 * heap or to another function's local variable.
 *
 * The file also finds locals that would be in registers if OpenMP's runtime did not take their address: loop bounds and
 * private copies of reductions.
 */
#include "instrument/instrument_private.h"

#include <string.h>

#define SEEN_MAX 16u
#define STEPS_MAX 64u
#define USES_MAX 1024u /* limit of inspected uses of a local */

enum region { ANY, LOCAL, GLOBAL, UNKNOWN }; /* ANY: compatible with every region */

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

/* The base of an address computed by an offset or a cast; @v itself for other addresses. */
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

static bool called_runtime(LLVMValueRef call) {
  static const char *const shares[] = {"__kmpc_fork", "__kmpc_omp_task"}; /* these pass the address to other threads */
  size_t n;
  LLVMValueRef called = LLVMGetCalledValue(call);
  const char *name = LLVMIsAFunction(called) ? LLVMGetValueName2(called, &n) : "";
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
    if (strncmp(name, shares[i], strlen(shares[i])) == 0) return false;
  return strncmp(name, "__kmpc_", 7) == 0;
}

static bool runtime_has(LLVMValueRef v, bool *runtime, unsigned *left);

/* Whether @address belongs to an array of addresses that is passed to the runtime, such as the addresses of reductions'
 * copies. */
static bool is_list(LLVMValueRef address, unsigned *left) {
  bool runtime = false;
  for (LLVMValueRef base = base_of(address); base != address; base = base_of(address)) address = base;
  if (!LLVMIsAAllocaInst(address)) return false;
  return runtime_has(address, &runtime, left) && runtime;
}

static bool use_is_local(LLVMValueRef user, LLVMValueRef v, bool *runtime, unsigned *left) {
  const char *intrinsic = LLVMIsACallInst(user) ? pml_calls_intrinsic(user) : NULL;
  if (intrinsic != NULL) return strncmp(intrinsic, "lifetime.", 9) == 0;
  if (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) return called_runtime(user) && (*runtime = true);
  if (LLVMIsALoadInst(user)) return !LLVMGetVolatile(user);
  if (!LLVMIsAStoreInst(user)) return base_of(user) == v && runtime_has(user, runtime, left);
  if (LLVMGetVolatile(user)) return false;
  return LLVMGetOperand(user, 0) != v || (is_list(LLVMGetOperand(user, 1), left) && (*runtime = true));
}

/* Whether only the function itself and OpenMP's runtime use a local. @runtime: whether the runtime does. */
static bool runtime_has(LLVMValueRef v, bool *runtime, unsigned *left) {
  for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u))
    if (--*left == 0 || !use_is_local(LLVMGetUser(u), v, runtime, left)) return false;
  return true;
}

bool pml_is_private(const struct pml_module *m, LLVMValueRef address) {
  bool runtime = false;
  unsigned left = USES_MAX;
  if (m->o->final) return false;
  while (LLVMIsABitCastInst(address)) address = LLVMGetOperand(address, 0);
  if (!LLVMIsAAllocaInst(address)) return false;
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetAllocatedType(address));
  if (kind == LLVMArrayTypeKind || kind == LLVMStructTypeKind) return false;
  return runtime_has(address, &runtime, &left) && runtime;
}

int pml_counts_region(struct pml_counts *c, bool store, LLVMValueRef address, uint64_t bytes) {
  struct walk w = {.nseen = 0};
  enum region r = region_of(&w, address);
  if (r != LOCAL && r != GLOBAL) return 0;
  unsigned loaded = r == LOCAL ? PML_CELL_local_bytes_loaded : PML_CELL_global_bytes_loaded;
  unsigned stored = r == LOCAL ? PML_CELL_local_bytes_stored : PML_CELL_global_bytes_stored;
  return pml_counts_add(c, store ? stored : loaded, (int64_t)bytes);
}
